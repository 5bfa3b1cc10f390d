/* What the packer's reader begins from: functions with a branch, a call, and the address of one as a word. */
	.global	_start
	.type	_start, #function
_start:	mov	3, %o0
1:	subcc	%o0, 1, %o0
	bne	1b
	nop
	call	f
	nop
	ta	16
	.size	_start, .-_start
	.type	f, #function
f:	sethi	%hi(f), %o1
	retl
	or	%o1, %lo(f), %o1
	.size	f, .-f
	.section ".rodata", #alloc
	.align	4
	.word	f
