/*
 * The Chinese remainder theorem for two primes, see crt.h.
 */
#include "../mp/mpz.h"
#include "crt.h"

INLINE void as_mpz(struct mpz *r, const limb_t *a, size_t limbs, struct scratch *scratch)
{
    mpz_init(r, limbs, scratch);
    mpz_set_mpn(r, a, limbs);
}

/* r = q^-1 modulo p as q^(p - 2), which takes the same time for all primes of a length. */
INLINE void invert_constant_time(limb_t *r, const struct modmul *p, const struct modmul *q, struct scratch scratch)
{
    const struct candidate candidate = {.method = METHOD_FIXED, .window_bits = 4};
    const size_t limbs = p->limbs;
    limb_t *const base = scratch_take(&scratch, limbs);
    limb_t *const exponent = scratch_take(&scratch, limbs);

    modmul_reduce(p, base, q->modulus, limbs, scratch);
    (void)mpn_sub_1(exponent, p->modulus, limbs, 2);
    modexp_residue(p, &candidate, r, base, exponent, limbs * LIMB_BITS, NULL, scratch);
}

/* see crt.h; one weight and the other are 1 together, modulo p * q */
ROUTINE void crt_setup(struct crt_constants *constants, uint8_t crt, const struct modmul *p, const struct modmul *q,
                       struct scratch scratch)
{
    const size_t limbs = p->limbs;
    struct mpz prime_p, prime_q, inverse;

    COUNT(crt_setup, p->constant_time, crt == CRT_GAUSS);
    if (crt == CRT_GARNER && p->constant_time) {
        invert_constant_time(constants->coefficient, p, q, scratch);
        return;
    }
    as_mpz(&prime_p, p->modulus, limbs, &scratch);
    as_mpz(&prime_q, q->modulus, limbs, &scratch);
    mpz_init(&inverse, limbs, &scratch);
    (void)mpz_invert(&inverse, &prime_q, &prime_p, scratch);
    if (crt == CRT_GARNER) {
        mpz_get_mpn(constants->coefficient, limbs, &inverse);
    } else {
        struct mpz product, weight, rest;
        const limb_t one = 1;
        mpz_init(&product, 2 * limbs, &scratch);
        mpz_init(&weight, 2 * limbs, &scratch);
        mpz_init(&rest, 2 * limbs + 1, &scratch);
        mpz_mul(&product, &prime_p, &prime_q, 0, scratch);
        mpz_mul(&weight, &prime_q, &inverse, 0, scratch);
        mpz_get_mpn(constants->weights, 2 * limbs, &weight);
        mpz_get_mpn(constants->weights + 4 * limbs, 2 * limbs, &product);
        mpz_sub(&rest, &product, &weight);
        mpz_set_mpn(&weight, &one, 1);
        mpz_add(&rest, &rest, &weight);
        mpz_get_mpn(constants->weights + 2 * limbs, 2 * limbs, &rest);
    }
}

/* see crt.h */
ROUTINE void crt_gauss(limb_t *x, const limb_t *x_p, const limb_t *x_q, const struct crt_constants *constants,
                       size_t limbs, struct scratch scratch)
{
    struct mpz a, weight, first, second, modulus, rest;

    COUNT(crt_gauss);
    mpz_init(&first, 3 * limbs + 1, &scratch);
    mpz_init(&second, 3 * limbs + 1, &scratch);
    mpz_init(&rest, 2 * limbs, &scratch);
    as_mpz(&modulus, constants->weights + 4 * limbs, 2 * limbs, &scratch);
    as_mpz(&a, x_p, limbs, &scratch);
    as_mpz(&weight, constants->weights, 2 * limbs, &scratch);
    mpz_mul(&first, &a, &weight, 0, scratch);
    mpz_set_mpn(&a, x_q, limbs);
    mpz_set_mpn(&weight, constants->weights + 2 * limbs, 2 * limbs);
    mpz_mul(&second, &a, &weight, 0, scratch);
    mpz_add(&first, &first, &second);
    mpz_mod(&rest, &first, &modulus, scratch);
    mpz_get_mpn(x, 2 * limbs, &rest);
}

/* Garner's recombination on vectors: the same steps for all values. */
INLINE void garner_constant_time(limb_t *x, const limb_t *x_p, const limb_t *x_q, const limb_t *coefficient,
                                 const struct modmul *p, const struct modmul *q, struct scratch scratch)
{
    const size_t limbs = p->limbs;
    limb_t *const h = scratch_take(&scratch, limbs);
    limb_t *const other = scratch_take(&scratch, limbs);
    limb_t borrow, carry;

    modmul_reduce(p, other, x_q, limbs, scratch);
    borrow = mpn_sub_n(h, x_p, other, limbs);
    (void)mpn_add_n(other, h, p->modulus, limbs);
    mpn_select(h, other, h, limbs, limb_mask(borrow));
    if (p->montgomery) {
        /* The coefficient is times R, which the product is divided by. */
        modmul_multiply(p, h, h, coefficient, scratch);
    } else {
        modmul_multiply(p, h, coefficient, h, scratch);
    }
    mpn_mul(x, h, limbs, q->modulus, limbs, 0, scratch);
    carry = mpn_add_n(x, x, x_q, limbs);
    (void)mpn_add_1(x + limbs, x + limbs, limbs, carry);
}

/* see crt.h */
ROUTINE void crt_garner(limb_t *x, const limb_t *x_p, const limb_t *x_q, const struct crt_constants *constants,
                        const struct modmul *p, const struct modmul *q, struct scratch scratch)
{
    const size_t limbs = p->limbs;
    struct mpz a, b, difference, product, modulus, h;

    COUNT(crt_garner, p->constant_time);
    if (p->constant_time) {
        garner_constant_time(x, x_p, x_q, constants->coefficient, p, q, scratch);
        return;
    }
    as_mpz(&a, x_p, limbs, &scratch);
    as_mpz(&b, x_q, limbs, &scratch);
    mpz_init(&difference, limbs + 1, &scratch);
    mpz_init(&product, 2 * limbs + 1, &scratch);
    mpz_init(&h, limbs, &scratch);
    mpz_sub(&difference, &a, &b);
    mpz_set_mpn(&a, constants->coefficient, limbs);
    mpz_mul(&product, &difference, &a, 0, scratch);
    as_mpz(&modulus, p->modulus, limbs, &scratch);
    mpz_mod(&h, &product, &modulus, scratch);
    mpz_set_mpn(&modulus, q->modulus, limbs);
    mpz_mul(&product, &h, &modulus, 0, scratch);
    mpz_add(&product, &product, &b);
    mpz_get_mpn(x, 2 * limbs, &product);
}
