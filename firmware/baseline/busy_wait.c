/*
 * SPI by polling, see baseline.h: nothing else runs while a byte is shifted.
 */
#include "baseline.h"
#include <avr/io.h>

/* see baseline.h */
void busy_wait_send(const uint8_t *buffer, uint16_t count)
{
    do {
        SPDR = *buffer++;
        while (!(SPSR & _BV(SPIF))) {
        }
    } while (--count != 0);
}

/* see baseline.h */
void busy_wait_receive(uint8_t *buffer, uint16_t count)
{
    do {
        SPDR = 0xFF;
        while (!(SPSR & _BV(SPIF))) {
        }
        *buffer++ = SPDR;
    } while (--count != 0);
}
