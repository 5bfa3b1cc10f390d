/*
 * Primality and the generation of primes, see prime.h.
 */
#include "../mp/mpz.h"
#include "prime.h"

/* Every odd prime below 1024. */
static const uint16_t small_primes[] = {
    3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107,
    109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179, 181, 191, 193, 197, 199, 211, 223, 227,
    229, 233, 239, 241, 251, 257, 263, 269, 271, 277, 281, 283, 293, 307, 311, 313, 317, 331, 337, 347, 349,
    353, 359, 367, 373, 379, 383, 389, 397, 401, 409, 419, 421, 431, 433, 439, 443, 449, 457, 461, 463, 467,
    479, 487, 491, 499, 503, 509, 521, 523, 541, 547, 557, 563, 569, 571, 577, 587, 593, 599, 601, 607, 613,
    617, 619, 631, 641, 643, 647, 653, 659, 661, 673, 677, 683, 691, 701, 709, 719, 727, 733, 739, 743, 751,
    757, 761, 769, 773, 787, 797, 809, 811, 821, 823, 827, 829, 839, 853, 857, 859, 863, 877, 881, 883, 887,
    907, 911, 919, 929, 937, 941, 947, 953, 967, 971, 977, 983, 991, 997, 1009, 1013, 1019, 1021,
};
#define SMALL_PRIMES (sizeof(small_primes) / sizeof(small_primes[0]))

/* A random number of `bits` bits or fewer, a multiple of 8. */
INLINE void draw(limb_t *r, size_t limbs, const struct random *random)
{
    random->fill(random->context, (uint8_t *)r, limbs * LIMB_BYTES);
}

/* A random number from 2 to n - 2: those that are not are drawn anew. `top` is n - 1. */
INLINE void draw_base(limb_t *r, const limb_t *top, size_t limbs, unsigned shift, const struct random *random)
{
    do {
        COUNT_TERM(prime_is_probable, draws, 1);
        draw(r, limbs, random);
        r[limbs - 1] >>= shift;
    } while (mpn_cmp(r, top, limbs) >= 0 || (r[0] <= 1 && mpn_is_zero(r + 1, limbs - 1)));
}

/* see prime.h */
ROUTINE uint8_t prime_witness(const struct modmul *n, limb_t *x, const limb_t *one, const limb_t *minus_one,
                              size_t twos, struct scratch scratch)
{
    const size_t limbs = n->limbs;

    COUNT(prime_witness, 0, 0);
    if (mpn_cmp(x, one, limbs) == 0) {
        COUNT_TERM(prime_witness, one, 1);
        return 0;
    }
    while (mpn_cmp(x, minus_one, limbs) != 0) {
        if (--twos == 0) {
            return 1;
        }
        COUNT_TERM(prime_witness, squares, 1);
        modmul_square(n, x, x, scratch);
    }
    return 0;
}

/* see prime.h */
ROUTINE uint8_t prime_is_probable(const limb_t *n, size_t limbs, unsigned rounds, const struct candidate *candidate,
                                  const struct random *random, struct scratch scratch)
{
    struct modmul modmul;
    limb_t *const constants = scratch_take(&scratch, MODMUL_CONSTANTS(limbs));
    limb_t *const odd = scratch_take(&scratch, limbs);
    limb_t *const base = scratch_take(&scratch, limbs);
    limb_t *const one = scratch_take(&scratch, limbs);
    limb_t *const minus_one = scratch_take(&scratch, limbs);
    limb_t *const top = scratch_take(&scratch, limbs);
    size_t twos = 0;

    COUNT(prime_is_probable, 0, 0, 0);
    if (!modmul_init(&modmul, candidate, n, limbs, constants)) {
        return 0;
    }
    modmul_setup(&modmul, scratch);
    modmul_one(&modmul, one, scratch);
    (void)mpn_sub_n(minus_one, n, one, limbs);
    (void)mpn_sub_1(top, n, limbs, 1);
    mpn_copy(odd, top, limbs);
    do {
        COUNT_TERM(prime_is_probable, twos, 1);
        (void)mpn_rshift(odd, odd, limbs, 1);
        twos++;
    } while ((odd[0] & 1) == 0);
    do {
        COUNT_TERM(prime_is_probable, rounds, 1);
        draw_base(base, top, limbs, modmul.shift, random);
        modexp_residue(&modmul, candidate, base, base, odd, limbs * LIMB_BITS, NULL, scratch);
        if (prime_witness(&modmul, base, one, minus_one, twos, scratch)) {
            return 0;
        }
    } while (--rounds != 0);
    return 1;
}

/* see prime.h */
ROUTINE void prime_sieve(uint8_t *composite, const limb_t *start, size_t limbs)
{
    size_t prime, i;

    COUNT(prime_sieve, 0);
    for (i = 0; i < PRIME_INTERVAL; i++) {
        composite[i] = 0;
        LOOP_STAYS();
    }
    for (prime = 0; prime < SMALL_PRIMES; prime++) {
        const limb_t p = small_primes[prime];
        const limb_t shifted = (limb_t)(p << limb_leading_zeros(p));
        const limb_t rest = (limb_t)(mpn_mod_1(start, limbs, shifted, mpn_reciprocal(&shifted, 1)) % p);
        /* The first i at which rest + 2i is a multiple of p; rest and p decide by which multiple. */
        const size_t missing = (size_t)(p - rest) & (0 - (size_t)(rest != 0));
        for (i = (missing + (p & (0 - (missing & 1)))) / 2; i < PRIME_INTERVAL; i += p) {
            COUNT_TERM(prime_sieve, marks, 1);
            composite[i] = 1;
        }
    }
}

/* 1 when p is 1 modulo e. */
INLINE uint8_t is_one_modulo(const limb_t *p, size_t limbs, uint32_t e, struct scratch scratch)
{
    struct mpz number, modulus, rest;
    limb_t exponent[LIMBS(32)];

    for (size_t i = 0; i < LIMBS(32); i++) {
        exponent[i] = (limb_t)(e >> (i * (LIMB_BITS % 32)));
    }
    mpz_init(&number, limbs, &scratch);
    mpz_init(&modulus, LIMBS(32), &scratch);
    mpz_init(&rest, LIMBS(32), &scratch);
    mpz_set_mpn(&number, p, limbs);
    mpz_set_mpn(&modulus, exponent, LIMBS(32));
    mpz_mod(&rest, &number, &modulus, scratch);
    return rest.size == 1 && rest.limbs[0] == 1;
}

/* see prime.h */
ROUTINE void prime_generate(limb_t *p, size_t bits, uint32_t e, const struct candidate *candidate,
                            const struct random *random, struct scratch scratch)
{
    const size_t limbs = LIMBS(bits);
    limb_t *const start = scratch_take(&scratch, limbs);
    uint8_t *const composite = (uint8_t *)scratch_take(&scratch, PRIME_INTERVAL / LIMB_BYTES);
    size_t i;

    COUNT(prime_generate, 0, 0, 0);
    for (;;) {
        COUNT_TERM(prime_generate, draws, 1);
        draw(start, limbs, random);
        start[0] |= 1;
        start[limbs - 1] |= (limb_t)3 << (LIMB_BITS - 2);
        prime_sieve(composite, start, limbs);
        for (i = 0; i < PRIME_INTERVAL; i++) {
            COUNT_TERM(prime_generate, looked, 1);
            if (composite[i]) {
                continue;
            }
            COUNT_TERM(prime_generate, tried, 1);
            /* What is carried out of the highest limb is no number of `bits` bits. */
            if (mpn_add_1(p, start, limbs, (limb_t)(2 * i)) == 0 && !is_one_modulo(p, limbs, e, scratch) &&
                prime_is_probable(p, limbs, PRIME_ROUNDS(bits), candidate, random, scratch)) {
                return;
            }
        }
    }
}
