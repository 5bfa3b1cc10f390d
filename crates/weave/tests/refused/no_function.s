; Refused: no function.
.type g, @function
g: ret
