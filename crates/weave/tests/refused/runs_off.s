; Refused: runs off.
.type f, @function
f:	tst r24
	sbrs r24, 0
	ret
.size f, .-f
