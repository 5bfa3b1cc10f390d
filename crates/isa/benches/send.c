/* The simulator's speed with a busy bus: RC4's permutation, each byte sent over SPI at f/16 and waited for. */
#include <avr/io.h>
#include <stdint.h>

static uint8_t state[256];

int main(void)
{
    uint8_t i = 0, j = 0;
    for (uint16_t n = 0; n < 256; n++)
        state[n] = n;
    DDRB = _BV(PB0) | _BV(PB1) | _BV(PB2);
    SPCR = _BV(SPE) | _BV(MSTR) | _BV(SPR0);
    for (;;) {
        uint8_t x = state[++i];
        uint8_t y = state[j += x];
        state[i] = y;
        state[j] = x;
        SPDR = state[(uint8_t)(x + y)];
        while (!(SPSR & _BV(SPIF)))
            ;
    }
}
