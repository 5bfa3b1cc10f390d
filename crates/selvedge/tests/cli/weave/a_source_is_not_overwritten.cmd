# FAIL(2): weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=40 -o weave/sum.s
# FAIL[guest](2): weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=40 -o weave/../weave/pulse.s
# FAIL[with](2): weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=40 --with weave/bits.s -o weave/bits.s
# FAIL[header](2): weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=40 -o %tmp/both.s --header weave/pulse.s
# FAIL[page](2): weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=40 -o %tmp/both.s --report weave/./sum.s
# FAIL[both](2): weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=40 -o %tmp/both.s --header %tmp/./both.s
# ENV: PATH=%tmp
