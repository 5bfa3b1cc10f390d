; Refused: nothing behind.
.type f, @function
f:	ret
;@weave event tx at=0
.size f, .-f
.type g, @function
g: ret
