/*
 * Where an RV32 image begins under Linux, which qemu-riscv32 and selvedge's user environment stand for.
 *
 * Owns the way from the stack as Linux leaves it to main(): the registers that the compiler relies on, argc and argv.
 */
	.section .text.start, "ax", @progbits
	.global	_start
	.type	_start, @function
_start:
	.option	push
	.option	norelax			/* not by way of the register that is set here */
	la	gp, __global_pointer$
	.option	pop
	la	tp, thread_variables
	lw	a0, 0(sp)
	addi	a1, sp, 4
	andi	sp, sp, -16
	call	main
	call	exit
	.size	_start, . - _start
	.section .note.GNU-stack, "", @progbits
