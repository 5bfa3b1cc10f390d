// void transfer_rx(struct transfer *transfer): receives a frame as SPI slave, a byte every PERIOD cycles, from a master
// whose crystal differs by up to 100 ppm; filters.h has the structure. A guest for `selvedge weave`.
//
// The first byte is waited for, with interrupts off, 128 times ASK cycles at most; then bytes are read half a period
// behind their completion, as spi_rx_slave does. When the first byte never comes the rounds go by all the same: that
// is bounded too, and whatever is woven with them gets on. Each round looks whether its byte came: `is_over` says
// whether all of them did. What is in `bytes` otherwise is what SPDR had. All the while it starts conversions
// (guest_sampler.h). When the last byte was read the SPI is off.
//
// PERIOD: cycles from one byte of the master to the next, at most 20 times ASK; ASK is 17 or more, and less than half of
// PERIOD by what the crystals come to. The SPI MUST be on, be slave, and no byte under way; the first byte MUST be
// complete behind the call. Nobody else may use it meanwhile.
//
// The bytes MUST end where a multiple of 256 does, as for transfer_tx; what no round needs is in memory (filters.c).
#include <avr/io.h>

#include "guest_sampler.h"

#ifndef ASK
#define ASK 32
#endif
#ifndef FRAME
#define FRAME 256
#endif

        .section .text.transfer_rx,"ax",@progbits
        .global transfer_rx
        .type transfer_rx, @function
transfer_rx:
        ;@weave chip __AVR_DEVICE_NAME__
        ;@weave clock poll period=ASK
        ;@weave clock rx period=PERIOD
        ;@weave drift rx ppm=100 rounds=FRAME until=4
        ;@weave arguments 2
        ;@weave apart line_transfer host.pointers
        ;@weave apart line_came host.pointers
        ;@weave apart line_asks host.pointers
        sts     line_transfer, r24
        sts     line_transfer+1, r25
        mov     r30, r24
        mov     r31, r25
        ld      r18, Z+                 // bytes
        ld      r31, Z
        mov     r30, r18
        // No constants: the host may need the registers that take them.
        clr     r18
        sts     line_asks, r18
        com     r18
        sts     line_came, r18
        sampler_take r19, r21, r18
        // What came before is none of the frame.
        in      r18, _SFR_IO_ADDR(SPSR)
        in      r18, _SFR_IO_ADDR(SPDR)
1:
        ;@weave event ask at=0 clock=poll
        in      r18, _SFR_IO_ADDR(SPSR)
        sbrc    r18, SPIF
        sts     line_asks, r18          // negative: this was the last one
        sampler_look r19, r21, r18
        .rept   (ASK) - 11 - SAMPLER_LOOK_TAKES
        nop
        .endr
        lds     r18, line_asks
        inc     r18
        sts     line_asks, r18
        ;@weave trip 1..128
        brpl    1b
        .irp    look,1,2,3,4,5,6,7,8,9,10
        .if     (PERIOD) / 2 > \look*(ASK) + 3 + SAMPLER_LOOK_TAKES
        sampler_look_at \look*(ASK)+3, poll, r19, r21, r18, maybe
        .endif
        .endr
2:
        ;@weave event first at=(PERIOD)/2 clock=poll last
        ;@weave event came at=0 clock=rx
        in      r18, _SFR_IO_ADDR(SPSR)
        sbrs    r18, SPIF
        sts     line_came, r18          // whose bit 5 is 0
        ;@weave event byte at=4 clock=rx
        in      r18, _SFR_IO_ADDR(SPDR) // and SPIF is clear
        st      Z+, r18
        sampler_looks 20, rx, r19, r21, r18
        tst     r30
        brne    2b
        ;@weave over rx
        out     _SFR_IO_ADDR(SPCR), r30
        lds     r18, line_came
        lds     r30, line_transfer
        lds     r31, line_transfer+1
        adiw    r30, 3                  // is_over
        clr     r19
        sbrc    r18, 5
        inc     r19
        st      Z, r19
        ret
        .size transfer_rx, .-transfer_rx
