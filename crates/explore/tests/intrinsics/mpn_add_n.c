/*
 * The sum of two vectors by an instruction of one's own, which keeps the carry from one limb to the next: a variant of
 * mpn_add_n of mp/mpn.h for tests of explore, which nothing ships.
 */
#include "crypto/mp/mpn.h"

/* a + b and the carry that is kept, whose carry is kept: of two zeros, what was kept. */
INLINE limb_t add_and_keep(limb_t a, limb_t b)
{
    limb_t sum;

    __asm__ volatile(".insn r CUSTOM_0, 0, 0, %0, %1, %2" : "=r"(sum) : "r"(a), "r"(b));
    return sum;
}

/* see mpn.h */
ROUTINE limb_t mpn_add_n(limb_t *r, const limb_t *a, const limb_t *b, size_t n)
{
    size_t i = 0;

    (void)add_and_keep(0, 0);
    do {
        r[i] = add_and_keep(a[i], b[i]);
    } while (++i != n);
    return add_and_keep(0, 0);
}
