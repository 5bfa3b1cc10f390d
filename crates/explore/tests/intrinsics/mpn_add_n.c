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

/* see mpn.h. Two limbs at a time, so that no sum waits for what was just loaded. */
ROUTINE limb_t mpn_add_n(limb_t *r, const limb_t *a, const limb_t *b, size_t n)
{
    (void)add_and_keep(0, 0);
    if (n & 1) {
        *r++ = add_and_keep(*a++, *b++);
    }
    for (n /= 2; n != 0; n--, r += 2, a += 2, b += 2) {
        const limb_t a_0 = a[0], b_0 = b[0], a_1 = a[1], b_1 = b[1];
        const limb_t first = add_and_keep(a_0, b_0), second = add_and_keep(a_1, b_1);
        r[0] = first;
        r[1] = second;
    }
    return add_and_keep(0, 0);
}
