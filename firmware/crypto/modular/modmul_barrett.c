/*
 * Modular multiplication with the reciprocal of the modulus instead of a division, see modmul.h (Barrett, CRYPTO '86;
 * Handbook of Applied Cryptography, algorithm 14.42). In constant time with `constant_time`.
 */
#include "modmul.h"

/* see modmul.h; the quotient is at most 2 too small, so there are two corrections at most */
ROUTINE void modmul_barrett_reduce(const struct modmul *modmul, limb_t *r, const limb_t *t, struct scratch scratch)
{
    const size_t limbs = modmul->limbs, longer = limbs + 1;
    const limb_t *const reciprocal = modmul->constants, *const modulus = reciprocal + longer;
    limb_t *const product = scratch_take(&scratch, 2 * longer);
    limb_t *const rest = scratch_take(&scratch, 2 * longer);
    const limb_t *const quotient = product + longer;

    COUNT(modmul_barrett_reduce, modmul->constant_time, 0, modmul->karatsuba_limbs != 0);
    mpn_mul(product, t + limbs - 1, longer, reciprocal, longer, modmul->karatsuba_limbs, scratch);
    if (modmul->karatsuba_limbs != 0) {
        mpn_mul(rest, quotient, longer, modulus, longer, modmul->karatsuba_limbs, scratch);
    } else {
        mpn_mul_low(rest, quotient, longer, modulus, limbs);
    }
    (void)mpn_sub_n(rest, t, rest, longer);
    if (modmul->constant_time) {
        unsigned twice = 2;
        do {
            const limb_t borrow = mpn_sub_n(product, rest, modulus, longer);
            mpn_select(rest, rest, product, longer, limb_mask(borrow));
        } while (--twice != 0);
    } else {
        while (mpn_cmp(rest, modulus, longer) >= 0) {
            COUNT_TERM(modmul_barrett_reduce, corrections, 1);
            (void)mpn_sub_n(rest, rest, modulus, longer);
        }
    }
    mpn_copy(r, rest, limbs);
}

/* see modmul.h */
ROUTINE void MODMUL(barrett_multiply)(const struct modmul *modmul, limb_t *r, const limb_t *a, const limb_t *b,
                                      struct scratch scratch)
{
    limb_t *const t = scratch_take(&scratch, 2 * modmul->limbs);

    COUNT(MODMUL(barrett_multiply));
    mpn_mul(t, a, modmul->limbs, b, modmul->limbs, modmul->karatsuba_limbs, scratch);
    modmul_barrett_reduce(modmul, r, t, scratch);
}

/* see modmul.h */
ROUTINE void MODMUL(barrett_square)(const struct modmul *modmul, limb_t *r, const limb_t *a, const limb_t *b,
                                    struct scratch scratch)
{
    limb_t *const t = scratch_take(&scratch, 2 * modmul->limbs);

    COUNT(MODMUL(barrett_square));
    (void)b;
    mpn_sqr(t, a, modmul->limbs, modmul->karatsuba_limbs, scratch);
    modmul_barrett_reduce(modmul, r, t, scratch);
}
