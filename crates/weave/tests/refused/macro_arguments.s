; Refused: macro arguments.
.macro one a
 inc \a
.endm
f: one r2, r3
 ret
