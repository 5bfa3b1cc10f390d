; avr-as -mmcu=avr51 hand.s: what people and preprocessors write, in one text
# 1 "hand.S"
/* A comment over
   two lines; with ; and $ and "quotes" in it. */
PORT = 0x18
.equ count, 5 * (3 - 1)
.set step, 1
__tmp_reg__ = 0
__SP_L__ = 0x3d
zero = 1
later_alias = later

.global first
.type first, @function
first: start: 1: ldi r24, count $ ldi r25, lo8(-count)
	in r28, __SP_L__	; trailing $ not a statement
	clr zero
	mov __tmp_reg__, XL
	push YH
	movw X, Z
	adiw Y, 0x3
	ldi r16, ';' $ ldi r17, '$'
.set step, step + 1
	ldi r18, step /* in the line */
	ldi r18, twice_set
.set step, step + 7
twice_set = 3
twice_set = 4
	ldi r18, step + twice_set
	ldi /* within */ r19, ((1 << 3) | 2) & 0xff
	ldi r20, later_value
later_value == 77
loop:	dec r24
	BRNE loop
	brbs 1, .+2
	rjmp 1b
	rjmp 1f
	rjmp .-2
1:
	.rept 3
	nop
	sbic PORT, 2
2:	rjmp 2b
	.endr
	lds r2, 0x0100+2
	sts buffer+1, r2
	ldi r30, lo8(buffer)
	ldi r31, hi8(buffer)
	subi r30, lo8(-(buffer+4))
	ldi r30, pm_lo8(later)
	ldi r30, lo8(gs(later))
	ldd r3, Y + 6
	std z+63, r3
	ld r4 , X+
	rcall .
	rcall later
	call later_alias
	jmp loop+2
	.section .rodata.hand,"a",@progbits
buffer:	.ascii "a;b$c", "\"x\\" $ .byte 1, 2
	.text
	.p2align 1
.size first, .-first

/* Falls into the next one. */
.type falls, @function
falls:	tst r24
	breq .Lout
	inc r24
.Lout:	dec r25
.size falls, .-falls
.type later, @function
later:
	cpse r2, r3
	ret
	rcall 3f
	cbr r16, 1
	sbr r16, 0b11
	ser r17
	lsl r17
	rol r18
	ret
	.word 0x1234, table
table:	.byte 1, 2, 3, 4
behind_data: 3:	lpm
	lpm r0, Z+
	bset 6
	bld r2, 7
	reti
.size later, .-later

.pushsection .init9,"ax",@progbits
.weak unnamed
unnamed: jmp first
.popsection

.macro twice what
	\what
	\what
.endm
.if PORT == 0x18
	nop
.endif
