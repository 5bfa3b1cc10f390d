/*
 * Modular multiplication with a division after each limb, see modmul.h: from the highest limb of b on, the sum is moved
 * up by a limb, a times the next limb is added, and a quotient of one limb is taken off. Not in constant time.
 */
#include "modmul.h"

/*
 * see modmul.h; all is computed modulo the modulus shifted to the left, with a shifted, too. A step's sum is below 2B
 * times that: it may have to be taken off once before the quotient fits a limb.
 */
ROUTINE void MODMUL(interleaved_multiply)(const struct modmul *modmul, limb_t *r, const limb_t *a, const limb_t *b,
                                          struct scratch scratch)
{
    const size_t limbs = modmul->limbs;
    const limb_t *const modulus = modmul->constants;
    limb_t *const sum = scratch_take(&scratch, 2 * limbs + 1);
    limb_t *const shifted = scratch_take(&scratch, limbs);
    limb_t quotient;
    size_t i = limbs;

    COUNT(MODMUL(interleaved_multiply), limbs, 0, 0, modmul->shift == 0);
    if (modmul->shift != 0) {
        (void)mpn_lshift(shifted, a, limbs, modmul->shift);
    } else {
        mpn_copy(shifted, a, limbs);
    }
    mpn_zero(sum, 2 * limbs + 1);
    do {
        limb_t *const low = sum + --i;
        const limb_t carry = mpn_addmul_1(low, shifted, limbs, b[i]);
        low[limbs] = (limb_t)(low[limbs] + carry);
        if (low[limbs] < carry) {
            COUNT_TERM(MODMUL(interleaved_multiply), carried, 1);
            (void)mpn_sub_n(low + 1, low + 1, modulus, limbs);
        } else if (mpn_cmp(low + 1, modulus, limbs) >= 0) {
            COUNT_TERM(MODMUL(interleaved_multiply), corrected, 1);
            (void)mpn_sub_n(low + 1, low + 1, modulus, limbs);
        }
        mpn_divrem(&quotient, low, limbs + 1, modulus, limbs, modmul->inverse);
    } while (i != 0);
    if (modmul->shift != 0) {
        (void)mpn_rshift(r, sum, limbs, modmul->shift);
    } else {
        mpn_copy(r, sum, limbs);
    }
}
