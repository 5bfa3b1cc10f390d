/*
 * Where an image begins on the bare machine.
 *
 * Owns the way from reset to main(), and from there to the end of the run. Registers are undefined at reset; memory
 * outside of the image is zero, but a run may begin in memory that was used.
 */
#include "bare.h"

	.section .text.start, "ax", @progbits
	.global	_start
	.type	_start, @function
_start:
	.option	push
	.option	norelax			/* not by way of the register that is set here */
	la	gp, __global_pointer$
	.option	pop
	la	sp, stack_end
	la	t0, bss_start
	la	t1, bss_end
	j	2f
1:	sw	zero, 0(t0)
	addi	t0, t0, 4
2:	bltu	t0, t1, 1b
	/* A core that has custom instructions switched off tells by what they are switched on. */
	li	t0, BARE_CORE
	lw	t0, 0(t0)
	beqz	t0, 3f
	.option	push
	.option	arch, +zicsr
	csrw	0xbc0, t0
	.option	pop
3:	li	a0, 0
	li	a1, 0
	call	main
	li	t0, BARE_EXIT
	sw	a0, 0(t0)
4:	j	4b
	.size	_start, . - _start
	.section .note.GNU-stack, "", @progbits
