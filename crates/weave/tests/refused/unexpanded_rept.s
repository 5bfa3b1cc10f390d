; Refused: unexpanded rept.
f:
 .rept f_bytes
 nop
 .endr
 ret
