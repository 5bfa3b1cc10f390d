; Refused: macro parameter.
.macro one (a)
 nop
.endm
f: ret
