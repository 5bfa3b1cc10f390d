; Refused: instruction range.
f:	ldi r24, 300
 ret
