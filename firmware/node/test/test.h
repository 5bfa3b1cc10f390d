//! The host tests' frame: a test is a function named by the fact it states, listed in test/main.c.
//! Randomness comes from one printed seed (SEED in the environment replays it).
#ifndef NODE_TEST_H
#define NODE_TEST_H

#include <stdbool.h>
#include <stdint.h>

/// Ends the running test as failed, with the place and the words, when `condition` is false.
#define CHECK(condition, ...)                                        \
    do {                                                             \
        if (!(condition)) {                                          \
            test_fail(__FILE__, __LINE__, #condition, __VA_ARGS__);  \
        }                                                            \
    } while (0)

__attribute__((noreturn, format(printf, 4, 5))) void test_fail(const char *file, int line, const char *condition,
                                                                const char *words, ...);

/// The next 32 bits of the seeded stream (SplitMix64, Steele, Lea and Flood 2014).
uint32_t test_random(void);
/// Uniform below `bound` to within the bias of a 32-bit remainder.
uint32_t test_below(uint32_t bound);

#define TESTS(X)                                                       \
    X(power_cut_at_any_byte_never_repeats_a_count)                     \
    X(one_rotten_slot_never_repeats_a_count)                           \
    X(both_slots_damaged_is_silence)                                   \
    X(slots_of_another_epoch_are_silence)                              \
    X(a_torn_slot_is_never_good_unless_whole)                          \
    X(counts_end_before_the_direction_bit)                             \
    X(a_worn_cell_ends_reservations_not_reserved_counts)               \
    X(writing_ahead_leaves_no_frame_without_a_count)                   \
    X(crc_of_123456789_is_29b1)                                        \
    X(every_flipped_bit_of_a_provision_is_refused)                     \
    X(a_provision_out_of_range_is_refused)                             \
    X(superframes_stay_on_the_grid_at_100_ppm)                         \
    X(slots_start_inside_their_guard_while_free_running)               \
    X(the_rate_is_right_after_missed_beacons)                          \
    X(a_delayed_beacon_does_not_move_the_clock)                        \
    X(eight_missed_beacons_are_a_lost_clock)                           \
    X(the_clock_survives_the_wrap_of_its_ticks)                        \
    X(sample_instants_fill_a_superframe_exactly)                       \
    X(nominal_period_is_within_one_sixteenth_tick)                     \
    X(an_alarm_gives_way_to_a_conversion_within_its_own_turn)          \
    X(a_beacon_of_the_gateway_is_heard)                                \
    X(every_flipped_bit_of_a_beacon_is_refused)                        \
    X(any_bytes_as_a_beacon_are_refused_without_harm)                  \
    X(an_authentic_beacon_that_cannot_be_is_refused)                   \
    X(a_sealed_frame_is_what_the_layout_says)                          \
    X(an_acknowledgement_is_opened_once)                               \
    X(every_flipped_bit_of_a_downlink_is_refused)                      \
    X(an_uplink_frame_is_no_downlink)                                  \
    X(any_bytes_as_a_downlink_are_refused_without_harm)                \
    X(a_setting_holds_from_its_sample_on_or_not_at_all)                \
    X(a_stride_divides_what_was_provisioned_and_shortens_the_frame)    \
    X(a_setting_is_taken_from_an_authentic_frame_only)                 \
    X(power_cut_at_any_byte_of_a_change_leaves_one_whole_epoch)        \
    X(random_cuts_never_bring_an_epoch_back)                           \
    X(a_key_is_overwritten_when_two_epochs_have_passed)                \
    X(a_flipped_bit_of_a_place_leaves_the_other_one)                   \
    X(a_worn_cell_ends_changes_and_keeps_the_epoch)                    \
    X(a_change_is_taken_from_an_authentic_frame_only)                  \
    X(a_change_that_is_old_replayed_or_after_255_has_no_effect)        \
    X(every_hint_has_a_row_and_every_row_a_hint)                       \
    X(what_is_decided_can_be_done)                                     \
    X(what_is_due_goes_before_all_else)                                \
    X(no_frame_waits_for_more_slots_than_it_may)

#define TEST_DECLARE(name) void name(void);
TESTS(TEST_DECLARE)
#undef TEST_DECLARE

#endif
