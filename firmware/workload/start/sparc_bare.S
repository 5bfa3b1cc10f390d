/*
 * Where a SPARC image begins on a LEON without a system: the table of traps, and the handlers that spill and fill
 * register windows (The SPARC Architecture Manual, version 8, sections 4.2, 7.3 and 7.5).
 *
 * Owns reset, both handlers, and that a system call becomes a call of `serve`. Leaves what a call does to serve.c, and
 * how a program makes one to sparc_call.S.
 * The table is the first thing in the image, in a section of its own; its first entry is where the processor begins.
 *
 * Places: whoever packs an image puts several instructions into a word, and a saved PC says which of them it means. A
 * trap goes to 16 bytes times its type, so `.traps` is never packed. `.text` may be, handlers included: they return to
 * PC and nPC as they were saved, or go to what the linker knows, and nothing adds to a place of code. What is behind
 * nPC cannot be computed, so no handler returns behind the instruction that trapped.
 *
 * Invariant: one window is invalid, the one outside the oldest that is not in memory. Of its registers the ins and the
 * outs are its neighbours', and the locals nobody's. So a trap has locals, whichever window it comes to.
 */

/* A power of two. */
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
	sethi	%hi(begin), %l3		! 0x00
	jmp	%l3 + %lo(begin)
	 nop
idle:	nop
	unexpected 0x01, 0x04
	enter	spill			! 0x05 window_overflow
	enter	fill			! 0x06 window_underflow
	unexpected 0x07, 0x8f
	/*
	 * 0x90, `ta 0x10`: as if `serve` had been called where `system_call` was. RETT gives nPC only, so that something
	 * has to be executed before: a word that does nothing.
	 */
	sethi	%hi(idle), %l3
	sethi	%hi(serve), %l4
	jmp	%l3 + %lo(idle)
	 rett	%l4 + %lo(serve)
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

	/*
	 * Both handlers move one window between registers and memory, and both find by their own window which one it is
	 * that is invalid afterwards: `distance` windows above. Until then none is, since they go through several. Globals
	 * and condition codes are the program's and are not touched.
	 */
	.macro	windows_open distance
	rd	%psr, %l6		! the number of this window is in its lowest bits
	wr	%g0, 0, %wim		! may take three instructions to hold
	add	%l6, \distance, %l6
	and	%l6, WINDOWS - 1, %l6	! and the rest of PSR goes
	mov	1, %l7
	.endm

	.macro	windows_close
	sll	%l7, %l6, %l7
	wr	%l7, 0, %wim
	nop				! until it holds nothing may ask whether a window is valid, as rett does
	nop
	jmp	%l1			! once more what trapped: it finds its window now
	 rett	%l2
	.endm

	/* A window lies where its stack pointer says: eight locals, then eight ins. */
	.macro	stored
	.irp	pair, 6, 4, 2, 0
	std	%i\pair, [%sp + 32 + 4 * \pair]
	std	%l\pair, [%sp + 4 * \pair]
	.endr
	.endm

	.macro	loaded
	.irp	pair, 0, 2, 4, 6
	ldd	[%sp + 4 * \pair], %l\pair
	ldd	[%sp + 32 + 4 * \pair], %i\pair
	.endr
	.endm

	/*
	 * SAVE found the window inside invalid, and the trap is in it. The one inside that is the oldest: it is stored, and
	 * is the invalid one from now on.
	 */
	.type	spill, @function
spill:
	windows_open WINDOWS - 1
	save				! to the oldest
	stored
	restore
	windows_close
	.size	spill, . - spill

	/*
	 * RESTORE found the window outside invalid, which is two outside that of the trap: it is loaded. So nothing is in
	 * registers of what is outside that, and the next one is invalid.
	 */
	.type	fill, @function
fill:
	windows_open 3
	restore				! to where the program is
	restore				! to the one that it asked for: its %sp is %fp before this
	loaded
	save
	save
	windows_close
	.size	fill, . - fill

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

	/*
	 * Ends the program, with what exit() was given in %o0: a trap while traps are off stops the processor. In this window,
	 * since another one has an %o0 of its own.
	 */
	.global	halt
	.type	halt, @function
halt:
	rd	%psr, %g1
	andn	%g1, TRAPS_ON - TRAPS_OFF, %g1
	wr	%g1, 0, %psr
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
