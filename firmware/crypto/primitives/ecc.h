/*
 * Elliptic curves as primitives: ECDH and ECDSA on P-256 (SP 800-56A, FIPS 186-5). X25519 is curve/x25519.h's.
 * Everything with a secret in it takes constant time; verification does not.
 */
#ifndef SELVEDGE_ECC_H
#define SELVEDGE_ECC_H

#include "../curve/p256.h"
#include "../curve/x25519.h"
#include "../modular/modexp.h"
#include "../random.h"

#define ecdh_p256_public   LIMB_NAME(ecdh, p256_public)
#define ecdh_p256_agree    LIMB_NAME(ecdh, p256_agree)
#define ecdsa_p256_sign    LIMB_NAME(ecdsa, p256_sign)
#define ecdsa_p256_verify  LIMB_NAME(ecdsa, p256_verify)

/* How multiples of points are computed. */
struct ecc_choice {
    uint8_t method;      /* enum p256_method */
    uint8_t window_bits; /* 1 to 5 */
};

/* Wiped before they return. */
#define ECC_SCRATCH (P256_SCRATCH + MODEXP_SCRATCH(P256_LIMBS, WINDOW_BITS_MAX) + 16 * P256_LIMBS)

/* Private keys and scalars are 32 bytes, public keys 64 (x, y), signatures 64 (r, s), most significant byte first.
   Return 0 for a private key that is 0 or not below the group's order. */
uint8_t ecdh_p256_public(uint8_t public[64], const uint8_t private[32], struct ecc_choice choice,
                         struct scratch scratch);
/* x of private * public; returns 0 as well when `public` is no point of the curve. */
uint8_t ecdh_p256_agree(uint8_t shared[32], const uint8_t private[32], const uint8_t public[64],
                        struct ecc_choice choice, struct scratch scratch);

/* Over the 32 leftmost bytes of a digest. The nonce is drawn from `random` until it fits. */
uint8_t ecdsa_p256_sign(uint8_t signature[64], const uint8_t private[32], const uint8_t digest[32],
                        const struct random *random, struct ecc_choice choice, struct scratch scratch);
uint8_t ecdsa_p256_verify(const uint8_t signature[64], const uint8_t public[64], const uint8_t digest[32],
                          struct ecc_choice choice, struct scratch scratch);

#endif
