// A program that calls FUNCTION once, for a test that prepares registers and memory itself: it stops at the call to set
// them, and finds them at the `break` behind it as FUNCTION left them.
#include <avr/interrupt.h>
#include <avr/io.h>

// Not cleared at start. The host's objects and message, and the guest's buffer.
__attribute__((section(".noinit"), aligned(256))) unsigned char host_memory[HOST_BYTES];
__attribute__((section(".noinit"))) unsigned char guest_memory[GUEST_BYTES];

extern void FUNCTION(void);

int main(void)
{
#ifdef SPI_CONTROL
    // A master's MOSI, SCK and SS are outputs, a slave's only MISO, which is no part of this.
    DDRB = SPI_CONTROL & 1 << MSTR ? 0xFF : 0;
    SPCR = SPI_CONTROL;
    SPSR = SPI_DOUBLE;
#else
    PORTB = 0xA7; // bit 1 is a serial line at rest
    DDRB = 0xFF;
#endif
#ifdef INTERRUPTS
    sei();
#endif
    FUNCTION();
    __asm__ volatile("break");
    for (;;) {
    }
}
