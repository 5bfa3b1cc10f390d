//! The sampler: one conversion at each instant of the grid, one superframe's codes at a time.
//!
//! Owns the ADC and Timer1's compare A. The ADC is switched on for each conversion and off after it: that saves its
//! current, and its prescaler, held in reset while it is off, starts in step with the conversion. So the input is held
//! a fixed time after the start (13.5 ADC clocks into a first conversion, datasheets "ADC Timing Diagram, First
//! Conversion"), and every start is that much early. Whoever is about to switch tasks lets a conversion that is due begin
//! first (stand_clear.S), and so does the alarm. What jitter remains is the delay of the start by other interrupts: a
//! frame's beginning and end, and a byte of it.
//!
//! Two superframes are in hand: the one that is being sampled and the next, armed while the first runs. Each has its channel,
//! chosen when the code before its first is taken, the ADC being off. That is never too late: a code is taken before the next
//! conversion begins, but for those of a woven filter, and none runs at a superframe's begin.
//!
//! A woven filter keeps interrupts off for a frame. Its guest starts conversions by itself meanwhile (guest_sampler.h), and
//! where a frame is longer than a step of the grid, a server takes a code and sets compare A for the instant after that
//! (server_sampler.S). What it took is stored behind the frame: until then it is in hand, and the instant after it has
//! been aimed at. The converter of the ATmega128 cannot be started by the timer, and where it can, the code would have to
//! be fetched all the same.
#ifndef NODE_SAMPLER_H
#define NODE_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "limits.h"
#include "timebase.h"

/// Chooses the ADC clock (at most 200 kHz, above which the tenth bit suffers).
void sampler_boot(uint32_t clock_hz);

/// The shortest distance of two instants, in cycles: one conversion and its interrupt.
uint16_t sampler_interval_min_cycles(void);

/// Hands over a superframe: codes of `channel` go to `codes` as 16-bit little-endian integers, one per instant of `grid`.
/// False, and nothing happens, when its first instant is past or one superframe is waiting already.
bool sampler_arm(const struct grid *grid, uint8_t *codes, uint8_t channel);

/// When the last code of `grid` is there, unless something else was served meanwhile.
uint32_t sampler_filled_ticks(const struct grid *grid);

/// True when `codes` is the last that was filled and has not been armed again. Interrupts MUST be off.
static inline bool sampler_has_filled(const uint8_t *codes)
{
    extern const uint8_t *volatile sampler_filled_now;
    return sampler_filled_now == codes;
}

/// Whether whom an alarm wakes would keep a conversion waiting, from their matches: unless there is a turn between the two.
static inline bool sampler_alarm_is_in_the_way(uint16_t alarm, uint16_t match)
{
    return (uint16_t)(match - alarm) < ALARM_AHEAD_CYCLES;
}

/// Whether such an alarm, before whose match and the conversion's as many turns are counted, can be moved behind the
/// conversion's start: not while the timer is between the two places, which is a turn before the alarm, and not when it is
/// about to come.
static inline bool sampler_alarm_moves(uint16_t now, uint16_t alarm)
{
    uint16_t ahead_cycles = alarm - now;
    return ahead_cycles > MATCH_AGE_CYCLES_MAX &&
           ahead_cycles < (uint16_t)-(ALARM_AHEAD_CYCLES + ALARM_BEHIND_CYCLES);
}

/// Puts an alarm that is due right before the next conversion right behind its start: whom it wakes would keep that
/// waiting. The alarm's interrupt MUST be off, and whoever sets compare A held off, or nothing be sampled.
void sampler_goes_first(void);

/// Switches interrupts off for longer than a conversion may wait: one that is due begins before.
void sampler_stand_clear(void);

/// Stores what was taken during a woven filter. Behind each of them, and before the link is open again.
void sampler_settle(void);

/// Forgets every superframe and switches the ADC off.
void sampler_stop(void);

#endif
