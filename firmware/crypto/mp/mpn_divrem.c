/*
 * Quotients of the basic layer, see mpn.h: Knuth's algorithm D (The Art of Computer Programming 2, section 4.3.1) with
 * digits from a reciprocal of two limbs, which are right but for one in B (Moller and Granlund 2011, algorithms 4 to 6).
 */
#include "carry.h"
#include "mpn.h"

/* The high and the low limb of a * b. */
INLINE limb_t high_limb(limb_t a, limb_t b)
{
    return (limb_t)(((dlimb_t)a * b) >> LIMB_BITS);
}

INLINE limb_t low_limb(limb_t a, limb_t b)
{
    return (limb_t)((dlimb_t)a * b);
}

/* Bit by bit, since a long division by hardware takes as long and is nowhere in constant time. */
INLINE limb_t reciprocal_1(limb_t d)
{
    limb_t quotient = 0, rest = (limb_t)~d;
    unsigned bit = LIMB_BITS;

    do {
        const limb_t out = rest >> (LIMB_BITS - 1);
        const limb_t doubled = (limb_t)(rest << 1 | 1);
        const limb_t fits = out | (limb_t)(doubled >= d);
        rest = (limb_t)(doubled - (d & limb_mask(fits)));
        quotient = (limb_t)(quotient << 1 | fits);
    } while (--bit != 0);
    return quotient;
}

/* see mpn.h; algorithm 6, its branches as masks */
ROUTINE limb_t mpn_reciprocal(const limb_t *d, size_t d_limbs)
{
    const limb_t d1 = d[d_limbs - 1];
    limb_t v = reciprocal_1(d1);

    COUNT(mpn_reciprocal, d_limbs > 1);
    if (d_limbs > 1) {
        const limb_t d0 = d[d_limbs - 2];
        limb_t p = (limb_t)(low_limb(d1, v) + d0);
        limb_t over = limb_mask((limb_t)(p < d0));
        limb_t more = over & limb_mask((limb_t)(p >= d1));
        limb_t low;
        v = (limb_t)(v + over + more);
        p = (limb_t)(p - (over & d1) - (more & d1));
        low = low_limb(v, d0);
        const limb_t high = high_limb(v, d0);
        p = (limb_t)(p + high);
        over = limb_mask((limb_t)(p < high));
        more = over & limb_mask((limb_t)((p > d1) | ((limb_t)(p == d1) & (limb_t)(low >= d0))));
        v = (limb_t)(v + over + more);
    }
    return v;
}

/* Algorithm 5 without the remainder: floor((u2, u1, u0) / (d1, d0)) for (u2, u1) < (d1, d0). In limbs, because
   comparing pairs of them is done by branches. */
INLINE limb_t quotient_3by2(limb_t u2, limb_t u1, limb_t u0, limb_t d1, limb_t d0, limb_t v)
{
    const dlimb_t product = (dlimb_t)v * u2;
    limb_t carry = 0, borrow = 0, less, q, r0, r1, low;

    low = limb_add((limb_t)product, u1, &carry);
    q = limb_add((limb_t)(product >> LIMB_BITS), u2, &carry);
    r0 = limb_sub(u0, low_limb(q, d0), &borrow);
    r1 = (limb_t)(u1 - low_limb(q, d1) - high_limb(q, d0) - borrow);
    borrow = 0;
    r0 = limb_sub(r0, d0, &borrow);
    r1 = limb_sub(r1, d1, &borrow);
    q++;
    less = limb_mask((limb_t)(r1 >= low));
    q = (limb_t)(q + less);
    carry = 0;
    r0 = limb_add(r0, d0 & less, &carry);
    r1 = limb_add(r1, d1 & less, &carry);
    borrow = 0;
    (void)limb_sub(r0, d0, &borrow);
    (void)limb_sub(r1, d1, &borrow);
    return (limb_t)(q + 1 - borrow);
}

/* see mpn.h */
ROUTINE void mpn_divrem(limb_t *q, limb_t *a, size_t a_limbs, const limb_t *d, size_t d_limbs, limb_t reciprocal)
{
    size_t digit = a_limbs - d_limbs;

    COUNT(mpn_divrem, d_limbs > 1 ? digit : 0, 0, 0, d_limbs == 1);
    if (d_limbs == 1) {
        const limb_t rest = mpn_divrem_1(a, a, a_limbs, d[0], reciprocal);
        mpn_copy(q, a, digit);
        mpn_zero(a, a_limbs);
        a[0] = rest;
        return;
    }
    do {
        limb_t *const top = a + --digit + d_limbs;
        const limb_t d1 = d[d_limbs - 1], d0 = d[d_limbs - 2];
        limb_t estimate, borrow;
        /* The one case in which the quotient by two limbs would be B. */
        if (top[0] == d1 && top[-1] == d0) {
            COUNT_TERM(mpn_divrem, saturated, 1);
            estimate = LIMB_MAX;
        } else {
            estimate = quotient_3by2(top[0], top[-1], top[-2], d1, d0, reciprocal);
        }
        borrow = mpn_submul_1(a + digit, d, d_limbs, estimate);
        if (top[0] < borrow) {
            COUNT_TERM(mpn_divrem, addbacks, 1);
            estimate--;
            (void)mpn_add_n(a + digit, a + digit, d, d_limbs);
        }
        top[0] = 0;
        q[digit] = estimate;
    } while (digit != 0);
}

/* Algorithm 4: (rest, u) by d; rest < d. */
INLINE limb_t quotient_2by1(limb_t *rest, limb_t u, limb_t d, limb_t v)
{
    const dlimb_t product = (dlimb_t)v * *rest;
    limb_t carry = 0, low, q, r, less, more;

    low = limb_add((limb_t)product, u, &carry);
    q = (limb_t)(limb_add((limb_t)(product >> LIMB_BITS), *rest, &carry) + 1);
    r = (limb_t)(u - low_limb(q, d));
    less = limb_mask((limb_t)(r > low));
    q = (limb_t)(q + less);
    r = (limb_t)(r + (d & less));
    more = limb_mask((limb_t)(r >= d));
    *rest = (limb_t)(r - (d & more));
    return (limb_t)(q - more);
}

/* see mpn.h */
ROUTINE limb_t mpn_divrem_1(limb_t *q, const limb_t *a, size_t n, limb_t d, limb_t reciprocal)
{
    limb_t rest = 0;

    COUNT(mpn_divrem_1, n);
    do {
        n--;
        q[n] = quotient_2by1(&rest, a[n], d, reciprocal);
    } while (n != 0);
    return rest;
}

/* see mpn.h */
ROUTINE limb_t mpn_mod_1(const limb_t *a, size_t n, limb_t d, limb_t reciprocal)
{
    limb_t rest = 0;

    COUNT(mpn_mod_1, n);
    do {
        n--;
        (void)quotient_2by1(&rest, a[n], d, reciprocal);
    } while (n != 0);
    return rest;
}
