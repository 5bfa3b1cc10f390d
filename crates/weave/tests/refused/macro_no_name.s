; Refused: macro no name.
.macro
 nop
.endm
f: ret
