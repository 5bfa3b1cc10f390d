/*
 * HMAC over every hash; see hash.h.
 */
#include "hash.h"
#include "../words.h"

#include <stdint.h>

/* see hash.h */
ROUTINE void hmac_init(struct hmac *hmac, const struct hash_algorithm *algorithm, const uint8_t *key, size_t key_bytes)
{
    const size_t block_bytes = algorithm->block_bytes;
    uint8_t pad[HASH_BLOCK_BYTES_MAX];
    const uint8_t *used = key;
    size_t used_bytes = key_bytes;

    COUNT(hmac_init, block_bytes);
    hash_init(&hmac->inner, algorithm);
    hash_init(&hmac->outer, algorithm);
    if (key_bytes > block_bytes) {
        COUNT_TERM(hmac_init, hashed, 1);
        hash_update(&hmac->inner, key, key_bytes);
        hash_finish(&hmac->inner, pad);
        hash_init(&hmac->inner, algorithm);
        used = pad;
        used_bytes = algorithm->digest_bytes;
    }
    COUNT_TERM(hmac_init, used, used_bytes);
    for (size_t i = 0; i < block_bytes; i++) {
        pad[i] = (i < used_bytes ? used[i] : 0) ^ 0x36;
        LOOP_STAYS();
    }
    hash_update(&hmac->inner, pad, block_bytes);
    for (size_t i = 0; i < block_bytes; i++) {
        pad[i] ^= 0x36 ^ 0x5c;
        LOOP_STAYS();
    }
    hash_update(&hmac->outer, pad, block_bytes);
    wipe_bytes(pad, sizeof pad);
}

/* see hash.h */
ROUTINE void hmac_update(struct hmac *hmac, const uint8_t *message, size_t bytes)
{
    COUNT(hmac_update);
    hash_update(&hmac->inner, message, bytes);
}

/* see hash.h */
ROUTINE void hmac_finish(struct hmac *hmac, uint8_t *tag)
{
    const size_t digest_bytes = hmac->inner.algorithm->digest_bytes;
    uint8_t digest[HASH_DIGEST_BYTES_MAX];

    COUNT(hmac_finish);
    hash_finish(&hmac->inner, digest);
    hash_update(&hmac->outer, digest, digest_bytes);
    hash_finish(&hmac->outer, tag);
    wipe_bytes(digest, sizeof digest);
}
