//! The node's clock: Timer1, free running at one tick per CPU cycle, extended to 32 bits.
//!
//! Owns the timer, its overflow, and compare B, the one alarm of the program, which wakes the task that waits for
//! `clock_signal`; or opens the bus for reception at its instant, whatever runs, and wakes that task at another one.
//! Compare A belongs to sampler.h, the capture to link.h; both use the arithmetic here.
//!
//! The alarm's handler goes through the kernel, and the sampler's does not, but lets interrupts in: it holds the alarm
//! off meanwhile (vectors.S), because whoever the alarm wakes would keep the sampler waiting. So does a frame that ends
//! then: it is told of by the alarm, behind the sampler.
//!
//! Ticks wrap every 2^32 cycles; only differences below 2^31 mean something.
#ifndef NODE_CLOCK_H
#define NODE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <util/atomic.h>

#include "avrx.h"
#include "chip.h"

/// Set when the alarm goes off, and by link.h when a frame is over. The MAC's task waits for it.
extern Mutex clock_signal;

/// Starts the timer.
void clock_boot(void);

/// The present tick, to within the call.
uint32_t clock_now(void);

/// True when `ticks` is not in the future.
static inline bool clock_is_past(uint32_t now, uint32_t ticks)
{
    return (int32_t)(now - ticks) >= 0;
}

/// Turns of the 16-bit timer, counted by its overflow.
extern volatile uint16_t clock_turns;

/// The tick of a 16-bit timer value, given the turns and the overflow flag as they were read right after it.
static inline uint32_t clock_extend(uint16_t low, uint16_t turns, bool overflow_waits)
{
    // An overflow that is not served yet happened before a small value and after a large one.
    if (overflow_waits && low < 0x8000) {
        turns++;
    }
    return (uint32_t)turns << 16 | low;
}

/// Points a compare unit, whose interrupt MUST be disabled, at `ticks`, and answers how many of its matches (one per
/// turn of the timer) come before that one. A time that is past is moved CLOCK_LEAD_CYCLES_MIN from now.
/// Enabling the interrupt later loses no match. Keeps interrupts off for one register's access only.
uint16_t clock_aim(volatile uint16_t *compare, uint8_t flag, uint32_t ticks);

/// Sets the alarm, replacing the one before, whose signal is forgotten. A time that is past is now; where a conversion is
/// to be started right behind it, the alarm comes behind that (`sampler_goes_first`).
void clock_alarm_set(uint32_t ticks);

/// The same, but opens the link at `opens`, without the kernel, and goes off at `until`, unless a frame has begun by then;
/// or, when that has not ended within `frame_ticks`, soon after that.
void clock_alarm_listen(uint32_t opens, uint32_t until, uint32_t frame_ticks);

/// For link.c, which puts the alarm off when a frame begins, and switches it off when the frame is over.
extern volatile bool clock_alarm_is_set;
extern volatile uint16_t clock_matches_before, clock_frame_turns;
/// For the sampler: whether the alarm may come ALARM_AHEAD_CYCLES + ALARM_BEHIND_CYCLES later.
extern volatile bool clock_alarm_gives_way;

/// The sampler's handler has held the alarm off: not any more.
static inline void clock_alarm_resume(void)
{
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE)
    {
        if (clock_alarm_is_set) {
            CHIP_TIMER1_MASK |= _BV(OCIE1B);
        }
    }
}

/// Whether the sampler's handler has it held off, while it is set. Interrupts MUST be off.
static inline bool clock_alarm_is_held(void)
{
    return !(CHIP_TIMER1_MASK & _BV(OCIE1B));
}

/// Sets the alarm for as soon as it is not held off. Interrupts MUST be off, and the link not waiting to be opened.
static inline void clock_alarm_soon(void)
{
    OCR1B = TCNT1 + 40; // longer than this takes
    clock_matches_before = 0;
    clock_alarm_is_set = true;
}

/// Waits for the alarm, or for the frame that the link is open for. For one task at a time.
void clock_alarm_wait(void);

/// Waits awake until `ticks`, which is less than half a turn (32768 cycles) ahead; not at all when it is past.
void clock_wait(uint32_t ticks);

#endif
