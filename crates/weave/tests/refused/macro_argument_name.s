; Refused: macro argument name.
.macro one a
 inc \a
.endm
f: one b=r2
 ret
