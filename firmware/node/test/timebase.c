//! The estimate of superframes in a world of two clocks that are each up to 100 ppm off.
//!
//! True time is the gateway's, in nanoseconds; the node's tick counter is a second clock with its own rate and an
//! arbitrary start, so it wraps anywhere. A capture has the resolution of one tick.
#include "../timebase.h"

#include <math.h>

#include "../frame.h"
#include "../limits.h"
#include "test.h"

struct world {
    double hz;         // the node's true clock, in gateway seconds
    double first_tick; // its counter when the gateway's time began
    uint32_t nominal_hz;
    uint32_t superframe_us;
};

static struct world any_world(void)
{
    static const uint32_t clocks[] = {1000000, 7372800, 8000000, 16000000, 20000000};
    struct world world = {.nominal_hz = clocks[test_below(5)], .superframe_us = 20000 + test_below(980000)};
    // Both crystals: the ratio of two clocks that are +-100 ppm off each.
    double ppm = (double)test_below(400001) / 1000.0 - 200.0;
    world.hz = world.nominal_hz * (1.0 + ppm / 1e6);
    world.first_tick = test_random();
    return world;
}

static double tick_at(const struct world *world, double us)
{
    return world->first_tick + us * world->hz / 1e6;
}

static uint32_t capture(const struct world *world, double us)
{
    return (uint32_t)(uint64_t)floor(tick_at(world, us));
}

/// The error of a tick that stands for gateway time `us`, in ticks.
static double error_ticks(const struct world *world, uint32_t ticks, double us)
{
    double whole = floor(tick_at(world, us));
    return (double)(int32_t)(ticks - (uint32_t)(uint64_t)whole) - (tick_at(world, us) - whole);
}

/// Joins at superframe 100 and hears two beacons more, so that the rate is measured. Gateway time of superframe f is
/// (f - 100) superframes.
static struct timebase settled(const struct world *world)
{
    struct timebase timebase;
    timebase_join(&timebase, 100, capture(world, 0), world->superframe_us, world->nominal_hz);
    for (uint32_t f = 101; f < 103; f++) {
        CHECK(timebase_advance(&timebase), "lost at once");
        bool heard = timebase_heard(&timebase, f, capture(world, (double)(f - 100) * world->superframe_us));
        CHECK(heard, "beacon %u refused at %f Hz for %u", f, world->hz, world->nominal_hz);
    }
    return timebase;
}

void superframes_stay_on_the_grid_at_100_ppm(void)
{
    double worst = 0;
    for (unsigned round = 0; round < 300; round++) {
        struct world world = any_world();
        struct timebase timebase = settled(&world);
        uint8_t count = (uint8_t)(1 + test_below(FRAME_SAMPLES_MAX));
        for (uint32_t f = 103; f < 400; f++) {
            double start_us = (double)(f - 100) * world.superframe_us;
            struct grid grid;
            timebase_next_grid(&timebase, count, &grid);
            for (unsigned k = 0; k < count; k++) {
                double error = error_ticks(&world, grid.next_ticks, start_us + (double)world.superframe_us * k / count);
                worst = fmax(worst, fabs(error));
                CHECK(fabs(error) <= 4, "sample %u of superframe %u is %f ticks off the grid", k, f, error);
                CHECK(grid_step(&grid) == (k + 1 < count), "the grid ends after %u of %u", k + 1, count);
            }
            CHECK(timebase_advance(&timebase), "lost");
            CHECK(timebase_heard(&timebase, f, capture(&world, start_us)), "beacon %u refused", f);
        }
    }
    CHECK(worst > 0.5, "worst error %f ticks: the world has no drift", worst);
}

void slots_start_inside_their_guard_while_free_running(void)
{
    for (unsigned round = 0; round < 5000; round++) {
        struct world world = any_world();
        struct timebase timebase = settled(&world);
        double heard_us = 2.0 * world.superframe_us;
        for (unsigned missed = 1; missed <= FREE_RUN_SUPERFRAMES_MAX; missed++) {
            uint32_t listen = timebase_next_listen_ticks(&timebase);
            CHECK(timebase_advance(&timebase), "lost after %u", missed);
            CHECK(listen == timebase.start_ticks - timebase_margin_ticks(&timebase), "the window moved by advancing");
            double start_us = heard_us + (double)missed * world.superframe_us;
            uint32_t slot_us = test_below(world.superframe_us);
            uint32_t slot = timebase.start_ticks + timebase_ticks(&timebase, slot_us);
            double error = error_ticks(&world, slot, start_us + slot_us);
            // What the node believes about its own error must hold: it decides whether it may send.
            CHECK(fabs(error) <= timebase_drift_ticks(&timebase) + 4.0, "slot off by %f ticks, claimed %u", error,
                  timebase_drift_ticks(&timebase));
            CHECK(fabs(error) <= 4.0 + missed, "slot off by %f ticks after %u missed beacons", error, missed);
            CHECK(fabs(error_ticks(&world, timebase.start_ticks, start_us)) <= timebase_margin_ticks(&timebase),
                  "the listening window misses the beacon after %u", missed);
        }
    }
}

void the_rate_is_right_after_missed_beacons(void)
{
    for (unsigned round = 0; round < 5000; round++) {
        struct world world = any_world();
        struct timebase timebase;
        timebase_join(&timebase, 0, capture(&world, 0), world.superframe_us, world.nominal_hz);
        // The first measurement spans several superframes; later ones do, too, with gaps between 0 and 7 beacons.
        for (unsigned heard = 0; heard < 20; heard++) {
            for (unsigned gap = test_below(8); gap; gap--) {
                CHECK(timebase_advance(&timebase), "lost");
            }
            CHECK(timebase_advance(&timebase), "lost");
            double us = (double)timebase.number * world.superframe_us;
            double error = error_ticks(&world, timebase.start_ticks, us);
            CHECK(heard == 0 || fabs(error) <= 12, "%f ticks off at superframe %u", error, timebase.number);
            CHECK(timebase_heard(&timebase, timebase.number, capture(&world, us)), "beacon %u refused", timebase.number);
        }
    }
}

void a_delayed_beacon_does_not_move_the_clock(void)
{
    for (unsigned round = 0; round < 5000; round++) {
        struct world world = any_world();
        struct timebase timebase = settled(&world), before;
        unsigned missed = test_below(FREE_RUN_SUPERFRAMES_MAX);
        for (unsigned i = 0; i <= missed; i++) {
            CHECK(timebase_advance(&timebase), "lost");
        }
        before = timebase;
        double us = (double)(timebase.number - 100) * world.superframe_us;
        uint32_t margin = timebase_margin_ticks(&timebase);
        uint32_t away = margin + 20 + test_below(1000000);
        uint32_t arrival = capture(&world, us) + (test_below(2) ? away : -away);
        CHECK(!timebase_heard(&timebase, timebase.number, arrival), "a beacon %u ticks off was believed", away);
        CHECK(!timebase_heard(&timebase, timebase.number + 1, capture(&world, us)), "the next number was believed");
        CHECK(!timebase_heard(&timebase, timebase.number - 1, capture(&world, us)), "the last number was believed");
        CHECK(timebase.start_ticks == before.start_ticks && timebase.unheard == before.unheard &&
                  timebase.period_sixteenths == before.period_sixteenths,
              "a refused beacon left a trace");
        CHECK(timebase_heard(&timebase, timebase.number, capture(&world, us)), "the true beacon was refused");
        CHECK(!timebase_heard(&timebase, timebase.number, capture(&world, us)), "one beacon was heard twice");
    }
    // Delayed within the margin, a little more each time: the rate stays within what two crystals can be off.
    struct world world = {.hz = 8e6, .nominal_hz = 8000000, .superframe_us = 250000};
    struct timebase timebase = settled(&world);
    for (unsigned i = 0; i < 1000; i++) {
        CHECK(timebase_advance(&timebase), "lost");
        CHECK(timebase_heard(&timebase, timebase.number, timebase.start_ticks + timebase_margin_ticks(&timebase)),
              "a beacon at the margin was refused");
    }
    int32_t walked = (int32_t)(timebase.period_sixteenths - timebase.nominal_sixteenths);
    CHECK(walked == (int32_t)(timebase.nominal_sixteenths >> DRIFT_SHIFT_UNMEASURED), "the rate walked to %d", walked);
}

void eight_missed_beacons_are_a_lost_clock(void)
{
    struct world world = any_world();
    struct timebase timebase = settled(&world);
    for (unsigned missed = 0; missed < 8; missed++) {
        CHECK(timebase_advance(&timebase), "lost after %u", missed);
    }
    CHECK(!timebase_advance(&timebase), "still believed after eight missed beacons");
}

void the_clock_survives_the_wrap_of_its_ticks(void)
{
    for (unsigned round = 0; round < 1000; round++) {
        struct world world = any_world();
        // The counter wraps within the three superframes that follow.
        world.first_tick = 4294967296.0 - floor(test_below(3000) / 1000.0 * world.superframe_us * world.hz / 1e6);
        struct timebase timebase = settled(&world);
        CHECK(timebase_advance(&timebase), "lost");
        double error = error_ticks(&world, timebase.start_ticks, 3.0 * world.superframe_us);
        CHECK(fabs(error) <= 4, "%f ticks off after the wrap", error);
    }
}

void sample_instants_fill_a_superframe_exactly(void)
{
    for (unsigned round = 0; round < 5000; round++) {
        struct world world = any_world();
        struct timebase timebase = settled(&world);
        for (unsigned missed = test_below(7); missed; missed--) {
            CHECK(timebase_advance(&timebase), "lost");
        }
        uint8_t count = (uint8_t)(1 + test_below(FRAME_SAMPLES_MAX));
        struct grid grid;
        timebase_next_grid(&timebase, count, &grid);
        CHECK(timebase_advance(&timebase), "lost");
        CHECK(grid.next_ticks == timebase.start_ticks, "the first sample is not at the superframe's start");
        while (grid_step(&grid)) {
        }
        CHECK(timebase_advance(&timebase), "lost");
        CHECK(grid.next_ticks == timebase.start_ticks, "%u steps end at %u, the next superframe starts at %u", count,
              grid.next_ticks, timebase.start_ticks);
        CHECK(grid.part == timebase.start_sixteenths * count, "a fraction of a tick was lost");
    }
}

void nominal_period_is_within_one_sixteenth_tick(void)
{
    for (unsigned round = 0; round < 100000; round++) {
        struct timebase timebase;
        uint32_t us = 1 + test_below(SUPERFRAME_US_MAX);
        uint32_t hz = CLOCK_HZ_MIN + test_below(CLOCK_HZ_MAX - CLOCK_HZ_MIN + 1);
        timebase_join(&timebase, 0, 0, us, hz);
        double exact = (double)us * hz / 1e6 * 16;
        CHECK(exact - timebase.period_sixteenths >= 0 && exact - timebase.period_sixteenths < 1.001, "%u us at %u Hz",
              us, hz);
        double half = (double)(us / 2) * hz / 1e6;
        CHECK(fabs(half - timebase_ticks(&timebase, us / 2)) < 1.1, "%u us at %u Hz", us / 2, hz);
    }
}
