; Refused: local address.
f:	ldi r30, lo8(1f)
1: ret
