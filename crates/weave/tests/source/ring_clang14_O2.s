; clang --target=avr -mmcu=atmega128 -std=gnu11 -O2 -S ring.c -o ring_clang14_O2.s
	.text
	.file	"ring.c"
	.globl	ring_put                        ; -- Begin function ring_put
	.p2align	1
	.type	ring_put,@function
ring_put:                               ; @ring_put
; %bb.0:
	lds	r18, head
	mov	r25, r18
	inc	r25
	andi	r25, 31
	lds	r19, tail
	cp	r25, r19
	brne	.LBB0_2
; %bb.1:
	lds	r24, dropped
	lds	r25, dropped+1
	adiw	r24, 1
	sts	dropped+1, r25
	sts	dropped, r24
	mov	r24, r1
	clr	r25
	ret
.LBB0_2:
	mov	r26, r18
	clr	r27
	subi	r26, -lo8(ring)
	sbci	r27, -hi8(ring)
	st	X, r24
	sts	head, r25
	lds	r30, watcher
	lds	r31, watcher+1
	cpi	r30, 0
	cpc	r31, r1
	breq	.LBB0_4
; %bb.3:
	icall
.LBB0_4:
	ldi	r24, 1
	clr	r25
	ret
.Lfunc_end0:
	.size	ring_put, .Lfunc_end0-ring_put
                                        ; -- End function
	.globl	ring_get                        ; -- Begin function ring_get
	.p2align	1
	.type	ring_get,@function
ring_get:                               ; @ring_get
; %bb.0:
	lds	r24, tail
	lds	r25, head
	cp	r25, r24
	brne	.LBB1_2
; %bb.1:
	ldi	r24, 255
	ldi	r25, 255
	ret
.LBB1_2:
	mov	r26, r24
	clr	r27
	subi	r26, -lo8(ring)
	sbci	r27, -hi8(ring)
	ld	r25, X
	inc	r24
	andi	r24, 31
	sts	tail, r24
	mov	r24, r25
	clr	r25
	ret
.Lfunc_end1:
	.size	ring_get, .Lfunc_end1-ring_get
                                        ; -- End function
	.globl	rotate                          ; -- Begin function rotate
	.p2align	1
	.type	rotate,@function
rotate:                                 ; @rotate
; %bb.0:
	push	r16
	push	r17
	andi	r20, 31
	cpi	r20, 0
	movw	r30, r22
	movw	r18, r24
	breq	.LBB2_3
; %bb.1:
	mov	r21, r20
	movw	r30, r22
	movw	r18, r24
.LBB2_2:                                ; =>This Inner Loop Header: Depth=1
	lsl	r18
	rol	r19
	movw	r26, r30
	mov	r26, r27
	swap	r26
	andi	r26, 15
	clr	r27
	lsr	r26
	lsr	r26
	lsr	r26
	or	r18, r26
	or	r19, r27
	lsl	r30
	rol	r31
	dec	r21
	cpi	r21, 0
	brne	.LBB2_2
.LBB2_3:
	cpi	r20, 32
	breq	.LBB2_8
; %bb.4:
	ori	r20, -32
	mov	r21, r20
	rjmp	.LBB2_6
.LBB2_5:                                ;   in Loop: Header=BB2_6 Depth=1
	lsr	r23
	ror	r22
	movw	r16, r24
	mov	r17, r16
	swap	r17
	andi	r17, 240
	clr	r16
	lsl	r17
	lsl	r17
	lsl	r17
	or	r22, r16
	or	r23, r17
	lsr	r25
	ror	r24
	cpi	r26, 1
	mov	r20, r21
	breq	.LBB2_8
.LBB2_6:                                ; =>This Inner Loop Header: Depth=1
	inc	r21
	ldi	r26, 1
	cp	r21, r20
	brlo	.LBB2_5
; %bb.7:                                ;   in Loop: Header=BB2_6 Depth=1
	mov	r26, r1
	rjmp	.LBB2_5
.LBB2_8:
	or	r22, r30
	or	r23, r31
	or	r24, r18
	or	r25, r19
	pop	r17
	pop	r16
	ret
.Lfunc_end2:
	.size	rotate, .Lfunc_end2-rotate
                                        ; -- End function
	.globl	weigh                           ; -- Begin function weigh
	.p2align	1
	.type	weigh,@function
weigh:                                  ; @weigh
; %bb.0:
	movw	r26, r22
	movw	r30, r24
	cpi	r26, 0
	ldi	r24, 0
	ldi	r25, 0
	cpc	r27, r1
	breq	.LBB3_3
.LBB3_1:                                ; =>This Inner Loop Header: Depth=1
	ld	r18, Z+
	movw	r22, r30
	movw	r30, r18
	andi	r30, 7
	andi	r31, 0
	subi	r30, -lo8(weights)
	sbci	r31, -hi8(weights)
	;APP
	lpm	r20, Z
	;NO_APP
	movw	r30, r22
	mul	r20, r18
	mov	r18, r1
	clr	r1
	mov	r20, r0
	clr	r21
	mov	r19, r18
	clr	r18
	or	r18, r20
	or	r19, r21
	add	r24, r18
	adc	r25, r19
	sbiw	r26, 1
	cpi	r26, 0
	cpc	r27, r1
	brne	.LBB3_1
; %bb.2:
	ldi	r22, 251
	ldi	r23, 0
	call	__udivmodhi4
.LBB3_3:
	ret
.Lfunc_end3:
	.size	weigh, .Lfunc_end3-weigh
                                        ; -- End function
	.globl	drain                           ; -- Begin function drain
	.p2align	1
	.type	drain,@function
drain:                                  ; @drain
; %bb.0:
	push	r17
	push	r28
	push	r29
	in	r28, 61
	in	r29, 62
	sbiw	r28, 12
	in	r0, 63
	cli
	out	62, r29
	out	63, r0
	out	61, r28
	mov	r24, r1
	call	outside
	mov	r17, r24
	std	Y+1, r17
	ldi	r24, 1
	call	outside
	std	Y+2, r24
	ldi	r24, 2
	call	outside
	std	Y+3, r24
	ldi	r24, 3
	call	outside
	std	Y+4, r24
	ldi	r24, 4
	call	outside
	std	Y+5, r24
	ldi	r24, 5
	call	outside
	std	Y+6, r24
	ldi	r24, 6
	call	outside
	std	Y+7, r24
	ldi	r24, 7
	call	outside
	std	Y+8, r24
	ldi	r24, 8
	call	outside
	ldi	r24, 9
	call	outside
	ldi	r24, 10
	call	outside
	ldi	r24, 11
	call	outside
	lds	r18, tail
	lds	r24, head
	cp	r24, r18
	breq	.LBB4_3
; %bb.1:
	movw	r24, r28
	adiw	r24, 1
.LBB4_2:                                ; =>This Inner Loop Header: Depth=1
	mov	r26, r18
	clr	r27
	subi	r26, -lo8(ring)
	sbci	r27, -hi8(ring)
	ld	r19, X
	inc	r18
	andi	r18, 31
	sts	tail, r18
	mov	r18, r19
	andi	r18, 7
	mov	r26, r18
	clr	r27
	add	r26, r24
	adc	r27, r25
	ld	r18, X
	eor	r18, r19
	out	24, r18
	lds	r18, tail
	lds	r19, head
	cp	r19, r18
	brne	.LBB4_2
.LBB4_3:
	;APP
	nop
.Ltmp0:
	dec	r17	; a comment
	brne	.Ltmp0
	;NO_APP
	adiw	r28, 12
	in	r0, 63
	cli
	out	62, r29
	out	63, r0
	out	61, r28
	pop	r29
	pop	r28
	pop	r17
	ret
.Lfunc_end4:
	.size	drain, .Lfunc_end4-drain
                                        ; -- End function
	.globl	named                           ; -- Begin function named
	.p2align	1
	.type	named,@function
named:                                  ; @named
; %bb.0:
	inc	r24
	call	outside
	clr	r25
	ret
.Lfunc_end5:
	.size	named, .Lfunc_end5-named
                                        ; -- End function
	.globl	main                            ; -- Begin function main
	.p2align	1
	.type	main,@function
main:                                   ; @main
; %bb.0:
	push	r10
	push	r11
	push	r12
	push	r13
	push	r14
	push	r15
	push	r16
	push	r17
	ldi	r24, 0
	ldi	r25, 0
	ldi	r26, 32
	ldi	r27, 0
	ldi	r18, lo8(ring)
	ldi	r19, hi8(ring)
	ldi	r16, 251
	ldi	r17, 0
	movw	r10, r18
	movw	r30, r18
	movw	r12, r26
	movw	r14, r24
	rjmp	.LBB6_3
.LBB6_1:                                ;   in Loop: Header=BB6_3 Depth=1
	lds	r24, dropped
	lds	r25, dropped+1
	adiw	r24, 1
	sts	dropped+1, r25
	sts	dropped, r24
.LBB6_2:                                ;   in Loop: Header=BB6_3 Depth=1
	call	drain
	movw	r24, r10
	movw	r30, r24
	movw	r26, r12
	movw	r24, r14
.LBB6_3:                                ; =>This Inner Loop Header: Depth=1
	ld	r18, Z+
	movw	r22, r30
	movw	r30, r18
	andi	r30, 7
	andi	r31, 0
	subi	r30, -lo8(weights)
	sbci	r31, -hi8(weights)
	;APP
	lpm	r20, Z
	;NO_APP
	movw	r30, r22
	mul	r20, r18
	mov	r18, r1
	clr	r1
	mov	r20, r0
	clr	r21
	mov	r19, r18
	clr	r18
	or	r18, r20
	or	r19, r21
	add	r24, r18
	adc	r25, r19
	sbiw	r26, 1
	cpi	r26, 0
	cpc	r27, r1
	brne	.LBB6_3
; %bb.4:                                ;   in Loop: Header=BB6_3 Depth=1
	movw	r22, r16
	call	__udivmodhi4
	inc	r24
                                        ; kill: def $r24 killed $r24 killed $r25r24
	call	outside
	lds	r18, head
	mov	r25, r18
	inc	r25
	andi	r25, 31
	lds	r19, tail
	cp	r25, r19
	brne	.LBB6_5
	rjmp	.LBB6_1
.LBB6_5:                                ;   in Loop: Header=BB6_3 Depth=1
	mov	r26, r18
	clr	r27
	subi	r26, -lo8(ring)
	sbci	r27, -hi8(ring)
	st	X, r24
	sts	head, r25
	lds	r30, watcher
	lds	r31, watcher+1
	cpi	r30, 0
	cpc	r31, r1
	brne	.LBB6_6
	rjmp	.LBB6_2
.LBB6_6:                                ;   in Loop: Header=BB6_3 Depth=1
	icall
	rjmp	.LBB6_2
.Lfunc_end6:
	.size	main, .Lfunc_end6-main
                                        ; -- End function
	; Declaring this symbol tells the CRT that it should
	;copy all variables from program memory to RAM on startup
	.globl	__do_copy_data
	; Declaring this symbol tells the CRT that it should
	;clear the zeroed data section on startup
	.globl	__do_clear_bss
	.type	weights,@object                 ; @weights
	.section	.progmem.data,"a",@progbits
	.globl	weights
weights:
	.ascii	"\001\002\004\b\020 @\200"
	.size	weights, 8

	.type	head,@object                    ; @head
	.local	head
	.comm	head,1,1
	.type	tail,@object                    ; @tail
	.local	tail
	.comm	tail,1,1
	.type	dropped,@object                 ; @dropped
	.section	.bss,"aw",@nobits
	.globl	dropped
dropped:
	.short	0                               ; 0x0
	.size	dropped, 2

	.type	ring,@object                    ; @ring
	.local	ring
	.comm	ring,32,1
	.type	watcher,@object                 ; @watcher
	.globl	watcher
watcher:
	.short	0
	.size	watcher, 2

	.addrsig
	.addrsig_sym weights
	.addrsig_sym ring
