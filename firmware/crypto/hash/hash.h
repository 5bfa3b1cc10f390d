/*
 * The contracts of hashes and of HMAC for machines with 32-bit words; the bodies only say "see hash.h". What crypto.h
 * asks of every cipher holds here, too.
 *
 * One API, over an algorithm that is named when it begins, so that a program has those that it names. Variants are
 * listed in ../variants.def:
 *
 *   sha256_plain      SHA-256 (FIPS 180-4) as it is written
 *   sha256_unrolled   16 rounds written out, and as many words kept
 *   sha256_rv32       the same in RV32 assembly, scheduled for a shift's result two cycles later and a load's three
 *   sha224_..         SHA-224, over the same
 *   sha512_plain      SHA-512 as it is written
 *   sha512_unrolled   16 rounds written out, and as many words kept
 *   sha384_..         SHA-384, over the same
 *
 * LEGACY: broken where collisions matter. They are here for what TLS once was:
 *
 *   sha1_plain        SHA-1 (FIPS 180-4)
 *   md5_plain         MD5 (RFC 1321)
 *
 * None of them looks up or branches by what is hashed; the time depends on lengths alone, where additions, shifts and
 * rotations take the same time.
 */
#ifndef SELVEDGE_HASH_H
#define SELVEDGE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_BLOCK_BYTES_MAX  128
#define HASH_DIGEST_BYTES_MAX 64

union hash_state {
    uint32_t words[16];
    uint64_t long_words[8];
};

/*
 * What an algorithm is. `compress` takes `count` whole blocks into the state: it is what variants differ in, and
 * MUST NOT be given a state of another algorithm's.
 */
struct hash_algorithm {
    void (*compress)(union hash_state *state, const uint8_t *blocks, size_t count);
    union hash_state initial;
    uint8_t block_bytes;  /* a power of two */
    uint8_t digest_bytes; /* whole words */
    uint8_t word_bytes;   /* 4 or 8; the message's length is two words */
    uint8_t is_little;    /* words have their lowest byte first */
};

#define VARIANT_SHA256(name) extern const struct hash_algorithm sha224_##name, sha256_##name;
#define VARIANT_SHA512(name) extern const struct hash_algorithm sha384_##name, sha512_##name;
#include "../variants.def"
extern const struct hash_algorithm sha1_plain;
extern const struct hash_algorithm md5_plain;

/* A message under way. */
struct hash {
    const struct hash_algorithm *algorithm;
    uint64_t bytes;
    union hash_state state;
    uint8_t buffer[HASH_BLOCK_BYTES_MAX]; /* what is no whole block yet */
};

/*
 * hash_init begins a message, hash_update takes `bytes` bytes more of it, in pieces of any length, and hash_finish
 * writes the `digest_bytes` of the algorithm's to `digest`, and wipes `hash`. A message MUST be shorter than 2^61
 * bytes.
 */
void hash_init(struct hash *hash, const struct hash_algorithm *algorithm);
void hash_update(struct hash *hash, const uint8_t *message, size_t bytes);
void hash_finish(struct hash *hash, uint8_t *digest);

/* A part of hash_finish: `byte` and zeros behind it, in the buffer from `kept` to `end`, which is more. */
void hash_pad(struct hash *hash, uint8_t byte, size_t kept, size_t end);

/* HMAC (FIPS 198-1, RFC 2104) under way. */
struct hmac {
    struct hash inner, outer;
};

/*
 * hmac_init begins a message under a key of any length, hmac_update takes more of it, and hmac_finish writes the
 * `digest_bytes` of the algorithm's to `tag`, and wipes `hmac`. Whoever verifies compares in constant time
 * (secret.h).
 */
void hmac_init(struct hmac *hmac, const struct hash_algorithm *algorithm, const uint8_t *key, size_t key_bytes);
void hmac_update(struct hmac *hmac, const uint8_t *message, size_t bytes);
void hmac_finish(struct hmac *hmac, uint8_t *tag);

#endif
