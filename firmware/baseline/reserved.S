/*
 * SPI by a handler that saves nothing, see baseline.h, and the vectors and the start that go with it.
 *
 * The handler lies in the vector table itself, over the vectors of the USART that follow SPI_STC: they MUST NOT be
 * used. It changes no flag, so that SREG needs no care: the end is a bit of the pointer, and sbrc skips the return.
 * Cycles a byte, entry (4) and reti (4) included, for the three ways of having registers:
 *
 *   BASELINE_POINTER   X and r2, r3 are the handler's alone (-ffixed-26 and so on)  send 12, receive 13
 *   BASELINE_SHADOW    r8 to r13 are; X is exchanged for r13:r12                    send 16, receive 17
 *   BASELINE_SAVED     none is; they are pushed, and the pointer is kept in RAM     send 36, receive 38
 */
#include <avr/io.h>

#if defined(BASELINE_POINTER)
#define BYTE 2
#define ONES 3
#define END_BYTE 27     /* the pointer's high byte */
#else
#define BYTE 8
#define ONES 9
#define KEPT 10         /* r11:r10: the cipher's X */
#define NEXT 12         /* r13:r12: ours */
#define END_BYTE 13
#endif

    .section .vectors, "ax", @progbits
    .global __vectors
__vectors:
    jmp  __init
    .org 4 * SPI_STC_vect_num

#ifdef BASELINE_SAVED

    jmp  saved

    .section .text.saved, "ax", @progbits
saved:
    push 24
    push 30
    push 31
    lds  30, next
    lds  31, next + 1
#ifdef BASELINE_RECEIVE
    ser  24
    out  _SFR_IO_ADDR(SPDR), 24
    in   24, _SFR_IO_ADDR(SPDR)
    st   Z+, 24
#else
    ld   24, Z+
    out  _SFR_IO_ADDR(SPDR), 24
#endif
    sts  next, 30
    sts  next + 1, 31
    sbrs 31, 0
    cbi  _SFR_IO_ADDR(SPCR), SPIE
    pop  31
    pop  30
    pop  24
    reti

    .section .bss.next, "aw", @nobits
next:
    .zero 2
    .global __do_clear_bss

#else

#ifdef BASELINE_RECEIVE
    out  _SFR_IO_ADDR(SPDR), ONES
#else
    out  _SFR_IO_ADDR(SPDR), BYTE
#endif
#ifdef BASELINE_SHADOW
    movw KEPT, 26
    movw 26, NEXT
#endif
#ifdef BASELINE_RECEIVE
    in   BYTE, _SFR_IO_ADDR(SPDR)
    st   X+, BYTE
#else
    ld   BYTE, X+
#endif
#ifdef BASELINE_SHADOW
    movw NEXT, 26
    movw 26, KEPT
#endif
    sbrc END_BYTE, 0
    reti
    cbi  _SFR_IO_ADDR(SPCR), SPIE
    reti

#endif

    .section .vectors, "ax", @progbits
    .org _VECTORS_SIZE

    .section .init0, "ax", @progbits
    .global __init
__init:
    .section .init2, "ax", @progbits
    clr  1
    out  _SFR_IO_ADDR(SREG), 1
    ldi  28, lo8(RAMEND)
    ldi  29, hi8(RAMEND)
    out  _SFR_IO_ADDR(SPL), 28
    out  _SFR_IO_ADDR(SPH), 29
    .section .init9, "ax", @progbits
    jmp  main

#ifdef BASELINE_RECEIVE

    .section .text.interrupt_receive, "ax", @progbits
    .global interrupt_receive
    .type interrupt_receive, @function
/* r25:r24 the buffer; its end is known. */
interrupt_receive:
#if defined(BASELINE_SAVED)
    sts  next, 24
    sts  next + 1, 25
#elif defined(BASELINE_SHADOW)
    movw NEXT, 24
#else
    movw 26, 24
#endif
    ser  18
#ifndef BASELINE_SAVED
    mov  ONES, 18
#endif
    sbi  _SFR_IO_ADDR(SPCR), SPIE
    out  _SFR_IO_ADDR(SPDR), 18
    ret
    .size interrupt_receive, . - interrupt_receive

#else

    .section .text.interrupt_send, "ax", @progbits
    .global interrupt_send
    .type interrupt_send, @function
/* r25:r24 the buffer; its end is known. */
interrupt_send:
    movw 30, 24
    ld   18, Z+
#ifdef BASELINE_SAVED
    sts  next, 30
    sts  next + 1, 31
#else
    ld   BYTE, Z+
#ifdef BASELINE_SHADOW
    movw NEXT, 30
#else
    movw 26, 30
#endif
#endif
    sbi  _SFR_IO_ADDR(SPCR), SPIE
    out  _SFR_IO_ADDR(SPDR), 18
    ret
    .size interrupt_send, . - interrupt_send

#endif
