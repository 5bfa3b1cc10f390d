/*
 * Modular multiplication as one writes it on integers of any length: a product, and the rest of its division by the
 * modulus, see modmul.h. Keeps no constants. Not in constant time.
 */
#include "../mp/mpz.h"
#include "modmul.h"

INLINE void as_mpz(struct mpz *r, const limb_t *a, size_t limbs, struct scratch *scratch)
{
    mpz_init(r, limbs, scratch);
    mpz_set_mpn(r, a, limbs);
}

/* see modmul.h */
ROUTINE void MODMUL(divide_multiply)(const struct modmul *modmul, limb_t *r, const limb_t *a, const limb_t *b,
                                     struct scratch scratch)
{
    const size_t limbs = modmul->limbs;
    struct mpz x, y, modulus, product, rest;

    COUNT(MODMUL(divide_multiply));
    as_mpz(&x, a, limbs, &scratch);
    as_mpz(&y, b, limbs, &scratch);
    as_mpz(&modulus, modmul->modulus, limbs, &scratch);
    mpz_init(&product, 2 * limbs, &scratch);
    mpz_init(&rest, limbs, &scratch);
    mpz_mul(&product, &x, &y, modmul->karatsuba_limbs, scratch);
    mpz_mod(&rest, &product, &modulus, scratch);
    mpz_get_mpn(r, limbs, &rest);
}

/* see modmul.h */
ROUTINE void MODMUL(divide_square)(const struct modmul *modmul, limb_t *r, const limb_t *a, const limb_t *b,
                                   struct scratch scratch)
{
    const size_t limbs = modmul->limbs;
    struct mpz modulus, product, rest;
    limb_t *const square = scratch_take(&scratch, 2 * limbs);

    COUNT(MODMUL(divide_square));
    (void)b;
    as_mpz(&modulus, modmul->modulus, limbs, &scratch);
    mpz_init(&rest, limbs, &scratch);
    mpn_sqr(square, a, limbs, modmul->karatsuba_limbs, scratch);
    as_mpz(&product, square, 2 * limbs, &scratch);
    mpz_mod(&rest, &product, &modulus, scratch);
    mpz_get_mpn(r, limbs, &rest);
}
