/*
 * Fresh RSA keys, see rsa.h. How long the search takes depends on what was drawn, not on what was kept; the exponents
 * are computed by divisions by e alone.
 */
#include "../mp/mpz.h"
#include "rsa.h"

/* r = e^-1 modulo m as (1 + m * k) / e, for the k that makes that whole: k = -(m^-1) modulo e. */
INLINE void invert_exponent(limb_t *r, size_t limbs, const struct mpz *e, const limb_t *m, size_t m_limbs,
                            struct scratch scratch)
{
    struct mpz modulus, inverse, k, product, one, quotient, rest;
    const limb_t unit = 1;

    mpz_init(&modulus, m_limbs, &scratch);
    mpz_init(&inverse, LIMBS(32), &scratch);
    mpz_init(&k, LIMBS(32) + 1, &scratch);
    mpz_init(&one, 1, &scratch);
    mpz_init(&product, m_limbs + LIMBS(32) + 1, &scratch);
    mpz_init(&quotient, m_limbs + LIMBS(32) + 2, &scratch);
    mpz_init(&rest, LIMBS(32), &scratch);
    mpz_set_mpn(&modulus, m, m_limbs);
    mpz_set_mpn(&one, &unit, 1);
    mpz_mod(&rest, &modulus, e, scratch);
    (void)mpz_invert(&inverse, &rest, e, scratch);
    mpz_sub(&k, e, &inverse);
    mpz_mul(&product, &modulus, &k, 0, scratch);
    mpz_add(&product, &product, &one);
    mpz_divmod(&quotient, &rest, &product, e, scratch);
    mpz_get_mpn(r, limbs, &quotient);
}

/* see rsa.h; both primes have their two highest bits set, so the modulus has its highest. p is made the greater one. */
ROUTINE void rsa_generate(struct rsa_private *key, limb_t *memory, const struct candidate *candidate, size_t bits,
                          uint32_t e, const struct random *random, struct scratch scratch)
{
    const struct scratch whole = scratch;
    const size_t limbs = LIMBS(bits), half = limbs / 2;
    limb_t *const n = memory, *const d = n + limbs, *const p = d + limbs, *const q = p + half;
    limb_t *const d_p = q + half, *const d_q = d_p + half, *const constants = d_q + half;
    limb_t *const less = scratch_take(&scratch, limbs);
    struct mpz exponent;
    size_t i;

    COUNT(rsa_generate, 0);
    mpz_init(&exponent, LIMBS(32), &scratch);
    for (i = 0; i < LIMBS(32); i++) {
        less[i] = (limb_t)(e >> (i * (LIMB_BITS % 32)));
    }
    mpz_set_mpn(&exponent, less, LIMBS(32));
    prime_generate(p, bits / 2, e, candidate, random, scratch);
    do {
        COUNT_TERM(rsa_generate, second_primes, 1);
        prime_generate(q, bits / 2, e, candidate, random, scratch);
        /* FIPS 186-5: their difference is above 2^(bits / 2 - 100), so its highest limbs are not all 0. */
        mpn_swap(p, q, half, limb_mask((limb_t)(mpn_cmp(p, q, half) < 0)));
        (void)mpn_sub_n(less, p, q, half);
    } while (mpn_is_zero(less + half - 96 / LIMB_BITS, 96 / LIMB_BITS));
    mpn_mul(n, p, half, q, half, 0, scratch);
    (void)mpn_sub_1(less, p, half, 1);
    invert_exponent(d_p, half, &exponent, less, half, scratch);
    (void)mpn_sub_1(less + half, q, half, 1);
    invert_exponent(d_q, half, &exponent, less + half, half, scratch);
    mpn_mul(d, less, half, less + half, half, 0, scratch);
    invert_exponent(d, limbs, &exponent, d, limbs, scratch);
    key->candidate = *candidate;
    key->bytes = bits / 8;
    key->cache = NULL;
    key->is_set_up = 0;
    key->d = d;
    key->d_p = d_p;
    key->d_q = d_q;
    key->crt.coefficient = constants + 3 * MODMUL_CONSTANTS(limbs);
    key->crt.weights = key->crt.coefficient;
    (void)modmul_init(&key->n, candidate, n, limbs, constants);
    (void)modmul_init(&key->p, candidate, p, half, constants + MODMUL_CONSTANTS(limbs));
    (void)modmul_init(&key->q, candidate, q, half, constants + 2 * MODMUL_CONSTANTS(limbs));
    mpn_zero(whole.next, whole.limbs);
}
