; Refused: macro depth.
.macro more
 more
.endm
f: more
 ret
