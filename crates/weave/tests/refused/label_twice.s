; Refused: label twice.
f: nop
f: ret
