; avr-gcc -mmcu=atmega128 -std=gnu11 -O0 -S ring.c -o ring_gcc54_O0.s
	.file	"ring.c"
__SP_H__ = 0x3e
__SP_L__ = 0x3d
__SREG__ = 0x3f
__RAMPZ__ = 0x3b
__tmp_reg__ = 0
__zero_reg__ = 1
	.local	ring
	.comm	ring,32,1
	.local	head
	.comm	head,1,1
	.local	tail
	.comm	tail,1,1
	.comm	dropped,2,1
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
	.comm	watcher,2,1
	.text
.global	ring_put
	.type	ring_put, @function
ring_put:
	push r28
	push r29
	rcall .
	in r28,__SP_L__
	in r29,__SP_H__
/* prologue: function */
/* frame size = 2 */
/* stack size = 4 */
.L__stack_usage = 4
	std Y+2,r24
	lds r24,head
	subi r24,lo8(-(1))
	andi r24,lo8(31)
	std Y+1,r24
	lds r24,tail
	ldd r25,Y+1
	cp r25,r24
	brne .L2
	lds r24,dropped
	lds r25,dropped+1
	adiw r24,1
	sts dropped+1,r25
	sts dropped,r24
	ldi r24,0
	rjmp .L3
.L2:
	lds r24,head
	mov r24,r24
	ldi r25,0
	subi r24,lo8(-(ring))
	sbci r25,hi8(-(ring))
	ldd r18,Y+2
	movw r30,r24
	st Z,r18
	ldd r24,Y+1
	sts head,r24
	lds r24,watcher
	lds r25,watcher+1
	or r24,r25
	breq .L4
	lds r18,watcher
	lds r19,watcher+1
	ldd r24,Y+2
	movw r30,r18
	icall
.L4:
	ldi r24,lo8(1)
.L3:
/* epilogue start */
	pop __tmp_reg__
	pop __tmp_reg__
	pop r29
	pop r28
	ret
	.size	ring_put, .-ring_put
.global	ring_get
	.type	ring_get, @function
ring_get:
	push r28
	push r29
	push __zero_reg__
	in r28,__SP_L__
	in r29,__SP_H__
/* prologue: function */
/* frame size = 1 */
/* stack size = 3 */
.L__stack_usage = 3
	lds r25,head
	lds r24,tail
	cp r25,r24
	brne .L6
	ldi r24,lo8(-1)
	ldi r25,lo8(-1)
	rjmp .L7
.L6:
	lds r24,tail
	mov r24,r24
	ldi r25,0
	subi r24,lo8(-(ring))
	sbci r25,hi8(-(ring))
	movw r30,r24
	ld r24,Z
	std Y+1,r24
	lds r24,tail
	subi r24,lo8(-(1))
	andi r24,lo8(31)
	sts tail,r24
	ldd r24,Y+1
	mov r24,r24
	ldi r25,0
.L7:
/* epilogue start */
	pop __tmp_reg__
	pop r29
	pop r28
	ret
	.size	ring_get, .-ring_get
.global	rotate
	.type	rotate, @function
rotate:
	push r28
	push r29
	rcall .
	rcall .
	push __zero_reg__
	in r28,__SP_L__
	in r29,__SP_H__
/* prologue: function */
/* frame size = 5 */
/* stack size = 7 */
.L__stack_usage = 7
	std Y+1,r22
	std Y+2,r23
	std Y+3,r24
	std Y+4,r25
	std Y+5,r20
	ldd r24,Y+5
	mov r24,r24
	ldi r25,0
	movw r22,r24
	andi r22,31
	clr r23
	ldd r24,Y+1
	ldd r25,Y+2
	ldd r26,Y+3
	ldd r27,Y+4
	movw r18,r24
	movw r20,r26
	mov r0,r22
	rjmp 2f
	1:
	lsl r18
	rol r19
	rol r20
	rol r21
	2:
	dec r0
	brpl 1b
	neg r23
	neg r22
	sbc r23,__zero_reg__
	andi r22,31
	clr r23
	rjmp 2f
	1:
	lsr r27
	ror r26
	ror r25
	ror r24
	2:
	dec r22
	brpl 1b
	or r24,r18
	or r25,r19
	or r26,r20
	or r27,r21
	movw r22,r24
	movw r24,r26
/* epilogue start */
	pop __tmp_reg__
	pop __tmp_reg__
	pop __tmp_reg__
	pop __tmp_reg__
	pop __tmp_reg__
	pop r29
	pop r28
	ret
	.size	rotate, .-rotate
.global	weigh
	.type	weigh, @function
weigh:
	push r28
	push r29
	in r28,__SP_L__
	in r29,__SP_H__
	sbiw r28,8
	in __tmp_reg__,__SREG__
	cli
	out __SP_H__,r29
	out __SREG__,__tmp_reg__
	out __SP_L__,r28
/* prologue: function */
/* frame size = 8 */
/* stack size = 10 */
.L__stack_usage = 10
	std Y+6,r25
	std Y+5,r24
	std Y+8,r23
	std Y+7,r22
	std Y+2,__zero_reg__
	std Y+1,__zero_reg__
	rjmp .L11
.L12:
	ldd r24,Y+5
	ldd r25,Y+6
	movw r18,r24
	subi r18,-1
	sbci r19,-1
	std Y+6,r19
	std Y+5,r18
	movw r30,r24
	ld r24,Z
	std Y+3,r24
	ldd r24,Y+3
	mov r24,r24
	ldi r25,0
	andi r24,7
	clr r25
	subi r24,lo8(-(weights))
	sbci r25,hi8(-(weights))
	movw r30,r24
/* #APP */
 ;  48 "ring.c" 1
	lpm r24, Z
 ;  0 "" 2
/* #NOAPP */
	std Y+4,r24
	ldd r24,Y+3
	mov r18,r24
	ldi r19,0
	ldd r24,Y+4
	mov r24,r24
	ldi r25,0
	mul r18,r24
	movw r20,r0
	mul r18,r25
	add r21,r0
	mul r19,r24
	add r21,r0
	clr r1
	movw r18,r20
	ldd r24,Y+1
	ldd r25,Y+2
	add r24,r18
	adc r25,r19
	std Y+2,r25
	std Y+1,r24
.L11:
	ldd r24,Y+7
	ldd r25,Y+8
	movw r18,r24
	subi r18,1
	sbc r19,__zero_reg__
	std Y+8,r19
	std Y+7,r18
	or r24,r25
	brne .L12
	ldd r20,Y+1
	ldd r21,Y+2
	movw r18,r20
	ldi r26,lo8(-115)
	ldi r27,lo8(-126)
	call __umulhisi3
	lsl r24
	mov r24,r25
	rol r24
	sbc r25,r25
	neg r25
	ldi r22,lo8(-5)
	mul r22,r24
	movw r18,r0
	mul r22,r25
	add r19,r0
	clr __zero_reg__
	movw r24,r20
	sub r24,r18
	sbc r25,r19
/* epilogue start */
	adiw r28,8
	in __tmp_reg__,__SREG__
	cli
	out __SP_H__,r29
	out __SREG__,__tmp_reg__
	out __SP_L__,r28
	pop r29
	pop r28
	ret
	.size	weigh, .-weigh
.global	drain
	.type	drain, @function
drain:
	push r16
	push r17
	push r28
	push r29
	in r28,__SP_L__
	in r29,__SP_H__
	sbiw r28,15
	in __tmp_reg__,__SREG__
	cli
	out __SP_H__,r29
	out __SREG__,__tmp_reg__
	out __SP_L__,r28
/* prologue: function */
/* frame size = 15 */
/* stack size = 19 */
.L__stack_usage = 19
	std Y+1,__zero_reg__
	rjmp .L15
.L16:
	ldd r24,Y+1
	mov r16,r24
	ldi r17,0
	ldd r24,Y+1
	call outside
	mov r18,r24
	movw r24,r28
	adiw r24,4
	add r24,r16
	adc r25,r17
	movw r30,r24
	st Z,r18
	ldd r24,Y+1
	subi r24,lo8(-(1))
	std Y+1,r24
.L15:
	ldd r24,Y+1
	cpi r24,lo8(12)
	brlo .L16
	rjmp .L17
.L18:
	ldi r24,lo8(56)
	ldi r25,0
	ldd r22,Y+2
	ldd r18,Y+2
	ldd r19,Y+3
	andi r18,7
	clr r19
	movw r20,r28
	subi r20,-4
	sbci r21,-1
	add r18,r20
	adc r19,r21
	movw r30,r18
	ld r18,Z
	eor r18,r22
	movw r30,r24
	st Z,r18
.L17:
	call ring_get
	std Y+3,r25
	std Y+2,r24
	ldd r24,Y+2
	ldd r25,Y+3
	tst r25
	brge .L18
	ldd r24,Y+4
/* #APP */
 ;  62 "ring.c" 1
	nop
	1: dec r24 ; a comment
	brne 1b
 ;  0 "" 2
/* #NOAPP */
	std Y+4,r24
	nop
/* epilogue start */
	adiw r28,15
	in __tmp_reg__,__SREG__
	cli
	out __SP_H__,r29
	out __SREG__,__tmp_reg__
	out __SP_L__,r28
	pop r29
	pop r28
	pop r17
	pop r16
	ret
	.size	drain, .-drain
.global	named
	.type	named, @function
named:
	push r28
	push r29
	push __zero_reg__
	in r28,__SP_L__
	in r29,__SP_H__
/* prologue: function */
/* frame size = 1 */
/* stack size = 3 */
.L__stack_usage = 3
	std Y+1,r24
	ldd r24,Y+1
	subi r24,lo8(-(1))
	call outside
/* epilogue start */
	pop __tmp_reg__
	pop r29
	pop r28
	ret
	.size	named, .-named
.global	main
	.type	main, @function
main:
	push r28
	push r29
	in r28,__SP_L__
	in r29,__SP_H__
/* prologue: function */
/* frame size = 0 */
/* stack size = 2 */
.L__stack_usage = 2
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
	.ident	"GCC: (GNU) 5.4.0"
.global __do_clear_bss
