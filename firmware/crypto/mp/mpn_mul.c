/*
 * Products and squares of the basic layer, row by row and by Karatsuba's three products, see mpn.h.
 */
#include "mpn.h"

/* see mpn.h */
ROUTINE void mpn_mul_basecase(limb_t *r, const limb_t *a, size_t a_limbs, const limb_t *b, size_t b_limbs)
{
    size_t row;

    COUNT(mpn_mul_basecase, b_limbs - 1, b_limbs == 1);
    r[a_limbs] = mpn_mul_1(r, a, a_limbs, b[0]);
    for (row = 1; row < b_limbs; row++) {
        r[a_limbs + row] = mpn_addmul_1(r + row, a, a_limbs, b[row]);
    }
}

/* see mpn.h: the products of different limbs once, then twice that and their squares */
ROUTINE void mpn_sqr_basecase(limb_t *r, const limb_t *a, size_t n)
{
    size_t row;

    COUNT(mpn_sqr_basecase, n > 2 ? n - 2 : 0, n <= 2, n == 1);
    r[0] = 0;
    r[2 * n - 1] = 0;
    if (n > 1) {
        r[n] = mpn_mul_1(r + 1, a + 1, n - 1, a[0]);
        for (row = 1; row < n - 1; row++) {
            r[n + row] = mpn_addmul_1(r + 2 * row + 1, a + row + 1, n - row - 1, a[row]);
        }
    }
    mpn_sqr_diagonal(r, a, n);
}

/* see mpn.h */
ROUTINE void mpn_mul_low(limb_t *r, const limb_t *a, size_t n, const limb_t *b, size_t b_limbs)
{
    size_t row;

    COUNT(mpn_mul_low, b_limbs - 1, b_limbs == 1);
    (void)mpn_mul_1(r, a, n, b[0]);
    for (row = 1; row < b_limbs; row++) {
        (void)mpn_addmul_1(r + row, a, n - row, b[row]);
    }
}

/* see mpn.h */
ROUTINE void mpn_mul(limb_t *r, const limb_t *a, size_t a_limbs, const limb_t *b, size_t b_limbs,
                     size_t karatsuba_limbs, struct scratch scratch)
{
    const size_t divided = karatsuba_limbs != 0 && a_limbs == b_limbs && a_limbs >= karatsuba_limbs;

    COUNT(mpn_mul, karatsuba_limbs != 0, karatsuba_limbs != 0 && a_limbs == b_limbs, divided);
    if (divided) {
        mpn_mul_karatsuba(r, a, b, a_limbs, karatsuba_limbs, scratch);
    } else {
        mpn_mul_basecase(r, a, a_limbs, b, b_limbs);
    }
}

/* see mpn.h */
ROUTINE void mpn_sqr(limb_t *r, const limb_t *a, size_t n, size_t karatsuba_limbs, struct scratch scratch)
{
    const size_t divided = karatsuba_limbs != 0 && n >= karatsuba_limbs;

    COUNT(mpn_sqr, karatsuba_limbs != 0, divided);
    if (divided) {
        mpn_sqr_karatsuba(r, a, n, karatsuba_limbs, scratch);
    } else {
        mpn_sqr_basecase(r, a, n);
    }
}

/* r = |a - b|; returns all ones when a is less than b, else 0. */
INLINE limb_t difference(limb_t *r, const limb_t *a, const limb_t *b, size_t n)
{
    const limb_t mask = limb_mask(mpn_sub_n(r, a, b, n));
    (void)mpn_negate(r, r, n, mask);
    return mask;
}

/*
 * r, of 4h limbs, holds two products of 2h, low and high, that are h limbs too close to each other when the middle one
 * is added: the low one, plus the high one, plus `middle` where `mask` is 0 and less it where it is all ones. `sum` is
 * 2h limbs that are lost, and `middle` is, too.
 */
INLINE void join(limb_t *r, limb_t *sum, limb_t *middle, size_t h, limb_t mask)
{
    limb_t carry = mpn_add_n(sum, r, r + 2 * h, 2 * h);
    carry = (limb_t)(carry + mpn_negate(middle, middle, 2 * h, mask));
    carry = (limb_t)(carry + mask + mpn_add_n(sum, sum, middle, 2 * h));
    carry = (limb_t)(carry + mpn_add_n(r + h, r + h, sum, 2 * h));
    (void)mpn_add_1(r + 3 * h, r + 3 * h, h, carry);
}

/* see mpn.h: (a1 - a0) and (b0 - b1) are multiplied, so that no factor has a limb more than half */
ROUTINE void mpn_mul_karatsuba(limb_t *r, const limb_t *a, const limb_t *b, size_t n, size_t karatsuba_limbs,
                               struct scratch scratch)
{
    const size_t even = n & ~(size_t)1, h = n / 2;
    limb_t *middle = scratch_take(&scratch, 2 * h);
    limb_t *sum = scratch_take(&scratch, 2 * h);
    limb_t mask;

    COUNT(mpn_mul_karatsuba, n != even);
    mask = difference(sum, a + h, a, h);
    mask ^= difference(sum + h, b, b + h, h);
    mpn_mul(middle, sum, h, sum + h, h, karatsuba_limbs, scratch);
    mpn_mul(r, a, h, b, h, karatsuba_limbs, scratch);
    mpn_mul(r + 2 * h, a + h, h, b + h, h, karatsuba_limbs, scratch);
    join(r, sum, middle, h, mask);
    if (n != even) {
        r[2 * even] = mpn_addmul_1(r + even, a, even, b[even]);
        r[2 * even + 1] = mpn_addmul_1(r + even, b, n, a[even]);
    }
}

/* see mpn.h */
ROUTINE void mpn_sqr_karatsuba(limb_t *r, const limb_t *a, size_t n, size_t karatsuba_limbs, struct scratch scratch)
{
    const size_t even = n & ~(size_t)1, h = n / 2;
    limb_t *middle = scratch_take(&scratch, 2 * h);
    limb_t *sum = scratch_take(&scratch, 2 * h);

    COUNT(mpn_sqr_karatsuba, n != even);
    (void)difference(sum, a + h, a, h);
    mpn_sqr(middle, sum, h, karatsuba_limbs, scratch);
    mpn_sqr(r, a, h, karatsuba_limbs, scratch);
    mpn_sqr(r + 2 * h, a + h, h, karatsuba_limbs, scratch);
    join(r, sum, middle, h, LIMB_MAX);
    if (n != even) {
        r[2 * even] = mpn_addmul_1(r + even, a, even, a[even]);
        r[2 * even + 1] = mpn_addmul_1(r + even, a, n, a[even]);
    }
}
