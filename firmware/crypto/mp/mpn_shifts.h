/*
 * The shifts among the leaves of the basic layer, see mpn.h, which have one form in C: part of mpn_c.c and of
 * mpn_unrolled.c.
 */
#include "mpn.h"

/* see mpn.h */
ROUTINE limb_t mpn_lshift(limb_t *r, const limb_t *a, size_t n, unsigned bits)
{
    const unsigned back = LIMB_BITS - bits;
    limb_t out = 0;
    size_t i = 0;

    COUNT_LEAF(mpn_lshift, n);
    do {
        const limb_t limb = a[i];
        r[i] = (limb_t)(limb << bits | out);
        out = limb >> back;
    } while (++i != n);
    return out;
}

/* see mpn.h */
ROUTINE limb_t mpn_rshift(limb_t *r, const limb_t *a, size_t n, unsigned bits)
{
    const unsigned back = LIMB_BITS - bits;
    limb_t out = 0;

    COUNT_LEAF(mpn_rshift, n);
    do {
        const limb_t limb = a[--n];
        r[n] = (limb_t)(limb >> bits | out);
        out = (limb_t)(limb << back);
    } while (n != 0);
    return out;
}
