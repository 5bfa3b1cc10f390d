/*
 * Montgomery's multiplication with the lower half of the product by rows and the rest by columns, see modmul.h
 * ("coarsely integrated hybrid scanning"): what a row of the reduction moves down makes room for a column.
 */
#include "../mp/carry.h"
#include "modmul.h"

/* see modmul.h */
ROUTINE void MODMUL(cihs_multiply)(const struct modmul *modmul, limb_t *r, const limb_t *a, const limb_t *b,
                                   struct scratch scratch)
{
    const size_t limbs = modmul->limbs;
    limb_t *const t = scratch_take(&scratch, limbs + 2);
    size_t row = 0;

    COUNT(MODMUL(cihs_multiply), limbs);
    mpn_zero(t, limbs + 2);
    do {
        limb_t over = 0;
        t[limbs] = limb_add(t[limbs], mpn_addmul_1(t + row, a, limbs - row, b[row]), &over);
        t[limbs + 1] = (limb_t)(t[limbs + 1] + over);
    } while (++row != limbs);
    row = 1;
    for (;;) {
        const limb_t q = (limb_t)((dlimb_t)t[0] * modmul->inverse);
        limb_t carry = 0;
        t[limbs - 1] = limb_add(t[limbs], mpn_addmul_1_shifted(t, modmul->modulus, limbs, q), &carry);
        t[limbs] = (limb_t)(t[limbs + 1] + carry);
        t[limbs + 1] = 0;
        if (row == limbs) {
            break;
        }
        mpn_dot(t + limbs - 1, b + row, a + row, limbs - row);
        row++;
    }
    modmul_correct(modmul, r, t, t[limbs], scratch);
}
