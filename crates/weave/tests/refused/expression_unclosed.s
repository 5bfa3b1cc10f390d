; A parenthesis that stays open.
f:	ldi r24, lo8(3
	ret
