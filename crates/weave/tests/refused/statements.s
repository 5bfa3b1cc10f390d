; Refused: statements.
f:
 .rept 1000000
 nop
 nop
 nop
 .endr
 ret
