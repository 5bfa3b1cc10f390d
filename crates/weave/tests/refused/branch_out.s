; Refused: branch out.
.type f, @function
f:	brne g
 ret
.type g, @function
g: ret
