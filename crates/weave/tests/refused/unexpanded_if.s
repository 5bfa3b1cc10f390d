; Refused: unexpanded if.
f:
 .if where > 3
 nop
 .endif
 ret
