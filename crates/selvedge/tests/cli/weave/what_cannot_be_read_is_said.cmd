# FAIL: weave check weave/send.s --fn sned --chip atmega128 -D P=18
# FAIL[chip]: weave check weave/send.s --fn send --chip attiny2313 -D P=18
# FAIL[nochip]: weave check weave/send.s --fn send -D P=18
# FAIL[file](3): weave check weave/nowhere.s --fn send
# FAIL[definition](2): weave check weave/send.s --fn send -D P
