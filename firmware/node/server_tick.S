// void server_tick(void): counts a tick, if one has come: a compare match of Timer 0, whose request it withdraws. A polling
// guest for `selvedge weave --server`.
//
// WITHIN: cycles between two runs, at most, while the guest sends or receives. The flag holds one tick, so that none is lost
// when this is below the time from one to the next: 8000 cycles for a millisecond at 8 MHz. The timer MUST be on, and clear
// itself at the match. Ticks are in server_tick_count, modulo 256; a program adds them to its own and clears it.
#include "chip.h"

#if defined(__AVR_ATmega128__)
#define TICK_FLAGS TIFR
#define TICK_FLAG  OCF0
#else
#define TICK_FLAGS TIFR0
#define TICK_FLAG  OCF0A
#endif

#ifndef WITHIN
#define WITHIN 7900
#endif

        .comm   server_tick_count, 1

        .section .text.server_tick,"ax",@progbits
        .global server_tick
        .type server_tick, @function
server_tick:
        ;@weave chip __AVR_DEVICE_NAME__
        ;@weave server tick within=WITHIN
        ;@weave apart server_tick_count host.pointers
#if defined(__AVR_ATmega128__)
        // The guest's timer has its flags there, too: each writes its own, and zeros do nothing.
        ;@weave shared io.0x56 guest-first
#endif
        in      r24, _SFR_IO_ADDR(TICK_FLAGS)
        andi    r24, 1 << TICK_FLAG
        breq    1f
        out     _SFR_IO_ADDR(TICK_FLAGS), r24
        lds     r24, server_tick_count
        inc     r24
        sts     server_tick_count, r24
1:
        ret
        .size server_tick, .-server_tick
