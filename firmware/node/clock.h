//! The node's clock: Timer1, free running at one tick per CPU cycle, extended to 32 bits.
//!
//! Owns the timer, its overflow, and compare B, the one alarm of the program: it wakes the core, or opens the bus for
//! reception at its instant even while the program is sealing. Compare A belongs to sampler.h, the capture to link.h;
//! both use the arithmetic here.
//!
//! Ticks wrap every 2^32 cycles; only differences below 2^31 mean something.
#ifndef NODE_CLOCK_H
#define NODE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "chip.h"

/// What the alarm does besides waking the core.
enum clock_alarm {
    CLOCK_WAKES,
    CLOCK_LISTENS, // calls link_listen
};

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

/// Sets the alarm, replacing the one before. A time that is past is now.
void clock_alarm_set(uint32_t ticks, enum clock_alarm alarm);

/// Waits awake until `ticks`, which is less than half a turn (32768 cycles) ahead; not at all when it is past.
void clock_wait(uint32_t ticks);

/// True once the alarm has gone off.
static inline bool clock_alarm_is_over(void)
{
    extern volatile bool clock_alarm_over_now;
    return clock_alarm_over_now;
}

#endif
