/*
 * Montgomery's multiplication by columns, see modmul.h ("finely integrated product scanning"): each limb of the result
 * is written once, and what is carried from column to column is in three limbs.
 */
#include "../mp/carry.h"
#include "modmul.h"

/* The quotient digit of a column's sum, which makes its lowest limb 0 with the modulus' lowest limb; that limb goes. */
INLINE limb_t digit(const struct modmul *modmul, limb_t sum[3])
{
    const limb_t q = (limb_t)((dlimb_t)sum[0] * modmul->inverse);
    limb_accumulate(q, modmul->modulus[0], &sum[0], &sum[1], &sum[2]);
    (void)limb_shift_out(&sum[0], &sum[1], &sum[2]);
    return q;
}

/* see modmul.h */
ROUTINE void MODMUL(fips_multiply)(const struct modmul *modmul, limb_t *r, const limb_t *a, const limb_t *b,
                                   struct scratch scratch)
{
    const size_t limbs = modmul->limbs;
    const limb_t *const modulus = modmul->modulus;
    limb_t *const q = scratch_take(&scratch, limbs);
    limb_t *const t = scratch_take(&scratch, limbs);
    limb_t sum[3] = {0, 0, 0};
    size_t i = 1;

    COUNT(MODMUL(fips_multiply), limbs);
    mpn_dot(sum, a, b, 1);
    q[0] = digit(modmul, sum);
    do {
        mpn_dot(sum, a, b, i + 1);
        mpn_dot(sum, q, modulus + 1, i);
        q[i] = digit(modmul, sum);
    } while (++i != limbs);
    for (i = 1; i != limbs; i++) {
        mpn_dot(sum, a + i, b + i, limbs - i);
        mpn_dot(sum, q + i, modulus + i, limbs - i);
        t[i - 1] = limb_shift_out(&sum[0], &sum[1], &sum[2]);
    }
    t[limbs - 1] = sum[0];
    modmul_correct(modmul, r, t, sum[1], scratch);
    mpn_zero(sum, 3);
}

/*
 * The products of a column of the square: its limbs from `low` on, `count` of them, each with that of the other end.
 * Pairs are computed once, in `pairs`, and doubled; the one in the middle is its own partner.
 */
INLINE void square_column(limb_t sum[3], limb_t pairs[3], const limb_t *a, size_t low, size_t count)
{
    const size_t half = count / 2;
    limb_t carry = 0;

    pairs[0] = pairs[1] = pairs[2] = 0;
    if (half != 0) {
        mpn_dot(pairs, a + low, a + low + count - half, half);
    }
    sum[0] = limb_add(sum[0], (limb_t)(pairs[0] << 1), &carry);
    sum[1] = limb_add(sum[1], (limb_t)(pairs[1] << 1 | pairs[0] >> (LIMB_BITS - 1)), &carry);
    sum[2] = (limb_t)(sum[2] + (limb_t)(pairs[2] << 1 | pairs[1] >> (LIMB_BITS - 1)) + carry);
    if (count % 2 != 0) {
        limb_accumulate(a[low + half], a[low + half], &sum[0], &sum[1], &sum[2]);
    }
}

/* see modmul.h */
ROUTINE void MODMUL(fips_square)(const struct modmul *modmul, limb_t *r, const limb_t *a, const limb_t *b,
                                 struct scratch scratch)
{
    const size_t limbs = modmul->limbs;
    const limb_t *const modulus = modmul->modulus;
    limb_t *const q = scratch_take(&scratch, limbs);
    limb_t *const t = scratch_take(&scratch, limbs);
    limb_t sum[3] = {0, 0, 0}, pairs[3];
    size_t i = 1;

    COUNT(MODMUL(fips_square), limbs, limbs % 2);
    (void)b;
    square_column(sum, pairs, a, 0, 1);
    q[0] = digit(modmul, sum);
    do {
        square_column(sum, pairs, a, 0, i + 1);
        mpn_dot(sum, q, modulus + 1, i);
        q[i] = digit(modmul, sum);
    } while (++i != limbs);
    for (i = 1; i != limbs; i++) {
        square_column(sum, pairs, a, i, limbs - i);
        mpn_dot(sum, q + i, modulus + i, limbs - i);
        t[i - 1] = limb_shift_out(&sum[0], &sum[1], &sum[2]);
    }
    t[limbs - 1] = sum[0];
    modmul_correct(modmul, r, t, sum[1], scratch);
    mpn_zero(sum, 3);
    mpn_zero(pairs, 3);
}
