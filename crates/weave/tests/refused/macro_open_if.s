; Refused: macro open if.
.macro half
 .if 1
 nop
.endm
f: half
 .endif
 ret
