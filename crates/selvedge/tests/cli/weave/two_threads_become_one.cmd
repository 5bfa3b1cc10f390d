# RUN: weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=40 -o %tmp/both.s --header %tmp/both.h
# RUN[json]: weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=40 -o %tmp/both.s --growth 12 --name both --json
# RUN[dump]: weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=40 -o %tmp/both.s --dump time,slack
# RUN[page]: weave weave/sum.s --host sum --host-arguments 2,1 --guest weave/pulse.s --guest-fn pulse --chip atmega128 -D PERIOD=40 -o %tmp/both.s --report %tmp/both.html
