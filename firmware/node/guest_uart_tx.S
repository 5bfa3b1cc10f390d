// void uart_tx(const uint8_t *buffer, uint8_t count): sends `count` bytes at `buffer` as a serial line does, 8N1,
// least significant bit first: BIT cycles a bit, without a pause between bytes. A guest for `selvedge weave`.
//
// BIT is f_cpu over the rate, rounded: 139 for 115200 bit/s at 16 MHz. UART_PORT names the port and UART_BIT the bit
// of it, 0 to 7. The bit MUST be an output, and high. The port is written as a whole: nobody else may change it
// meanwhile. A round of the clock is a byte. `count` 0 sends nothing. The line is left high; before another byte
// begins there, the stop bit has to last BIT cycles, which is the caller's to see to.
#include <avr/io.h>

#ifndef UART_PORT
#define UART_PORT PORTB
#define UART_BIT  1
#endif

        .section .text.uart_tx,"ax",@progbits
        .global uart_tx
        .type uart_tx, @function
uart_tx:
        ;@weave chip __AVR_DEVICE_NAME__
        ;@weave clock uart period=10*(BIT)
        ;@weave arguments 2 1
        // Woven, only r18 has to be one that takes constants: the host may need the others.
        tst     r22
        breq    3f
        movw    r30, r24
        in      r18, _SFR_IO_ADDR(UART_PORT)
        ori     r18, 1 << UART_BIT
        mov     r20, r18
        andi    r18, 0xFF & ~(1 << UART_BIT)
        mov     r21, r18
1:
        ;@weave event start at=0
        out     _SFR_IO_ADDR(UART_PORT), r21
        ld      r18, Z+
        ldi     r23, 8
2:
        mov     r19, r21
        sbrc    r18, 0
        mov     r19, r20
        ;@weave event bit at=BIT every=BIT times=8
        out     _SFR_IO_ADDR(UART_PORT), r19
        lsr     r18
        dec     r23
        brne    2b
        ;@weave event stop at=9*(BIT)
        out     _SFR_IO_ADDR(UART_PORT), r20
        dec     r22
        brne    1b
3:
        ;@weave over uart
        ret
        .size uart_tx, .-uart_tx
