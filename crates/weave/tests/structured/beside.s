; spi_tx 66 10 cocall
; The host has a bit in T beside checks that keep no flags, at which the guest ends, and C beside others.
host:
;@weave arguments 2 1
	ldi r19, 200
	mov r18, r22
	mov r20, r22
	mov r21, r22
.L0_1:
	lsr r18
	ldi r23, 9
.L0_2:
	eor r21, r20
	inc r21
	eor r20, r18
	swap r21
	dec r23
	brne .L0_2
	ror r20
	bst r20, 3
	ldi r23, 9
.L0_3:
	eor r21, r20
	inc r21
	eor r20, r18
	swap r21
	dec r23
	brne .L0_3
	bld r18, 7
	dec r19
	brne .L0_1
	mov r24, r18
	mov r25, r20
	ret
