//! The handler that sends as avr-gcc compiles it; sender.h has the terms.
#include "sender.h"

#include <avr/interrupt.h>

#include "link.h"
#include "power.h"

#ifndef FILTERS_HANDLER_BY_HAND
static const uint8_t *volatile next;
static volatile uint8_t left;

// Behind its beginning in vectors.S; avr-gcc wants such a name.
ISR(__vector_sender)
{
    uint8_t bytes = left;

    if (bytes == 0) {
        link_release();
        return;
    }
    left = bytes - 1;
    const uint8_t *byte = next;
    SPDR = *byte++;
    next = byte;
}

static void hand_over(const uint8_t *bytes, uint8_t count)
{
    next = bytes;
    left = count;
}
#else
static void hand_over(const uint8_t *bytes, uint8_t count)
{
    (void)count; // the page's end tells
    SENDER_BYTE = *bytes++;
    SENDER_NEXT = (uint8_t)(uintptr_t)bytes;
    SENDER_PAGE = (uint8_t)((uintptr_t)bytes >> 8);
    SENDER_STATE = _BV(SENDER_GOES_ON);
}
#endif

void sender_start(const uint8_t *bytes, uint8_t count)
{
    hand_over(bytes + 1, count - 1);
    (void)SPSR; // with the write, clears what a frame before this one left of SPIF
    SPDR = *bytes;
    SPCR |= _BV(SPIE);
}

void sender_wait(void)
{
    for (;;) {
        cli();
        if (!(SPCR & _BV(MSTR))) {
            sei();
            return;
        }
        power_sleep();
    }
}
