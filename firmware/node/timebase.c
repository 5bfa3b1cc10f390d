//! Estimates start and length of superframes; timebase.h has the terms.
#include "timebase.h"

#include "limits.h"

/// Adds the period to a start; both have a fraction of sixteenths.
static uint32_t next_start(const struct timebase *timebase, uint8_t *sixteenths)
{
    uint8_t fraction = timebase->start_sixteenths + (timebase->period_sixteenths & 15);
    *sixteenths = fraction & 15;
    return timebase->start_ticks + (timebase->period_sixteenths >> 4) + (fraction >> 4);
}

void timebase_join(struct timebase *timebase, uint32_t number, uint32_t arrival_ticks, uint32_t superframe_us,
                   uint32_t clock_hz)
{
    timebase->number = number;
    timebase->start_ticks = arrival_ticks;
    timebase->start_sixteenths = 0;
    timebase->superframe_us = superframe_us;
    timebase->nominal_sixteenths = (uint32_t)((uint64_t)superframe_us * clock_hz * 16 / 1000000);
    timebase->period_sixteenths = timebase->nominal_sixteenths;
    timebase->jitter_ticks = clock_hz / 1000 * BEACON_JITTER_US / 1000;
    timebase->unheard = 0;
    timebase->measured = false;
}

bool timebase_advance(struct timebase *timebase)
{
    uint8_t sixteenths;
    if (timebase->unheard >= FREE_RUN_SUPERFRAMES_MAX) {
        return false;
    }
    timebase->start_ticks = next_start(timebase, &sixteenths);
    timebase->start_sixteenths = sixteenths;
    timebase->number++;
    timebase->unheard++;
    return true;
}

/// What the clock may drift in one superframe.
static uint32_t drift_ticks(const struct timebase *timebase)
{
    return timebase->period_sixteenths >> 4 >> (timebase->measured ? DRIFT_SHIFT_MEASURED : DRIFT_SHIFT_UNMEASURED);
}

uint32_t timebase_drift_ticks(const struct timebase *timebase)
{
    return drift_ticks(timebase) * timebase->unheard;
}

uint32_t timebase_slot_drift_ticks(const struct timebase *timebase)
{
    return drift_ticks(timebase) * (timebase->unheard + 1UL);
}

uint32_t timebase_margin_ticks(const struct timebase *timebase)
{
    return timebase_drift_ticks(timebase) + timebase->jitter_ticks;
}

uint32_t timebase_next_listen_ticks(const struct timebase *timebase)
{
    uint8_t sixteenths;
    return next_start(timebase, &sixteenths) - timebase_margin_ticks(timebase) - drift_ticks(timebase);
}

static void correct_rate(struct timebase *timebase, int32_t error_ticks)
{
    int32_t correction = error_ticks * 16 / timebase->unheard;
    int32_t offset_max = (int32_t)(timebase->nominal_sixteenths >> DRIFT_SHIFT_UNMEASURED);
    int32_t offset = (int32_t)(timebase->period_sixteenths - timebase->nominal_sixteenths);

    // The first measurement replaces a guess; later ones are averaged.
    offset += timebase->measured ? correction / (1 << RATE_GAIN_SHIFT) : correction;
    // Beacons that are delayed a little more each time cannot walk the rate beyond what two crystals can be off.
    if (offset > offset_max) {
        offset = offset_max;
    } else if (offset < -offset_max) {
        offset = -offset_max;
    }
    timebase->period_sixteenths = timebase->nominal_sixteenths + (uint32_t)offset;
    timebase->measured = true;
}

bool timebase_heard(struct timebase *timebase, uint32_t number, uint32_t arrival_ticks)
{
    int32_t error_ticks = (int32_t)(arrival_ticks - timebase->start_ticks);
    int32_t margin_ticks = (int32_t)timebase_margin_ticks(timebase);

    if (number != timebase->number || timebase->unheard == 0 || error_ticks > margin_ticks ||
        error_ticks < -margin_ticks) {
        return false;
    }
    correct_rate(timebase, error_ticks);
    timebase->start_ticks = arrival_ticks;
    timebase->start_sixteenths = 0;
    timebase->unheard = 0;
    return true;
}

uint32_t timebase_ticks(const struct timebase *timebase, uint32_t us)
{
    // us <= 2e7 and period <= 3.2e9 sixteenths: the product fits 64 bits.
    return (uint32_t)((uint64_t)us * timebase->period_sixteenths / timebase->superframe_us >> 4);
}

void timebase_next_grid(const struct timebase *timebase, uint8_t count, struct grid *grid)
{
    uint8_t sixteenths;
    grid->next_ticks = next_start(timebase, &sixteenths);
    grid->parts = (uint16_t)count * 16;
    grid->part = (uint16_t)sixteenths * count;
    grid->step_ticks = timebase->period_sixteenths / grid->parts;
    grid->step_part = (uint16_t)(timebase->period_sixteenths % grid->parts);
    grid->left = count;
}
