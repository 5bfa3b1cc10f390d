; Refused: macro instruction.
.macro inner a, b
 ldi \a, \b
.endm
.macro outer n
 clr r2
 inner r16, \n
.endm
f: outer 300
 ret
