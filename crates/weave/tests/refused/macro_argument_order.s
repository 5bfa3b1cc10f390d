; Refused: macro argument order.
.macro two a, b
 mov \a, \b
.endm
f: two a=r2, r3
 ret
