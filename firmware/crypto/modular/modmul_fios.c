/*
 * Montgomery's multiplication with a row of the product and a row of the reduction in one loop, see modmul.h ("finely
 * integrated operand scanning"): the sum is read and written once for both.
 */
#include "modmul.h"

/* see modmul.h */
ROUTINE void MODMUL(fios_multiply)(const struct modmul *modmul, limb_t *r, const limb_t *a, const limb_t *b,
                                   struct scratch scratch)
{
    const size_t limbs = modmul->limbs;
    limb_t *const t = scratch_take(&scratch, limbs + 1);
    size_t row = 0;

    COUNT(MODMUL(fios_multiply), limbs);
    mpn_zero(t, limbs + 1);
    do {
        mpn_addmul_redc(t, a, modmul->modulus, limbs, b[row], modmul->inverse);
    } while (++row != limbs);
    modmul_correct(modmul, r, t, t[limbs], scratch);
}
