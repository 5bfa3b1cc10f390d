//! The change of the epoch: the power cut at every byte that it writes, changes that are old, forged or impossible.
#include "../epoch.h"

#include <string.h>

#include "../downlink.h"
#include "cell.h"
#include "test.h"

/// What outlives a life: the EEPROM, and the latest epoch that any frame was sealed under.
struct world {
    uint8_t places[EPOCH_PLACES_BYTES];
    int sealed;
    unsigned changes;
};

/// A life of a node.
struct life {
    struct provision provision;
    struct epoch_change change;
};

static bool is_of_epoch(const struct provision *provision, uint8_t epoch)
{
    uint8_t place[EPOCH_PLACE_BYTES];
    cell_epoch_place(place, epoch);
    return provision->epoch == epoch && memcmp(provision->key, place + 1, 16) == 0 &&
           memcmp(provision->iv, place + 17, 16) == 0;
}

static struct life boot(struct world *world)
{
    struct life life = {.provision = cell_provision(1)};
    CHECK(epoch_boot(&life.change, &life.provision, world->places), "no key after epoch %d", world->sealed);
    CHECK(is_of_epoch(&life.provision, life.provision.epoch), "a key of two epochs");
    return life;
}

static void seal(struct world *world, const struct life *life)
{
    CHECK(life->provision.epoch >= world->sealed, "epoch %u after %d", life->provision.epoch, world->sealed);
    CHECK(is_of_epoch(&life->provision, life->provision.epoch), "a key of two epochs");
    world->sealed = life->provision.epoch;
}

static void offer(struct life *life, uint8_t epoch)
{
    uint8_t place[EPOCH_PLACE_BYTES];
    cell_epoch_place(place, epoch);
    epoch_offer(&life->change, &life->provision, place);
}

/// What a cell may read as after a write that was cut.
static uint8_t torn(uint8_t old, uint8_t new)
{
    uint8_t noise = (uint8_t)test_random();
    switch (test_below(5)) {
    case 0:
        return old | noise;
    case 1:
        return new | noise;
    case 2:
        return noise;
    case 3:
        return old;
    default:
        return new;
    }
}

/// Writes at most `steps` bytes, and seals between them. The power fails in the one after them. True when it did.
static bool write(struct world *world, struct life *life, unsigned steps)
{
    uint8_t offset, value;

    while (epoch_step(&life->change, &offset, &value)) {
        CHECK(offset < EPOCH_PLACES_BYTES, "offset %u", offset);
        if (steps-- == 0) {
            world->places[offset] = torn(world->places[offset], value);
            return true;
        }
        CHECK(!epoch_turn(&life->change, &life->provision), "turned before it was written");
        seal(world, life);
        world->places[offset] = value;
        epoch_stepped(&life->change, value);
    }
    return false;
}

static struct world fresh(uint8_t epoch)
{
    struct world world = {.sealed = -1};
    memset(world.places, 0xFF, sizeof world.places);
    cell_epoch_place(world.places, epoch);
    return world;
}

void power_cut_at_any_byte_of_a_change_leaves_one_whole_epoch(void)
{
    for (unsigned round = 0; round < 500; round++) {
        for (unsigned at = 0; at <= 37; at++) {
            struct world world = fresh(0);
            uint8_t told = 0;
            for (unsigned change = 0; change < 4; change++) {
                struct life life = boot(&world);
                told = life.provision.epoch + 1;
                offer(&life, told);
                bool was_cut = write(&world, &life, at);
                CHECK(was_cut == (at < 37), "%u bytes are written", at);
                CHECK(was_cut != epoch_turn(&life.change, &life.provision), "turned or not");
                seal(&world, &life);
                // A life after the cut in which nothing is told.
                life = boot(&world);
                seal(&world, &life);
                CHECK(life.provision.epoch == told || life.provision.epoch + 1 == told, "epoch %u",
                      life.provision.epoch);
            }
        }
    }
}

void random_cuts_never_bring_an_epoch_back(void)
{
    unsigned turned = 0;
    for (unsigned round = 0; round < 2000; round++) {
        struct world world = fresh((uint8_t)test_below(200));
        for (unsigned life_number = 0; life_number < 60; life_number++) {
            struct life life = boot(&world);
            bool is_on = true;
            for (unsigned event = test_below(8); is_on && event; event--) {
                offer(&life, (uint8_t)(life.provision.epoch - 2 + test_below(5)));
                is_on = !write(&world, &life, test_below(80));
                turned += is_on && epoch_turn(&life.change, &life.provision);
                if (is_on) {
                    seal(&world, &life);
                }
            }
        }
    }
    CHECK(turned > 10000, "only %u changes: the test tests nothing", turned);
}

void a_key_is_overwritten_when_two_epochs_have_passed(void)
{
    struct world world = fresh(5);
    struct life life = boot(&world);
    for (uint8_t epoch = 6; epoch < 9; epoch++) {
        uint8_t old[EPOCH_PLACE_BYTES];
        offer(&life, epoch);
        write(&world, &life, 100);
        CHECK(epoch_turn(&life.change, &life.provision) && is_of_epoch(&life.provision, epoch), "epoch %u", epoch);
        for (unsigned i = 0; i < EPOCH_PLACE_BYTES; i++) {
            CHECK(life.change.place[i] == 0, "the key is still in RAM");
        }
        cell_epoch_place(old, epoch - 2);
        for (unsigned i = 0; i < 2; i++) {
            CHECK(memcmp(world.places + 36 * i + 1, old + 1, 32) != 0, "the key of epoch %u is still there", epoch - 2);
        }
    }
}

void a_flipped_bit_of_a_place_leaves_the_other_one(void)
{
    struct world world = fresh(7);
    cell_epoch_place(world.places + EPOCH_PLACE_BYTES, 8);
    for (unsigned bit = 0; bit < 8 * EPOCH_PLACES_BYTES; bit++) {
        world.places[bit / 8] ^= (uint8_t)(1u << bit % 8);
        struct life life = boot(&world);
        CHECK(life.provision.epoch == (bit < 8 * EPOCH_PLACE_BYTES ? 8 : 7), "bit %u", bit);
        world.places[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    struct life life = boot(&world);
    CHECK(life.provision.epoch == 8, "the later one");
    world.places[3] ^= 1;
    world.places[EPOCH_PLACE_BYTES + 3] ^= 1;
    CHECK(!epoch_boot(&life.change, &life.provision, world.places), "a key was made up");
}

void a_worn_cell_ends_changes_and_keeps_the_epoch(void)
{
    for (unsigned worn = 0; worn < 37; worn++) {
        struct world world = fresh(3);
        struct life life = boot(&world);
        uint8_t offset, value;
        offer(&life, 4);
        for (unsigned step = 0; epoch_step(&life.change, &offset, &value); step++) {
            epoch_stepped(&life.change, step == worn ? (uint8_t)(value ^ 1) : value);
        }
        CHECK(!epoch_turn(&life.change, &life.provision) && life.provision.epoch == 3, "turned on a worn cell");
        offer(&life, 4);
        CHECK(!epoch_step(&life.change, &offset, &value), "the worn cell is written again");
    }
}

/// A frame that tells a change, as the server of this epoch makes it.
static uint8_t tell(uint8_t *bytes, uint8_t suite, uint32_t counter, uint8_t epoch)
{
    uint8_t text[38] = {0x83, 77}, place[EPOCH_PLACE_BYTES];
    cell_epoch_place(place, epoch);
    memcpy(text + 5, place, 33);
    return cell_downlink_seal(bytes, suite, 0x80000000u | counter, text, sizeof text);
}

static bool is_under_way(const struct epoch_change *change)
{
    uint8_t offset, value;
    return epoch_step(change, &offset, &value);
}

void a_change_is_taken_from_an_authentic_frame_only(void)
{
    for (uint8_t suite = 1; suite <= 2; suite++) {
        struct provision provision = cell_provision(suite);
        uint8_t good[96], bytes[96];
        uint8_t count = tell(good, suite, 5, CELL_EPOCH + 1);
        for (unsigned bit = 0; bit < 8u * count; bit++) {
            struct downlink downlink = {0};
            struct epoch_change change = {0};
            memcpy(bytes, good, sizeof bytes);
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            CHECK(!downlink_open(&downlink, bytes, count, &provision, &change), "bit %u", bit);
            CHECK(!is_under_way(&change) && downlink.acknowledged == 0, "a forged change was begun");
        }
        struct downlink downlink = {0};
        struct epoch_change change = {0};
        memcpy(bytes, good, sizeof bytes);
        CHECK(downlink_open(&downlink, bytes, count, &provision, &change) && is_under_way(&change), "refused");
        CHECK(downlink.acknowledged == 77, "it acknowledges as well");
        for (unsigned i = 0; i < 38; i++) {
            CHECK(bytes[10 + i] == 0, "the key is left in the frame");
        }
        // Cut off where an acknowledgement ends, as a filter takes it that expects one.
        struct epoch_change none = {0};
        uint8_t short_bytes = suite == 1 ? 31 : 23;
        memcpy(bytes, good, sizeof bytes);
        downlink.fresh = 0;
        CHECK(!downlink_open(&downlink, bytes, short_bytes, &provision, &none), "a part was opened");
    }
}

void a_change_that_is_old_replayed_or_after_255_has_no_effect(void)
{
    struct provision provision = cell_provision(1);
    uint8_t bytes[96], again[96], offset, value;
    for (unsigned epoch = 0; epoch <= CELL_EPOCH; epoch++) {
        struct downlink downlink = {0};
        struct epoch_change change = {0};
        uint8_t count = tell(bytes, 1, 0, (uint8_t)epoch);
        CHECK(downlink_open(&downlink, bytes, count, &provision, &change), "it is authentic");
        CHECK(!is_under_way(&change), "back to epoch %u", epoch);
    }
    struct downlink downlink = {0};
    struct epoch_change change = {0};
    uint8_t count = tell(bytes, 1, 0, CELL_EPOCH + 1);
    memcpy(again, bytes, sizeof again);
    CHECK(downlink_open(&downlink, bytes, count, &provision, &change), "refused");
    while (epoch_step(&change, &offset, &value)) {
        epoch_stepped(&change, value);
    }
    CHECK(epoch_turn(&change, &provision) && provision.epoch == CELL_EPOCH + 1, "not turned");
    downlink_turn(&downlink);
    CHECK(downlink.fresh == 0 && !downlink_open(&downlink, again, count, &provision, &change), "of the epoch before");
    struct world world = fresh(255);
    struct life life = boot(&world);
    for (unsigned epoch = 0; epoch < 256; epoch++) {
        offer(&life, (uint8_t)epoch);
        CHECK(!is_under_way(&life.change), "epoch %u after 255", epoch);
    }
}
