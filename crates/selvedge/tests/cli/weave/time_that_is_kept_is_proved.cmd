# RUN: weave check weave/send.s --fn send --chip atmega128 -D P=18
# RUN[json]: weave check weave/send.s --fn send --chip atmega128 -D P=18 --json
# RUN[static]: weave check weave/send.s --fn send --chip atmega4809 -D P=18 --interrupts off-at-entry
