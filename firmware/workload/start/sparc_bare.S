/*
 * Where a SPARC image begins on a LEON without a system: the table of traps, and the handlers that spill and fill
 * register windows (The SPARC Architecture Manual, version 8, sections 4.2, 7.3 and 7.5).
 *
 * Owns reset, both handlers, and that a system call becomes a call of `serve`. Leaves what a call does to serve.c.
 * The table is the first thing in the image, in a section of its own; its first entry is where the processor begins.
 *
 * Invariant: one window is invalid, and it is free: the first instructions of a trap may use it.
 */
#define WINDOWS 8
#define STACK_BYTES 0x100000

/* PSR: supervisor, interrupts off, window 0; traps off, and on. */
#define TRAPS_OFF 0xfc0
#define TRAPS_ON  0xfe0

/* GRLIB's APBUART, the first of a LEON3: registers, the transmitter's switch, and that it takes another byte. */
#define UART_DATA    0x80000100
#define UART_STATUS  4
#define UART_CONTROL 8
#define UART_SENDS   2
#define UART_IS_FREE 4

	.macro	enter handler
	sethi	%hi(\handler), %l3
	jmp	%l3 + %lo(\handler)
	 nop
	nop
	.endm

	.macro	unexpected first, last
	.set	trap_type, \first
	.rept	\last - \first + 1
	sethi	%hi(stray), %l3
	jmp	%l3 + %lo(stray)
	 mov	trap_type, %l4
	nop
	.set	trap_type, trap_type + 1
	.endr
	.endm

	.section ".traps", "ax", @progbits
	.global	reset
	.type	reset, @function
	.align	4096
reset:
	enter	begin			! 0x00
	unexpected 0x01, 0x04
	enter	spill			! 0x05 window_overflow
	enter	fill			! 0x06 window_underflow
	unexpected 0x07, 0x82
	enter	flush			! 0x83, `ta 3`: what longjmp() asks for
	unexpected 0x84, 0x8f
	/* 0x90, `ta 0x10`: as if it were a call of `serve`, which returns to 8 behind %o7. */
	sub	%l2, 8, %i7
	sethi	%hi(serve), %l3
	jmp	%l3 + %lo(serve)
	 rett	%l3 + %lo(serve + 4)
	unexpected 0x91, 0xff
	.size	reset, . - reset

	.section ".text.bare", "ax", @progbits
	.type	begin, @function
begin:
	wr	%g0, TRAPS_OFF, %psr
	wr	%g0, -1, %wim
	nop
	nop
	nop
	rd	%wim, %g1		! a bit for every window that there is
	cmp	%g1, (1 << WINDOWS) - 1
	mov	255, %o0
	bne	halt			! the handlers are for another processor
	 wr	%g0, 2, %wim		! window 1 is invalid: 0, 7, ... 2 are there for calls
	sethi	%hi(reset), %g1
	wr	%g1, 0, %tbr
	wr	%g0, TRAPS_ON, %psr
	sethi	%hi(UART_DATA), %g1
	or	%g1, %lo(UART_DATA), %g1
	mov	UART_SENDS, %g2
	st	%g2, [%g1 + UART_CONTROL]
	sethi	%hi(stack_end - 96), %sp
	or	%sp, %lo(stack_end - 96), %sp
	mov	0, %fp
	call	find_arguments		! argc, and argv where its parameter points
	 add	%sp, 92, %o0
	call	main
	 ld	[%sp + 92], %o1
	call	exit
	 nop
	.size	begin, . - begin

	/* save found the next window invalid: empties the one below it, which is the oldest. */
	.type	spill, @function
spill:
	rd	%wim, %l3
	mov	%g1, %l7
	srl	%l3, 1, %g1
	sll	%l3, WINDOWS - 1, %l4
	or	%l4, %g1, %g1
	save
	wr	%g1, 0, %wim		! holds from the fourth instruction on
	std	%l0, [%sp + 0]
	std	%l2, [%sp + 8]
	std	%l4, [%sp + 16]
	std	%l6, [%sp + 24]
	std	%i0, [%sp + 32]
	std	%i2, [%sp + 40]
	std	%i4, [%sp + 48]
	std	%i6, [%sp + 56]
	restore
	mov	%l7, %g1
	jmp	%l1
	 rett	%l2
	.size	spill, . - spill

	/* restore found the window above invalid: fills it. That is two above the one of the trap. */
	.type	fill, @function
fill:
	rd	%wim, %l3
	sll	%l3, 1, %l4
	srl	%l3, WINDOWS - 1, %l5
	or	%l4, %l5, %l5
	wr	%l5, 0, %wim
	nop
	nop
	nop
	restore
	restore
	ldd	[%sp + 0], %l0
	ldd	[%sp + 8], %l2
	ldd	[%sp + 16], %l4
	ldd	[%sp + 24], %l6
	ldd	[%sp + 32], %i0
	ldd	[%sp + 40], %i2
	ldd	[%sp + 48], %i4
	ldd	[%sp + 56], %i6
	save
	save
	jmp	%l1
	 rett	%l2
	.size	fill, . - fill

	/*
	 * Empties every window but the program's own, which is the one above that of the trap: the one above that is
	 * invalid afterwards. A bit for a window is in %g3 while it is looked at; %g1 has that of the invalid one. All is
	 * left as it was, the condition codes too.
	 */
	.type	flush, @function
flush:
	mov	%g1, %l4
	mov	%g2, %l5
	mov	%g3, %l6
	mov	%g4, %l7
	rd	%psr, %g4
	rd	%wim, %g1
	add	%g4, 2, %l3
	and	%l3, WINDOWS - 1, %l3
	mov	1, %g2
	sll	%g2, %l3, %g2
	mov	%g2, %g3
	wr	%g0, 0, %wim
	nop
	nop
	nop
	restore
	restore
1:	cmp	%g3, %g1
	be	2f
	 nop
	std	%l0, [%sp + 0]
	std	%l2, [%sp + 8]
	std	%l4, [%sp + 16]
	std	%l6, [%sp + 24]
	std	%i0, [%sp + 32]
	std	%i2, [%sp + 40]
	std	%i4, [%sp + 48]
	std	%i6, [%sp + 56]
	restore
	cmp	%g3, 1 << (WINDOWS - 1)
	bne	1b
	 sll	%g3, 1, %g3
	b	1b
	 mov	1, %g3
2:	wr	%g4, 0, %psr		! back to the window of the trap
	nop
	nop
	nop
	wr	%g2, 0, %wim
	mov	%l4, %g1
	mov	%l5, %g2
	mov	%l6, %g3
	mov	%l7, %g4
	jmp	%l2
	 rett	%l2 + 4
	.size	flush, . - flush

	/*
	 * A system call, as a function: number in %g1, arguments in %o0 to %o2. Like Linux, answers with carry set and the
	 * number of an error, or with carry clear.
	 */
	.align	8			! the table says the address of the second instruction, too
	.type	serve, @function
serve:
	save	%sp, -96, %sp
	mov	%i0, %o0
	mov	%i1, %o1
	mov	%i2, %o2
	call	answer
	 mov	%g1, %o3
	cmp	%o0, 0
	bge	1f
	 addcc	%g0, 0, %g0		! clears carry
	sub	%g0, %o0, %o0
	subcc	%g0, 1, %g0		! sets it
1:	ret
	 restore %o0, 0, %o0
	.size	serve, . - serve

	/* A trap that no program of ours should cause: says which, `!00` to `!ff`, and ends. */
	.type	stray, @function
stray:
	sethi	%hi(UART_DATA), %l5
	or	%l5, %lo(UART_DATA), %l5
	sll	%l4, 24, %l4
	mov	'!', %l6
	mov	3, %l3
1:	ld	[%l5 + UART_STATUS], %l7
	btst	UART_IS_FREE, %l7
	be	1b
	 nop
	st	%l6, [%l5]
	srl	%l4, 28, %l6
	sll	%l4, 4, %l4
	cmp	%l6, 10
	bl	2f
	 add	%l6, '0', %l6
	add	%l6, 'a' - '0' - 10, %l6
2:	subcc	%l3, 1, %l3
	bne	1b
	 nop
	ba	halt
	 mov	255, %o0
	.size	stray, . - stray

	/* Ends the program, with what exit() was given in %o0: a trap while traps are off stops the processor. */
	.global	halt
	.type	halt, @function
halt:
	wr	%g0, TRAPS_OFF, %psr
	nop
	nop
	nop
	ta	0
	.size	halt, . - halt

	.section ".bss"
	.align	16
	.skip	STACK_BYTES
stack_end:
	.section .note.GNU-stack, "", @progbits
