/*
 * SPI by a handler in C, see baseline.h: what avr-gcc saves and restores is what the scheme costs.
 */
#include "baseline.h"
#include <avr/interrupt.h>
#include <avr/io.h>

/* Bytes to start; the handler's once it runs. */
static uint8_t left;

#ifdef BASELINE_RECEIVE

static uint8_t *next;

/* see baseline.h */
void interrupt_receive(uint8_t *buffer, uint16_t count)
{
    next = buffer;
    left = (uint8_t)(count - 1);
    SPCR |= _BV(SPIE);
    SPDR = 0xFF;
}

/* The next byte is started before the last one is stored: SPDR is double buffered on its way in. */
ISR(SPI_STC_vect)
{
    SPDR = 0xFF;
    *next++ = SPDR;
    if (--left == 0) {
        SPCR &= (uint8_t)~_BV(SPIE);
    }
}

#else

static const uint8_t *next;

/* see baseline.h */
void interrupt_send(const uint8_t *buffer, uint16_t count)
{
    next = buffer + 1;
    left = (uint8_t)(count - 1);
    SPCR |= _BV(SPIE);
    SPDR = *buffer;
}

ISR(SPI_STC_vect)
{
    SPDR = *next++;
    if (--left == 0) {
        SPCR &= (uint8_t)~_BV(SPIE);
    }
}

#endif
