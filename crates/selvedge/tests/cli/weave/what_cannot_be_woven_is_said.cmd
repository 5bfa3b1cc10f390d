# FAIL: weave weave/sum.s --host sum --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=40 -o %tmp/both.s
# FAIL[period]: weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=3 -o %tmp/both.s
# FAIL[loop]: weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/bits.s --guest-fn bits --chip atmega128 -o %tmp/both.s
# FAIL[parameter]: weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -o %tmp/both.s
# FAIL[host]: weave weave/sum.s --host sam --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=40 -o %tmp/both.s
# FAIL[guest]: weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/sum.s --guest-fn sum --chip atmega128 -o %tmp/both.s
# FAIL[call]: weave weave/sum.s --host sums --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=40 -o %tmp/both.s
# FAIL[chip]: weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/send328.s --guest-fn send328 --chip atmega128 -o %tmp/both.s
# FAIL[nochip]: weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse -D PERIOD=40 -o %tmp/both.s
# FAIL[source]: weave weave/readme --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=40 -o %tmp/both.s
# FAIL[file](3): weave weave/nowhere.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=40 -o %tmp/both.s
# FAIL[folder](3): weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=40 -o %tmp/nowhere/both.s
# FAIL[compiler](3): weave weave/sum.c --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=40 -o %tmp/both.s
# FAIL[growth](2): weave weave/sum.s --host sum --guest weave/pulse.s --guest-fn pulse --growth 0.5 -o %tmp/both.s
# FAIL[nothing](2): weave
# ENV: PATH=%tmp
