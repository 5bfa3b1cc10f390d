/*
 * SHA-256 in 32-bit words, see sha256.h. The names are those of FIPS 180-4.
 */
#include "sha256.h"

#include <string.h>

static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t word, int by)
{
    return word >> by | word << (32 - by);
}

static void compress(uint32_t state[8], const uint8_t block[SHA256_BLOCK_BYTES])
{
    uint32_t W[64], v[8];
    int t;

    for (t = 0; t < 16; t++) {
        const uint8_t *at = block + 4 * t;
        W[t] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    }
    for (t = 16; t < 64; t++) {
        uint32_t s0 = rotate(W[t - 15], 7) ^ rotate(W[t - 15], 18) ^ W[t - 15] >> 3;
        uint32_t s1 = rotate(W[t - 2], 17) ^ rotate(W[t - 2], 19) ^ W[t - 2] >> 10;
        W[t] = s1 + W[t - 7] + s0 + W[t - 16];
    }
    memcpy(v, state, sizeof v);
    for (t = 0; t < 64; t++) {
        uint32_t S1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
        uint32_t S0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
        uint32_t T1 = v[7] + S1 + ((v[4] & v[5]) ^ (~v[4] & v[6])) + K[t] + W[t];
        uint32_t T2 = S0 + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += T1;
        v[0] = T1 + T2;
    }
    for (t = 0; t < 8; t++) {
        state[t] += v[t];
    }
}

void sha256_begin(struct sha256 *sum)
{
    static const uint32_t start[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
    memcpy(sum->state, start, sizeof start);
    sum->length = 0;
}

void sha256_add(struct sha256 *sum, const uint8_t *bytes, size_t length)
{
    while (length-- != 0) {
        sum->block[sum->length++ % SHA256_BLOCK_BYTES] = *bytes++;
        if (sum->length % SHA256_BLOCK_BYTES == 0) {
            compress(sum->state, sum->block);
        }
    }
}

void sha256_end(struct sha256 *sum, uint8_t digest[SHA256_BYTES])
{
    static const uint8_t one = 0x80, zero = 0;
    uint32_t bits = sum->length * 8;
    uint8_t tail[8] = { 0, 0, 0, 0, (uint8_t)(bits >> 24), (uint8_t)(bits >> 16), (uint8_t)(bits >> 8), (uint8_t)bits };
    int i;

    sha256_add(sum, &one, 1);
    while (sum->length % SHA256_BLOCK_BYTES != SHA256_BLOCK_BYTES - sizeof tail) {
        sha256_add(sum, &zero, 1);
    }
    sha256_add(sum, tail, sizeof tail);
    for (i = 0; i < SHA256_BYTES; i++) {
        digest[i] = (uint8_t)(sum->state[i / 4] >> (24 - 8 * (i % 4)));
    }
}

void sha256_mac(const uint8_t key[SHA256_BYTES], const uint8_t *message, size_t length, uint8_t mac[SHA256_BYTES])
{
    uint8_t pad[SHA256_BLOCK_BYTES];
    struct sha256 sum;
    int i;

    for (i = 0; i < SHA256_BLOCK_BYTES; i++) {
        pad[i] = (uint8_t)(0x36 ^ (i < SHA256_BYTES ? key[i] : 0));
    }
    sha256_begin(&sum);
    sha256_add(&sum, pad, sizeof pad);
    sha256_add(&sum, message, length);
    sha256_end(&sum, mac);
    for (i = 0; i < SHA256_BLOCK_BYTES; i++) {
        pad[i] ^= 0x36 ^ 0x5c;
    }
    sha256_begin(&sum);
    sha256_add(&sum, pad, sizeof pad);
    sha256_add(&sum, mac, SHA256_BYTES);
    sha256_end(&sum, mac);
}
