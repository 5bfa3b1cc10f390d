; Refused: macro argument missing.
.macro one a:req
 inc \a
.endm
f: one
 ret
