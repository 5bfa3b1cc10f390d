; Refused: repetition instruction.
f:
 .irp r, 17, 40
 clr \r
 .endr
 ret
