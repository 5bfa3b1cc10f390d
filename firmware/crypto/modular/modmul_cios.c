/*
 * Montgomery's multiplication with a row of the product and a row of the reduction in turn, see modmul.h ("coarsely
 * integrated operand scanning"): the sum never has more than two limbs above the modulus.
 */
#include "../mp/carry.h"
#include "modmul.h"

/* see modmul.h */
ROUTINE void MODMUL(cios_multiply)(const struct modmul *modmul, limb_t *r, const limb_t *a, const limb_t *b,
                                   struct scratch scratch)
{
    const size_t limbs = modmul->limbs;
    limb_t *const t = scratch_take(&scratch, limbs);
    limb_t top = 0;
    size_t row = 0;

    COUNT(MODMUL(cios_multiply), limbs);
    mpn_zero(t, limbs);
    do {
        limb_t carry = 0, over = 0, sum, q;
        sum = limb_add(top, mpn_addmul_1(t, a, limbs, b[row]), &over);
        q = (limb_t)((dlimb_t)t[0] * modmul->inverse);
        t[limbs - 1] = limb_add(sum, mpn_addmul_1_shifted(t, modmul->modulus, limbs, q), &carry);
        top = (limb_t)(over + carry);
    } while (++row != limbs);
    modmul_correct(modmul, r, t, top, scratch);
}
