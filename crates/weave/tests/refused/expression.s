; Refused: expression.
f:	ldi r24, lo8(3 +)
 ret
