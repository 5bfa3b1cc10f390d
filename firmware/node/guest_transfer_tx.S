// void transfer_tx(struct transfer *transfer): sends a frame over SPI, a byte every PERIOD cycles exactly; filters.h has
// the structure. A guest for `selvedge weave`, and the same as spi_tx but that it waits for the last byte as well.
//
// PERIOD MUST be at least 8 N + 2, as for spi_tx. The SPI MUST be on, be master, and have no byte under way. Nobody else
// may use it meanwhile. Afterwards no byte is under way, and SPIF is set.
#include <avr/io.h>

// The last byte, by two loops of three cycles a round, since PERIOD may be up to 1026.
#define WAIT_ROUNDS (((PERIOD) + 5) / 6)

        .section .text.transfer_tx,"ax",@progbits
        .global transfer_tx
        .type transfer_tx, @function
transfer_tx:
        ;@weave chip __AVR_DEVICE_NAME__
        ;@weave clock tx period=PERIOD
        ;@weave arguments 2
        movw    r30, r24
        adiw    r30, 3
        // Only r20 has to be one that takes constants, and it is not used in the rounds.
        ldi     r20, 1
        st      Z, r20                  // is_over
        ld      r22, -Z                 // count
        ld      r20, -Z
        ld      r18, -Z
        mov     r30, r18
        mov     r31, r20
        ld      r18, Z+
1:
        ;@weave event tx at=0
        out     _SFR_IO_ADDR(SPDR), r18
        dec     r22
        breq    2f
        ld      r18, Z+
        rjmp    1b
2:
        ;@weave over tx
        ldi     r20, WAIT_ROUNDS
3:
        dec     r20
        ;@weave trip WAIT_ROUNDS
        brne    3b
        ldi     r20, WAIT_ROUNDS
4:
        dec     r20
        ;@weave trip WAIT_ROUNDS
        brne    4b
        ret
        .size transfer_tx, .-transfer_tx
