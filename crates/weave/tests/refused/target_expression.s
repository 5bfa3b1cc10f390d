; Refused: target expression.
f:	rjmp f-g
g: ret
