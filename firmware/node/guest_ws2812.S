// void ws2812(const uint8_t *buffer, uint8_t count): sends `count` bytes at `buffer` to a chain of WS2812 lights, most
// significant bit first: 20 cycles a bit, high for 6 of them for a 0 and for 13 for a 1. At 16 MHz that is 1.25 us,
// 0.375 and 0.8125 us (data sheet of the WS2812B, "Data transfer time": 1.25 +- 0.6, 0.4 +- 0.15, 0.8 +- 0.15). A
// guest for `selvedge weave`; by itself it is right where interrupts are off.
//
// WS2812_PORT names the port and WS2812_BIT the bit of it, 0 to 7; another chip or speed needs other cycles. The bit
// MUST be an output. The port is written as a whole: nobody else may change it meanwhile. A round of the clock is a
// byte. `count` 0 sends nothing. The byte behind the buffer is read and not sent. Afterwards the line MUST stay low
// for 50 us, which is the caller's to see to.
#include <avr/io.h>

#ifdef F_CPU
#if F_CPU != 16000000
#error "the cycles of ws2812 are right at 16 MHz"
#endif
#endif
#ifndef WS2812_PORT
#define WS2812_PORT PORTB
#define WS2812_BIT  0
#endif

        .section .text.ws2812,"ax",@progbits
        .global ws2812
        .type ws2812, @function
ws2812:
        ;@weave chip __AVR_DEVICE_NAME__
        ;@weave f_cpu 16000000
        ;@weave clock led period=160
        ;@weave arguments 2 1
        // Woven, only r18 has to be one that takes constants: the host may need the others.
        tst     r22
        breq    3f
        movw    r30, r24
        in      r18, _SFR_IO_ADDR(WS2812_PORT)
        ori     r18, 1 << WS2812_BIT
        mov     r20, r18
        andi    r18, 0xFF & ~(1 << WS2812_BIT)
        mov     r21, r18
        ld      r18, Z+
1:
        // Bits 7 to 1. What only passes time and counts is left out where this is woven.
        ldi     r19, 7
2:
        ;@weave event rise at=0 every=20 times=7
        out     _SFR_IO_ADDR(WS2812_PORT), r20
        nop $ nop $ nop $ nop
        sbrs    r18, 7
        ;@weave event zero at=6 every=20 times=7 maybe
        out     _SFR_IO_ADDR(WS2812_PORT), r21
        lsl     r18
        nop $ nop $ nop $ nop $ nop
        ;@weave event one at=13 every=20 times=7
        out     _SFR_IO_ADDR(WS2812_PORT), r21
        nop $ nop $ nop
        dec     r19
        brne    2b
        nop
        // Bit 0, in which there is time for the next byte, or for one behind the buffer.
        ;@weave event rise at=140
        out     _SFR_IO_ADDR(WS2812_PORT), r20
        nop $ nop $ nop $ nop
        sbrs    r18, 7
        ;@weave event zero at=146 maybe
        out     _SFR_IO_ADDR(WS2812_PORT), r21
        ld      r18, Z+
        nop $ nop $ nop $ nop
        ;@weave event one at=153
        out     _SFR_IO_ADDR(WS2812_PORT), r21
        dec     r22
        nop $ nop
        brne    1b
3:
        ;@weave over led
        ret
        .size ws2812, .-ws2812
