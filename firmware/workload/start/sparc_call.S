/*
 * How Linux is called on SPARC, as a function: `ta 0x10`, number in %g1, arguments in %o0 to %o2; the answer is in %o0,
 * and carry says that it is an error's number.
 *
 *     long system_call(long a, long b, long c, long number);      the answer; an error's number is negative
 *
 * Owns the one `ta 0x10` of an image. Without a system it goes to `serve` (sparc_bare.S), which has the same
 * parameters in the same registers and returns to whoever called this: what is behind the trap is then not executed.
 */
	.section ".text.system_call", "ax", @progbits
	.global	system_call
	.type	system_call, @function
system_call:
	mov	%o3, %g1
	ta	0x10
	bcs,a	1f
	 sub	%g0, %o0, %o0
1:	retl
	 nop
	.size	system_call, . - system_call
	.section .note.GNU-stack, "", @progbits
