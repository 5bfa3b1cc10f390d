/*
 * The points of P-256, see p256.h. Its field is p256_field.c's.
 */
#include "p256.h"

/* R = 2^256 modulo p, which is 1 as the field's elements are kept */
static const limb_t one[P256_LIMBS] = {
    WORD(0x00000001), WORD(0x00000000), WORD(0x00000000), WORD(0xffffffff),
    WORD(0xffffffff), WORD(0xffffffff), WORD(0xfffffffe), WORD(0x00000000),
};
/* R^2 modulo p */
static const limb_t r2[P256_LIMBS] = {
    WORD(0x00000003), WORD(0x00000000), WORD(0xffffffff), WORD(0xfffffffb),
    WORD(0xfffffffe), WORD(0xffffffff), WORD(0xfffffffd), WORD(0x00000004),
};
/* The curve's b, times R */
static const limb_t curve_b[P256_LIMBS] = {
    WORD(0x29c4bddf), WORD(0xd89cdf62), WORD(0x78843090), WORD(0xacf005cd),
    WORD(0xf7212ed6), WORD(0xe5a220ab), WORD(0x04874834), WORD(0xdc30061d),
};
/* The generator, times R */
static const limb_t base_x[P256_LIMBS] = {
    WORD(0x18a9143c), WORD(0x79e730d4), WORD(0x5fedb601), WORD(0x75ba95fc),
    WORD(0x77622510), WORD(0x79fb732b), WORD(0xa53755c6), WORD(0x18905f76),
};
/* see above */
static const limb_t base_y[P256_LIMBS] = {
    WORD(0xce95560a), WORD(0xddf25357), WORD(0xba19e45c), WORD(0x8b4ab8e4),
    WORD(0xdd21f325), WORD(0xd2e88688), WORD(0x25885d85), WORD(0x8571ff18),
};

/* see p256.h */
ROUTINE void p256_base(struct p256_point *r)
{
    COUNT(p256_base);
    mpn_copy(r->x, base_x, P256_LIMBS);
    mpn_copy(r->y, base_y, P256_LIMBS);
    mpn_copy(r->z, one, P256_LIMBS);
}

/* r = 3a. */
INLINE void thrice(limb_t *r, const limb_t *a)
{
    limb_t twice[P256_LIMBS];

    p256_field_add(twice, a, a);
    p256_field_add(r, twice, a);
}

/*
 * What both formulas end with, from the sums of products x1 * x2 and so on (page 5 of the paper, for a = -3):
 * s = 3 (b zz - xz), t = 3 (xx - zz), w = 3 (b xz - xx - 3 zz);
 * x3 = xy (yy - s) - yz w, y3 = (yy + s) (yy - s) + t w; z3 is left to each. `high` is yy + s, `t` is t.
 */
INLINE void finish(struct p256_point *r, limb_t *high, limb_t *t, const limb_t *xx, const limb_t *yy, const limb_t *zz,
                   const limb_t *xy, const limb_t *yz, const limb_t *xz)
{
    limb_t s[P256_LIMBS], w[P256_LIMBS], low[P256_LIMBS], product[P256_LIMBS];

    p256_field_multiply(s, curve_b, zz);
    p256_field_subtract(s, s, xz);
    thrice(s, s);
    p256_field_multiply(w, curve_b, xz);
    p256_field_subtract(w, w, xx);
    thrice(product, zz);
    p256_field_subtract(w, w, product);
    thrice(w, w);
    p256_field_subtract(t, xx, zz);
    thrice(t, t);
    p256_field_subtract(low, yy, s);
    p256_field_add(high, yy, s);
    p256_field_multiply(r->x, xy, low);
    p256_field_multiply(product, yz, w);
    p256_field_subtract(r->x, r->x, product);
    p256_field_multiply(r->y, high, low);
    p256_field_multiply(product, t, w);
    p256_field_add(r->y, r->y, product);
}

/* r = (a1 + a2) (b1 + b2) - a1 b1 - a2 b2, which is a1 b2 + a2 b1. */
INLINE void cross(limb_t *r, const limb_t *a1, const limb_t *a2, const limb_t *b1, const limb_t *b2,
                  const limb_t *product1, const limb_t *product2)
{
    limb_t a[P256_LIMBS], b[P256_LIMBS];

    p256_field_add(a, a1, a2);
    p256_field_add(b, b1, b2);
    p256_field_multiply(r, a, b);
    p256_field_subtract(r, r, product1);
    p256_field_subtract(r, r, product2);
}

/* see p256.h */
ROUTINE void p256_add(struct p256_point *r, const struct p256_point *a, const struct p256_point *b)
{
    limb_t xx[P256_LIMBS], yy[P256_LIMBS], zz[P256_LIMBS], xy[P256_LIMBS], yz[P256_LIMBS], xz[P256_LIMBS];
    limb_t high[P256_LIMBS], t[P256_LIMBS];

    COUNT(p256_add);
    p256_field_multiply(xx, a->x, b->x);
    p256_field_multiply(yy, a->y, b->y);
    p256_field_multiply(zz, a->z, b->z);
    cross(xy, a->x, a->y, b->x, b->y, xx, yy);
    cross(yz, a->y, a->z, b->y, b->z, yy, zz);
    cross(xz, a->x, a->z, b->x, b->z, xx, zz);
    finish(r, high, t, xx, yy, zz, xy, yz, xz);
    /* z3 = yz (yy + s) + xy t */
    p256_field_multiply(yz, yz, high);
    p256_field_multiply(xy, xy, t);
    p256_field_add(r->z, yz, xy);
}

/* see p256.h */
ROUTINE void p256_double(struct p256_point *r, const struct p256_point *a)
{
    limb_t xx[P256_LIMBS], yy[P256_LIMBS], zz[P256_LIMBS], xy[P256_LIMBS], yz[P256_LIMBS], xz[P256_LIMBS];
    limb_t high[P256_LIMBS], t[P256_LIMBS];

    COUNT(p256_double);
    p256_field_square(xx, a->x);
    p256_field_square(yy, a->y);
    p256_field_square(zz, a->z);
    p256_field_multiply(xy, a->x, a->y);
    p256_field_add(xy, xy, xy);
    p256_field_multiply(yz, a->y, a->z);
    p256_field_add(yz, yz, yz);
    p256_field_multiply(xz, a->x, a->z);
    p256_field_add(xz, xz, xz);
    finish(r, high, t, xx, yy, zz, xy, yz, xz);
    /* z3 = 8 y^3 z */
    p256_field_multiply(t, yy, yz);
    p256_field_add(t, t, t);
    p256_field_add(r->z, t, t);
}

INLINE void infinity(struct p256_point *r)
{
    mpn_zero(r->x, P256_LIMBS);
    mpn_copy(r->y, one, P256_LIMBS);
    mpn_zero(r->z, P256_LIMBS);
}

INLINE size_t scalar_bit(const limb_t *scalar, size_t place)
{
    return scalar[place / LIMB_BITS] >> (place % LIMB_BITS) & 1;
}

/* Two points that are one apart: each bit decides which of them is doubled, and the other becomes the sum of both. */
ROUTINE void p256_ladder(struct p256_point *r, const limb_t *scalar, const struct p256_point *point)
{
    struct p256_point next;
    size_t place = 256;

    COUNT(p256_ladder);
    infinity(r);
    mpn_copy(next.all, point->all, 3 * P256_LIMBS);
    do {
        const limb_t mask = limb_mask((limb_t)scalar_bit(scalar, --place));
        mpn_swap(r->all, next.all, 3 * P256_LIMBS, mask);
        p256_add(&next, r, &next);
        p256_double(r, r);
        mpn_swap(r->all, next.all, 3 * P256_LIMBS, mask);
    } while (place != 0);
    mpn_zero(next.all, 3 * P256_LIMBS);
}

INLINE size_t scalar_digit(const limb_t *scalar, size_t place, size_t count)
{
    size_t digit = 0;

    do {
        digit = digit << 1 | scalar_bit(scalar, place + --count);
    } while (count != 0);
    return digit;
}

/* Digits of `window_bits`, from the highest on; all multiples that a digit can ask for are in a table. */
ROUTINE void p256_window(struct p256_point *r, const limb_t *scalar, const struct p256_point *point,
                         size_t window_bits, struct scratch scratch)
{
    const size_t count = (size_t)1 << window_bits, top_bits = (256 - 1) % window_bits + 1;
    limb_t *const table = scratch_take(&scratch, count * 3 * P256_LIMBS);
    struct p256_point multiple;
    size_t i, place = 256 - top_bits;

    COUNT(p256_window, place / window_bits, place, top_bits, count / 2 - 1);
    infinity(r);
    mpn_copy(table, r->all, 3 * P256_LIMBS);
    mpn_copy(table + 3 * P256_LIMBS, point->all, 3 * P256_LIMBS);
    for (i = 2; i < count; i += 2) {
        mpn_copy(multiple.all, table + i / 2 * 3 * P256_LIMBS, 3 * P256_LIMBS);
        p256_double(&multiple, &multiple);
        mpn_copy(table + i * 3 * P256_LIMBS, multiple.all, 3 * P256_LIMBS);
        p256_add(&multiple, &multiple, point);
        mpn_copy(table + (i + 1) * 3 * P256_LIMBS, multiple.all, 3 * P256_LIMBS);
    }
    mpn_gather(r->all, table, count, 3 * P256_LIMBS, scalar_digit(scalar, place, top_bits));
    do {
        size_t doubling = window_bits;
        place -= window_bits;
        do {
            p256_double(r, r);
        } while (--doubling != 0);
        mpn_gather(multiple.all, table, count, 3 * P256_LIMBS, scalar_digit(scalar, place, window_bits));
        p256_add(r, r, &multiple);
    } while (place != 0);
    mpn_zero(multiple.all, 3 * P256_LIMBS);
}

/* see p256.h */
ROUTINE void p256_multiply(struct p256_point *r, const limb_t scalar[P256_LIMBS], const struct p256_point *point,
                           uint8_t method, uint8_t window_bits, struct scratch scratch)
{
    COUNT(p256_multiply, method == P256_WINDOW);
    if (method == P256_WINDOW) {
        p256_window(r, scalar, point, window_bits, scratch);
    } else {
        p256_ladder(r, scalar, point);
    }
}

/* see p256.h */
ROUTINE uint8_t p256_load(struct p256_point *r, const uint8_t bytes[2 * P256_BYTES])
{
    limb_t left[P256_LIMBS], right[P256_LIMBS];
    limb_t below;

    COUNT(p256_load);
    mpn_from_bytes(r->x, P256_LIMBS, bytes, P256_BYTES);
    mpn_from_bytes(r->y, P256_LIMBS, bytes + P256_BYTES, P256_BYTES);
    below = mpn_sub_n(left, r->x, p256_prime, P256_LIMBS) & mpn_sub_n(right, r->y, p256_prime, P256_LIMBS);
    p256_field_multiply(r->x, r->x, r2);
    p256_field_multiply(r->y, r->y, r2);
    mpn_copy(r->z, one, P256_LIMBS);
    /* y^2 = x^3 - 3x + b */
    p256_field_square(left, r->x);
    p256_field_multiply(left, left, r->x);
    thrice(right, r->x);
    p256_field_subtract(left, left, right);
    p256_field_add(left, left, curve_b);
    p256_field_square(right, r->y);
    p256_field_subtract(left, left, right);
    return (uint8_t)(below & mpn_is_zero(left, P256_LIMBS));
}

/* see p256.h; the inverse of 0 comes out as 0 */
ROUTINE uint8_t p256_store(uint8_t bytes[2 * P256_BYTES], const struct p256_point *a)
{
    limb_t product[2 * P256_LIMBS], inverse[P256_LIMBS];

    COUNT(p256_store);
    p256_field_invert(inverse, a->z);
    mpn_zero(product + P256_LIMBS, P256_LIMBS);
    p256_field_multiply(product, a->x, inverse);
    p256_field_reduce(product, product);
    mpn_to_bytes(bytes, P256_BYTES, product, P256_LIMBS);
    mpn_zero(product + P256_LIMBS, P256_LIMBS);
    p256_field_multiply(product, a->y, inverse);
    p256_field_reduce(product, product);
    mpn_to_bytes(bytes + P256_BYTES, P256_BYTES, product, P256_LIMBS);
    mpn_zero(product, 2 * P256_LIMBS);
    mpn_zero(inverse, P256_LIMBS);
    return (uint8_t)(1 ^ mpn_is_zero(a->z, P256_LIMBS));
}
