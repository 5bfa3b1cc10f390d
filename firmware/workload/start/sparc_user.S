/*
 * Where a SPARC image begins under Linux, which qemu-sparc and selvedge's user environment stand for.
 *
 * Owns the way from the stack as Linux leaves it to main(). Spills no windows: there that is the kernel's.
 * On a processor without a system the image begins at its first address instead, see sparc_bare.S.
 */
	.section ".text.start", "ax", @progbits
	.global	_start
	.type	_start, @function
_start:
	mov	0, %fp			! nobody called: what walks the stack stops here
	ld	[%sp + 64], %o0		! behind 16 words for a window: argc, then argv
	add	%sp, 68, %o1
	andn	%sp, 7, %sp
	call	main
	 sub	%sp, 96, %sp
	call	exit
	 nop
	.size	_start, . - _start
	.section .note.GNU-stack, "", @progbits
