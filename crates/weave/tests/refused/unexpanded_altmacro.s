; Refused: unexpanded altmacro.
.macro one a
 inc \a
.endm
.altmacro
f:
 one r2
 ret
