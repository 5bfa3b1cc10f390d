//! Where superframes lie on the node's own clock.
//!
//! Owns the estimate of the current superframe's start and of the superframe's length in ticks, from the arrivals of
//! verified beacons, and how far it may be wrong. A tick is one CPU cycle. The node's crystal and the gateway's may
//! each be 100 ppm off; the length of a superframe in the node's own ticks is measured from beacon to beacon, so that
//! neither error remains. Pure: no register is touched here (clock.h owns the timer).
//!
//! Ticks are 32 bits and wrap; only differences are meaningful, and those span seconds.
#ifndef NODE_TIMEBASE_H
#define NODE_TIMEBASE_H

#include <stdbool.h>
#include <stdint.h>

/// An estimate. Caller-owned; read `number` and `start_ticks`, the rest is timebase.c's.
struct timebase {
    uint32_t number;            // the superframe
    uint32_t start_ticks;       // when it starts or started, whole ticks
    uint32_t period_sixteenths; // superframe length, in sixteenths of ticks
    uint32_t nominal_sixteenths;
    uint32_t superframe_us;
    uint32_t jitter_ticks;
    uint8_t start_sixteenths;   // fraction of start_ticks
    uint8_t unheard;            // superframes since the last beacon that was believed
    bool measured;              // the period comes from two beacons and not from the nominal clock
};

/// Starts anew from one verified beacon of superframe `number` that arrived at `arrival_ticks`.
/// `superframe_us` is 1 to SUPERFRAME_US_MAX, `clock_hz` CLOCK_HZ_MIN to CLOCK_HZ_MAX.
void timebase_join(struct timebase *timebase, uint32_t number, uint32_t arrival_ticks, uint32_t superframe_us,
                   uint32_t clock_hz);

/// Goes on to the next superframe, by the estimate. False when too many beacons in a row were missed: the clock is lost.
bool timebase_advance(struct timebase *timebase);

/// A verified beacon of superframe `number` arrived. False, and nothing changed, when it is not the current superframe's
/// or is further from the estimate than `timebase_margin_ticks`: an authentic beacon that somebody delayed.
bool timebase_heard(struct timebase *timebase, uint32_t number, uint32_t arrival_ticks);

/// How far the start may be from the beacon's true arrival because clocks drift. 0 right after a beacon.
uint32_t timebase_drift_ticks(const struct timebase *timebase);

/// How far an instant of the present superframe may be from the gateway's, by the beacon that was heard last.
uint32_t timebase_slot_drift_ticks(const struct timebase *timebase);

/// How far from the start a beacon may arrive: drift and the gateway's own jitter.
uint32_t timebase_margin_ticks(const struct timebase *timebase);

/// When listening for the next superframe's beacon begins, by the present estimate.
uint32_t timebase_next_listen_ticks(const struct timebase *timebase);

/// `us` of the gateway's time in the node's ticks, rounded down. `us` <= twice the superframe.
uint32_t timebase_ticks(const struct timebase *timebase, uint32_t us);

/// The sampling instants of one superframe: `count` instants, the first at its start, spaced by an exact fraction.
struct grid {
    uint32_t next_ticks;  // the next instant, whole ticks
    uint32_t step_ticks;  // whole ticks between two instants
    uint16_t step_part;   // and this many parts
    uint16_t part;        // parts beyond next_ticks
    uint16_t parts;       // parts of a tick: 16 * count
    uint8_t left;         // instants from next_ticks on
};

/// The grid of the superframe after the current one. `count` is 1 to FRAME_SAMPLES_MAX.
void timebase_next_grid(const struct timebase *timebase, uint8_t count, struct grid *grid);

/// Goes on to the next instant. False when that was the last one.
/// Invariant: after `count` steps next_ticks is the start of the superframe after, without accumulated error.
static inline bool grid_step(struct grid *grid)
{
    grid->next_ticks += grid->step_ticks;
    grid->part += grid->step_part;
    if (grid->part >= grid->parts) {
        grid->part -= grid->parts;
        grid->next_ticks++;
    }
    return --grid->left != 0;
}

#endif
