# FAIL: weave check weave/send.s --fn send --chip atmega128 -D P=19
# FAIL[json]: weave check weave/send.s --fn send --chip atmega128 -D P=19 --json
