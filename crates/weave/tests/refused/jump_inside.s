; Refused: jump inside.
.type f, @function
f:	rjmp middle
.type g, @function
g: nop
middle: ret
