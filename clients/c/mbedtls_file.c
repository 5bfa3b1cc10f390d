/* Key files that name a key of the device, for programs with Mbed TLS 2.28 that are not to be changed: in the place of
 * Mbed TLS's own mbedtls_pk_parse_key(), through which go all keys that it reads, whoever read the file. What is no such
 * file goes on to that.
 *
 *     -----BEGIN SELVEDGE KEY URI-----
 *     DAxzZWx2ZWRnZTp3ZWI=
 *     -----END SELVEDGE KEY URI-----
 *
 * What is between the lines is `selvedge:NAME` as DER's UTF8String, the same as the OpenSSL provider reads. Either a library
 * of its own, for programs that load Mbed TLS's,
 *
 *     cc -shared -fPIC -D_GNU_SOURCE -o libselvedge_mbedtls.so mbedtls.c mbedtls_file.c -lselvedge_c -lmbedcrypto
 *     LD_PRELOAD=./libselvedge_mbedtls.so PROGRAM ...
 *
 * or linked into such a program. The broker is the one at $SELVEDGE_BROKER; the client lives as long as the process. */
#include "mbedtls.h"

#include <dlfcn.h>
#include <mbedtls/pem.h>
#include <pthread.h>
#include <string.h>

#define SCHEME "selvedge:"

enum { UTF8_STRING = 0x0c, SCHEME_BYTES = sizeof SCHEME - 1, NAME_BYTES_MAX = 64 };

typedef int parse(mbedtls_pk_context *, const unsigned char *, size_t, const unsigned char *, size_t);

static selvedge *client;
static parse *next;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void start(void) {
    *(void **)&next = dlsym(RTLD_NEXT, "mbedtls_pk_parse_key");
    if (selvedge_new(NULL, &client) != SELVEDGE_DONE) client = NULL;
}

/* The name in the URI, ended; false if it is none. */
static int name_of(const unsigned char *der, size_t bytes, char name[NAME_BYTES_MAX + 1]) {
    size_t name_bytes = bytes - 2 - SCHEME_BYTES;
    if (bytes <= 2 + SCHEME_BYTES || name_bytes > NAME_BYTES_MAX) return 0;
    if (der[0] != UTF8_STRING || der[1] != bytes - 2 || memcmp(der + 2, SCHEME, SCHEME_BYTES)) return 0;
    memcpy(name, der + 2 + SCHEME_BYTES, name_bytes);
    name[name_bytes] = '\0';
    return strlen(name) == name_bytes;
}

int mbedtls_pk_parse_key(mbedtls_pk_context *pk, const unsigned char *key, size_t key_bytes,
                         const unsigned char *password, size_t password_bytes) {
    static const char first[] = "-----BEGIN SELVEDGE KEY URI-----", last[] = "-----END SELVEDGE KEY URI-----";
    char name[NAME_BYTES_MAX + 1];
    mbedtls_pem_context pem;
    selvedge_key handle;
    size_t used;
    int done = MBEDTLS_ERR_PEM_NO_HEADER_FOOTER_PRESENT;
    pthread_once(&once, start);
    mbedtls_pem_init(&pem);
    /* Mbed TLS takes PEM with the zero that ends it, and DER without. */
    if (key_bytes > 0 && key[key_bytes - 1] == '\0')
        done = mbedtls_pem_read_buffer(&pem, first, last, key, NULL, 0, &used);
    if (done == MBEDTLS_ERR_PEM_NO_HEADER_FOOTER_PRESENT)
        done = next ? next(pk, key, key_bytes, password, password_bytes) : MBEDTLS_ERR_PK_FEATURE_UNAVAILABLE;
    else if (done == 0 && !name_of(pem.buf, pem.buflen, name))
        done = MBEDTLS_ERR_PK_KEY_INVALID_FORMAT;
    else if (done == 0 && (client == NULL || selvedge_find(client, name, &handle) != SELVEDGE_DONE))
        done = MBEDTLS_ERR_PK_HW_ACCEL_FAILED;
    else if (done == 0)
        done = selvedge_mbedtls_pk(pk, client, handle);
    mbedtls_pem_free(&pem);
    return done;
}
