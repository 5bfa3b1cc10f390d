; spi_tx 50 4 interleave
; The guest ends while the host has a bit in T, and nothing is called that would ask T whether it is over.
host:
;@weave arguments 2 1
	ldi r19, 200
	mov r18, r22
	mov r20, r22
	bst r20, 3
.L0_1:
	add r18, r20
	swap r20
	eor r20, r18
	inc r20
	dec r19
	brne .L0_1
	bld r18, 7
	mov r24, r18
	mov r25, r20
	ret
