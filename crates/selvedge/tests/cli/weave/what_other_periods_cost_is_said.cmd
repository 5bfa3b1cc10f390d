# RUN: weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=40 --growth 12 --sweep PERIOD=3,20,40,80 --handler 4 -o %tmp/both.s
# RUN[json]: weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=40 --growth 12 --sweep PERIOD=3,40 --json -o %tmp/both.s
# FAIL[alone](2): weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse -D PERIOD=40 --handler 4 -o %tmp/both.s
# FAIL[number](2): weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse -D PERIOD=40 --sweep PERIOD=4,x -o %tmp/both.s
# FAIL[strategy](2): weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse -D PERIOD=40 --strategy best -o %tmp/both.s
