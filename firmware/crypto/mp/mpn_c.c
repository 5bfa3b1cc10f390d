/*
 * The leaves of the basic layer in plain C, a limb at a time, see mpn.h. mpn_unrolled.c, mpn_rv32.S and what native
 * estimation has are the same routines for speed; a program links one of them.
 */
#include "carry.h"
#include "mpn.h"

#define COUNT_BY_BLOCKS(name, n) COUNT_LEAF(name, n, MPN_BLOCKS(n), MPN_PARTIAL(n), MPN_BLOCKLESS(n))

/* see mpn.h */
ROUTINE limb_t mpn_add_n(limb_t *r, const limb_t *a, const limb_t *b, size_t n)
{
    limb_t carry = 0;
    size_t i = 0;

    COUNT_BY_BLOCKS(mpn_add_n, n);
    do {
        r[i] = limb_add(a[i], b[i], &carry);
    } while (++i != n);
    return carry;
}

/* see mpn.h */
ROUTINE limb_t mpn_sub_n(limb_t *r, const limb_t *a, const limb_t *b, size_t n)
{
    limb_t borrow = 0;
    size_t i = 0;

    COUNT_BY_BLOCKS(mpn_sub_n, n);
    do {
        r[i] = limb_sub(a[i], b[i], &borrow);
    } while (++i != n);
    return borrow;
}

/* see mpn.h */
ROUTINE limb_t mpn_mul_1(limb_t *r, const limb_t *a, size_t n, limb_t b)
{
    limb_t carry = 0;
    size_t i = 0;

    COUNT_BY_BLOCKS(mpn_mul_1, n);
    do {
        r[i] = limb_addmul(0, a[i], b, &carry);
    } while (++i != n);
    return carry;
}

/* see mpn.h */
ROUTINE limb_t mpn_addmul_1(limb_t *r, const limb_t *a, size_t n, limb_t b)
{
    limb_t carry = 0;
    size_t i = 0;

    COUNT_BY_BLOCKS(mpn_addmul_1, n);
    do {
        r[i] = limb_addmul(r[i], a[i], b, &carry);
    } while (++i != n);
    return carry;
}

/* see mpn.h */
ROUTINE limb_t mpn_submul_1(limb_t *r, const limb_t *a, size_t n, limb_t b)
{
    limb_t borrow = 0;
    size_t i = 0;

    COUNT_BY_BLOCKS(mpn_submul_1, n);
    do {
        r[i] = limb_submul(r[i], a[i], b, &borrow);
    } while (++i != n);
    return borrow;
}

/* see mpn.h */
ROUTINE limb_t mpn_addmul_1_shifted(limb_t *r, const limb_t *a, size_t n, limb_t b)
{
    limb_t carry = 0;
    size_t i = 1;

    COUNT_BY_BLOCKS(mpn_addmul_1_shifted, n - 1);
    (void)limb_addmul(r[0], a[0], b, &carry);
    do {
        r[i - 1] = limb_addmul(r[i], a[i], b, &carry);
    } while (++i != n);
    return carry;
}

/* see mpn.h */
ROUTINE void mpn_addmul_redc(limb_t *r, const limb_t *a, const limb_t *m, size_t n, limb_t b, limb_t inverse)
{
    limb_t carry = 0, reduced = 0, top = 0;
    const limb_t low = limb_addmul(r[0], a[0], b, &carry);
    const limb_t q = (limb_t)((dlimb_t)low * inverse);
    size_t i = 1;

    COUNT_BY_BLOCKS(mpn_addmul_redc, n - 1);
    (void)limb_addmul(low, m[0], q, &reduced);
    do {
        const limb_t sum = limb_addmul(r[i], a[i], b, &carry);
        r[i - 1] = limb_addmul(sum, m[i], q, &reduced);
    } while (++i != n);
    r[n - 1] = limb_add(r[n], carry, &top);
    r[n] = top;
    top = 0;
    r[n - 1] = limb_add(r[n - 1], reduced, &top);
    r[n] = (limb_t)(r[n] + top);
}

/* see mpn.h */
ROUTINE void mpn_dot(limb_t *sum, const limb_t *a, const limb_t *b, size_t n)
{
    limb_t s0 = sum[0], s1 = sum[1], s2 = sum[2];

    COUNT_BY_BLOCKS(mpn_dot, n);
    b += n;
    do {
        limb_accumulate(*a++, *--b, &s0, &s1, &s2);
    } while (--n != 0);
    sum[0] = s0;
    sum[1] = s1;
    sum[2] = s2;
}

/* see mpn.h */
ROUTINE void mpn_sqr_diagonal(limb_t *r, const limb_t *a, size_t n)
{
    limb_t carry = 0, out = 0;
    size_t i = 0;

    COUNT_LEAF(mpn_sqr_diagonal, n);
    do {
        const dlimb_t square = (dlimb_t)a[i] * a[i];
        const limb_t low = r[2 * i], high = r[2 * i + 1];
        r[2 * i] = limb_add((limb_t)(low << 1 | out), (limb_t)square, &carry);
        r[2 * i + 1] =
            limb_add((limb_t)(high << 1 | low >> (LIMB_BITS - 1)), (limb_t)(square >> LIMB_BITS), &carry);
        out = high >> (LIMB_BITS - 1);
    } while (++i != n);
}

#include "mpn_shifts.h"
