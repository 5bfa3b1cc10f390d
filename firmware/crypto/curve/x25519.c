/*
 * X25519, see x25519.h. Field elements are any numbers below 2^256 that stand for themselves modulo p = 2^255 - 19:
 * what is carried out of 256 bits comes back times 38. Only the result is brought below p.
 */
#include "../secret.h"
#include "../words.h"
#include "x25519.h"

#define FIELD_LIMBS LIMBS(256)
#define BACK        38 /* 2^256 modulo p */

/* r += BACK * carry, for a carry of so few bits that the product is one limb; r is then below what 256 bits hold. */
INLINE void fold(limb_t *r, limb_t carry)
{
    carry = mpn_add_1(r, r, FIELD_LIMBS, (limb_t)(carry * BACK));
    /* If there is one now, r is less than a limb. */
    r[0] = (limb_t)(r[0] + carry * BACK);
}

/* see x25519.h */
ROUTINE void x25519_field_fold(limb_t *r, limb_t *t)
{
    COUNT(x25519_field_fold);
    fold(t, mpn_addmul_1(t, t + FIELD_LIMBS, FIELD_LIMBS, BACK));
    mpn_copy(r, t, FIELD_LIMBS);
}

/* see x25519.h */
ROUTINE void x25519_field_multiply(limb_t *r, const limb_t *a, const limb_t *b)
{
    limb_t product[2 * FIELD_LIMBS];

    COUNT(x25519_field_multiply);
    mpn_mul_basecase(product, a, FIELD_LIMBS, b, FIELD_LIMBS);
    x25519_field_fold(r, product);
}

/* see x25519.h */
ROUTINE void x25519_field_square(limb_t *r, const limb_t *a)
{
    limb_t product[2 * FIELD_LIMBS];

    COUNT(x25519_field_square);
    mpn_sqr_basecase(product, a, FIELD_LIMBS);
    x25519_field_fold(r, product);
}

/* see x25519.h: r = 121665 * a, which is no limb of 16 bits */
ROUTINE void x25519_field_scale(limb_t *r, const limb_t *a)
{
#if LIMB_BITS == 16
    static const limb_t factor[FIELD_LIMBS] = {WORD(121665)};

    COUNT(x25519_field_scale);
    x25519_field_multiply(r, a, factor);
#else
    COUNT(x25519_field_scale);
    fold(r, mpn_mul_1(r, a, FIELD_LIMBS, 121665));
#endif
}

/* see x25519.h */
ROUTINE void x25519_field_add(limb_t *r, const limb_t *a, const limb_t *b)
{
    COUNT(x25519_field_add);
    fold(r, mpn_add_n(r, a, b, FIELD_LIMBS));
}

/* see x25519.h */
ROUTINE void x25519_field_subtract(limb_t *r, const limb_t *a, const limb_t *b)
{
    limb_t borrow;

    COUNT(x25519_field_subtract);
    borrow = mpn_sub_n(r, a, b, FIELD_LIMBS);
    borrow = mpn_sub_1(r, r, FIELD_LIMBS, (limb_t)(borrow * BACK));
    /* If there is one now, r is less than a limb below 2^256. */
    r[0] = (limb_t)(r[0] - borrow * BACK);
}

/* r = a^(2^count) * b. */
INLINE void square_and_multiply(limb_t *r, const limb_t *a, unsigned count, const limb_t *b)
{
    limb_t power[FIELD_LIMBS];

    x25519_field_square(power, a);
    while (--count != 0) {
        x25519_field_square(power, power);
    }
    x25519_field_multiply(r, power, b);
}

/* see x25519.h: a^(p - 2); p - 2 is 250 ones and 01011 */
ROUTINE void x25519_field_invert(limb_t *r, const limb_t *a)
{
    limb_t a_9[FIELD_LIMBS], a_11[FIELD_LIMBS], ones_10[FIELD_LIMBS], ones_50[FIELD_LIMBS], ones[FIELD_LIMBS];
    limb_t power[FIELD_LIMBS];

    COUNT(x25519_field_invert);
    square_and_multiply(a_9, a, 3, a);
    x25519_field_square(power, a);
    x25519_field_multiply(a_11, a_9, power);
    x25519_field_square(power, a_11);
    x25519_field_multiply(power, power, a_9); /* 31, five ones */
    square_and_multiply(ones_10, power, 5, power);
    square_and_multiply(power, ones_10, 10, ones_10);
    square_and_multiply(power, power, 20, power);
    square_and_multiply(ones_50, power, 10, ones_10);
    square_and_multiply(ones, ones_50, 50, ones_50);
    square_and_multiply(ones, ones, 100, ones);
    square_and_multiply(ones, ones, 50, ones_50);
    square_and_multiply(r, ones, 5, a_11);
}

/* see x25519.h */
ROUTINE void x25519_ladder_step(struct x25519_ladder *points, const limb_t *x1)
{
    limb_t a[FIELD_LIMBS], b[FIELD_LIMBS], c[FIELD_LIMBS], d[FIELD_LIMBS], e[FIELD_LIMBS];

    COUNT(x25519_ladder_step);
    x25519_field_add(a, points->x2, points->z2);
    x25519_field_subtract(b, points->x2, points->z2);
    x25519_field_add(c, points->x3, points->z3);
    x25519_field_subtract(d, points->x3, points->z3);
    x25519_field_multiply(d, d, a);
    x25519_field_multiply(c, c, b);
    x25519_field_add(points->x3, d, c);
    x25519_field_square(points->x3, points->x3);
    x25519_field_subtract(points->z3, d, c);
    x25519_field_square(points->z3, points->z3);
    x25519_field_multiply(points->z3, points->z3, x1);
    x25519_field_square(a, a);
    x25519_field_square(b, b);
    x25519_field_multiply(points->x2, a, b);
    x25519_field_subtract(e, a, b);
    x25519_field_scale(c, e);
    x25519_field_add(a, a, c);
    x25519_field_multiply(points->z2, e, a);
}

/* r below p: bit 255 comes back times 19, and then p is taken off where r + 19 reaches 2^255. */
INLINE void bring_below_p(limb_t *r)
{
    const unsigned top = LIMB_BITS - 1;
    limb_t more[FIELD_LIMBS];
    limb_t bit = r[FIELD_LIMBS - 1] >> top;

    r[FIELD_LIMBS - 1] &= LIMB_MAX >> 1;
    (void)mpn_add_1(r, r, FIELD_LIMBS, (limb_t)(bit * 19));
    (void)mpn_add_1(more, r, FIELD_LIMBS, 19);
    bit = more[FIELD_LIMBS - 1] >> top;
    more[FIELD_LIMBS - 1] &= LIMB_MAX >> 1;
    mpn_select(r, more, r, FIELD_LIMBS, limb_mask(bit));
}

/* From bytes that are least significant first. */
INLINE void load(limb_t *r, const uint8_t *bytes)
{
    uint8_t reversed[X25519_BYTES];

    for (size_t i = 0; i < X25519_BYTES; i++) {
        reversed[i] = bytes[X25519_BYTES - 1 - i];
        LOOP_STAYS();
    }
    mpn_from_bytes(r, FIELD_LIMBS, reversed, X25519_BYTES);
    wipe_bytes(reversed, sizeof reversed);
}

/* And back. */
INLINE void store(uint8_t *bytes, const limb_t *a)
{
    uint8_t reversed[X25519_BYTES];

    mpn_to_bytes(reversed, X25519_BYTES, a, FIELD_LIMBS);
    for (size_t i = 0; i < X25519_BYTES; i++) {
        bytes[i] = reversed[X25519_BYTES - 1 - i];
        LOOP_STAYS();
    }
    wipe_bytes(reversed, sizeof reversed);
}

/* see x25519.h */
ROUTINE uint8_t x25519(uint8_t result[X25519_BYTES], const uint8_t scalar[X25519_BYTES], const uint8_t u[X25519_BYTES])
{
    struct x25519_ladder points;
    limb_t k[FIELD_LIMBS], x1[FIELD_LIMBS];
    limb_t swapped = 0;
    uint8_t useful;
    size_t place = 255;

    COUNT(x25519);
    load(k, scalar);
    k[0] = (limb_t)(k[0] & ~(limb_t)7);
    k[FIELD_LIMBS - 1] = (limb_t)((k[FIELD_LIMBS - 1] & LIMB_MAX >> 1) | (limb_t)1 << (LIMB_BITS - 2));
    load(x1, u);
    x1[FIELD_LIMBS - 1] &= LIMB_MAX >> 1;
    mpn_zero(points.x2, FIELD_LIMBS);
    points.x2[0] = 1;
    mpn_zero(points.z2, FIELD_LIMBS);
    mpn_copy(points.x3, x1, FIELD_LIMBS);
    mpn_zero(points.z3, FIELD_LIMBS);
    points.z3[0] = 1;
    do {
        const limb_t bit = k[(place - 1) / LIMB_BITS] >> ((place - 1) % LIMB_BITS) & 1;
        const limb_t mask = limb_mask((limb_t)(swapped ^ bit));
        swapped = bit;
        place--;
        mpn_swap(points.x2, points.x3, FIELD_LIMBS, mask);
        mpn_swap(points.z2, points.z3, FIELD_LIMBS, mask);
        x25519_ladder_step(&points, x1);
    } while (place != 0);
    mpn_swap(points.x2, points.x3, FIELD_LIMBS, limb_mask(swapped));
    mpn_swap(points.z2, points.z3, FIELD_LIMBS, limb_mask(swapped));
    x25519_field_invert(points.z3, points.z2);
    x25519_field_multiply(points.x2, points.x2, points.z3);
    bring_below_p(points.x2);
    store(result, points.x2);
    useful = (uint8_t)(1 ^ mpn_is_zero(points.x2, FIELD_LIMBS));
    SECRET_PUBLISH(useful);
    mpn_zero(k, FIELD_LIMBS);
    mpn_zero(points.x2, FIELD_LIMBS);
    mpn_zero(points.z2, FIELD_LIMBS);
    mpn_zero(points.x3, FIELD_LIMBS);
    mpn_zero(points.z3, FIELD_LIMBS);
    return useful;
}
