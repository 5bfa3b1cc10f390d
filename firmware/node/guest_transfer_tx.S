// void transfer_tx(struct transfer *transfer): sends a frame over SPI, a byte every PERIOD cycles exactly, and leaves the
// line to others; filters.h has the structure. A guest for `selvedge weave`, and the same as spi_tx but for what it
// does behind the last byte, and that it starts conversions meanwhile (guest_sampler.h).
//
// PERIOD MUST be at least 8 N + 2, as for spi_tx. The SPI MUST be on, be master, and have no byte under way. Nobody else
// may use it meanwhile. When the last byte is over, SS is high, and the line is as link.h's link_release leaves it: others
// may have it while what is woven with this goes on.
//
// The bytes MUST end where a multiple of 256 does: that leaves their count out, whose register the looks need.
#include <avr/io.h>

#include "guest_sampler.h"

// The last byte, in eight rounds of a loop that looks, too.
#define WAIT_CYCLES (((PERIOD) + 7) / 8)

        .section .text.transfer_tx,"ax",@progbits
        .global transfer_tx
        .type transfer_tx, @function
transfer_tx:
        ;@weave chip __AVR_DEVICE_NAME__
        ;@weave clock tx period=PERIOD
        ;@weave arguments 2
        movw    r30, r24
        adiw    r30, 3
        // No register has to be one that takes constants.
        clr     r18
        inc     r18
        st      Z, r18                  // is_over
        sbiw    r30, 1
        ld      r19, -Z                 // bytes
        ld      r18, -Z
        mov     r30, r18
        mov     r31, r19
        sampler_take r19, r21, r18
        ld      r18, Z+
1:
        ;@weave event tx at=0
        out     _SFR_IO_ADDR(SPDR), r18
        sampler_looks 1, tx, r19, r21, r18
        tst     r30
        breq    2f
        ld      r18, Z+
        rjmp    1b
2:
        ;@weave over tx
        inc     r30
        swap    r30
        lsr     r30
3:
        sampler_look r19, r21, r18
        .if     WAIT_CYCLES > 8
        .rept   WAIT_CYCLES - 8
        nop
        .endr
        .endif
        dec     r30
        ;@weave trip 8
        brne    3b
        sbi     _SFR_IO_ADDR(PORTB), CHIP_SS
        out     _SFR_IO_ADDR(SPCR), r30
        cbi     _SFR_IO_ADDR(DDRB), CHIP_SS
        cbi     _SFR_IO_ADDR(DDRB), CHIP_SCK
        cbi     _SFR_IO_ADDR(DDRB), CHIP_MOSI
        ret
        .size transfer_tx, .-transfer_tx
