; Not woven: C of the last round is read behind the rounds, and the host runs in between.
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
	ld r18, Z+
;@weave event tx at=0
	out 0x18, r18
	lsl r18
	dec r22
	brne 1b
;@weave over tx
	brcc 2f
	out 0x18, r18
2:
	ret
	.size g, .-g
