/*
 * RSA (RFC 8017): keys, the raw operations, and PKCS#1 v1.5 for encryption and for signatures over a digest that the
 * caller made. Every operation runs by the candidate that its key was given (candidate.h).
 *
 * Private operations take the same time for all keys and messages of a length when the candidate has METHOD_FIXED, a
 * Montgomery multiplication and no CRT or Garner's; all others are faster and tell about the key.
 */
#ifndef SELVEDGE_RSA_H
#define SELVEDGE_RSA_H

#include "../modular/crt.h"
#include "../modular/modexp.h"
#include "../modular/prime.h"
#include "../random.h"

#define rsa_public_init   LIMB_NAME(rsa, public_init)
#define rsa_private_init  LIMB_NAME(rsa, private_init)
#define rsa_private_setup LIMB_NAME(rsa, private_setup)
#define rsa_generate      LIMB_NAME(rsa, generate)
#define rsa_export        LIMB_NAME(rsa, export)
#define rsa_public        LIMB_NAME(rsa, public)
#define rsa_private       LIMB_NAME(rsa, private)
#define rsa_encrypt       LIMB_NAME(rsa, encrypt)
#define rsa_decrypt       LIMB_NAME(rsa, decrypt)
#define rsa_sign          LIMB_NAME(rsa, sign)
#define rsa_verify        LIMB_NAME(rsa, verify)

/* Keys of less than 2048 bits are for comparing with what is published, and for simulators: they keep no secret. */
#define RSA_BITS_MIN 256
#define RSA_BITS_MAX MODULUS_BITS_MAX

/* A number as bytes, most significant first. */
struct rsa_number {
    const uint8_t *bytes;
    size_t count;
};

struct rsa_public {
    struct candidate candidate; /* crt is of no account */
    struct modmul n;
    limb_t exponent[LIMBS(32)];
    size_t bytes; /* of the modulus */
};

struct rsa_private {
    struct candidate candidate;
    struct modmul n, p, q;
    struct crt_constants crt;
    const limb_t *d, *d_p, *d_q;
    struct power_cache *cache; /* MAY be NULL: CACHING_TABLES needs one, which the caller sets */
    size_t bytes;
    uint8_t is_set_up;
};

/* Memory of a key, in limbs; it belongs to the key as long as that is used. */
#define RSA_PUBLIC_MEMORY(bits)  (LIMBS(bits) + MODMUL_CONSTANTS(LIMBS(bits)))
#define RSA_PRIVATE_MEMORY(bits)                                                                             \
    (4 * LIMBS(bits) + 3 * MODMUL_CONSTANTS(LIMBS(bits)) + CRT_CONSTANTS(LIMBS(bits) / 2))
/* Scratch of every operation but rsa_generate, which takes RSA_GENERATE_SCRATCH. All of it is wiped by operations that
   take a key's exponent or a padded message, so nobody should give them more. */
#define RSA_SCRATCH(bits)          (MODEXP_SCRATCH(LIMBS(bits), WINDOW_BITS_MAX) + 4 * LIMBS(bits) + 64)
#define RSA_GENERATE_SCRATCH(bits) (PRIME_SCRATCH(LIMBS(bits) / 2) + 12 * LIMBS(bits) + 64)

/* The numbers of a private key (RFC 8017 section 3.2); the last four are only read for a candidate with CRT. */
struct rsa_numbers {
    struct rsa_number n, d, p, q, d_p, d_q;
};

/*
 * Take a key up. `bits` is a multiple of 2 * LIMB_BITS from RSA_BITS_MIN to RSA_BITS_MAX and the modulus has exactly
 * that many; p and q half of that each. e is odd and above 1. Return 0 when that is not so.
 */
uint8_t rsa_public_init(struct rsa_public *key, limb_t *memory, const struct candidate *candidate, size_t bits,
                        const struct rsa_number *n, uint32_t e);
uint8_t rsa_private_init(struct rsa_private *key, limb_t *memory, const struct candidate *candidate, size_t bits,
                         const struct rsa_numbers *numbers);

/* Makes the key's constants now; else the first operation does, and without caching every one. */
void rsa_private_setup(struct rsa_private *key, struct scratch scratch);

/* A fresh key for the candidate, with the public exponent e, an odd prime. d is e^-1 modulo (p - 1)(q - 1). */
void rsa_generate(struct rsa_private *key, limb_t *memory, const struct candidate *candidate, size_t bits, uint32_t e,
                  const struct random *random, struct scratch scratch);
/* n and d, of the modulus' bytes each, then p, q, d_p and d_q, of half of that each: 4 times the modulus' bytes. */
void rsa_export(const struct rsa_private *key, uint8_t *numbers);

/* RSAEP, RSAVP1 and RSADP, RSASP1: both vectors have the modulus' bytes. Return 0 when the input is not below it. */
uint8_t rsa_public(struct rsa_public *key, uint8_t *output, const uint8_t *input, struct scratch scratch);
uint8_t rsa_private(struct rsa_private *key, uint8_t *output, const uint8_t *input, struct scratch scratch);

/* Padding of encryption: at most the modulus' bytes less 11 fit; returns 0 for more. */
uint8_t rsa_encrypt(struct rsa_public *key, uint8_t *output, const uint8_t *message, size_t count,
                    const struct random *random, struct scratch scratch);
/*
 * Returns 0 for wrong padding, and else leaves the message's bytes in `message`, which has room for the modulus' bytes,
 * and their number in `count`. Looks at the padding in constant time, but the result is an oracle for whoever learns
 * it (Bleichenbacher 1998): protocols MUST go on with random bytes then.
 */
uint8_t rsa_decrypt(struct rsa_private *key, uint8_t *message, size_t *count, const uint8_t *input,
                    struct scratch scratch);

/* What the digest was made with. RSA_DIGEST_BARE signs it without saying so, as TLS before 1.2 does with MD5 and SHA-1. */
enum rsa_digest { RSA_DIGEST_BARE, RSA_SHA1, RSA_SHA256, RSA_SHA384, RSA_SHA512, RSA_DIGESTS };

/* Signs a digest, or compares a signature with what it should have been; 0: unknown digest, wrong length, wrong. */
uint8_t rsa_sign(struct rsa_private *key, uint8_t *signature, uint8_t digest_kind, const uint8_t *digest, size_t count,
                 struct scratch scratch);
uint8_t rsa_verify(struct rsa_public *key, const uint8_t *signature, uint8_t digest_kind, const uint8_t *digest,
                   size_t count, struct scratch scratch);

#endif
