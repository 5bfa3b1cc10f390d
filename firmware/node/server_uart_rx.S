// void server_uart_rx(void): takes a byte from USART 0, if one has come in, into a ring of 256 bytes. A polling guest for
// `selvedge weave --server`.
//
// WITHIN: cycles between two runs, at most, while the guest sends or receives. The USART buffers two bytes and a third one that
// is coming in, so that no byte is lost when this is below a byte's time: 10 bits, 1389 cycles for 115200 bit/s at 16 MHz.
// Below two bytes' time is enough for a guest that waits once, for its first byte, and then has it run more often.
// The USART MUST be on. Nobody else may read UDR0 or write the ring meanwhile. Who takes bytes out reads them at
// server_uart_rx_ring up to server_uart_rx_head; nobody says when the ring is full.
#include <avr/io.h>

#if _SFR_MEM_ADDR(UDR0) < 0x60
#define READ in
#define SFR  _SFR_IO_ADDR
#else
#define READ lds
#define SFR  _SFR_MEM_ADDR
#endif

#ifndef WITHIN
#define WITHIN 1300
#endif

        .comm   server_uart_rx_head, 1

        // An index is the low byte of a pointer.
        .section .bss.server_uart_rx,"aw",@nobits
        .balign 256
        .global server_uart_rx_ring
server_uart_rx_ring:
        .space  256

        .section .text.server_uart_rx,"ax",@progbits
        .global server_uart_rx
        .type server_uart_rx, @function
server_uart_rx:
        ;@weave chip __AVR_DEVICE_NAME__
        ;@weave server uart_rx within=WITHIN
        ;@weave apart server_uart_rx_ring host.pointers
        ;@weave apart server_uart_rx_head host.pointers
        READ    r24, SFR(UCSR0A)
        lsl     r24             // RXC0 is bit 7
        brcc    1f
        lds     r30, server_uart_rx_head
        ldi     r31, hi8(server_uart_rx_ring)
        READ    r24, SFR(UDR0)
        st      Z+, r24
        sts     server_uart_rx_head, r30
1:
        ret
        .size server_uart_rx, .-server_uart_rx
