; A guest of two clocks that sends bytes, each with a strobe.
;@weave clock tx period=130
;@weave arguments 2 1
send:
	movw r30, r24
.L1:
	ld r0, Z+
	out 0x0f, r0	;@weave event tx at=0
	sbrc r0, 7
	sbi 0x18, 0	;@weave event strobe at=10 maybe
	cbi 0x18, 0	;@weave event clear at=20
	dec r22
	brne .L1	;@weave trip 1..255
	;@weave over tx
	ret
