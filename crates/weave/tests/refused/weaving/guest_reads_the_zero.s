; Not woven: the guest reads r1, which the caller keeps zero and weaving gives away.
f:
	ldi r20, 100
1:
	add r24, r20
	dec r20
	brne 1b
	ret
	.size f, .-f
g:
;@weave clock tx period=66
;@weave arguments 2 1
	movw r30, r24
1:
;@weave event tx at=0
	out 0x18, r1
	dec r22
	brne 1b
;@weave over tx
	ret
	.size g, .-g
