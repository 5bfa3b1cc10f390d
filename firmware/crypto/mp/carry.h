/*
 * Steps of one limb with a carry, as plain C, for the leaves of the basic layer: no branches, and in the form that
 * compilers make the fewest instructions of for the width of a limb.
 */
#ifndef SELVEDGE_CARRY_H
#define SELVEDGE_CARRY_H

#include "limb.h"

/* a + b + *carry, and a - b - *borrow, for a carry of 0 or 1. */
INLINE limb_t limb_add(limb_t a, limb_t b, limb_t *carry)
{
#if LIMB_BITS == 32
    const limb_t first = a + b;
    const limb_t sum = first + *carry;
    *carry = (limb_t)(first < a) + (limb_t)(sum < first);
    return sum;
#else
    const dlimb_t sum = (dlimb_t)a + b + *carry;
    *carry = (limb_t)(sum >> LIMB_BITS);
    return (limb_t)sum;
#endif
}

INLINE limb_t limb_sub(limb_t a, limb_t b, limb_t *borrow)
{
#if LIMB_BITS == 32
    const limb_t first = a - b;
    const limb_t difference = first - *borrow;
    *borrow = (limb_t)(a < b) + (limb_t)(first < *borrow);
    return difference;
#else
    const dlimb_t difference = (dlimb_t)a - b - *borrow;
    *borrow = (limb_t)(difference >> LIMB_BITS) & 1;
    return (limb_t)difference;
#endif
}

/* The low limb of r + a * b + *carry, of which the high one is the next carry. Never more than two limbs. */
INLINE limb_t limb_addmul(limb_t r, limb_t a, limb_t b, limb_t *carry)
{
    const dlimb_t sum = (dlimb_t)a * b + r + *carry;
    *carry = (limb_t)(sum >> LIMB_BITS);
    return (limb_t)sum;
}

/* r - a * b - *borrow, of which the next borrow is taken. */
INLINE limb_t limb_submul(limb_t r, limb_t a, limb_t b, limb_t *borrow)
{
    const dlimb_t product = (dlimb_t)a * b + *borrow;
    const limb_t low = (limb_t)product;
    *borrow = (limb_t)((limb_t)(product >> LIMB_BITS) + (limb_t)(r < low));
    return (limb_t)(r - low);
}

/* Three limbs of a sum, s2 s1 s0, += a * b. */
INLINE void limb_accumulate(limb_t a, limb_t b, limb_t *s0, limb_t *s1, limb_t *s2)
{
#if LIMB_BITS == 32
    const dlimb_t product = (dlimb_t)a * b;
    limb_t high = (limb_t)(product >> LIMB_BITS);
    *s0 += (limb_t)product;
    high += (limb_t)(*s0 < (limb_t)product); /* a product's high limb is never all ones */
    *s1 += high;
    *s2 += (limb_t)(*s1 < high);
#else
    const dlimb_t product = (dlimb_t)a * b;
    const dlimb_t old = (dlimb_t)*s1 << LIMB_BITS | *s0;
    const dlimb_t sum = old + product;
    *s0 = (limb_t)sum;
    *s1 = (limb_t)(sum >> LIMB_BITS);
    *s2 = (limb_t)(*s2 + (sum < old));
#endif
}

/* The sum's lowest limb, which leaves it. */
INLINE limb_t limb_shift_out(limb_t *s0, limb_t *s1, limb_t *s2)
{
    const limb_t out = *s0;
    *s0 = *s1;
    *s1 = *s2;
    *s2 = 0;
    return out;
}

#endif
