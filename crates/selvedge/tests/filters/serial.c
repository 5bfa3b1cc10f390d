// A serial line at 38,400 bit/s and a tick each millisecond, at 8 MHz: what servers do while interrupts are off, and these
// handlers while they are on. Each tick toggles the timer's pin, for whoever counts them outside.
#include <avr/interrupt.h>
#include <avr/io.h>

#if defined(__AVR_ATmega128__)
#define TICK_vect     TIMER0_COMP_vect
#define RECEIVED_vect USART0_RX_vect
#else
#define TICK_vect     TIMER0_COMPA_vect
#define RECEIVED_vect USART_RX_vect
#endif

// The servers'.
extern uint8_t server_uart_rx_ring[256];
extern volatile uint8_t server_uart_rx_head, server_tick_count;
// What the timer begins with, below 124: what is written to it matches nothing.
uint8_t tick_phase __attribute__((section(".noinit")));

ISR(RECEIVED_vect)
{
    (void)UCSR0A; // its errors, for whoever watches
    server_uart_rx_ring[server_uart_rx_head++] = UDR0;
}

ISR(TICK_vect)
{
    server_tick_count++;
}

__attribute__((constructor)) static void prepare(void)
{
    UBRR0L = 12;
    UCSR0B = _BV(RXEN0) | _BV(RXCIE0);
    TCNT0 = tick_phase;
#if defined(__AVR_ATmega128__)
    OCR0 = 124;
    TIMSK = _BV(OCIE0);
    TCCR0 = _BV(WGM01) | _BV(COM00) | _BV(CS02); // f/64
#else
    OCR0A = 124;
    TIMSK0 = _BV(OCIE0A);
    TCCR0A = _BV(WGM01) | _BV(COM0A0);
    TCCR0B = _BV(CS01) | _BV(CS00);
#endif
}
