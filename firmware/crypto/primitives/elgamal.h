/*
 * ElGamal encryption in a subgroup of the integers modulo a prime (ElGamal 1985), as a key agreement that multiplies.
 * A message is a number from 1 to p - 1; what makes one of bytes is the caller's.
 */
#ifndef SELVEDGE_ELGAMAL_H
#define SELVEDGE_ELGAMAL_H

#include "../modular/modexp.h"
#include "../random.h"

#define elgamal_init     LIMB_NAME(elgamal, init)
#define elgamal_generate LIMB_NAME(elgamal, generate)
#define elgamal_encrypt  LIMB_NAME(elgamal, encrypt)
#define elgamal_decrypt  LIMB_NAME(elgamal, decrypt)

/* Shorter than 2048 bits keeps no secret, as rsa.h says of keys. */
#define ELGAMAL_BITS_MIN 256

/* A group and how its powers are computed. Generation is left to others: take a published one (RFC 7919). */
struct elgamal {
    struct candidate candidate; /* crt is of no account */
    struct modmul p;
    const limb_t *generator;
    struct power_cache *cache; /* MAY be NULL; the caller sets it */
    size_t bytes;              /* of p */
};

#define ELGAMAL_MEMORY(bits)  (2 * LIMBS(bits) + MODMUL_CONSTANTS(LIMBS(bits)))
/* Wiped before operations return. */
#define ELGAMAL_SCRATCH(bits) (MODEXP_SCRATCH(LIMBS(bits), WINDOW_BITS_MAX) + 8 * LIMBS(bits))

/* p and g have bits / 8 bytes, most significant first; returns 0 when p has fewer bits or is even, or g is not below. */
uint8_t elgamal_init(struct elgamal *group, limb_t *memory, const struct candidate *candidate, size_t bits,
                     const uint8_t *p, const uint8_t *g);

/* A private key x, from 1 to p - 2, and the public one, g^x. All vectors here and below have `bytes` bytes. */
void elgamal_generate(struct elgamal *group, uint8_t *x, uint8_t *public, const struct random *random,
                      struct scratch scratch);
/* c1 = g^k and c2 = message * public^k for a fresh k; returns 0 when an input is not below p. */
uint8_t elgamal_encrypt(struct elgamal *group, uint8_t *c1, uint8_t *c2, const uint8_t *public, const uint8_t *message,
                        const struct random *random, struct scratch scratch);
/* message = c2 * c1^(p - 1 - x); returns 0 when an input is not below p. */
uint8_t elgamal_decrypt(struct elgamal *group, uint8_t *message, const uint8_t *x, const uint8_t *c1, const uint8_t *c2,
                        struct scratch scratch);

#endif
