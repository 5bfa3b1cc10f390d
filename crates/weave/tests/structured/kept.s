; uart_tx 122 2 interleave
; The guest borrows a register when the host is over, which is its caller's.
host:
;@weave arguments 2 1
	push r16
	push r17
	push r28
	push r29
	movw r28, r24
	mov r16, r22
	mov r17, r22
	mul r22, r24
	mov r20, r0
	clr r1
	push r22
	asr r22
	cpse r22, r20
	add r16, r17
	pop r22
	std Y+3, r16
	mov r24, r16
	mov r25, r20
	pop r29
	pop r28
	pop r17
	pop r16
	ret
