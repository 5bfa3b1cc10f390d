; avr-as -mmcu=avr51 macros.s: the odd corners of macros, repetitions and conditions
; What each use becomes was seen on avr-as 2.26.
	.global odd
	.type odd, @function
/* A comment in front, over
   two lines. */
.macro all a, b=2, c:req	; blanks or commas, defaults, names
	ldi r16, \a
	ldi r17, \b	/* a comment
	over two lines of a body */
	ldi r18, \c
.endm
.macro list first more:vararg
	ldi r19, \first
	.irp each, \more
	ldi r20, \each
	.endr
.endm
.macro unique		; its own labels
own\@:	dec r16
	brne own\@
	ldi r21, \@
.endm
.macro joined r, text=none
	mov r\r\()1, r\()\r
\text\r:	mov r1\r, r\r
	rjmp \text\r
.endm
.MACRO Down count
	ldi r22, \count
	.if \count
	down "(\count-1)"
	.endif
.ENDM
.macro pairs a, b, rest:vararg
	.ifb \a
	.exitm
	.endif
	movw \a, \b
	.ifnb \rest
	pairs \rest
	.endif
.endm
.macro makes name, value
	.macro \name extra=7
	ldi r23, \value
	ldi r24, \extra
	.endm
.endm
.macro store from, count
	.set at, \from
	.rept \count
	std Y+at, r\@
	.set at, at + 1
	.endr
.endm
.macro .dotted x
	ldi r25, \x
.endm
.macro empty
.endm
.macro swap		; a macro before an instruction
	com \()r16
.endm
.macro never
	frobnicate
.endm

odd:	all 1, , 3
	ALL 1 5 3
	all c=4, a=9
	all 1+1, 2 + 3, (4 + 1)
	all 'a', 3 +4, ',' & 15
	list 1, 2, 3, 4
	list 1 2 3
label:	unique
	unique
	joined 1
	joined 2 other
	down 3
	pairs r2, r4, r6, r8, r10, r12
	pairs
	makes inner, 5
	inner
	inner 6
	.purgem inner
	makes inner, 1
	inner
	store 3, 4
	store 60, count=3
	.dotted 4
	empty
	empty
	swap
	.irp r, 1 2,3 , 4
	mov r\r, r1\r ; each
	.endr
	.irp empty
	ldi r24, 5\empty
	.endr
	.irp x, "1", "2+3", 'b'
	.irp y, 4, 5
	ldi r25, (\x) + \y
	.endr
	.endr
	.irpc digit, 01 27
	ldi r26, 0x\digit\digit
	.endr
	.irpc digit, "1 2"
	.ifnc \digit,
	.ifnc \digit, 1
	ldi r27, 3
	.endif
	.endif
	.endr
	.set count, 0
	.rept 4
	.if count & 1
	ldi r28, count
	.elseif count == 2
	ldi r29, count
	.else
	ldi r30, count
	.endif
	.set count, count + 1
	.endr
	.rept 3
	nop
	.exitm
	never
	.endr
	.rept 0
	never
	.endr
	.rept 2
	.rept 2
	lsl r2
	.endr
	.endr
	.if 0
	never
	.if 1
	never
	.else
	never
	.endif
	.elseif 0
	never
	.endif
	.ifdef odd
	ldi r16, 18
	.endif
	.ifdef behind
	never
	.endif
	.ifndef behind
	ldi r16, 19
	.endif
	.ifdef count
	ldi r16, 20
	.endif
	.ifc a b , a b
	ldi r16, 21
	.endif
	.ifc "a", a
	never
	.endif
	.ifeqs "a b", "a b"
	ldi r16, 22
	.endif
	.ifnes "a", "b"
	ldi r16, 23
	.endif
	.ifeq count - 4
	ldi r16, 24
	.endif
	.ifge count
	ldi r16, 25
	.endif
	.iflt count
	never
	.endif
1:	nop
	.if . - 1b == 2
	ldi r16, 26
	.endif
behind:	lds r2, 0x100
	.if . - behind == 4 && behind - 1b > 3
	ldi r16, 27
	.endif
	.rept 2
1:	rjmp 1b
	.endr
	store 1, 2 $ ret
	.size odd, . - odd
