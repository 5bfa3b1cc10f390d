/*
 * What the basic layer does with whole vectors besides arithmetic on them, and sums with one limb, see mpn.h.
 */
#include "carry.h"
#include "mpn.h"

/* see mpn.h */
ROUTINE limb_t mpn_add_1(limb_t *r, const limb_t *a, size_t n, limb_t b)
{
    size_t i = 0;

    COUNT_LEAF(mpn_add_1, n);
    do {
        const limb_t sum = (limb_t)(a[i] + b);
        b = (limb_t)(sum < b);
        r[i] = sum;
    } while (++i != n);
    return b;
}

/* see mpn.h */
ROUTINE limb_t mpn_sub_1(limb_t *r, const limb_t *a, size_t n, limb_t b)
{
    size_t i = 0;

    COUNT_LEAF(mpn_sub_1, n);
    do {
        const limb_t limb = a[i];
        r[i] = (limb_t)(limb - b);
        b = (limb_t)(limb < b);
    } while (++i != n);
    return b;
}

/* see mpn.h */
ROUTINE int mpn_cmp(const limb_t *a, const limb_t *b, size_t n)
{
    const size_t limbs = n;
    int order = 0;

    do {
        n--;
        if (a[n] != b[n]) {
            order = 1 - 2 * (a[n] < b[n]);
            break;
        }
    } while (n != 0);
    COUNT_LEAF(mpn_cmp, limbs - n, order == 0, order < 0);
    (void)limbs;
    return order;
}

/* see mpn.h */
ROUTINE void mpn_copy(limb_t *r, const limb_t *a, size_t n)
{
    size_t i = 0;

    COUNT_LEAF(mpn_copy, n);
    do {
        r[i] = a[i];
        LOOP_STAYS();
    } while (++i != n);
}

/* see mpn.h */
ROUTINE void mpn_zero(limb_t *r, size_t n)
{
    size_t i = 0;

    COUNT_LEAF(mpn_zero, n);
    do {
        r[i] = 0;
        LOOP_STAYS();
    } while (++i != n);
}

/* see mpn.h */
ROUTINE void mpn_select(limb_t *r, const limb_t *a, const limb_t *b, size_t n, limb_t mask)
{
    size_t i = 0;

    COUNT_LEAF(mpn_select, n);
    do {
        r[i] = (limb_t)(b[i] ^ (mask & (a[i] ^ b[i])));
    } while (++i != n);
}

/* see mpn.h */
ROUTINE void mpn_swap(limb_t *a, limb_t *b, size_t n, limb_t mask)
{
    size_t i = 0;

    COUNT_LEAF(mpn_swap, n);
    do {
        const limb_t change = mask & (a[i] ^ b[i]);
        a[i] ^= change;
        b[i] ^= change;
    } while (++i != n);
}

/* All ones where both are the same, else 0. */
INLINE limb_t same_mask(size_t a, size_t b)
{
    return limb_mask(limb_is_zero((limb_t)(a ^ b)));
}

/* see mpn.h; two entries at a time, of which one at most is kept */
ROUTINE void mpn_gather(limb_t *r, const limb_t *table, size_t count, size_t n, size_t index)
{
    size_t entry = 0;

    COUNT(mpn_gather, count, count * n);
    mpn_zero(r, n);
    do {
        const limb_t first = same_mask(entry, index), second = same_mask(entry + 1, index);
        const limb_t *const next = table + n;
        size_t i = 0;
        do {
            r[i] |= (limb_t)((table[i] & first) | (next[i] & second));
        } while (++i != n);
        table = next + n;
        entry += 2;
    } while (entry != count);
}

/* see mpn.h */
ROUTINE limb_t mpn_is_zero(const limb_t *a, size_t n)
{
    limb_t all = 0;

    COUNT_LEAF(mpn_is_zero, n);
    do {
        all |= *a++;
        /* Keeps the loop from ending early once the answer cannot change any more. */
        __asm__("" : "+r"(all));
    } while (--n != 0);
    return limb_is_zero(all);
}

/* see mpn.h */
ROUTINE limb_t mpn_negate(limb_t *r, const limb_t *a, size_t n, limb_t mask)
{
    limb_t carry = mask & 1;
    size_t i = 0;

    COUNT_LEAF(mpn_negate, n);
    do {
        const limb_t sum = (limb_t)((a[i] ^ mask) + carry);
        carry = (limb_t)(sum < carry);
        r[i] = sum;
    } while (++i != n);
    return carry;
}

/* see mpn.h */
ROUTINE size_t mpn_bit_length(const limb_t *a, size_t n)
{
    size_t bits = 0;

    COUNT_LEAF(mpn_bit_length, 0, 0);
    while (n != 0 && a[n - 1] == 0) {
        COUNT_TERM(mpn_bit_length, zeros, 1);
        n--;
    }
    if (n != 0) {
        COUNT_TERM(mpn_bit_length, found, 1);
        bits = n * LIMB_BITS - limb_leading_zeros(a[n - 1]);
    }
    return bits;
}

/* see mpn.h */
ROUTINE void mpn_from_bytes(limb_t *r, size_t n, const uint8_t *bytes, size_t count)
{
    size_t i = 0, byte;

    COUNT_LEAF(mpn_from_bytes, n);
    do {
        limb_t limb = 0;
        for (byte = 0; byte < LIMB_BYTES; byte++) {
            /* A limb beyond the bytes is 0: what is read instead of it is their first, and not kept. */
            const size_t place = i * LIMB_BYTES + byte;
            const limb_t inside = (limb_t)(place < count);
            const size_t at = (count - 1 - place) & (0 - (size_t)inside);
            limb = (limb_t)(limb | (limb_t)(bytes[at] & (0 - (unsigned)inside)) << (8 * byte));
        }
        r[i] = limb;
    } while (++i != n);
}

/* see mpn.h */
ROUTINE void mpn_to_bytes(uint8_t *bytes, size_t count, const limb_t *a, size_t n)
{
    size_t i = 0;

    COUNT_LEAF(mpn_to_bytes, count);
    do {
        const size_t limb = i / LIMB_BYTES;
        const size_t inside = (size_t)(limb < n);
        const limb_t value = (limb_t)(a[limb & (0 - inside)] & limb_mask((limb_t)inside));
        bytes[count - 1 - i] = (uint8_t)(value >> (8 * (i % LIMB_BYTES)));
    } while (++i != count);
}
