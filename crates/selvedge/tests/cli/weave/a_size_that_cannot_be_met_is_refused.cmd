# FAIL: weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=40 -o %tmp/both.s --growth 3
# RUN[smallest]: weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=40 -o %tmp/both.s --growth 5.27
# RUN[unasked]: weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=40 -o %tmp/both.s
# FAIL[period]: weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=3 -o %tmp/both.s --growth 3
# ENV: PATH=%tmp
