; Nested loops, a condition with two parts and one else, an early way out, a call, and code that nothing reaches.
nest:
	push r16
	ldi r16, 12
.Louter:
	ldi r30, lo8(table)
	ldi r31, hi8(table)
.Linner:
	ld r18, Z+
	sbrs r18, 0
	rjmp .Lelse
	cpi r18, 0x40
	brlo .Lelse
	rcall twice
	rjmp .Lend
.Lelse:
	eor r24, r18
.Lend:
	cpi r30, lo8(table+16)
	ldi r19, hi8(table+16)
	cpc r31, r19
	brne .Linner
	cpse r24, r22
	rjmp .Lnext
	rjmp .Lout
	nop
.Lnext:
	dec r16
	brne .Louter
.Lout:
	pop r16
	ret
twice:
	lsl r18
	add r24, r18
	ret
