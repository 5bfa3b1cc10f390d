# FAIL(2): weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=40 -D PERIOD=44 -o %tmp/both.s
# FAIL[check](2): weave check weave/send.s --fn send -D PERIOD=1 -D PERIOD=2
# RUN[same]: weave check weave/send.s --fn send --chip atmega128 -D P=18 -D P=18
# ENV: PATH=%tmp
