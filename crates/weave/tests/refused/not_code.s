; Refused: not code.
f: .byte 1
