/*
 * SHA-256 (FIPS 180-4) and HMAC with it (RFC 2104), of a message in one piece or several.
 */
#ifndef SELVEDGE_WORKLOAD_SHA256_H
#define SELVEDGE_WORKLOAD_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES       32
#define SHA256_BLOCK_BYTES 64

struct sha256 {
    uint32_t state[8];
    uint32_t length;
    uint8_t block[SHA256_BLOCK_BYTES];
};

void sha256_begin(struct sha256 *sum);
/* At most 2^29 - 1 bytes in all. */
void sha256_add(struct sha256 *sum, const uint8_t *bytes, size_t length);
void sha256_end(struct sha256 *sum, uint8_t digest[SHA256_BYTES]);

/* The key has SHA256_BYTES bytes. */
void sha256_mac(const uint8_t key[SHA256_BYTES], const uint8_t *message, size_t length, uint8_t mac[SHA256_BYTES]);

#endif
