/*
 * Integers with a sign, see mpz.h.
 */
#include "mpz.h"

/* Capacity is the caller's to have thought of. */
INLINE void reserve(const struct mpz *r, size_t limbs)
{
    if (r->capacity < limbs) {
        __builtin_trap();
    }
}

/* Sets the size to where the highest limb is that is not 0, at or below `limbs`; counts limbs that are. */
INLINE size_t normalise(struct mpz *r, size_t limbs)
{
    const size_t all = limbs;

    while (limbs != 0 && r->limbs[limbs - 1] == 0) {
        limbs--;
    }
    r->size = limbs;
    r->negative = (uint8_t)(r->negative & (limbs != 0));
    return all - limbs;
}

/* see mpz.h */
ROUTINE void mpz_set(struct mpz *r, const struct mpz *a)
{
    COUNT(mpz_set, a->size == 0);
    reserve(r, a->size);
    if (a->size != 0) {
        mpn_copy(r->limbs, a->limbs, a->size);
    }
    r->size = a->size;
    r->negative = a->negative;
}

/* see mpz.h */
ROUTINE void mpz_set_mpn(struct mpz *r, const limb_t *a, size_t n)
{
    size_t zeros;

    COUNT(mpz_set_mpn, 0, 0);
    reserve(r, n);
    mpn_copy(r->limbs, a, n);
    r->negative = 0;
    zeros = normalise(r, n);
    COUNT_TERM(mpz_set_mpn, zeros, zeros);
    COUNT_TERM(mpz_set_mpn, zero, r->size == 0);
    (void)zeros;
}

/* see mpz.h */
ROUTINE void mpz_get_mpn(limb_t *r, size_t n, const struct mpz *a)
{
    COUNT(mpz_get_mpn, a->size == 0, a->size == n);
    if (a->size > n || a->negative) {
        __builtin_trap();
    }
    if (a->size != 0) {
        mpn_copy(r, a->limbs, a->size);
    }
    if (a->size != n) {
        mpn_zero(r + a->size, n - a->size);
    }
}

/* Below 0, 0 or above 0, as |a| is less than |b|, equal or greater. */
INLINE int compare(const struct mpz *a, const struct mpz *b)
{
    if (a->size != b->size) {
        return a->size < b->size ? -1 : 1;
    }
    return a->size == 0 ? 0 : mpn_cmp(a->limbs, b->limbs, a->size);
}

/* r = |a| + |b|, |a| at least as long as |b|. */
INLINE size_t add_sizes(struct mpz *r, const struct mpz *a, const struct mpz *b)
{
    limb_t carry = 0;

    reserve(r, a->size + 1);
    if (b->size != 0) {
        carry = mpn_add_n(r->limbs, a->limbs, b->limbs, b->size);
    }
    if (a->size != b->size) {
        carry = mpn_add_1(r->limbs + b->size, a->limbs + b->size, a->size - b->size, carry);
    }
    r->limbs[a->size] = carry;
    return normalise(r, a->size + 1);
}

/* r = |a| - |b|, |a| at least |b|. */
INLINE size_t subtract_sizes(struct mpz *r, const struct mpz *a, const struct mpz *b)
{
    limb_t borrow = 0;

    reserve(r, a->size);
    if (b->size != 0) {
        borrow = mpn_sub_n(r->limbs, a->limbs, b->limbs, b->size);
    }
    if (a->size != b->size) {
        (void)mpn_sub_1(r->limbs + b->size, a->limbs + b->size, a->size - b->size, borrow);
    }
    return normalise(r, a->size);
}

/* r = a + b, where b's sign is taken to be `b_negative`. */
INLINE size_t combine(struct mpz *r, const struct mpz *a, const struct mpz *b, uint8_t b_negative)
{
    const uint8_t a_negative = a->negative;

    if (a_negative == b_negative) {
        r->negative = a_negative;
        return a->size >= b->size ? add_sizes(r, a, b) : add_sizes(r, b, a);
    }
    if (compare(a, b) >= 0) {
        r->negative = a_negative;
        return subtract_sizes(r, a, b);
    }
    r->negative = b_negative;
    return subtract_sizes(r, b, a);
}

/* see mpz.h */
ROUTINE void mpz_add(struct mpz *r, const struct mpz *a, const struct mpz *b)
{
    size_t zeros;

    COUNT(mpz_add, 0, a->size != b->size, a->negative != b->negative);
    zeros = combine(r, a, b, b->negative);
    COUNT_TERM(mpz_add, zeros, zeros);
    (void)zeros;
}

/* see mpz.h */
ROUTINE void mpz_sub(struct mpz *r, const struct mpz *a, const struct mpz *b)
{
    size_t zeros;

    COUNT(mpz_sub, 0, a->size != b->size, a->negative == b->negative);
    zeros = combine(r, a, b, !b->negative);
    COUNT_TERM(mpz_sub, zeros, zeros);
    (void)zeros;
}

/* see mpz.h */
ROUTINE void mpz_mul(struct mpz *r, const struct mpz *a, const struct mpz *b, size_t karatsuba_limbs,
                     struct scratch scratch)
{
    const struct mpz *const longer = a->size >= b->size ? a : b;
    const struct mpz *const shorter = a->size >= b->size ? b : a;
    size_t zeros = 0;

    COUNT(mpz_mul, 0, shorter->size == 0, longer == b);
    if (shorter->size == 0) {
        r->size = 0;
        r->negative = 0;
    } else {
        reserve(r, longer->size + shorter->size);
        mpn_mul(r->limbs, longer->limbs, longer->size, shorter->limbs, shorter->size, karatsuba_limbs, scratch);
        r->negative = a->negative ^ b->negative;
        zeros = normalise(r, longer->size + shorter->size);
    }
    COUNT_TERM(mpz_mul, zeros, zeros);
    (void)zeros;
}

/* The quotient and the remainder of |a| by m, for a at least as long as m. */
INLINE size_t divide(struct mpz *q, struct mpz *r, const struct mpz *a, const struct mpz *m, struct scratch *scratch)
{
    const size_t digits = a->size - m->size + 1;
    const unsigned shift = limb_leading_zeros(m->limbs[m->size - 1]);
    limb_t *rest = scratch_take(scratch, a->size + 1);
    const limb_t *divisor = m->limbs;

    if (shift != 0) {
        limb_t *shifted = scratch_take(scratch, m->size);
        rest[a->size] = mpn_lshift(rest, a->limbs, a->size, shift);
        (void)mpn_lshift(shifted, m->limbs, m->size, shift);
        divisor = shifted;
    } else {
        mpn_copy(rest, a->limbs, a->size);
        rest[a->size] = 0;
    }
    reserve(q, digits);
    reserve(r, m->size);
    mpn_divrem(q->limbs, rest, a->size + 1, divisor, m->size, mpn_reciprocal(divisor, m->size));
    if (shift != 0) {
        (void)mpn_rshift(r->limbs, rest, m->size, shift);
    } else {
        mpn_copy(r->limbs, rest, m->size);
    }
    return normalise(q, digits) + normalise(r, m->size);
}

/* see mpz.h */
ROUTINE void mpz_divmod(struct mpz *q, struct mpz *r, const struct mpz *a, const struct mpz *m, struct scratch scratch)
{
    struct mpz own;
    size_t zeros = 0;

    COUNT(mpz_divmod, 0, a->size < m->size, 0, 0, limb_leading_zeros(m->limbs[m->size - 1]) == 0);
    if (q == NULL) {
        mpz_init(&own, a->size >= m->size ? a->size - m->size + 1 : 0, &scratch);
        q = &own;
    }
    q->negative = 0;
    r->negative = 0;
    if (a->size < m->size) {
        q->size = 0;
        mpz_set(r, a);
        r->negative = 0;
    } else {
        zeros = divide(q, r, a, m, &scratch);
    }
    COUNT_TERM(mpz_divmod, zeros, zeros);
    COUNT_TERM(mpz_divmod, negative, a->negative && r->size != 0);
    COUNT_TERM(mpz_divmod, negative_whole, a->negative && r->size == 0);
    (void)zeros;
    /* Towards minus infinity: a = -(q * m + r) = -(q + 1) * m + (m - r). */
    if (a->negative) {
        if (r->size != 0) {
            (void)subtract_sizes(r, m, r);
            if (q != &own) {
                reserve(q, q->size + 1);
                q->limbs[q->size] = 0;
                (void)mpn_add_1(q->limbs, q->limbs, q->size + 1, 1);
                (void)normalise(q, q->size + 1);
            }
        }
        q->negative = q->size != 0;
    }
}

/* see mpz.h */
ROUTINE void mpz_mod(struct mpz *r, const struct mpz *a, const struct mpz *m, struct scratch scratch)
{
    COUNT(mpz_mod);
    mpz_divmod(NULL, r, a, m, scratch);
}

/* see mpz.h: of the rest r_i of each step, s_i with s_i * a = r_i modulo m is kept; their signs alternate */
ROUTINE void mpz_gcdext(struct mpz *g, struct mpz *s, const struct mpz *a, const struct mpz *m, struct scratch scratch)
{
    struct mpz rests[3], factors[3], quotient, product;
    struct mpz *r0 = &rests[0], *r1 = &rests[1], *r2 = &rests[2];
    struct mpz *s0 = &factors[0], *s1 = &factors[1], *s2 = &factors[2];
    const limb_t one = 1;
    unsigned i;

    COUNT(mpz_gcdext, 0, 0);
    for (i = 0; i < 3; i++) {
        mpz_init(&rests[i], m->size, &scratch);
        mpz_init(&factors[i], m->size + 2, &scratch);
    }
    mpz_init(&quotient, m->size + 1, &scratch);
    mpz_init(&product, m->size + 2, &scratch);
    mpz_set(r0, m);
    mpz_mod(r1, a, m, scratch);
    mpz_set_mpn(s1, &one, 1);
    while (r1->size != 0) {
        struct mpz *const old_r = r0, *const old_s = s0;
        COUNT_TERM(mpz_gcdext, steps, 1);
        mpz_divmod(&quotient, r2, r0, r1, scratch);
        mpz_mul(&product, &quotient, s1, 0, scratch);
        mpz_sub(s2, s0, &product);
        r0 = r1;
        r1 = r2;
        r2 = old_r;
        s0 = s1;
        s1 = s2;
        s2 = old_s;
    }
    mpz_set(g, r0);
    if (s0->negative) {
        COUNT_TERM(mpz_gcdext, negative, 1);
        mpz_add(s, s0, m);
    } else {
        mpz_set(s, s0);
    }
}

/* see mpz.h */
ROUTINE uint8_t mpz_invert(struct mpz *r, const struct mpz *a, const struct mpz *m, struct scratch scratch)
{
    struct mpz g;

    COUNT(mpz_invert);
    mpz_init(&g, m->size, &scratch);
    mpz_gcdext(&g, r, a, m, scratch);
    return (uint8_t)(g.size == 1 && g.limbs[0] == 1);
}
