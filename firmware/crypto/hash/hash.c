/*
 * Messages cut into blocks and padded, for every hash; see hash.h.
 */
#include "hash.h"
#include "../words.h"

#include <stdint.h>

INLINE void copy(uint8_t *to, const uint8_t *from, size_t bytes)
{
    for (; bytes != 0; bytes--) {
        *to++ = *from++;
        LOOP_STAYS();
    }
}

/* see hash.h */
ROUTINE void hash_init(struct hash *hash, const struct hash_algorithm *algorithm)
{
    COUNT(hash_init);
    hash->algorithm = algorithm;
    hash->bytes = 0;
    for (unsigned i = 0; i < 8; i++) {
        hash->state.long_words[i] = algorithm->initial.long_words[i];
        LOOP_STAYS();
    }
}

/* see hash.h */
ROUTINE void hash_update(struct hash *hash, const uint8_t *message, size_t bytes)
{
    const size_t block_bytes = hash->algorithm->block_bytes;
    const size_t kept = (size_t)hash->bytes & (block_bytes - 1);
    size_t whole;

    COUNT(hash_update);
    hash->bytes += bytes;
    if (kept != 0) {
        const size_t missing = block_bytes - kept, taken = bytes < missing ? bytes : missing;
        COUNT_TERM(hash_update, kept, 1);
        COUNT_TERM(hash_update, copied, taken);
        copy(hash->buffer + kept, message, taken);
        if (taken < missing) {
            return;
        }
        COUNT_TERM(hash_update, filled, 1);
        hash->algorithm->compress(&hash->state, hash->buffer, 1);
        message += taken;
        bytes -= taken;
    }
    whole = bytes & ~(block_bytes - 1);
    if (whole != 0) {
        COUNT_TERM(hash_update, whole, 1);
        hash->algorithm->compress(&hash->state, message, whole / block_bytes);
    }
    COUNT_TERM(hash_update, copied, bytes - whole);
    copy(hash->buffer, message + whole, bytes - whole);
}

INLINE void clear(uint8_t *bytes, size_t count)
{
    for (; count != 0; count--) {
        *bytes++ = 0;
        LOOP_STAYS();
    }
}

/* The state in the order of bytes that the algorithm has, as far as the digest goes. */
INLINE void write_digest(const struct hash *hash, uint8_t *digest)
{
    const struct hash_algorithm *algorithm = hash->algorithm;

    COUNT_TERM(hash_finish, little, algorithm->is_little);
    if (algorithm->word_bytes == 8) {
        COUNT_TERM(hash_finish, long_words, algorithm->digest_bytes / 8);
        for (unsigned i = 0; i < algorithm->digest_bytes / 8u; i++) {
            store_be64(digest + 8 * i, hash->state.long_words[i]);
            LOOP_STAYS();
        }
        return;
    }
    COUNT_TERM(hash_finish, words, algorithm->digest_bytes / 4);
    for (unsigned i = 0; i < algorithm->digest_bytes / 4u; i++) {
        uint32_t word = hash->state.words[i];
        word = algorithm->is_little ? word >> 24 | (word >> 8 & 0xff00) | (word & 0xff00) << 8 | word << 24 : word;
        store_be32(digest + 4 * i, word);
        LOOP_STAYS();
    }
}

/* see hash.h */
ROUTINE void hash_finish(struct hash *hash, uint8_t *digest)
{
    const struct hash_algorithm *algorithm = hash->algorithm;
    const size_t block_bytes = algorithm->block_bytes, length_at = block_bytes - 2u * algorithm->word_bytes;
    const uint64_t bits = hash->bytes << 3;
    size_t kept = (size_t)hash->bytes & (block_bytes - 1);

    COUNT(hash_finish);
    hash->buffer[kept++] = 0x80;
    if (kept > length_at) {
        COUNT_TERM(hash_finish, second, 1);
        COUNT_TERM(hash_finish, cleared, block_bytes - kept);
        clear(hash->buffer + kept, block_bytes - kept);
        algorithm->compress(&hash->state, hash->buffer, 1);
        kept = 0;
    }
    COUNT_TERM(hash_finish, cleared, block_bytes - 8 - kept);
    clear(hash->buffer + kept, block_bytes - 8 - kept);
    if (algorithm->is_little) {
        store_le32(hash->buffer + length_at, (uint32_t)bits);
        store_le32(hash->buffer + length_at + 4, (uint32_t)(bits >> 32));
    } else {
        store_be64(hash->buffer + block_bytes - 8, bits);
    }
    algorithm->compress(&hash->state, hash->buffer, 1);
    write_digest(hash, digest);
    wipe_words(hash, sizeof *hash);
}
