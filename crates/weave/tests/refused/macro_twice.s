; Refused: macro twice.
.macro one
 nop
.endm
.macro ONE
 nop
.endm
f: ret
