//! Timer1 as a 32-bit clock with an alarm; clock.h has the terms, vectors.S the overflow and the turns before the alarm.
#include "clock.h"

#include <avr/interrupt.h>
#include <util/atomic.h>

#include "chip.h"
#include "limits.h"
#include "link.h"
#include "sampler.h"

volatile uint16_t clock_turns;

Mutex clock_signal;
volatile bool clock_alarm_is_set;

volatile uint16_t clock_matches_before, clock_frame_turns;
/// What the alarm is set to when it has opened the link.
static volatile bool listens;
static volatile uint16_t until_low, until_matches;
volatile bool clock_alarm_gives_way;

// Behind its beginning in vectors.S, which counts the matches before; avr-gcc wants such a name.
AVRX_SIGINT(__vector_alarm)
{
    if (listens) {
        listens = clock_alarm_gives_way = false;
        OCR1B = until_low;
        clock_matches_before = until_matches;
        link_listen_now();
        return;
    }
    clock_alarm_is_set = false;
    CHIP_TIMER1_MASK &= (uint8_t)~_BV(OCIE1B);
    if (link_state_now != LINK_RECEIVED) {
        link_state_now = LINK_CLOSED;
    }
    AvrXEnterKernel();
    AvrXIntSetSemaphore(&clock_signal);
    AvrXLeaveKernel();
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
            uint16_t matches_before = (uint16_t)((ticks - now - 1) >> 16);
            // One that was a moment ago may have raised it or not.
            if (matches_before == 0 || (uint16_t)((uint16_t)now - (uint16_t)ticks) > MATCH_DOUBT_CYCLES) {
                return matches_before;
            }
            continue;
        }
        ticks = now + CLOCK_LEAD_CYCLES_MIN;
    }
}

static void stop(void)
{
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE)
    {
        clock_alarm_is_set = false;
        CHIP_TIMER1_MASK &= (uint8_t)~_BV(OCIE1B);
    }
    listens = false;
    AvrXResetSemaphore(&clock_signal);
}

static void start(uint32_t ticks)
{
    clock_matches_before = clock_aim(&OCR1B, _BV(OCF1B), ticks);
    clock_alarm_gives_way = clock_alarm_is_set = true;
    sampler_goes_first();
    clock_alarm_resume();
}

void clock_alarm_set(uint32_t ticks)
{
    stop();
    start(ticks);
}

void clock_alarm_listen(uint32_t opens, uint32_t until, uint32_t frame_ticks)
{
    stop();
    uint32_t now = clock_now();
    if (clock_is_past(now + CLOCK_LEAD_CYCLES_MIN, opens)) {
        opens = now + 2 * CLOCK_LEAD_CYCLES_MIN;
    }
    // The handler sets the second time some cycles behind the first, which may give way: no match of it is among those.
    if (clock_is_past(opens + LISTEN_CYCLES_MIN, until)) {
        until = opens;
    }
    if ((uint16_t)(until - opens) < LISTEN_CYCLES_MIN) {
        until += LISTEN_CYCLES_MIN;
    }
    clock_frame_turns = (uint16_t)(frame_ticks >> 16);
    until_low = (uint16_t)until;
    until_matches = (uint16_t)((until - opens) >> 16);
    listens = true;
    start(opens);
}

void clock_alarm_wait(void)
{
    link_wait();
    AvrXWaitSemaphore(&clock_signal);
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
