// void transfer_rx(struct transfer *transfer): receives a frame as SPI slave, a byte every PERIOD cycles, from a master
// whose crystal differs by up to 100 ppm; filters.h has the structure. A guest for `selvedge weave`.
//
// The first byte is waited for, with interrupts off, 32 times ASK cycles at most; then bytes are read half a period
// behind their completion, as spi_rx_slave does. When the first byte never comes the rounds go by all the same: that
// is bounded too, and whatever is woven with them gets on. Each round looks whether its byte came: `is_over` says
// whether all of them did. What is in `bytes` otherwise is what SPDR had.
//
// PERIOD: cycles from one byte of the master to the next; ASK is 6 or more, and less than half of PERIOD by
// what the crystals come to. The SPI MUST be on, be slave, and no byte under way; the first byte MUST be complete behind the
// call. Nobody else may use it meanwhile. `count` is 1 to 255, or 0 for 256.
#include <avr/io.h>

#ifndef ASK
#define ASK 64
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
        ;@weave drift rx ppm=100 rounds=FRAME
        ;@weave arguments 2
        movw    r30, r24
        adiw    r30, 3
        mov     r28, r30                // is_over
        mov     r29, r31
        ld      r22, -Z                 // count
        ld      r23, -Z
        ld      r18, -Z
        mov     r30, r18
        mov     r31, r23
        // No constants: the host may need the registers that take them.
        clr     r23
        com     r23
        clr     r19
        com     r19
        lsr     r19
        lsr     r19
        lsr     r19                     // 31
        // What came before is none of the frame.
        in      r18, _SFR_IO_ADDR(SPSR)
        in      r18, _SFR_IO_ADDR(SPDR)
1:
        ;@weave event ask at=0 clock=poll
        in      r18, _SFR_IO_ADDR(SPSR)
        sbrc    r18, SPIF
        clr     r19
        .rept   (ASK) - 6
        nop
        .endr
        dec     r19
        brpl    1b
2:
        ;@weave event first at=(PERIOD)/2 clock=poll last
        ;@weave event came at=0 clock=rx
        in      r18, _SFR_IO_ADDR(SPSR)
        ;@weave event byte at=1 clock=rx
        in      r20, _SFR_IO_ADDR(SPDR) // and SPIF is clear
        and     r23, r18
        st      Z+, r20
        dec     r22
        brne    2b
        ;@weave over rx
        mov     r30, r28
        mov     r31, r29
        lsl     r23
        clr     r23
        rol     r23                     // SPIF is bit 7
        st      Z, r23
        ret
        .size transfer_rx, .-transfer_rx
