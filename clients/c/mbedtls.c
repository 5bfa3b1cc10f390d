/* Private keys for Mbed TLS that sign in the device: a kind of public-key context for each algorithm.
 *
 * Mbed TLS 2.28 has a function that does so for RSA, mbedtls_pk_setup_rsa_alt(), and none for curves; both go through the
 * table of a kind, which pk_internal.h shows. */
#include "mbedtls.h"

#include <mbedtls/asn1write.h>
#include <mbedtls/bignum.h>
#include <mbedtls/pk_internal.h>
#include <mbedtls/version.h>
#include <stdlib.h>
#include <string.h>

#if MBEDTLS_VERSION_NUMBER < 0x021c0000 || MBEDTLS_VERSION_NUMBER >= 0x03000000
#error "this is for Mbed TLS 2.28"
#endif

/* r and s of P-256; a signature of RSA-3072. */
enum { NUMBER_BYTES = 32, RSA_BYTES_MAX = 384 };

typedef struct {
    selvedge *client;
    selvedge_key key;
    size_t bits;
} held;

static int hash_of(mbedtls_md_type_t kind, size_t digest_bytes) {
    switch (kind) {
    case MBEDTLS_MD_SHA224: return digest_bytes == 28 ? SELVEDGE_SHA_224 : 0;
    case MBEDTLS_MD_SHA256: return digest_bytes == 32 ? SELVEDGE_SHA_256 : 0;
    case MBEDTLS_MD_SHA384: return digest_bytes == 48 ? SELVEDGE_SHA_384 : 0;
    case MBEDTLS_MD_SHA512: return digest_bytes == 64 ? SELVEDGE_SHA_512 : 0;
    default: return 0;
    }
}

static int sign(const held *held, int scheme, mbedtls_md_type_t kind, const unsigned char *digest, size_t digest_bytes,
                unsigned char *out, size_t *out_bytes) {
    /* Callers that have said the hash leave out the length. */
    size_t bytes = digest_bytes ? digest_bytes : mbedtls_md_get_size(mbedtls_md_info_from_type(kind));
    int hash = hash_of(kind, bytes);
    if (hash == 0) return MBEDTLS_ERR_PK_FEATURE_UNAVAILABLE;
    if (selvedge_sign(held->client, held->key, scheme, hash, 1, digest, bytes, out, out_bytes) != SELVEDGE_DONE)
        return MBEDTLS_ERR_PK_HW_ACCEL_FAILED;
    return 0;
}

static int sign_rsa(void *context, mbedtls_md_type_t kind, const unsigned char *digest, size_t digest_bytes,
                    unsigned char *out, size_t *out_bytes, int (*random)(void *, unsigned char *, size_t), void *state) {
    (void)random, (void)state;
    *out_bytes = RSA_BYTES_MAX;
    return sign(context, SELVEDGE_RSA_PKCS1, kind, digest, digest_bytes, out, out_bytes);
}

/* r and s as DER's sequence of two numbers, which TLS wants (RFC 8422 section 5.4). */
static int sequence(const unsigned char numbers[2 * NUMBER_BYTES], unsigned char *out, size_t *out_bytes) {
    unsigned char der[MBEDTLS_PK_SIGNATURE_MAX_SIZE], *at = der + sizeof der;
    mbedtls_mpi number;
    size_t bytes = 0;
    int done = 0;
    mbedtls_mpi_init(&number);
    for (int which = 1; which >= 0 && done >= 0; which--) {
        done = mbedtls_mpi_read_binary(&number, numbers + which * NUMBER_BYTES, NUMBER_BYTES);
        if (done == 0) done = mbedtls_asn1_write_mpi(&at, der, &number);
        if (done > 0) bytes += (size_t)done;
    }
    mbedtls_mpi_free(&number);
    if (done >= 0) done = mbedtls_asn1_write_len(&at, der, bytes);
    if (done > 0) bytes += (size_t)done;
    if (done >= 0) done = mbedtls_asn1_write_tag(&at, der, MBEDTLS_ASN1_CONSTRUCTED | MBEDTLS_ASN1_SEQUENCE);
    if (done < 0) return done;
    bytes += (size_t)done;
    memcpy(out, at, bytes);
    *out_bytes = bytes;
    return 0;
}

static int sign_curve(void *context, mbedtls_md_type_t kind, const unsigned char *digest, size_t digest_bytes,
                      unsigned char *out, size_t *out_bytes, int (*random)(void *, unsigned char *, size_t),
                      void *state) {
    unsigned char numbers[2 * NUMBER_BYTES];
    size_t bytes = sizeof numbers;
    int done = sign(context, SELVEDGE_ECDSA, kind, digest, digest_bytes, numbers, &bytes);
    (void)random, (void)state;
    return done ? done : sequence(numbers, out, out_bytes);
}

static size_t bits(const void *context) { return ((const held *)context)->bits; }

static int does_rsa(mbedtls_pk_type_t kind) { return kind == MBEDTLS_PK_RSA; }

static int does_curve(mbedtls_pk_type_t kind) { return kind == MBEDTLS_PK_ECDSA; }

static void *allocate(void) { return calloc(1, sizeof(held)); }

static const mbedtls_pk_info_t rsa = {
    .type = MBEDTLS_PK_RSA_ALT,
    .name = "RSA of a device",
    .get_bitlen = bits,
    .can_do = does_rsa,
    .sign_func = sign_rsa,
    .ctx_alloc_func = allocate,
    .ctx_free_func = free,
};

static const mbedtls_pk_info_t curve = {
    .type = MBEDTLS_PK_ECDSA,
    .name = "ECDSA of a device",
    .get_bitlen = bits,
    .can_do = does_curve,
    .sign_func = sign_curve,
    .ctx_alloc_func = allocate,
    .ctx_free_func = free,
};

int selvedge_mbedtls_pk(mbedtls_pk_context *pk, selvedge *client, selvedge_key key) {
    const mbedtls_pk_info_t *kind;
    size_t key_bits;
    int algorithm, done;
    if (selvedge_algorithm(client, key, &algorithm) != SELVEDGE_DONE) return MBEDTLS_ERR_PK_HW_ACCEL_FAILED;
    switch (algorithm) {
    case SELVEDGE_P_256: kind = &curve, key_bits = 256; break;
    case SELVEDGE_RSA_2048: kind = &rsa, key_bits = 2048; break;
    case SELVEDGE_RSA_3072: kind = &rsa, key_bits = 3072; break;
    default: return MBEDTLS_ERR_PK_BAD_INPUT_DATA;
    }
    done = mbedtls_pk_setup(pk, kind);
    if (done == 0) *(held *)pk->pk_ctx = (held){client, key, key_bits};
    return done;
}
