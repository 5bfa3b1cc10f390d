; What the readers of ELF files begin from: a function with a branch, a skip, calls, a tail call and names of the linker.
	.global	f
	.type	f, @function
f:	push	r28
	ldi	r24, lo8(d)
	sbrc	r24, 1
	rjmp	1f
	call	g
	rcall	h
1:	pop	r28
	ret
h:	lds	r24, d
	brne	1b
	rjmp	h
	.size	f, .-f
