; spi_tx 157 4 interleave
; The host uses T, so that a bit of a register says that the guest is over when it ended in a callee; the callee has
; more states by then than a proof keeps apart.
f0:
	push r26
	push r17
	ldi r26, 200
.L0_1:
	lsr r21
	rol r18
	dec r26
	brne .L0_1
	pop r17
	pop r26
	ret
host:
;@weave arguments 2 1
	ldi r18, 126
	ldi r21, 77
	bst r22, 0
	rcall f0
	brts .L1_1
	rcall f0
.L1_1:
	bld r18, 3
	mov r24, r18
	mov r25, r21
	ret
