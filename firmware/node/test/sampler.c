//! An alarm that gives way to a conversion, in a world of 32-bit ticks of which the compare units know 16.
#include "../sampler.h"

#include "../limits.h"
#include "test.h"

/// Matches of `ticks`' low half between now and then, as clock_aim counts them.
static uint16_t matches_before(uint32_t now, uint32_t ticks)
{
    return (uint16_t)((ticks - now - 1) >> 16);
}

/// When a unit acts whose match is at `match`, `before` of its matches being counted first.
static uint32_t acts(uint32_t now, uint16_t match, uint16_t before)
{
    uint32_t first = (uint16_t)(match - (uint16_t)now);
    return now + (first == 0 ? 0x10000 : first) + ((uint32_t)before << 16);
}

void an_alarm_gives_way_to_a_conversion_within_its_own_turn(void)
{
    uint32_t moved = 0;
    for (uint32_t round = 0; round < 2000000; round++) {
        uint32_t now = test_random(), turns = test_below(4);
        // Some of these have begun, and the unit points to where they did.
        uint32_t conversion = now - 2000 + test_below(turns * 0x10000 + 30000);
        // Many of these are near the conversion, give or take a turn.
        uint32_t alarm = conversion - 1500 + test_below(3000) + (test_below(3) - 1) * 0x10000;
        if ((int32_t)(alarm - now) <= 0) {
            continue;
        }
        bool is_begun = (int32_t)(conversion - now) <= 0;
        uint16_t before = matches_before(now, alarm);
        bool counts_alike = before == (is_begun ? 0 : matches_before(now, conversion));
        bool moves = counts_alike && sampler_alarm_is_in_the_way((uint16_t)alarm, (uint16_t)conversion) &&
                     sampler_alarm_moves((uint16_t)now, (uint16_t)alarm);
        bool is_in_the_way = !is_begun && conversion - alarm < ALARM_AHEAD_CYCLES;
        uint16_t low = (uint16_t)(alarm - now);
        if (is_in_the_way && low > MATCH_AGE_CYCLES_MAX && low < 0x10000 - ALARM_AHEAD_CYCLES - ALARM_BEHIND_CYCLES) {
            CHECK(moves, "now %u, alarm %u, conversion %u", now, alarm, conversion);
        }
        if (moves) {
            uint32_t at = acts(now, (uint16_t)(conversion + ALARM_BEHIND_CYCLES), before);
            CHECK(at - alarm <= ALARM_AHEAD_CYCLES + ALARM_BEHIND_CYCLES, "now %u, alarm %u, conversion %u: at %u", now,
                  alarm, conversion, at);
            moved++;
        }
    }
    CHECK(moved > 10000, "%u were moved", moved);
}
