/*
 * The field of P-256, see p256.h: numbers modulo p, kept times R = 2^256, as Montgomery does. p is so close to powers of
 * two, and is -1 modulo all limbs, that its reduction needs no products.
 */
#include "p256.h"

const limb_t p256_prime[P256_LIMBS] = {
    WORD(0xffffffff), WORD(0xffffffff), WORD(0xffffffff), WORD(0x00000000),
    WORD(0x00000000), WORD(0x00000000), WORD(0x00000001), WORD(0xffffffff),
};

#if LIMB_BITS == 16
typedef int32_t column_t; /* a signed sum of a few limbs */
#else
typedef int64_t column_t;
#endif

/* r = a where a is below p, else a - p, for a with `carry` above it and below 2p. */
INLINE void correct(limb_t *r, const limb_t *a, limb_t carry)
{
    limb_t less[P256_LIMBS];
    const limb_t borrow = mpn_sub_n(less, a, p256_prime, P256_LIMBS);
    mpn_select(r, a, less, P256_LIMBS, limb_mask((limb_t)(borrow & ~carry & 1)));
}

/*
 * see p256.h: a multiple q[i] * p of the modulus is added for each of the lower limbs, so that it becomes 0. q[i] is that
 * limb, and p = 2^256 - 2^224 + 2^192 + 2^96 - 1, so column c gets q's limbs from 96, 192, 224 and 256 bits below.
 */
ROUTINE void p256_field_reduce(limb_t *r, const limb_t *t)
{
    limb_t padded[3 * P256_LIMBS];
    limb_t *const q = padded + P256_LIMBS;
    limb_t high[P256_LIMBS];
    column_t sum = 0;
    size_t c = 0;

    COUNT(p256_field_reduce);
    mpn_zero(padded, 3 * P256_LIMBS);
    do {
        const limb_t *const at = q + c;
        sum += t[c];
        sum += at[-(96 / LIMB_BITS)];
        sum += at[-(192 / LIMB_BITS)];
        sum -= at[-(224 / LIMB_BITS)];
        q[c] = (limb_t)sum;
        sum >>= LIMB_BITS;
    } while (++c != P256_LIMBS);
    do {
        const limb_t *const at = q + c;
        sum += t[c];
        sum += at[-(96 / LIMB_BITS)];
        sum += at[-(192 / LIMB_BITS)];
        sum -= at[-(224 / LIMB_BITS)];
        sum += at[-(256 / LIMB_BITS)];
        high[c - P256_LIMBS] = (limb_t)sum;
        sum >>= LIMB_BITS;
    } while (++c != 2 * P256_LIMBS);
    correct(r, high, (limb_t)sum);
}

/* see p256.h */
ROUTINE void p256_field_multiply(limb_t *r, const limb_t *a, const limb_t *b)
{
    limb_t product[2 * P256_LIMBS];

    COUNT(p256_field_multiply);
    mpn_mul_basecase(product, a, P256_LIMBS, b, P256_LIMBS);
    p256_field_reduce(r, product);
}

/* see p256.h */
ROUTINE void p256_field_square(limb_t *r, const limb_t *a)
{
    limb_t product[2 * P256_LIMBS];

    COUNT(p256_field_square);
    mpn_sqr_basecase(product, a, P256_LIMBS);
    p256_field_reduce(r, product);
}

/* see p256.h */
ROUTINE void p256_field_add(limb_t *r, const limb_t *a, const limb_t *b)
{
    COUNT(p256_field_add);
    correct(r, r, mpn_add_n(r, a, b, P256_LIMBS));
}

/* see p256.h */
ROUTINE void p256_field_subtract(limb_t *r, const limb_t *a, const limb_t *b)
{
    limb_t more[P256_LIMBS];
    limb_t borrow;

    COUNT(p256_field_subtract);
    borrow = mpn_sub_n(r, a, b, P256_LIMBS);
    (void)mpn_add_n(more, r, p256_prime, P256_LIMBS);
    mpn_select(r, more, r, P256_LIMBS, limb_mask(borrow));
}

/* r = a^(2^count) * b. */
INLINE void square_and_multiply(limb_t *r, const limb_t *a, unsigned count, const limb_t *b)
{
    limb_t power[P256_LIMBS];

    p256_field_square(power, a);
    while (--count != 0) {
        p256_field_square(power, power);
    }
    p256_field_multiply(r, power, b);
}

/* see p256.h: a^(p - 2); `ones` is a to a power of 32 ones, of which shorter runs are made first */
ROUTINE void p256_field_invert(limb_t *r, const limb_t *a)
{
    limb_t ones_2[P256_LIMBS], ones_4[P256_LIMBS], ones_8[P256_LIMBS], ones_30[P256_LIMBS], ones[P256_LIMBS];
    limb_t power[P256_LIMBS];

    COUNT(p256_field_invert);
    square_and_multiply(ones_2, a, 1, a);
    square_and_multiply(ones_4, ones_2, 2, ones_2);
    square_and_multiply(ones_8, ones_4, 4, ones_4);
    square_and_multiply(power, ones_8, 8, ones_8);
    square_and_multiply(power, power, 8, ones_8);
    square_and_multiply(power, power, 4, ones_4);
    square_and_multiply(ones_30, power, 2, ones_2);
    square_and_multiply(ones, ones_30, 2, ones_2);
    square_and_multiply(power, ones, 32, a);
    square_and_multiply(power, power, 128, ones);
    square_and_multiply(power, power, 32, ones);
    square_and_multiply(power, power, 30, ones_30);
    square_and_multiply(r, power, 2, a);
}
