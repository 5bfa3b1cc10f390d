/*
 * Integers with a sign over caller-owned memory of a fixed capacity: what the complex layer calls when lengths vary.
 * Their sizes are those of their values, so time tells how long a value is, and mpz_mod and mpz_gcdext tell more: where
 * secrets must not show, mpn.h is used directly.
 */
#ifndef SELVEDGE_MPZ_H
#define SELVEDGE_MPZ_H

#include "mpn.h"

#define mpz_set     LIMB_NAME(mpz, set)
#define mpz_set_mpn LIMB_NAME(mpz, set_mpn)
#define mpz_get_mpn LIMB_NAME(mpz, get_mpn)
#define mpz_add     LIMB_NAME(mpz, add)
#define mpz_sub     LIMB_NAME(mpz, sub)
#define mpz_mul     LIMB_NAME(mpz, mul)
#define mpz_divmod  LIMB_NAME(mpz, divmod)
#define mpz_mod     LIMB_NAME(mpz, mod)
#define mpz_gcdext  LIMB_NAME(mpz, gcdext)
#define mpz_invert  LIMB_NAME(mpz, invert)

struct mpz {
    limb_t *limbs;    /* the caller's, least significant first; those from `size` on mean nothing */
    size_t capacity;  /* how many there are */
    size_t size;      /* how many are used: the highest of them is not 0, and 0 has none */
    uint8_t negative; /* 1 below zero */
};

/* 0, in `capacity` limbs from scratch. */
INLINE void mpz_init(struct mpz *r, size_t capacity, struct scratch *scratch)
{
    r->limbs = scratch_take(scratch, capacity);
    r->capacity = capacity;
    r->size = 0;
    r->negative = 0;
}

void mpz_set(struct mpz *r, const struct mpz *a);
/* From and to a vector; to one, a value MUST fit and not be negative. */
void mpz_set_mpn(struct mpz *r, const limb_t *a, size_t n);
void mpz_get_mpn(limb_t *r, size_t n, const struct mpz *a);

/*
 * r = a + b, a - b, a * b. A result MUST fit its capacity, or the program ends: of a sum one limb more than the longer
 * operand, of a product the sizes' sum. r MAY be an operand, but not of mpz_mul.
 */
void mpz_add(struct mpz *r, const struct mpz *a, const struct mpz *b);
void mpz_sub(struct mpz *r, const struct mpz *a, const struct mpz *b);
void mpz_mul(struct mpz *r, const struct mpz *a, const struct mpz *b, size_t karatsuba_limbs, struct scratch scratch);

/*
 * a = q * m + r with 0 <= r < m, of a positive m. q and r are no operands and not the same; q MAY be NULL.
 * Rounded down: for a below 0, too, r is not. Takes MPZ_DIVMOD_SCRATCH(sizes of a and m) limbs of scratch.
 */
void mpz_divmod(struct mpz *q, struct mpz *r, const struct mpz *a, const struct mpz *m, struct scratch scratch);
void mpz_mod(struct mpz *r, const struct mpz *a, const struct mpz *m, struct scratch scratch);

#define MPZ_DIVMOD_SCRATCH(a_limbs, m_limbs) (2 * (a_limbs) + (m_limbs) + 4)

/*
 * g = gcd(a, m) and s with s * a = g modulo m, 0 <= s < m, for 0 <= a and 0 < m, by Euclid's algorithm.
 * a has at most twice m's limbs; g and s are no operands. Takes MPZ_GCDEXT_SCRATCH(m's size) limbs.
 */
void mpz_gcdext(struct mpz *g, struct mpz *s, const struct mpz *a, const struct mpz *m, struct scratch scratch);
/* r = a^-1 modulo m in 1 .. m-1; returns 0 when there is none. */
uint8_t mpz_invert(struct mpz *r, const struct mpz *a, const struct mpz *m, struct scratch scratch);

#define MPZ_GCDEXT_SCRATCH(m_limbs) (12 * ((m_limbs) + 4))

#endif
