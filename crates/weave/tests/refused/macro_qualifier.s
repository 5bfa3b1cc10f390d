; Refused: macro qualifier.
.macro one a:must
 nop
.endm
f: ret
