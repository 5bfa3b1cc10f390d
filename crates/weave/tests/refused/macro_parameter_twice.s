; Refused: macro parameter twice.
.macro one a, a
 nop
.endm
f: ret
