// void spi_tx(const uint8_t *buffer, uint8_t count): sends `count` bytes at `buffer` over SPI, a byte every PERIOD
// cycles exactly. A guest for `selvedge weave`; by itself it is only fit for small programs that mind no time.
//
// PERIOD MUST be at least 8 N + 2, where N is the divider by which SPCR and SPSR make the SPI's clock: 18 for f/2, 34
// for f/4, 66, 130, 258, 514, 1026. The prescaler may run on between bytes; with such a chip add N for N > 2. The SPI
// MUST be on, be master, and have no byte under way. Nobody else may use it meanwhile. SPIF is neither read nor
// cleared. `count` is 1 to 256, of which 256 is passed as 0. Coupled (`--couple`) it sends what the host produces, and
// has no parameters.
#include <avr/io.h>

        .section .text.spi_tx,"ax",@progbits
        .global spi_tx
        .type spi_tx, @function
spi_tx:
        ;@weave chip __AVR_DEVICE_NAME__
        ;@weave clock tx period=PERIOD
        ;@weave arguments 2 1
        movw    r30, r24
        ;@weave consume
        ld      r18, Z+
1:
        ;@weave event tx at=0
        out     _SFR_IO_ADDR(SPDR), r18
        dec     r22
        breq    2f
        ;@weave consume
        ld      r18, Z+
        rjmp    1b
2:
        ;@weave over tx
        ret
        .size spi_tx, .-spi_tx
