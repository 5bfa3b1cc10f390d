//! Timer1 as a 32-bit clock with an alarm; clock.h has the terms, vectors.S the overflow.
#include "clock.h"

#include <avr/interrupt.h>
#include <util/atomic.h>

#include "chip.h"
#include "limits.h"
#include "link.h"

volatile uint16_t clock_turns;

static volatile uint16_t matches_before;
static volatile bool alarm_is_over = true;
static volatile uint8_t alarm_does;

ISR(TIMER1_COMPB_vect)
{
    if (matches_before != 0) {
        matches_before--;
        return;
    }
    CHIP_TIMER1_MASK &= (uint8_t)~_BV(OCIE1B);
    alarm_is_over = true;
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
    uint32_t now;
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE)
    {
        now = clock_extend(TCNT1);
    }
    return now;
}

uint16_t clock_aim(volatile uint16_t *compare, uint8_t flag, uint32_t ticks)
{
    for (;;) {
        uint32_t now;
        ATOMIC_BLOCK(ATOMIC_RESTORESTATE)
        {
            *compare = (uint16_t)ticks;
            CHIP_TIMER1_FLAGS = flag;
            now = clock_extend(TCNT1);
        }
        // From here on a match raises the flag, whether or not its interrupt is enabled yet.
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
    alarm_is_over = false;
    alarm_does = alarm;
    matches_before = clock_aim(&OCR1B, _BV(OCF1B), ticks);
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE)
    {
        CHIP_TIMER1_MASK |= _BV(OCIE1B);
    }
}

bool clock_alarm_is_over(void)
{
    return alarm_is_over;
}
