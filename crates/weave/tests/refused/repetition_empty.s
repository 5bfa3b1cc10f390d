; Refused: repetition empty.
f:
 .rept 1000000000000
 .endr
 ret
