; video_row 5 10 interleave
	.text
	.global host
	.type host, @function
host:
;@weave arguments 2 1
	push r16
	push r17
	movw r30, r24
	ldi r24, 168
	ldi r25, 175
	ldi r18, 126
	ldi r20, 140
	mov r0, r22
	ldi r16, 112
	cp r22, r24
	bst r22, 0
	add r24, r18
	brpl .L0_1
	mov r24, r18
.L0_1:
	sbc r18, r25
	ldd r25, Z+17
	tst r20
	brhc .L0_2
	push r25
	sbrc r20, 6
	eor r18, r0
	mul r22, r20
	mov r16, r0
	clr r1
	bst r0, 2
	brlo .L0_4
	lsr r20
.L0_4:
.L0_5:
	bst r25, 5
	dec r20
	dec r16
	adc r20, r0
	inc r20
	bld r22, 4
	pop r25
.L0_2:
.L0_3:
	bst r20, 6
	breq .L0_6
	cpi r25, 23
	brvs .L0_8
	mul r0, r20
	mov r22, r0
	clr r1
	bst r25, 1
	andi r20, 112
	adc r25, r25
	sub r0, r18
	adc r24, r22
	dec r24
	bld r18, 4
	rjmp .L0_9
.L0_8:
.L0_9:
.L0_6:
.L0_7:
	pop r17
	pop r16
	ret
	.size host, .-host
