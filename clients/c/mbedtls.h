/* Keys of a device behind a Selvedge broker as the private keys of Mbed TLS 2.28, such as a server's. They sign, and
 * nothing else: P-256 with ECDSA, RSA with PKCS#1 v1.5. Digests of SHA-2 only.
 *
 * A program compiles mbedtls.c with its own sources, and links libselvedge_c and Mbed TLS. One that is not to be changed
 * is given its keys by mbedtls_file.c. */
#ifndef SELVEDGE_MBEDTLS_H
#define SELVEDGE_MBEDTLS_H

#include <mbedtls/pk.h>

#include "selvedge.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes an initialised context one of a key, which mbedtls_pk_free() ends. The client is used as long, and stays the
 * caller's. Answers 0; MBEDTLS_ERR_PK_BAD_INPUT_DATA, for a context that is one already or a key that does not sign so;
 * MBEDTLS_ERR_PK_ALLOC_FAILED; or MBEDTLS_ERR_PK_HW_ACCEL_FAILED, where the device has no such key. */
int selvedge_mbedtls_pk(mbedtls_pk_context *pk, selvedge *client, selvedge_key key);

#ifdef __cplusplus
}
#endif

#endif
