# FAIL: weave check weave/send328.s --fn send328 --chip atmega128 --interrupts off-at-entry
# FAIL[simulated]: weave check weave/send328.s --fn send328 --chip atmega4809 --interrupts off-at-entry
# ENV: PATH=%tmp
