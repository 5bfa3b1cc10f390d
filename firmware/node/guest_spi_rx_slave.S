// void spi_rx_slave(uint8_t *buffer, uint8_t count): receives `count` bytes as SPI slave into `buffer`, a byte every
// PERIOD cycles, from a master whose crystal differs by up to 100 ppm. A guest for `selvedge weave`.
//
// The first byte is waited for, with interrupts off: SPIF is asked every 4 cycles, so that the answer is 0 to 3 cycles
// late. From there on bytes are read half a period behind their completion, and nobody asks any more: a byte is in
// SPDR from its completion to that of the next one. For how many bytes that is right is proved; FRAME are asked for.
//
// PERIOD: cycles from one byte of the master to the next, as the master's data sheet and program say; a slave's SCK is
// f_cpu / 4 at most, so that it is 32 or more. The SPI MUST be on, be slave, and no byte under way; the frame MUST
// begin behind the call. Nobody else may use it meanwhile. `count` is 1 to FRAME; 256 is passed as 0. Afterwards SPIF
// is set where more than one byte was received.
#include <avr/io.h>

#ifndef FRAME
#define FRAME 256
#endif

        .section .text.spi_rx_slave,"ax",@progbits
        .global spi_rx_slave
        .type spi_rx_slave, @function
spi_rx_slave:
        ;@weave chip __AVR_DEVICE_NAME__
        ;@weave clock poll period=4
        ;@weave clock rx period=PERIOD
        ;@weave drift rx ppm=100 rounds=FRAME
        ;@weave arguments 2 1
        movw    r30, r24
        // What came before is none of the frame.
        in      r18, _SFR_IO_ADDR(SPSR)
        in      r18, _SFR_IO_ADDR(SPDR)
1:
        ;@weave event ask at=0 clock=poll
        in      r18, _SFR_IO_ADDR(SPSR)
        sbrs    r18, SPIF
        rjmp    1b
2:
        ;@weave event first at=(PERIOD)/2 clock=poll last
        ;@weave event byte at=0 clock=rx
        in      r18, _SFR_IO_ADDR(SPDR)
        st      Z+, r18
        dec     r22
        brne    2b
        ;@weave over rx
        ret
        .size spi_rx_slave, .-spi_rx_slave
