// void spi_rx(uint8_t *buffer, uint8_t count): receives `count` bytes as SPI master into `buffer`, a byte every
// PERIOD cycles exactly, sending 0xFF. A guest for `selvedge weave`.
//
// SPDR is double buffered on its way in: a byte is there from cycle 8 N + 1 after its start, where N is the SPI's
// divider, until the next one has come in as well. The next one is started first and the byte read after it, so that
// PERIOD may be 8 N + 2. The first byte and the last are waited for, PERIOD cycles and more each, outside the clock.
//
// PERIOD: as for spi_tx. The SPI MUST be on, be master, and have no byte under way. Nobody else may use it meanwhile.
// SPIF is neither read nor cleared. `count` 0 receives nothing.
#include <avr/io.h>

// A wait of four cycles a round that lasts PERIOD cycles or more; PERIOD may be up to 1026, hence two bytes.
#define WAIT_ROUNDS (((PERIOD) + 3) / 4)

        .section .text.spi_rx,"ax",@progbits
        .global spi_rx
        .type spi_rx, @function
spi_rx:
        ;@weave chip __AVR_DEVICE_NAME__
        ;@weave clock rx period=PERIOD
        ;@weave arguments 2 1
        tst     r22
        breq    5f
        movw    r30, r24
        ldi     r18, 0xFF
        out     _SFR_IO_ADDR(SPDR), r18
        ldi     r20, lo8(WAIT_ROUNDS)
        ldi     r21, hi8(WAIT_ROUNDS)
1:
        subi    r20, 1
        sbci    r21, 0
        ;@weave trip WAIT_ROUNDS
        brne    1b
        dec     r22
        breq    4f
2:
        ;@weave event start at=0
        out     _SFR_IO_ADDR(SPDR), r18
        ;@weave event byte at=1
        in      r19, _SFR_IO_ADDR(SPDR)
        st      Z+, r19
        dec     r22
        brne    2b
        ;@weave over rx
        ldi     r20, lo8(WAIT_ROUNDS)
        ldi     r21, hi8(WAIT_ROUNDS)
3:
        subi    r20, 1
        sbci    r21, 0
        ;@weave trip WAIT_ROUNDS
        brne    3b
4:
        in      r19, _SFR_IO_ADDR(SPDR)
        st      Z, r19
5:
        ret
        .size spi_rx, .-spi_rx
