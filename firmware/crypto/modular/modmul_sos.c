/*
 * Montgomery's multiplication with a product first and then its reduction, see modmul.h ("separated operand scanning").
 */
#include "modmul.h"

/* see modmul.h; a limb that has become 0 holds what its row carries, which is added to all rows' limbs at once */
ROUTINE void modmul_redc(const struct modmul *modmul, limb_t *r, limb_t *t, struct scratch scratch)
{
    const size_t limbs = modmul->limbs;
    limb_t carry;
    size_t row = 0;

    COUNT(modmul_redc, limbs);
    do {
        const limb_t q = (limb_t)((dlimb_t)t[row] * modmul->inverse);
        t[row] = mpn_addmul_1(t + row, modmul->modulus, limbs, q);
    } while (++row != limbs);
    carry = mpn_add_n(t, t + limbs, t, limbs);
    modmul_correct(modmul, r, t, carry, scratch);
}

/* see modmul.h */
ROUTINE void MODMUL(sos_multiply)(const struct modmul *modmul, limb_t *r, const limb_t *a, const limb_t *b,
                                  struct scratch scratch)
{
    limb_t *const t = scratch_take(&scratch, 2 * modmul->limbs);

    COUNT(MODMUL(sos_multiply));
    mpn_mul(t, a, modmul->limbs, b, modmul->limbs, modmul->karatsuba_limbs, scratch);
    modmul_redc(modmul, r, t, scratch);
}

/* see modmul.h */
ROUTINE void MODMUL(sos_square)(const struct modmul *modmul, limb_t *r, const limb_t *a, const limb_t *b,
                                struct scratch scratch)
{
    limb_t *const t = scratch_take(&scratch, 2 * modmul->limbs);

    COUNT(MODMUL(sos_square));
    (void)b;
    mpn_sqr(t, a, modmul->limbs, modmul->karatsuba_limbs, scratch);
    modmul_redc(modmul, r, t, scratch);
}
