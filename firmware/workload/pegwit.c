/*
 * Encrypts a file for the owner of a key on an elliptic curve over GF(2^m), and opens what was encrypted.
 *
 * Stands for MediaBench's Pegwit, of which it has no code: a curve over GF(2^m), a hash and a block cipher. Here they
 * are those of a published scheme, ECIES (SEC 1 version 2, section 5.1) over sect233k1 with SHA-256 (ANSI X9.63's
 * derivation and HMAC) and AES-128 in counter mode from firmware/crypto. A point is its x coordinate alone.
 *
 *   pegwit i SECRET              prints the public key of a secret one
 *   pegwit e PUBLIC RANDOM FILE  encrypts FILE to standard output, and opens it again as a check
 *   pegwit d SECRET FILE         decrypts FILE to standard output
 *
 * Keys are files of 60 hexadecimal digits. What would be random is hashed from the file RANDOM, so that each run is
 * the same: this measures, it protects nothing.
 *
 * What is written: 30 bytes of the sender's point, what is encrypted, 32 bytes of HMAC.
 */
#include <string.h>

#include "../crypto/crypto.h"
#include "gf2m.h"
#include "sha256.h"
#include "whole.h"

#define PIECE_BYTES 4096

/* What both sides derive from the shared point. */
struct keys {
    uint8_t cipher[AES128_KEY_BYTES];
    uint8_t mac[SHA256_BYTES];
};

static int digit_of(const char *path, int character)
{
    if (character >= '0' && character <= '9') {
        return character - '0';
    }
    if (character >= 'a' && character <= 'f') {
        return character - 'a' + 10;
    }
    refuse(path, "expected 60 hexadecimal digits");
    return 0;
}

static gf2m read_key(const char *path)
{
    uint8_t bytes[GF2M_BYTES];
    gf2m key;
    size_t length;
    unsigned char *text = whole(path, &length);
    int i;

    if (length < 2 * GF2M_BYTES) {
        refuse(path, "expected 60 hexadecimal digits");
    }
    for (i = 0; i < GF2M_BYTES; i++) {
        bytes[i] = (uint8_t)(digit_of(path, text[2 * i]) << 4 | digit_of(path, text[2 * i + 1]));
    }
    free(text);
    key = gf2m_load(bytes);
    return key;
}

static gf2m times(const gf2m *scalar, const gf2m *x)
{
    gf2m product;
    if (!gf2m_multiply_point(&product, scalar, x)) {
        refuse("a key", "is a multiple of the point's order");
    }
    return product;
}

/* X9.63: the hash of the shared point, a counter from 1, and the sender's point, as often as bytes are needed. */
static struct keys keys_of(const gf2m *shared, const gf2m *sender)
{
    uint8_t secret[GF2M_BYTES], point[GF2M_BYTES], bytes[2 * SHA256_BYTES];
    uint8_t counter[4] = { 0, 0, 0, 1 };
    struct sha256 sum;
    struct keys keys;

    gf2m_store(shared, secret);
    gf2m_store(sender, point);
    for (; counter[3] <= 2; counter[3]++) {
        sha256_begin(&sum);
        sha256_add(&sum, secret, sizeof secret);
        sha256_add(&sum, counter, sizeof counter);
        sha256_add(&sum, point, sizeof point);
        sha256_end(&sum, bytes + (counter[3] - 1) * SHA256_BYTES);
    }
    memcpy(keys.cipher, bytes, sizeof keys.cipher);
    memcpy(keys.mac, bytes + sizeof keys.cipher, sizeof keys.mac);
    return keys;
}

/* Counter mode undoes itself. The key is fresh, so the counter begins at 0. */
static void crypt(const struct keys *keys, uint8_t *message, size_t length)
{
    uint8_t round_keys[AES128_ROUND_KEY_BYTES], counter[AES128_BLOCK_BYTES] = { 0 };

    aes128_c8_init(round_keys, keys->cipher);
    while (length != 0) {
        uint16_t piece = length < PIECE_BYTES ? (uint16_t)length : PIECE_BYTES;
        aes128_ctr_c8_crypt(round_keys, counter, message, piece);
        message += piece;
        length -= piece;
    }
}

/* Decrypts in place what is behind the sender's point; the message's length. */
static size_t open_sealed(const gf2m *secret, uint8_t *sealed, size_t length, const char *path)
{
    uint8_t mac[SHA256_BYTES];
    gf2m sender, shared;
    struct keys keys;
    size_t inner;

    if (length < GF2M_BYTES + SHA256_BYTES) {
        refuse(path, "is too short");
    }
    inner = length - GF2M_BYTES - SHA256_BYTES;
    sender = gf2m_load(sealed);
    shared = times(secret, &sender);
    keys = keys_of(&shared, &sender);
    sha256_mac(keys.mac, sealed + GF2M_BYTES, inner, mac);
    if (memcmp(mac, sealed + GF2M_BYTES + inner, sizeof mac) != 0) {
        refuse(path, "was not encrypted for this key");
    }
    crypt(&keys, sealed + GF2M_BYTES, inner);
    return inner;
}

/* A secret number of 231 bits, taken from a hash: the order has 232. */
static gf2m secret_from(const char *path)
{
    uint8_t digest[SHA256_BYTES];
    struct sha256 sum;
    size_t length;
    unsigned char *bytes = whole(path, &length);
    gf2m secret;

    sha256_begin(&sum);
    sha256_add(&sum, bytes, length);
    sha256_end(&sum, digest);
    free(bytes);
    secret = gf2m_load(digest);
    secret.word[GF2M_WORDS - 1] &= 0x7f;
    return secret;
}

static int encrypt(const char *public_path, const char *random_path, const char *path)
{
    gf2m public = read_key(public_path), secret = secret_from(random_path), base = gf2m_base();
    gf2m sender = times(&secret, &base), shared = times(&secret, &public);
    struct keys keys = keys_of(&shared, &sender);
    size_t length;
    unsigned char *message = whole(path, &length);
    uint8_t *sealed = malloc(GF2M_BYTES + length + SHA256_BYTES);

    if (sealed == NULL) {
        refuse(path, "does not fit into memory");
    }
    gf2m_store(&sender, sealed);
    memcpy(sealed + GF2M_BYTES, message, length);
    crypt(&keys, sealed + GF2M_BYTES, length);
    sha256_mac(keys.mac, sealed + GF2M_BYTES, length, sealed + GF2M_BYTES + length);
    fwrite(sealed, 1, GF2M_BYTES + length + SHA256_BYTES, stdout);
    crypt(&keys, sealed + GF2M_BYTES, length);
    if (memcmp(sealed + GF2M_BYTES, message, length) != 0) {
        refuse(path, "does not come back");
    }
    free(sealed);
    free(message);
    return 0;
}

static int decrypt(const char *secret_path, const char *path)
{
    gf2m secret = read_key(secret_path);
    size_t length;
    unsigned char *sealed = whole(path, &length);

    fwrite(sealed + GF2M_BYTES, 1, open_sealed(&secret, sealed, length, path), stdout);
    free(sealed);
    return 0;
}

static int print_public(const char *secret_path)
{
    gf2m secret = read_key(secret_path), base = gf2m_base();
    gf2m public = times(&secret, &base);
    uint8_t bytes[GF2M_BYTES];
    int i;

    gf2m_store(&public, bytes);
    for (i = 0; i < GF2M_BYTES; i++) {
        printf("%02x", bytes[i]);
    }
    printf("\n");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "i") == 0) {
        return print_public(argv[2]);
    }
    if (argc == 5 && strcmp(argv[1], "e") == 0) {
        return encrypt(argv[2], argv[3], argv[4]);
    }
    if (argc == 4 && strcmp(argv[1], "d") == 0) {
        return decrypt(argv[2], argv[3]);
    }
    fprintf(stderr, "usage: pegwit i SECRET | e PUBLIC RANDOM FILE | d SECRET FILE\n");
    return 2;
}
