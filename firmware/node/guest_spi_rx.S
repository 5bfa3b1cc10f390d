// void spi_rx(uint8_t *buffer, uint8_t count): receives `count` bytes as SPI master into `buffer`, a byte every PERIOD
// cycles exactly, sending 0xFF. A guest for `selvedge weave`.
//
// SPDR is double buffered on its way in: a byte is there from cycle 8 N + 1 after its start, where N is the SPI's
// divider, until the next one has come in as well. The next one is started first and the byte read after it, so that
// PERIOD may be 8 N + 2. The first byte and the last are waited for, PERIOD cycles and more each, outside the clock.
//
// PERIOD: as for spi_tx. The SPI MUST be on, be master, and have no byte under way. Nobody else may use it meanwhile.
// SPIF is neither read nor cleared. `count` 0 receives nothing.
#include <avr/io.h>

// A wait of PERIOD cycles or more, by two loops of three cycles a round, since PERIOD may be up to 1026.
#define WAIT_ROUNDS (((PERIOD) + 5) / 6)

        .section .text.spi_rx,"ax",@progbits
        .global spi_rx
        .type spi_rx, @function
spi_rx:
        ;@weave chip __AVR_DEVICE_NAME__
        ;@weave clock rx period=PERIOD
        ;@weave arguments 2 1
        tst     r22
        breq    7f
        movw    r30, r24
        // Only r19 has to be one that takes constants: the host may need the others.
        ldi     r19, 0xFF
        mov     r18, r19
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
        dec     r22
        breq    6f
3:
        ;@weave event start at=0
        out     _SFR_IO_ADDR(SPDR), r18
        ;@weave event byte at=1
        in      r20, _SFR_IO_ADDR(SPDR)
        st      Z+, r20
        dec     r22
        brne    3b
        ;@weave over rx
        ldi     r19, WAIT_ROUNDS
4:
        dec     r19
        ;@weave trip WAIT_ROUNDS
        brne    4b
        ldi     r19, WAIT_ROUNDS
5:
        dec     r19
        ;@weave trip WAIT_ROUNDS
        brne    5b
6:
        in      r20, _SFR_IO_ADDR(SPDR)
        st      Z, r20
7:
        ret
        .size spi_rx, .-spi_rx
