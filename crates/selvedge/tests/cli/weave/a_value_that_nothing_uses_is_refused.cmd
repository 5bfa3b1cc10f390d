# FAIL(2): weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=40 -D PERIDO=40 -o %tmp/both.s
# FAIL[sweep](2): weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=40 -o %tmp/both.s --sweep PERIDO=40,80
# FAIL[none](2): weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/send328.s --guest-fn send328 -D PERIOD=40 -o %tmp/both.s
# FAIL[check](2): weave check weave/send.s --fn send --chip atmega128 -D P=18 -D Q=18
# RUN[clock]: weave check weave/send.s --fn send --chip atmega128 -D P=18 -D F_CPU=16000000
# ENV: PATH=%tmp
