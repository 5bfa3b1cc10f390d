// void spi_duplex(const uint8_t *out, uint8_t *in, uint8_t count): sends `count` bytes at `out` as SPI master and
// receives as many into `in`, a byte every PERIOD cycles exactly. A guest for `selvedge weave`.
//
// The next byte is started before the one that has come in is read, half a period later: SPDR is double buffered on its
// way in. The first byte and the last are waited for, PERIOD cycles and more each, outside the clock.
//
// PERIOD: as for spi_tx. The SPI MUST be on, be master, and have no byte under way. Nobody else may use it meanwhile.
// SPIF is neither read nor cleared. `count` 0 does nothing. `out` and `in` may be one buffer.
#include <avr/io.h>

// A wait of PERIOD cycles or more, by two loops of three cycles a round, since PERIOD may be up to 1026.
#define WAIT_ROUNDS (((PERIOD) + 5) / 6)

        .section .text.spi_duplex,"ax",@progbits
        .global spi_duplex
        .type spi_duplex, @function
spi_duplex:
        ;@weave chip __AVR_DEVICE_NAME__
        ;@weave clock spi period=PERIOD
        ;@weave arguments 2 2 1
        tst     r20
        breq    7f
        movw    r30, r24
        movw    r26, r22
        ld      r18, Z+
        out     _SFR_IO_ADDR(SPDR), r18
        ldi     r19, WAIT_ROUNDS
1:
        dec     r19
        ;@weave trip WAIT_ROUNDS
        brne    1b
        ldi     r19, WAIT_ROUNDS
2:
        dec     r19
        ;@weave trip WAIT_ROUNDS
        brne    2b
        dec     r20
        breq    6f
        ld      r18, Z+
3:
        ;@weave event start at=0
        out     _SFR_IO_ADDR(SPDR), r18
        ;@weave event byte at=(PERIOD)/2
        in      r19, _SFR_IO_ADDR(SPDR)
        st      X+, r19
        dec     r20
        breq    4f
        ld      r18, Z+
        rjmp    3b
4:
        ;@weave over spi
        ldi     r19, WAIT_ROUNDS
5:
        dec     r19
        ;@weave trip WAIT_ROUNDS
        brne    5b
        ldi     r19, WAIT_ROUNDS
8:
        dec     r19
        ;@weave trip WAIT_ROUNDS
        brne    8b
6:
        in      r19, _SFR_IO_ADDR(SPDR)
        st      X, r19
7:
        ret
        .size spi_duplex, .-spi_duplex
