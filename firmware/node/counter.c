//! Recovers, hands out and reserves counts; counter.h has the rules and why they hold.
#include "counter.h"

#ifdef __AVR__
#include <util/atomic.h>
#else
#define ATOMIC_BLOCK(type)
#endif

#include "crc16.h"
#include "le.h"

enum { LIMIT_AT = 0, EPOCH_AT = 4, COMPLEMENT_AT = 5, CRC_AT = 6 };

/// Order of the bytes of a slot: the complement first, spoilt, and last, right.
static const uint8_t order[] = {COMPLEMENT_AT, LIMIT_AT, LIMIT_AT + 1, LIMIT_AT + 2, LIMIT_AT + 3,
                                EPOCH_AT,      CRC_AT,   CRC_AT + 1,   COMPLEMENT_AT};
#define STEPS (sizeof order)

static bool slot_is_good(const uint8_t *slot, uint8_t epoch)
{
    return slot[EPOCH_AT] == epoch && (slot[EPOCH_AT] ^ slot[COMPLEMENT_AT]) == 0xFF &&
           crc16(slot, CRC_AT) == le16_get(slot + CRC_AT);
}

bool counter_boot(struct counter *counter, const uint8_t *slots, uint8_t epoch, uint16_t block)
{
    const uint8_t *slot_b = slots + COUNTER_SLOT_BYTES;
    bool good_a = slot_is_good(slots, epoch);
    bool good_b = slot_is_good(slot_b, epoch);
    uint32_t limit_a = good_a ? le32_get(slots + LIMIT_AT) : 0;
    uint32_t limit_b = good_b ? le32_get(slot_b + LIMIT_AT) : 0;

    counter->block = block;
    counter->epoch = epoch;
    counter->step = 0;
    counter->worn = false;
    counter->reserved = limit_a > limit_b ? limit_a : limit_b;
    counter->next = counter->reserved;
    counter->target = good_a && (!good_b || limit_a > limit_b);
    if ((!good_a && !good_b) || counter->reserved > COUNTER_COUNT_MAX) {
        return false;
    }
    if (!good_a || !good_b) {
        counter->next += block;
    }
    return !counter_is_spent(counter);
}

bool counter_take(struct counter *counter, uint32_t *count)
{
    if (counter->next >= counter->reserved) {
        return false;
    }
    *count = counter->next++;
    return true;
}

static bool may_reserve(const struct counter *counter)
{
    return !counter->worn && counter->reserved <= COUNTER_COUNT_MAX - counter->block;
}

bool counter_is_spent(const struct counter *counter)
{
    return counter->next >= counter->reserved && !may_reserve(counter);
}

/// Half a block is left when the next one is reserved, so that a frame never waits for the EEPROM. A count that is taken
/// meanwhile may make `next` look larger, which reserves too early, or smaller, which asks again.
static bool runs_low(const struct counter *counter)
{
    return counter->next + counter->block / 2 >= counter->reserved;
}

bool counter_step(struct counter *counter, uint8_t *offset, uint8_t *value)
{
    if (counter->step == 0) {
        if (!runs_low(counter) || !may_reserve(counter)) {
            return false;
        }
        le32_put(counter->slot + LIMIT_AT, counter->reserved + counter->block);
        counter->slot[EPOCH_AT] = counter->epoch;
        counter->slot[COMPLEMENT_AT] = counter->epoch ^ 0xFF;
        le16_put(counter->slot + CRC_AT, crc16(counter->slot, CRC_AT));
    }
    uint8_t at = order[counter->step];
    *offset = (uint8_t)(counter->target * COUNTER_SLOT_BYTES + at);
    // The epoch itself is never its own complement: that is how the complement is spoilt.
    *value = counter->step == 0 ? counter->epoch : counter->slot[at];
    return !counter->worn;
}

void counter_stepped(struct counter *counter, uint8_t held)
{
    uint8_t at = order[counter->step];
    if (held != (counter->step == 0 ? counter->epoch : counter->slot[at])) {
        // The cell is worn out. What is reserved stays good; the spoilt slot is not.
        counter->worn = true;
        return;
    }
    if (++counter->step == STEPS) {
        counter->step = 0;
        uint32_t reserved = counter->reserved + counter->block;
        ATOMIC_BLOCK(ATOMIC_RESTORESTATE)
        {
            counter->reserved = reserved;
        }
        counter->target ^= 1;
    }
}
