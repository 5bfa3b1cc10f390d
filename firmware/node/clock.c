//! Timer1 as a 32-bit clock with an alarm; clock.h has the terms, vectors.S the overflow.
#include "clock.h"

#include <avr/interrupt.h>
#include <util/atomic.h>

#include "chip.h"
#include "limits.h"
#include "link.h"

volatile uint16_t clock_turns;

static volatile uint16_t matches_before;
volatile bool clock_alarm_over_now = true;
static volatile uint8_t alarm_does;

ISR(TIMER1_COMPB_vect)
{
    if (matches_before != 0) {
        matches_before--;
        return;
    }
    CHIP_TIMER1_MASK &= (uint8_t)~_BV(OCIE1B);
    clock_alarm_over_now = true;
    if (alarm_does == CLOCK_LISTENS) {
        link_listen_now();
    }
}

void clock_boot(void)
{
    TCCR1A = 0;
    TCCR1B = _BV(CS10);
    CHIP_TIMER1_MASK = _BV(TOIE1);
}

uint32_t clock_now(void)
{
    uint16_t low, turns;
    bool overflow_waits;
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE)
    {
        low = TCNT1;
        turns = clock_turns;
        overflow_waits = CHIP_TIMER1_FLAGS & _BV(TOV1);
    }
    return clock_extend(low, turns, overflow_waits);
}

uint16_t clock_aim(volatile uint16_t *compare, uint8_t flag, uint32_t ticks)
{
    for (;;) {
        ATOMIC_BLOCK(ATOMIC_RESTORESTATE)
        {
            *compare = (uint16_t)ticks;
        }
        CHIP_TIMER1_FLAGS = flag;
        // From here on a match raises the flag, whether or not its interrupt is enabled yet.
        uint32_t now = clock_now();
        if (!clock_is_past(now, ticks)) {
            return (uint16_t)((ticks - now - 1) >> 16);
        }
        ticks = now + CLOCK_LEAD_CYCLES_MIN;
    }
}

void clock_alarm_set(uint32_t ticks, enum clock_alarm alarm)
{
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE)
    {
        CHIP_TIMER1_MASK &= (uint8_t)~_BV(OCIE1B);
    }
    clock_alarm_over_now = false;
    alarm_does = alarm;
    matches_before = clock_aim(&OCR1B, _BV(OCF1B), ticks);
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE)
    {
        CHIP_TIMER1_MASK |= _BV(OCIE1B);
    }
}

void clock_wait(uint32_t ticks)
{
    uint16_t low;
    if (clock_is_past(clock_now(), ticks)) {
        return;
    }
    // Half the timer is enough here, and a turn of this loop is short.
    do {
        ATOMIC_BLOCK(ATOMIC_RESTORESTATE)
        {
            low = TCNT1;
        }
    } while ((int16_t)(low - (uint16_t)ticks) < 0);
}
