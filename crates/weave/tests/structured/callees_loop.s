; flag_t 100 12 interleave
; The guest uses T, so that a bit of a register says that it ended in a callee; and the callee has a loop that would count
; in the same register as the one that calls it.
host:
;@weave arguments 2 1
	push r14
	push r15
	push r16
	push r17
	push r28
	push r29
	tst r22
	breq .L1_3
	mov r16, r22
	movw r14, r24
	ldi r17, 1
	ldi r24, 0
	ldi r25, 0
.L1_1:
	movw r28, r24
	lsl r28
	rol r29
	add r28, r24
	adc r29, r25
	mov r22, r17
	movw r24, r14
	call f0
	movw r18, r28
	add r18, r24
	adc r19, r1
	movw r24, r18
	subi r17, 0xff
	cp r16, r17
	brsh .L1_1
.L1_2:
	pop r29
	pop r28
	pop r17
	pop r16
	pop r15
	pop r14
	ret
.L1_3:
	ldi r24, 0
	ldi r25, 0
	rjmp .L1_2
f0:
	movw r30, r24
	ldi r24, 0
.L0_1:
	lsl r24
	ld r25, Z+
	eor r24, r25
	subi r22, 1
	brne .L0_1
	ret
