; Refused: unusual prologue.
f:	rjmp __prologue_saves__+12
