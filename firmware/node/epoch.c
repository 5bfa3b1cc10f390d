//! Finds, writes and turns epochs; epoch.h has the rules and why they hold.
#include "epoch.h"

#include <string.h>

#include "crc16.h"
#include "le.h"

enum { IDLE, WRITES, WRITTEN, WORN };

/// The mark, spoilt; the bytes in their order; the mark.
enum { STEPS = 1 + EPOCH_PLACE_BYTES };

static void take(struct provision *provision, const uint8_t *place)
{
    provision->epoch = place[EPOCH_NUMBER_AT];
    memcpy(provision->key, place + EPOCH_KEY_AT, sizeof provision->key);
    memcpy(provision->iv, place + EPOCH_IV_AT, sizeof provision->iv);
}

static bool is_whole(const uint8_t *place)
{
    return place[EPOCH_MARK_AT] == EPOCH_WHOLE && crc16(place, EPOCH_CRC_AT) == le16_get(place + EPOCH_CRC_AT);
}

bool epoch_boot(struct epoch_change *change, struct provision *provision, const uint8_t *places)
{
    const uint8_t *place_b = places + EPOCH_PLACE_BYTES;
    bool whole_a = is_whole(places), whole_b = is_whole(place_b);

    memset(change, 0, sizeof *change);
    if (!whole_a && !whole_b) {
        return false;
    }
    change->target = whole_a && (!whole_b || places[EPOCH_NUMBER_AT] > place_b[EPOCH_NUMBER_AT]);
    take(provision, change->target ? places : place_b);
    return true;
}

void epoch_offer(struct epoch_change *change, const struct provision *provision, const uint8_t *text)
{
    if (change->state != IDLE || text[EPOCH_NUMBER_AT] <= provision->epoch) {
        return;
    }
    memcpy(change->place, text, EPOCH_CRC_AT);
    le16_put(change->place + EPOCH_CRC_AT, crc16(change->place, EPOCH_CRC_AT));
    change->place[EPOCH_MARK_AT] = EPOCH_WHOLE;
    change->step = 0;
    change->state = WRITES;
}

static uint8_t offset_of(const struct epoch_change *change)
{
    return change->step == 0 ? EPOCH_MARK_AT : change->step - 1;
}

static uint8_t value_of(const struct epoch_change *change)
{
    return change->step == 0 ? (uint8_t)~EPOCH_WHOLE : change->place[change->step - 1];
}

bool epoch_step(const struct epoch_change *change, uint8_t *offset, uint8_t *value)
{
    if (change->state != WRITES) {
        return false;
    }
    *offset = (uint8_t)(change->target * EPOCH_PLACE_BYTES + offset_of(change));
    *value = value_of(change);
    return true;
}

void epoch_stepped(struct epoch_change *change, uint8_t held)
{
    if (held != value_of(change)) {
        // The cell is worn out. The place in force stays good; the spoilt one is not.
        memset(change->place, 0, sizeof change->place);
        change->state = WORN;
    } else if (++change->step == STEPS) {
        change->state = WRITTEN; // last: a more urgent task turns from now on
    }
}

bool epoch_turn(struct epoch_change *change, struct provision *provision)
{
    if (change->state != WRITTEN) {
        return false;
    }
    take(provision, change->place);
    memset(change->place, 0, sizeof change->place);
    change->target ^= 1;
    change->state = IDLE;
    return true;
}
