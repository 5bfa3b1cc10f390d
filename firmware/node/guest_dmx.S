// void dmx(const uint8_t *slots, uint16_t count): sends a DMX512 packet of `count` slots, the start code first: break,
// mark, and each slot as 11 bits of 4 us (ANSI E1.11, "Data protocol"). A guest for `selvedge weave`.
//
// The break is 108 us and the mark behind it 16 us: a transmitter's are at least 92 and 12 us, a receiver takes 88 and
// 8 us. DMX_PORT names the port and DMX_BIT the bit of it, 0 to 7, that drives the line; another speed of the processor
// needs other cycles. The bit MUST be an output, and high for 8 us or more. The port is written as a whole: nobody
// else may change it meanwhile. A round of the clock is a slot. `count` is up to 513; 0 sends nothing. The line is left
// high: before it is low again, the second stop bit has to last 8 us, and from one break to the next there have to be
// 1204 us, both of which are the caller's to see to.
#include <avr/io.h>

#ifdef F_CPU
#if F_CPU != 16000000
#error "the cycles of dmx are right at 16 MHz"
#endif
#endif
#ifndef DMX_PORT
#define DMX_PORT PORTB
#define DMX_BIT  1
#endif

        .section .text.dmx,"ax",@progbits
        .global dmx
        .type dmx, @function
dmx:
        ;@weave chip __AVR_DEVICE_NAME__
        ;@weave f_cpu 16000000
        ;@weave clock packet period=16*(108+16)
        ;@weave clock slot period=11*64
        ;@weave arguments 2 2
        // Woven, only r18 has to be one that takes constants: the host may need the others.
        movw    r30, r24
        add     r22, r24
        adc     r23, r25
        cp      r30, r22
        cpc     r31, r23
        breq    3f
        in      r18, _SFR_IO_ADDR(DMX_PORT)
        ori     r18, 1 << DMX_BIT
        mov     r20, r18
        andi    r18, 0xFF & ~(1 << DMX_BIT)
        mov     r21, r18
        ;@weave event break at=0 clock=packet
        out     _SFR_IO_ADDR(DMX_PORT), r21
        ;@weave event mark at=16*108 clock=packet
        out     _SFR_IO_ADDR(DMX_PORT), r20
1:
        ;@weave event first at=16*(108+16) clock=packet last
        ;@weave event start at=0 clock=slot
        out     _SFR_IO_ADDR(DMX_PORT), r21
        ld      r18, Z+
        ldi     r24, 8
2:
        mov     r19, r21
        sbrc    r18, 0
        mov     r19, r20
        ;@weave event bit at=64 every=64 times=8 clock=slot
        out     _SFR_IO_ADDR(DMX_PORT), r19
        lsr     r18
        dec     r24
        brne    2b
        ;@weave event stop at=9*64 clock=slot
        out     _SFR_IO_ADDR(DMX_PORT), r20
        cp      r30, r22
        cpc     r31, r23
        brne    1b
3:
        ;@weave over slot
        ret
        .size dmx, .-dmx
