; avr-gcc -mmcu=atmega128 -std=gnu11 -O2 -g -fdebug-prefix-map=$PWD=. -S ring.c -o ring_gcc54_O2_g.s
	.file	"ring.c"
__SP_H__ = 0x3e
__SP_L__ = 0x3d
__SREG__ = 0x3f
__RAMPZ__ = 0x3b
__tmp_reg__ = 0
__zero_reg__ = 1
	.stabs	"./",100,0,2,.Ltext0
	.stabs	"ring.c",100,0,2,.Ltext0
	.text
.Ltext0:
	.stabs	"gcc2_compiled.",60,0,0,0
	.stabs	"int:t(0,1)=r(0,1);-32768;32767;",128,0,0,0
	.stabs	"char:t(0,2)=r(0,2);0;127;",128,0,0,0
	.stabs	"long int:t(0,3)=@s32;r(0,3);020000000000;017777777777;",128,0,0,0
	.stabs	"unsigned int:t(0,4)=r(0,4);0;0177777;",128,0,0,0
	.stabs	"long unsigned int:t(0,5)=@s32;r(0,5);0;037777777777;",128,0,0,0
	.stabs	"__int128:t(0,6)=@s128;r(0,6);02000000000000000000000000000000000000000000;01777777777777777777777777777777777777777777;",128,0,0,0
	.stabs	"__int128 unsigned:t(0,7)=@s128;r(0,7);0;03777777777777777777777777777777777777777777;",128,0,0,0
	.stabs	"long long int:t(0,8)=@s64;r(0,8);01000000000000000000000;00777777777777777777777;",128,0,0,0
	.stabs	"long long unsigned int:t(0,9)=@s64;r(0,9);0;01777777777777777777777;",128,0,0,0
	.stabs	"short int:t(0,10)=r(0,10);-32768;32767;",128,0,0,0
	.stabs	"short unsigned int:t(0,11)=r(0,11);0;0177777;",128,0,0,0
	.stabs	"signed char:t(0,12)=@s8;r(0,12);-128;127;",128,0,0,0
	.stabs	"unsigned char:t(0,13)=@s8;r(0,13);0;255;",128,0,0,0
	.stabs	"float:t(0,14)=r(0,1);4;0;",128,0,0,0
	.stabs	"double:t(0,15)=r(0,1);4;0;",128,0,0,0
	.stabs	"long double:t(0,16)=r(0,1);4;0;",128,0,0,0
	.stabs	"short _Fract:t(0,17)=r(0,1);1;0;",128,0,0,0
	.stabs	"_Fract:t(0,18)=r(0,1);2;0;",128,0,0,0
	.stabs	"long _Fract:t(0,19)=r(0,1);4;0;",128,0,0,0
	.stabs	"long long _Fract:t(0,20)=r(0,1);8;0;",128,0,0,0
	.stabs	"unsigned short _Fract:t(0,21)=r(0,1);1;0;",128,0,0,0
	.stabs	"unsigned _Fract:t(0,22)=r(0,1);2;0;",128,0,0,0
	.stabs	"unsigned long _Fract:t(0,23)=r(0,1);4;0;",128,0,0,0
	.stabs	"unsigned long long _Fract:t(0,24)=r(0,1);8;0;",128,0,0,0
	.stabs	"_Sat short _Fract:t(0,25)=r(0,1);1;0;",128,0,0,0
	.stabs	"_Sat _Fract:t(0,26)=r(0,1);2;0;",128,0,0,0
	.stabs	"_Sat long _Fract:t(0,27)=r(0,1);4;0;",128,0,0,0
	.stabs	"_Sat long long _Fract:t(0,28)=r(0,1);8;0;",128,0,0,0
	.stabs	"_Sat unsigned short _Fract:t(0,29)=r(0,1);1;0;",128,0,0,0
	.stabs	"_Sat unsigned _Fract:t(0,30)=r(0,1);2;0;",128,0,0,0
	.stabs	"_Sat unsigned long _Fract:t(0,31)=r(0,1);4;0;",128,0,0,0
	.stabs	"_Sat unsigned long long _Fract:t(0,32)=r(0,1);8;0;",128,0,0,0
	.stabs	"short _Accum:t(0,33)=r(0,1);2;0;",128,0,0,0
	.stabs	"_Accum:t(0,34)=r(0,1);4;0;",128,0,0,0
	.stabs	"long _Accum:t(0,35)=r(0,1);8;0;",128,0,0,0
	.stabs	"long long _Accum:t(0,36)=r(0,1);8;0;",128,0,0,0
	.stabs	"unsigned short _Accum:t(0,37)=r(0,1);2;0;",128,0,0,0
	.stabs	"unsigned _Accum:t(0,38)=r(0,1);4;0;",128,0,0,0
	.stabs	"unsigned long _Accum:t(0,39)=r(0,1);8;0;",128,0,0,0
	.stabs	"unsigned long long _Accum:t(0,40)=r(0,1);8;0;",128,0,0,0
	.stabs	"_Sat short _Accum:t(0,41)=r(0,1);2;0;",128,0,0,0
	.stabs	"_Sat _Accum:t(0,42)=r(0,1);4;0;",128,0,0,0
	.stabs	"_Sat long _Accum:t(0,43)=r(0,1);8;0;",128,0,0,0
	.stabs	"_Sat long long _Accum:t(0,44)=r(0,1);8;0;",128,0,0,0
	.stabs	"_Sat unsigned short _Accum:t(0,45)=r(0,1);2;0;",128,0,0,0
	.stabs	"_Sat unsigned _Accum:t(0,46)=r(0,1);4;0;",128,0,0,0
	.stabs	"_Sat unsigned long _Accum:t(0,47)=r(0,1);8;0;",128,0,0,0
	.stabs	"_Sat unsigned long long _Accum:t(0,48)=r(0,1);8;0;",128,0,0,0
	.stabs	"void:t(0,49)=(0,49)",128,0,0,0
	.stabs	"/usr/lib/gcc/avr/5.4.0/include/stdint.h",130,0,0,0
	.stabs	"/usr/lib/avr/include/stdint.h",130,0,0,0
	.stabs	"int8_t:t(2,1)=(0,12)",128,0,125,0
	.stabs	"uint8_t:t(2,2)=(0,13)",128,0,126,0
	.stabs	"int16_t:t(2,3)=(0,1)",128,0,127,0
	.stabs	"uint16_t:t(2,4)=(0,4)",128,0,128,0
	.stabs	"int32_t:t(2,5)=(0,3)",128,0,129,0
	.stabs	"uint32_t:t(2,6)=(0,5)",128,0,130,0
	.stabs	"int64_t:t(2,7)=(0,8)",128,0,132,0
	.stabs	"uint64_t:t(2,8)=(0,9)",128,0,133,0
	.stabs	"intptr_t:t(2,9)=(2,3)",128,0,146,0
	.stabs	"uintptr_t:t(2,10)=(2,4)",128,0,151,0
	.stabs	"int_least8_t:t(2,11)=(2,1)",128,0,163,0
	.stabs	"uint_least8_t:t(2,12)=(2,2)",128,0,168,0
	.stabs	"int_least16_t:t(2,13)=(2,3)",128,0,173,0
	.stabs	"uint_least16_t:t(2,14)=(2,4)",128,0,178,0
	.stabs	"int_least32_t:t(2,15)=(2,5)",128,0,183,0
	.stabs	"uint_least32_t:t(2,16)=(2,6)",128,0,188,0
	.stabs	"int_least64_t:t(2,17)=(2,7)",128,0,196,0
	.stabs	"uint_least64_t:t(2,18)=(2,8)",128,0,203,0
	.stabs	"int_fast8_t:t(2,19)=(2,1)",128,0,217,0
	.stabs	"uint_fast8_t:t(2,20)=(2,2)",128,0,222,0
	.stabs	"int_fast16_t:t(2,21)=(2,3)",128,0,227,0
	.stabs	"uint_fast16_t:t(2,22)=(2,4)",128,0,232,0
	.stabs	"int_fast32_t:t(2,23)=(2,5)",128,0,237,0
	.stabs	"uint_fast32_t:t(2,24)=(2,6)",128,0,242,0
	.stabs	"int_fast64_t:t(2,25)=(2,7)",128,0,250,0
	.stabs	"uint_fast64_t:t(2,26)=(2,8)",128,0,257,0
	.stabs	"intmax_t:t(2,27)=(2,7)",128,0,277,0
	.stabs	"uintmax_t:t(2,28)=(2,8)",128,0,282,0
	.stabn	162,0,0,0
	.stabn	162,0,0,0
	.stabs	"ring_put:F(2,2)",36,0,14,ring_put
	.stabs	"value:P(2,2)",64,0,14,24
.global	ring_put
	.type	ring_put, @function
ring_put:
	.stabd	46,0,0
	.stabn	68,0,15,.LM0-.LFBB1
.LM0:
.LFBB1:
/* prologue: function */
/* frame size = 0 */
/* stack size = 0 */
.L__stack_usage = 0
	.stabn	68,0,16,.LM1-.LFBB1
.LM1:
	lds r30,head
	ldi r25,lo8(1)
	add r25,r30
	andi r25,lo8(31)
	.stabn	68,0,17,.LM2-.LFBB1
.LM2:
	lds r18,tail
	cp r25,r18
	breq .L6
	.stabn	68,0,21,.LM3-.LFBB1
.LM3:
	ldi r31,0
	subi r30,lo8(-(ring))
	sbci r31,hi8(-(ring))
	st Z,r24
	.stabn	68,0,22,.LM4-.LFBB1
.LM4:
	sts head,r25
	.stabn	68,0,23,.LM5-.LFBB1
.LM5:
	lds r30,watcher
	lds r31,watcher+1
	sbiw r30,0
	breq .L4
	.stabn	68,0,24,.LM6-.LFBB1
.LM6:
	icall
	.stabn	68,0,25,.LM7-.LFBB1
.LM7:
	ldi r24,lo8(1)
	ret
.L6:
.LBB12:
.LBB13:
	.stabn	68,0,18,.LM8-.LFBB1
.LM8:
	lds r24,dropped
	lds r25,dropped+1
	adiw r24,1
	sts dropped+1,r25
	sts dropped,r24
	ldi r24,0
	ret
.L4:
.LBE13:
.LBE12:
	.stabn	68,0,25,.LM9-.LFBB1
.LM9:
	ldi r24,lo8(1)
	.stabn	68,0,26,.LM10-.LFBB1
.LM10:
	ret
	.size	ring_put, .-ring_put
	.stabs	"next:r(2,2)",64,0,16,25
	.stabn	192,0,0,.LFBB1-.LFBB1
	.stabn	224,0,0,.Lscope1-.LFBB1
.Lscope1:
	.stabs	"",36,0,0,.Lscope1-.LFBB1
	.stabd	78,0,0
	.stabs	"ring_get:F(2,3)",36,0,28,ring_get
.global	ring_get
	.type	ring_get, @function
ring_get:
	.stabd	46,0,0
	.stabn	68,0,29,.LM11-.LFBB2
.LM11:
.LFBB2:
/* prologue: function */
/* frame size = 0 */
/* stack size = 0 */
.L__stack_usage = 0
	.stabn	68,0,30,.LM12-.LFBB2
.LM12:
	lds r25,tail
	lds r24,head
	cp r24,r25
	breq .L9
	.stabn	68,0,32,.LM13-.LFBB2
.LM13:
	mov r30,r25
	ldi r31,0
	subi r30,lo8(-(ring))
	sbci r31,hi8(-(ring))
	ld r24,Z
	.stabn	68,0,33,.LM14-.LFBB2
.LM14:
	subi r25,lo8(-(1))
	andi r25,lo8(31)
	sts tail,r25
	.stabn	68,0,34,.LM15-.LFBB2
.LM15:
	ldi r25,0
	ret
.L9:
	.stabn	68,0,31,.LM16-.LFBB2
.LM16:
	ldi r24,lo8(-1)
	ldi r25,lo8(-1)
	.stabn	68,0,35,.LM17-.LFBB2
.LM17:
	ret
	.size	ring_get, .-ring_get
	.stabs	"value:r(2,2)",64,0,32,24
	.stabn	192,0,0,.LFBB2-.LFBB2
	.stabn	224,0,0,.Lscope2-.LFBB2
.Lscope2:
	.stabs	"",36,0,0,.Lscope2-.LFBB2
	.stabd	78,0,0
	.stabs	"rotate:F(2,6)",36,0,37,rotate
	.stabs	"word:P(2,6)",64,0,37,22
	.stabs	"by:P(2,2)",64,0,37,20
.global	rotate
	.type	rotate, @function
rotate:
	.stabd	46,0,0
	.stabn	68,0,38,.LM18-.LFBB3
.LM18:
.LFBB3:
	push r16
	push r17
/* prologue: function */
/* frame size = 0 */
/* stack size = 2 */
.L__stack_usage = 2
	.stabn	68,0,39,.LM19-.LFBB3
.LM19:
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
	.stabn	68,0,40,.LM20-.LFBB3
.LM20:
	pop r17
	pop r16
	ret
	.size	rotate, .-rotate
.Lscope3:
	.stabs	"",36,0,0,.Lscope3-.LFBB3
	.stabd	78,0,0
	.stabs	"weigh:F(2,4)",36,0,42,weigh
	.stabs	"count:P(2,4)",64,0,42,22
.global	weigh
	.type	weigh, @function
weigh:
	.stabd	46,0,0
	.stabn	68,0,43,.LM21-.LFBB4
.LM21:
.LFBB4:
/* prologue: function */
/* frame size = 0 */
/* stack size = 0 */
.L__stack_usage = 0
	.stabn	68,0,45,.LM22-.LFBB4
.LM22:
	cp r22,__zero_reg__
	cpc r23,__zero_reg__
	breq .L14
	movw r26,r24
	add r22,r24
	adc r23,r25
	ldi r20,0
	ldi r21,0
.L13:
.LBB14:
	.stabn	68,0,46,.LM23-.LFBB4
.LM23:
	ld r24,X+
	.stabn	68,0,48,.LM24-.LFBB4
.LM24:
	mov r30,r24
	andi r30,lo8(7)
	ldi r31,0
	subi r30,lo8(-(weights))
	sbci r31,hi8(-(weights))
/* #APP */
 ;  48 "ring.c" 1
	lpm r30, Z
 ;  0 "" 2
	.stabn	68,0,49,.LM25-.LFBB4
.LM25:
/* #NOAPP */
	mul r24,r30
	add r20,r0
	adc r21,r1
	clr __zero_reg__
.LBE14:
	.stabn	68,0,45,.LM26-.LFBB4
.LM26:
	cp r22,r26
	cpc r23,r27
	brne .L13
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
	ret
.L14:
	ldi r24,0
	ldi r25,0
	.stabn	68,0,52,.LM27-.LFBB4
.LM27:
	ret
	.size	weigh, .-weigh
	.stabs	"sum:r(2,4)",64,0,44,20
	.stabn	192,0,0,.LFBB4-.LFBB4
	.stabs	"byte:r(2,2)",64,0,46,24
	.stabn	192,0,0,.LBB14-.LFBB4
	.stabn	224,0,0,.LBE14-.LFBB4
	.stabn	224,0,0,.Lscope4-.LFBB4
.Lscope4:
	.stabs	"",36,0,0,.Lscope4-.LFBB4
	.stabd	78,0,0
	.stabs	"drain:F(0,49)",36,0,54,drain
.global	drain
	.type	drain, @function
drain:
	.stabd	46,0,0
	.stabn	68,0,55,.LM28-.LFBB5
.LM28:
.LFBB5:
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
/* stack size = 17 */
.L__stack_usage = 17
	movw r24,r28
	adiw r24,1
	movw r14,r24
.LBB15:
	.stabn	68,0,57,.LM29-.LFBB5
.LM29:
	ldi r17,0
.L17:
	.stabn	68,0,58,.LM30-.LFBB5
.LM30:
	mov r24,r17
	call outside
	movw r30,r14
	st Z+,r24
	movw r14,r30
	.stabn	68,0,57,.LM31-.LFBB5
.LM31:
	subi r17,lo8(-(1))
	cpi r17,lo8(12)
	brne .L17
.LBE15:
.LBB16:
.LBB17:
	.stabn	68,0,30,.LM32-.LFBB5
.LM32:
	lds r24,tail
	lds r25,head
	cp r25,r24
	breq .L19
.L22:
	.stabn	68,0,32,.LM33-.LFBB5
.LM33:
	mov r30,r24
	ldi r31,0
	subi r30,lo8(-(ring))
	sbci r31,hi8(-(ring))
	ld r25,Z
	.stabn	68,0,33,.LM34-.LFBB5
.LM34:
	subi r24,lo8(-(1))
	andi r24,lo8(31)
	sts tail,r24
.LBE17:
.LBE16:
	.stabn	68,0,61,.LM35-.LFBB5
.LM35:
	mov r24,r25
	andi r24,lo8(7)
	ldi r30,lo8(1)
	ldi r31,0
	add r30,r28
	adc r31,r29
	add r30,r24
	adc r31,__zero_reg__
	ld r24,Z
	eor r24,r25
	out 0x18,r24
.LBB19:
.LBB18:
	.stabn	68,0,30,.LM36-.LFBB5
.LM36:
	lds r24,tail
	lds r25,head
	cpse r25,r24
	rjmp .L22
.L19:
.LBE18:
.LBE19:
	.stabn	68,0,62,.LM37-.LFBB5
.LM37:
	ldd r24,Y+1
/* #APP */
 ;  62 "ring.c" 1
	nop
	1: dec r24 ; a comment
	brne 1b
 ;  0 "" 2
/* epilogue start */
	.stabn	68,0,63,.LM38-.LFBB5
.LM38:
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
	ret
	.size	drain, .-drain
	.stabs	"room:(0,50)=ar(0,51)=r(0,51);0;0177777;;0;11;(2,2)",128,0,56,1
	.stabn	192,0,0,.LFBB5-.LFBB5
	.stabs	"i:r(2,2)",64,0,57,17
	.stabn	192,0,0,.LBB15-.LFBB5
	.stabn	224,0,0,.LBE15-.LFBB5
	.stabs	"value:r(2,2)",64,0,32,25
	.stabn	192,0,0,.LBB17-.LFBB5
	.stabn	224,0,0,.LBE17-.LFBB5
	.stabs	"value:r(2,2)",64,0,32,25
	.stabn	192,0,0,.LBB18-.LFBB5
	.stabn	224,0,0,.LBE18-.LFBB5
	.stabn	224,0,0,.Lscope5-.LFBB5
.Lscope5:
	.stabs	"",36,0,0,.Lscope5-.LFBB5
	.stabd	78,0,0
	.stabs	"named:F(2,2)",36,0,65,named
	.stabs	"which:P(2,2)",64,0,65,24
.global	named
	.type	named, @function
named:
	.stabd	46,0,0
	.stabn	68,0,66,.LM39-.LFBB6
.LM39:
.LFBB6:
/* prologue: function */
/* frame size = 0 */
/* stack size = 0 */
.L__stack_usage = 0
	.stabn	68,0,67,.LM40-.LFBB6
.LM40:
	subi r24,lo8(-(1))
	jmp outside
	.size	named, .-named
.Lscope6:
	.stabs	"",36,0,0,.Lscope6-.LFBB6
	.stabd	78,0,0
	.section	.text.startup,"ax",@progbits
	.stabs	"main:F(0,1)",36,0,70,main
.global	main
	.type	main, @function
main:
	.stabd	46,0,0
	.stabn	68,0,71,.LM41-.LFBB7
.LM41:
.LFBB7:
/* prologue: function */
/* frame size = 0 */
/* stack size = 0 */
.L__stack_usage = 0
	ldi r28,lo8(ring+32)
	ldi r29,hi8(ring+32)
.LBB20:
.LBB21:
	.stabn	68,0,67,.LM42-.LFBB7
.LM42:
	ldi r17,lo8(-5)
.L27:
	ldi r26,lo8(ring)
	ldi r27,hi8(ring)
.LBE21:
.LBE20:
.LBB23:
.LBB24:
	.stabn	68,0,44,.LM43-.LFBB7
.LM43:
	ldi r20,0
	ldi r21,0
.L26:
.LBB25:
	.stabn	68,0,46,.LM44-.LFBB7
.LM44:
	ld r25,X+
	.stabn	68,0,48,.LM45-.LFBB7
.LM45:
	mov r30,r25
	andi r30,lo8(7)
	ldi r31,0
	subi r30,lo8(-(weights))
	sbci r31,hi8(-(weights))
/* #APP */
 ;  48 "ring.c" 1
	lpm r30, Z
 ;  0 "" 2
	.stabn	68,0,49,.LM46-.LFBB7
.LM46:
/* #NOAPP */
	mul r25,r30
	add r20,r0
	adc r21,r1
	clr __zero_reg__
.LBE25:
	.stabn	68,0,45,.LM47-.LFBB7
.LM47:
	cp r28,r26
	cpc r29,r27
	brne .L26
.LBE24:
.LBE23:
.LBB26:
.LBB22:
	.stabn	68,0,67,.LM48-.LFBB7
.LM48:
	movw r18,r20
	ldi r26,lo8(-115)
	ldi r27,lo8(-126)
	call __umulhisi3
	lsl r24
	mov r24,r25
	rol r24
	sbc r25,r25
	neg r25
	mul r17,r24
	movw r18,r0
	mul r17,r25
	add r19,r0
	clr __zero_reg__
	movw r24,r20
	sub r24,r18
	sbc r25,r19
	subi r24,lo8(-(1))
	call outside
.LBE22:
.LBE26:
	.stabn	68,0,73,.LM49-.LFBB7
.LM49:
	call ring_put
	.stabn	68,0,74,.LM50-.LFBB7
.LM50:
	call drain
	.stabn	68,0,75,.LM51-.LFBB7
.LM51:
	rjmp .L27
	.size	main, .-main
	.stabs	"sum:r(2,4)",64,0,44,20
	.stabn	192,0,0,.LBB24-.LFBB7
	.stabs	"byte:r(2,2)",64,0,46,25
	.stabn	192,0,0,.LBB25-.LFBB7
	.stabn	224,0,0,.LBE25-.LFBB7
	.stabn	224,0,0,.LBE24-.LFBB7
.Lscope7:
	.stabs	"",36,0,0,.Lscope7-.LFBB7
	.stabd	78,0,0
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
	.stabs	"ring:S(0,52)=ar(0,51);0;31;(0,53)=B(2,2)",40,0,7,ring
	.stabs	"head:S(2,2)",40,0,8,head
	.stabs	"tail:S(2,2)",40,0,8,tail
	.stabs	"dropped:G(2,4)",32,0,9,0
	.stabs	"weights:G(0,54)=ar(0,51);0;7;(0,55)=k(2,2)",32,0,10,0
	.stabs	"watcher:G(0,56)=*(0,57)=f(0,49)",32,0,11,0
	.text
	.stabs	"",100,0,0,.Letext0
.Letext0:
	.ident	"GCC: (GNU) 5.4.0"
.global __do_clear_bss
