/*
 * Primes: Miller and Rabin's test, and generation. What randomness there is comes from the caller's function.
 */
#ifndef SELVEDGE_PRIME_H
#define SELVEDGE_PRIME_H

#include "../random.h"
#include "modexp.h"

#define prime_is_probable LIMB_NAME(prime, is_probable)
#define prime_witness     LIMB_NAME(prime, witness)
#define prime_sieve       LIMB_NAME(prime, sieve)
#define prime_generate    LIMB_NAME(prime, generate)

#define PRIME_SCRATCH(limbs)                                                                                 \
    (MODEXP_SCRATCH(limbs, WINDOW_BITS_MAX) + MODMUL_CONSTANTS(limbs) + 8 * (limbs) + 64 + PRIME_INTERVAL / LIMB_BYTES)

/* Rounds for which a random composite of so many bits passes with a chance below 2^-100 (FIPS 186-5, table B.1). */
#define PRIME_ROUNDS(bits) ((bits) >= 1536 ? 4 : (bits) >= 1024 ? 5 : (bits) >= 512 ? 7 : 40)

/* 1 when the odd n > 3 passes `rounds` rounds to random bases, else 0: then it is composite. */
uint8_t prime_is_probable(const limb_t *n, size_t limbs, unsigned rounds, const struct candidate *candidate,
                          const struct random *random, struct scratch scratch);

/*
 * A prime of exactly `bits` bits, a multiple of LIMB_BITS and at least 128, whose two highest bits are 1, and of which
 * p - 1 is no multiple of the prime `e`. From a random number on, the first that is one within PRIME_INTERVAL odd ones.
 */
#define PRIME_INTERVAL 1024

void prime_generate(limb_t *p, size_t bits, uint32_t e, const struct candidate *candidate,
                    const struct random *random, struct scratch scratch);

/* ---- Parts of both, each a routine ---- */

/* 1 when the residue x of a power of odd order shows n to be composite; n - 1 is odd times 2^twos. x is lost. */
uint8_t prime_witness(const struct modmul *n, limb_t *x, const limb_t *one, const limb_t *minus_one, size_t twos,
                      struct scratch scratch);
/* Marks with 1 which of start + 2i have a small factor, for i below PRIME_INTERVAL. */
void prime_sieve(uint8_t *composite, const limb_t *start, size_t limbs);

#endif
