/*
 * The caller's hash table of power tables, see modexp.h.
 */
#include "modexp.h"

/* In a slot: how many limbs its numbers have, 0 when it is empty; its modulus; its base; the powers. */
INLINE limb_t *slot_at(const struct power_cache *cache, size_t slot)
{
    return cache->memory + slot * POWER_CACHE_SLOT(cache->limbs_max, cache->window_bits);
}

/* see modexp.h */
ROUTINE void power_cache_init(struct power_cache *cache, limb_t *memory, size_t slots, size_t limbs_max,
                              uint8_t window_bits)
{
    COUNT(power_cache_init, slots);
    cache->memory = memory;
    cache->slots = slots;
    cache->limbs_max = limbs_max;
    cache->window_bits = window_bits;
    do {
        *slot_at(cache, --slots) = 0;
    } while (slots != 0);
}

/* see modexp.h */
ROUTINE uint32_t power_cache_hash(uint32_t hash, const limb_t *a, size_t n)
{
    size_t i = 0;

    COUNT(power_cache_hash, n);
    do {
        hash = (hash ^ a[i]) * 0x01000193u;
    } while (++i != n);
    return hash ^ hash >> 16;
}

/* see modexp.h */
ROUTINE limb_t *power_cache_find(struct power_cache *cache, const limb_t *modulus, const limb_t *base, size_t limbs,
                                 uint8_t *hit)
{
    COUNT(power_cache_find, 0, 0);
    const uint32_t hash = power_cache_hash(power_cache_hash(0x811c9dc5u, modulus, limbs), base, limbs);
    limb_t *const slot = slot_at(cache, hash & (cache->slots - 1));
    limb_t *const slot_modulus = slot + 1, *const slot_base = slot_modulus + cache->limbs_max;

    *hit = *slot == limbs && mpn_cmp(slot_base, base, limbs) == 0 && mpn_cmp(slot_modulus, modulus, limbs) == 0;
    COUNT_TERM(power_cache_find, hits, *hit);
    COUNT_TERM(power_cache_find, sizes, *slot == limbs);
    if (!*hit) {
        *slot = (limb_t)limbs;
        mpn_copy(slot_modulus, modulus, limbs);
        mpn_copy(slot_base, base, limbs);
    }
    return slot_base + cache->limbs_max;
}
