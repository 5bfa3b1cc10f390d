// void ws2812(const uint8_t *buffer, uint8_t count): sends `count` bytes at `buffer` to a chain of WS2812 lights, most
// significant bit first: 20 cycles a bit, high for 6 of them for a 0 and for 13 for a 1. At 16 MHz that is 1.25 us,
// 0.375 and 0.8125 us (data sheet of the WS2812B, "Data transfer time": 1.25 +- 0.6, 0.4 +- 0.15, 0.8 +- 0.15). A
// guest for `selvedge weave`.
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
        // Only r18 has to be one that takes constants: the host may need the others.
        tst     r22
        breq    2f
        movw    r30, r24
        in      r18, _SFR_IO_ADDR(WS2812_PORT)
        ori     r18, 1 << WS2812_BIT
        mov     r20, r18
        andi    r18, 0xFF & ~(1 << WS2812_BIT)
        mov     r21, r18
        ld      r18, Z+
1:
        // bit 7
        ;@weave event rise7 at=0
        out     _SFR_IO_ADDR(WS2812_PORT), r20
        sbrs    r18, 7
        ;@weave event zero7 at=6 maybe
        out     _SFR_IO_ADDR(WS2812_PORT), r21
        ;@weave event one7 at=13
        out     _SFR_IO_ADDR(WS2812_PORT), r21
        // bit 6
        ;@weave event rise6 at=20
        out     _SFR_IO_ADDR(WS2812_PORT), r20
        sbrs    r18, 6
        ;@weave event zero6 at=26 maybe
        out     _SFR_IO_ADDR(WS2812_PORT), r21
        ;@weave event one6 at=33
        out     _SFR_IO_ADDR(WS2812_PORT), r21
        // bit 5
        ;@weave event rise5 at=40
        out     _SFR_IO_ADDR(WS2812_PORT), r20
        sbrs    r18, 5
        ;@weave event zero5 at=46 maybe
        out     _SFR_IO_ADDR(WS2812_PORT), r21
        ;@weave event one5 at=53
        out     _SFR_IO_ADDR(WS2812_PORT), r21
        // bit 4
        ;@weave event rise4 at=60
        out     _SFR_IO_ADDR(WS2812_PORT), r20
        sbrs    r18, 4
        ;@weave event zero4 at=66 maybe
        out     _SFR_IO_ADDR(WS2812_PORT), r21
        ;@weave event one4 at=73
        out     _SFR_IO_ADDR(WS2812_PORT), r21
        // bit 3
        ;@weave event rise3 at=80
        out     _SFR_IO_ADDR(WS2812_PORT), r20
        sbrs    r18, 3
        ;@weave event zero3 at=86 maybe
        out     _SFR_IO_ADDR(WS2812_PORT), r21
        ;@weave event one3 at=93
        out     _SFR_IO_ADDR(WS2812_PORT), r21
        // bit 2
        ;@weave event rise2 at=100
        out     _SFR_IO_ADDR(WS2812_PORT), r20
        sbrs    r18, 2
        ;@weave event zero2 at=106 maybe
        out     _SFR_IO_ADDR(WS2812_PORT), r21
        ;@weave event one2 at=113
        out     _SFR_IO_ADDR(WS2812_PORT), r21
        // bit 1
        ;@weave event rise1 at=120
        out     _SFR_IO_ADDR(WS2812_PORT), r20
        sbrs    r18, 1
        ;@weave event zero1 at=126 maybe
        out     _SFR_IO_ADDR(WS2812_PORT), r21
        ;@weave event one1 at=133
        out     _SFR_IO_ADDR(WS2812_PORT), r21
        // bit 0
        ;@weave event rise0 at=140
        out     _SFR_IO_ADDR(WS2812_PORT), r20
        sbrs    r18, 0
        ;@weave event zero0 at=146 maybe
        out     _SFR_IO_ADDR(WS2812_PORT), r21
        // The next byte, or one behind the buffer: the longest pieces of a round have gaps of six cycles to themselves.
        ld      r18, Z+
        ;@weave event one0 at=153
        out     _SFR_IO_ADDR(WS2812_PORT), r21
        dec     r22
        brne    1b
2:
        ;@weave over led
        ret
        .size ws2812, .-ws2812
