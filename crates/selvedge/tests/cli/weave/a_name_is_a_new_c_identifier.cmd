# FAIL[dash](2): weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=40 -o %tmp/both.s --name sum-lit
# FAIL[digit](2): weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=40 -o %tmp/both.s --name 2sum
# FAIL[accent](2): weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=40 -o %tmp/both.s --name été
# FAIL[empty](2): weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=40 -o %tmp/both.s --name=
# FAIL[keyword](2): weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=40 -o %tmp/both.s --name while
# FAIL[host](2): weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=40 -o %tmp/both.s --name sum
# FAIL[label](2): weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=40 -o %tmp/both.s --name again
# FAIL[guest](2): weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=40 -o %tmp/both.s --name pulse
# FAIL[json](2): weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=40 -o %tmp/both.s --name pulse --json
# ENV: PATH=%tmp
