/*
 * The Chinese remainder theorem for two primes: what is x modulo p and modulo q, for x below p * q. On mpz.h, so time
 * tells about values, but for crt_garner with `constant_time` moduli.
 *
 *   gauss   x = (x_p * q * (q^-1 mod p) + x_q * p * (p^-1 mod q)) mod p * q: two products of full length, one division
 *   garner  x = x_q + q * ((x_p - x_q) * (q^-1 mod p) mod p): two of half the length, no division
 */
#ifndef SELVEDGE_CRT_H
#define SELVEDGE_CRT_H

#include "modexp.h"

#define crt_setup  LIMB_NAME(crt, setup)
#define crt_gauss  LIMB_NAME(crt, gauss)
#define crt_garner LIMB_NAME(crt, garner)

/* What recombination needs besides the moduli; one or the other is there. */
struct crt_constants {
    limb_t *coefficient; /* garner: q^-1 mod p, of p's limbs; as p's residues are kept when p has `constant_time` */
    limb_t *weights;     /* gauss: q * (q^-1 mod p), p * (p^-1 mod q) and p * q, of twice p's limbs each */
};

/* Limbs that either takes, for primes of so many limbs. */
#define CRT_CONSTANTS(prime_limbs) (6 * (prime_limbs))
#define CRT_SCRATCH(prime_limbs)   (MODEXP_SCRATCH(prime_limbs, 4) + 24 * ((prime_limbs) + 4))

/* Both primes MUST have the same number of limbs and be different; both moduli are set up, and `constants` points to
   memory. In constant time for Garner's and `constant_time` moduli. */
void crt_setup(struct crt_constants *constants, uint8_t crt, const struct modmul *p, const struct modmul *q,
               struct scratch scratch);
/* x has twice the primes' limbs. x_p and x_q are plain numbers below p and q. */
void crt_gauss(limb_t *x, const limb_t *x_p, const limb_t *x_q, const struct crt_constants *constants, size_t limbs,
               struct scratch scratch);
void crt_garner(limb_t *x, const limb_t *x_p, const limb_t *x_q, const struct crt_constants *constants,
                const struct modmul *p, const struct modmul *q, struct scratch scratch);

#endif
