; Refused: macro label twice.
.macro wait
again: rjmp again
.endm
f: wait
 wait
 ret
