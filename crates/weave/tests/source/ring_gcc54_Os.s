; avr-gcc -mmcu=atmega128 -std=gnu11 -Os -S ring.c -o ring_gcc54_Os.s
	.file	"ring.c"
__SP_H__ = 0x3e
__SP_L__ = 0x3d
__SREG__ = 0x3f
__RAMPZ__ = 0x3b
__tmp_reg__ = 0
__zero_reg__ = 1
	.text
.global	ring_put
	.type	ring_put, @function
ring_put:
/* prologue: function */
/* frame size = 0 */
/* stack size = 0 */
.L__stack_usage = 0
	lds r30,head
	ldi r25,lo8(1)
	add r25,r30
	andi r25,lo8(31)
	lds r18,tail
	cpse r25,r18
	rjmp .L2
	lds r24,dropped
	lds r25,dropped+1
	adiw r24,1
	sts dropped+1,r25
	sts dropped,r24
	ldi r24,0
	ret
.L2:
	ldi r31,0
	subi r30,lo8(-(ring))
	sbci r31,hi8(-(ring))
	st Z,r24
	sts head,r25
	lds r30,watcher
	lds r31,watcher+1
	sbiw r30,0
	breq .L4
	icall
.L4:
	ldi r24,lo8(1)
	ret
	.size	ring_put, .-ring_put
.global	ring_get
	.type	ring_get, @function
ring_get:
/* prologue: function */
/* frame size = 0 */
/* stack size = 0 */
.L__stack_usage = 0
	lds r25,tail
	lds r24,head
	cp r24,r25
	breq .L8
	mov r30,r25
	ldi r31,0
	subi r30,lo8(-(ring))
	sbci r31,hi8(-(ring))
	ld r24,Z
	subi r25,lo8(-(1))
	andi r25,lo8(31)
	sts tail,r25
	ldi r25,0
	ret
.L8:
	ldi r24,lo8(-1)
	ldi r25,lo8(-1)
	ret
	.size	ring_get, .-ring_get
.global	rotate
	.type	rotate, @function
rotate:
	push r16
	push r17
/* prologue: function */
/* frame size = 0 */
/* stack size = 2 */
.L__stack_usage = 2
	andi r20,lo8(31)
	movw r16,r22
	movw r18,r24
	mov r0,r20
	rjmp 2f
	1:
	lsl r16
	rol r17
	rol r18
	rol r19
	2:
	dec r0
	brpl 1b
	neg r20
	andi r20,lo8(31)
	rjmp 2f
	1:
	lsr r25
	ror r24
	ror r23
	ror r22
	2:
	dec r20
	brpl 1b
	or r22,r16
	or r23,r17
	or r24,r18
	or r25,r19
/* epilogue start */
	pop r17
	pop r16
	ret
	.size	rotate, .-rotate
.global	weigh
	.type	weigh, @function
weigh:
/* prologue: function */
/* frame size = 0 */
/* stack size = 0 */
.L__stack_usage = 0
	movw r26,r24
	add r22,r24
	adc r23,r25
	ldi r24,0
	ldi r25,0
.L11:
	cp r26,r22
	cpc r27,r23
	breq .L13
	ld r18,X+
	mov r30,r18
	andi r30,lo8(7)
	ldi r31,0
	subi r30,lo8(-(weights))
	sbci r31,hi8(-(weights))
/* #APP */
 ;  48 "ring.c" 1
	lpm r30, Z
 ;  0 "" 2
/* #NOAPP */
	mul r18,r30
	add r24,r0
	adc r25,r1
	clr __zero_reg__
	rjmp .L11
.L13:
	ldi r22,lo8(-5)
	ldi r23,0
	call __udivmodhi4
	ret
	.size	weigh, .-weigh
.global	drain
	.type	drain, @function
drain:
	push r12
	push r13
	push r14
	push r15
	push r17
	push r28
	push r29
	in r28,__SP_L__
	in r29,__SP_H__
	sbiw r28,12
	in __tmp_reg__,__SREG__
	cli
	out __SP_H__,r29
	out __SREG__,__tmp_reg__
	out __SP_L__,r28
/* prologue: function */
/* frame size = 12 */
/* stack size = 19 */
.L__stack_usage = 19
	movw r24,r28
	adiw r24,1
	movw r12,r24
	ldi r17,0
	movw r14,r24
.L15:
	mov r24,r17
	call outside
	movw r30,r12
	st Z+,r24
	movw r12,r30
	subi r17,lo8(-(1))
	cpi r17,lo8(12)
	brne .L15
.L16:
	call ring_get
	sbrc r25,7
	rjmp .L19
	movw r30,r24
	andi r30,7
	clr r31
	add r30,r14
	adc r31,r15
	ld r25,Z
	eor r24,r25
	out 0x18,r24
	rjmp .L16
.L19:
	ldd r24,Y+1
/* #APP */
 ;  62 "ring.c" 1
	nop
	1: dec r24 ; a comment
	brne 1b
 ;  0 "" 2
/* epilogue start */
/* #NOAPP */
	adiw r28,12
	in __tmp_reg__,__SREG__
	cli
	out __SP_H__,r29
	out __SREG__,__tmp_reg__
	out __SP_L__,r28
	pop r29
	pop r28
	pop r17
	pop r15
	pop r14
	pop r13
	pop r12
	ret
	.size	drain, .-drain
.global	named
	.type	named, @function
named:
/* prologue: function */
/* frame size = 0 */
/* stack size = 0 */
.L__stack_usage = 0
	subi r24,lo8(-(1))
	jmp outside
	.size	named, .-named
	.section	.text.startup,"ax",@progbits
.global	main
	.type	main, @function
main:
/* prologue: function */
/* frame size = 0 */
/* stack size = 0 */
.L__stack_usage = 0
.L22:
	ldi r22,lo8(32)
	ldi r23,0
	ldi r24,lo8(ring)
	ldi r25,hi8(ring)
	call weigh
	call named
	call ring_put
	call drain
	rjmp .L22
	.size	main, .-main
	.comm	watcher,2,1
.global	weights
	.section	.progmem.data,"a",@progbits
	.type	weights, @object
	.size	weights, 8
weights:
	.byte	1
	.byte	2
	.byte	4
	.byte	8
	.byte	16
	.byte	32
	.byte	64
	.byte	-128
	.comm	dropped,2,1
	.local	tail
	.comm	tail,1,1
	.local	head
	.comm	head,1,1
	.local	ring
	.comm	ring,32,1
	.ident	"GCC: (GNU) 5.4.0"
.global __do_clear_bss
