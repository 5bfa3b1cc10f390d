; Refused: returns off.
.type f, @function
f:	call panic
.size f, .-f
