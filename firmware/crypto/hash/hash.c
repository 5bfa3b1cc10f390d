/*
 * Messages cut into blocks and padded, for every hash; see hash.h.
 */
#include "hash.h"
#include "../words.h"

#include <stdint.h>

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

/* see hash.h: what begins a block is whole blocks, if there are any; the rest goes through the buffer. */
ROUTINE void hash_update(struct hash *hash, const uint8_t *message, size_t bytes)
{
    const size_t block_bytes = hash->algorithm->block_bytes;
    size_t kept = (size_t)hash->bytes & (block_bytes - 1);

    COUNT(hash_update);
    hash->bytes += bytes;
    while (bytes != 0) {
        size_t taken;
        if (kept == 0 && bytes >= block_bytes) {
            COUNT_TERM(hash_update, whole, 1);
            taken = bytes & ~(block_bytes - 1);
            hash->algorithm->compress(&hash->state, message, taken / block_bytes);
            message += taken;
        } else {
            uint8_t *to = hash->buffer + kept;
            taken = block_bytes - kept;
            if (taken > bytes) {
                taken = bytes;
            }
            COUNT_TERM(hash_update, copies, 1);
            COUNT_TERM(hash_update, kept, kept != 0);
            COUNT_TERM(hash_update, copied, taken);
            for (const uint8_t *end = message + taken; message != end; message++) {
                *to++ = *message;
                LOOP_STAYS();
            }
            kept += taken;
            if (kept == block_bytes) {
                COUNT_TERM(hash_update, filled, 1);
                hash->algorithm->compress(&hash->state, hash->buffer, 1);
                kept = 0;
            }
        }
        bytes -= taken;
    }
}

/* see hash.h */
ROUTINE void hash_pad(struct hash *hash, uint8_t byte, size_t kept, size_t end)
{
    COUNT(hash_pad, end - kept);
    do {
        hash->buffer[kept] = byte;
        byte = 0;
        LOOP_STAYS();
    } while (++kept != end);
}

/* The state in the order of bytes that the algorithm has, as far as the digest goes. Long words are two words each, of
   which the machine may have the lower one first. */
INLINE void write_digest(const struct hash *hash, uint8_t *digest)
{
    const struct hash_algorithm *algorithm = hash->algorithm;
    const unsigned exchanged = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? algorithm->word_bytes / 8u : 0;
    const unsigned words = algorithm->digest_bytes / 4u;

    COUNT_TERM(hash_finish, words, words);
    COUNT_TERM(hash_finish, little, algorithm->is_little);
    for (unsigned i = 0; i < words; i++) {
        const uint32_t word = hash->state.words[i ^ exchanged];
        if (algorithm->is_little) {
            store_le32(digest + 4 * i, word);
        } else {
            store_be32(digest + 4 * i, word);
        }
        LOOP_STAYS();
    }
}

/* see hash.h */
ROUTINE void hash_finish(struct hash *hash, uint8_t *digest)
{
    const struct hash_algorithm *algorithm = hash->algorithm;
    const size_t block_bytes = algorithm->block_bytes, length_at = block_bytes - 2u * algorithm->word_bytes;
    const uint64_t bits = hash->bytes << 3;
    const size_t kept = (size_t)hash->bytes & (block_bytes - 1);

    COUNT(hash_finish);
    if (kept >= length_at) {
        COUNT_TERM(hash_finish, second, 1);
        hash_pad(hash, 0x80, kept, block_bytes);
        algorithm->compress(&hash->state, hash->buffer, 1);
        hash_pad(hash, 0, 0, block_bytes - 8);
    } else {
        hash_pad(hash, 0x80, kept, block_bytes - 8);
    }
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
