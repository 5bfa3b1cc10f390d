/*
 * setjmp() and longjmp() on SPARC without a trap. newlib's longjmp() asks for all windows in memory, by `ta 3`: whoever
 * answers that has to return behind the trap, and where words hold several instructions that place cannot be computed.
 *
 * Owns the buffer: three words of newlib's jmp_buf. A function returns until the one is reached that called setjmp();
 * windows that are not there are filled as in any return, whoever does that and however many there are.
 */
#define STACK   0
#define FRAME   4
#define RETURN  8

	.section ".text.setjmp", "ax", @progbits
	.global	setjmp
	.type	setjmp, @function
setjmp:
	st	%sp, [%o0 + STACK]
	st	%fp, [%o0 + FRAME]
	st	%o7, [%o0 + RETURN]
	retl
	 mov	0, %o0
	.size	setjmp, . - setjmp

	.section ".text.longjmp", "ax", @progbits
	.global	longjmp
	.type	longjmp, @function
longjmp:
	ld	[%o0 + STACK], %g1	/* globals outlive a window */
	ld	[%o0 + FRAME], %g2
	ld	[%o0 + RETURN], %g3
	orcc	%o1, 0, %g4
	be,a	1f
	 mov	1, %g4			/* 0 is what setjmp() itself returns */
	/* %sp may have moved since, by alloca(); %fp is one for each call that has not returned. */
1:	cmp	%fp, %g2
	bne,a	1b
	 restore
	mov	%g1, %sp
	jmp	%g3 + 8
	 mov	%g4, %o0
	.size	longjmp, . - longjmp
	.section .note.GNU-stack, "", @progbits
