; Refused: instruction operands.
f:	ldi r24
 ret
