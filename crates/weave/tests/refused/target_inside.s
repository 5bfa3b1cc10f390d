; Refused: target inside.
f:	lds r2, 3
 brne .-4
 ret
