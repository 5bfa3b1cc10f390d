//! The counter under simulated power cuts at every byte it writes, torn bytes and rotten slots included.
//!
//! The world here is an EEPROM of 16 bytes that outlives the counter, and a record of the highest count ever used.
//! As counts are handed out in rising order within a life, "never repeated" is "never at or below that record".
#include "../counter.h"

#include <string.h>

#include "../crc16.h"
#include "../le.h"
#include "test.h"

enum { EPOCH = 7 };

struct world {
    uint8_t eeprom[COUNTER_SLOTS_BYTES];
    int64_t used_max;
    uint64_t used;
    uint64_t lives_silent;
};

static void write_slot(uint8_t *slot, uint32_t limit, uint8_t epoch)
{
    le32_put(slot, limit);
    slot[4] = epoch;
    slot[5] = (uint8_t)~epoch;
    le16_put(slot + 6, crc16(slot, 6));
}

static struct world fresh(uint32_t limit)
{
    struct world world = {.used_max = (int64_t)limit - 1};
    write_slot(world.eeprom, limit, EPOCH);
    write_slot(world.eeprom + COUNTER_SLOT_BYTES, limit, EPOCH);
    return world;
}

/// What a cell may read as after a write that was cut: erase goes to ones bit by bit, programming to the new zeros;
/// a cell between the two may read as anything.
static uint8_t torn(uint8_t old, uint8_t new)
{
    uint8_t noise = (uint8_t)test_random();
    switch (test_below(4)) {
    case 0:
        return old | noise;
    case 1:
        return new | noise;
    case 2:
        return noise;
    default:
        return new;
    }
}

static void use(struct world *world, struct counter *counter)
{
    uint32_t count;
    if (!counter_take(counter, &count)) {
        return;
    }
    CHECK(count < COUNTER_COUNT_MAX, "count %lu has the direction bit", (unsigned long)count);
    CHECK((int64_t)count > world->used_max, "count %lu after %lld", (unsigned long)count, (long long)world->used_max);
    world->used_max = count;
    world->used++;
}

/// One life: boots, then does `events` random things (a frame, or one byte towards the EEPROM). With `cut`, the last
/// is a write that power fails in. False when the node stayed silent.
static bool live(struct world *world, uint16_t block, unsigned events, bool cut)
{
    struct counter counter;
    uint8_t offset, value;

    if (!counter_boot(&counter, world->eeprom, EPOCH, block)) {
        world->lives_silent++;
        return false;
    }
    while (events--) {
        if (test_below(2)) {
            use(world, &counter);
        } else if (counter_step(&counter, &offset, &value)) {
            CHECK(offset < COUNTER_SLOTS_BYTES, "offset %u", offset);
            world->eeprom[offset] = value;
            counter_stepped(&counter, value);
        }
    }
    if (cut && counter_step(&counter, &offset, &value)) {
        world->eeprom[offset] = torn(world->eeprom[offset], value);
    }
    return true;
}

void power_cut_at_any_byte_never_repeats_a_count(void)
{
    uint64_t used = 0;
    for (unsigned round = 0; round < 2000; round++) {
        struct world world = fresh(test_below(1000));
        uint16_t block = (uint16_t)(1 + test_below(test_below(2) ? 8 : 300));
        for (unsigned life = 0; life < 100; life++) {
            bool lived = live(&world, block, test_below(60), true);
            CHECK(lived, "silent in life %u with block %u: a cut alone never silences a node", life, block);
        }
        used += world.used;
    }
    CHECK(used > 100000, "only %llu counts used: the test tests nothing", (unsigned long long)used);
}

void one_rotten_slot_never_repeats_a_count(void)
{
    uint64_t used = 0;
    for (unsigned round = 0; round < 2000; round++) {
        struct world world = fresh(0);
        uint16_t block = (uint16_t)(1 + test_below(20));
        for (unsigned life = 0; life < 50; life++) {
            // One fault at a time: a life ends between two reservations' bytes or anywhere, without a tear, or one
            // slot rots as a whole. A rotten slot beside a torn one is silence, tested by its own test.
            struct counter counter;
            uint8_t offset, value;
            CHECK(live(&world, block, test_below(80), false), "silent in life %u", life);
            CHECK(counter_boot(&counter, world.eeprom, EPOCH, block), "silent after life %u", life);
            while (counter_step(&counter, &offset, &value)) {
                world.eeprom[offset] = value;
                counter_stepped(&counter, value);
            }
            for (unsigned frames = test_below(2u * block); frames; frames--) {
                use(&world, &counter);
            }
            uint8_t *slot = world.eeprom + COUNTER_SLOT_BYTES * test_below(2);
            slot[test_below(COUNTER_SLOT_BYTES)] ^= (uint8_t)(1u << test_below(8));
        }
        used += world.used;
    }
    CHECK(used > 100000, "only %llu counts used: the test tests nothing", (unsigned long long)used);
}

void both_slots_damaged_is_silence(void)
{
    for (unsigned round = 0; round < 100000; round++) {
        struct world world = fresh(test_random() % COUNTER_COUNT_MAX);
        struct counter counter;
        for (unsigned slot = 0; slot < 2; slot++) {
            world.eeprom[COUNTER_SLOT_BYTES * slot + test_below(COUNTER_SLOT_BYTES)] ^= (uint8_t)(1 + test_below(255));
        }
        CHECK(!counter_boot(&counter, world.eeprom, EPOCH, 16), "two damaged slots gave %lu",
              (unsigned long)counter.next);
    }
}

void slots_of_another_epoch_are_silence(void)
{
    for (unsigned epoch = 0; epoch < 256; epoch++) {
        struct world world = fresh(5);
        struct counter counter;
        bool speaks = counter_boot(&counter, world.eeprom, (uint8_t)epoch, 16);
        CHECK(speaks == (epoch == EPOCH), "epoch %u", epoch);
    }
}

void a_torn_slot_is_never_good_unless_whole(void)
{
    // Every byte step, every value that the torn cell may hold: the slot reads as the old one, the new one or damaged.
    for (unsigned epoch = 0; epoch < 256; epoch++) {
        for (unsigned cut_step = 0; cut_step < 9; cut_step++) {
            uint8_t eeprom[COUNTER_SLOTS_BYTES], offset = 0, value = 0;
            struct counter counter, reborn;
            uint32_t low = test_random() >> 2;
            write_slot(eeprom, low, (uint8_t)epoch);
            write_slot(eeprom + COUNTER_SLOT_BYTES, low + 16, (uint8_t)epoch);
            CHECK(counter_boot(&counter, eeprom, (uint8_t)epoch, 16), "fresh slots are silence");
            for (unsigned step = 0; step < cut_step; step++) {
                CHECK(counter_step(&counter, &offset, &value), "no step %u", step);
                eeprom[offset] = value;
                counter_stepped(&counter, value);
            }
            CHECK(counter_step(&counter, &offset, &value), "no step %u", cut_step);
            for (unsigned held = 0; held < 256; held++) {
                eeprom[offset] = (uint8_t)held;
                CHECK(counter_boot(&reborn, eeprom, (uint8_t)epoch, 16), "a torn slot silenced the node");
                bool plain = reborn.next == low + 16 && reborn.reserved == low + 16;
                bool skips = reborn.next == low + 32;
                CHECK(plain || skips, "step %u held %02x: next %lu after limit %lu", cut_step, held,
                      (unsigned long)reborn.next, (unsigned long)low + 16);
            }
        }
    }
}

void counts_end_before_the_direction_bit(void)
{
    struct world world = fresh(COUNTER_COUNT_MAX - 100);
    uint64_t lives = 0;
    while (live(&world, 16, 200, true)) {
        CHECK(++lives < 100, "100 lives in 100 counts");
    }
    CHECK(world.used_max >= (int64_t)COUNTER_COUNT_MAX - 100, "no count was used");
    write_slot(world.eeprom, COUNTER_COUNT_MAX + 1, EPOCH);
    CHECK(!live(&world, 16, 10, false), "a limit beyond the last count was believed");
}

void a_worn_cell_ends_reservations_not_reserved_counts(void)
{
    struct world world = fresh(0);
    struct counter counter;
    uint8_t offset, value;
    uint32_t count;
    CHECK(counter_boot(&counter, world.eeprom, EPOCH, 16), "fresh slots are silence");
    while (counter_step(&counter, &offset, &value)) {
        counter_stepped(&counter, value);
    }
    for (unsigned i = 0; i < 8; i++) {
        CHECK(counter_take(&counter, &count), "no count %u", i);
    }
    CHECK(counter_step(&counter, &offset, &value), "half a block left and no reservation");
    counter_stepped(&counter, (uint8_t)~value);
    CHECK(!counter_step(&counter, &offset, &value), "a worn cell is written again");
    for (unsigned i = 8; i < 16; i++) {
        CHECK(!counter_is_spent(&counter) && counter_take(&counter, &count), "no count %u", i);
    }
    CHECK(!counter_take(&counter, &count) && counter_is_spent(&counter), "count %lu was never reserved",
          (unsigned long)count);
}

void writing_ahead_leaves_no_frame_without_a_count(void)
{
    // Ten byte writes fit between two frames on the chip that is slower at it; one between two frames is enough here.
    struct world world = fresh(0);
    struct counter counter;
    uint8_t offset, value;
    uint32_t count;
    CHECK(counter_boot(&counter, world.eeprom, EPOCH, 32), "fresh slots are silence");
    while (counter_step(&counter, &offset, &value)) {
        counter_stepped(&counter, value);
    }
    for (uint32_t i = 0; i < 100000; i++) {
        CHECK(counter_take(&counter, &count) && count == i, "frame %lu has no count", (unsigned long)i);
        if (counter_step(&counter, &offset, &value)) {
            counter_stepped(&counter, value);
        }
    }
}
