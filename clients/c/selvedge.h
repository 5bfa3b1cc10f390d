/* A device behind a Selvedge broker, for programs in C.
 *
 * A client may be used by any number of threads at a time. It starts no thread, connects when it is first asked for
 * something and again after the broker went away, and in a child after fork() connects for itself.
 *
 * Every function answers a status: 0, one of enum selvedge_status, or one of the library's own, which are negative. What is
 * written is written only when the status is 0; a length that was too small is then what is needed. Bytes that may be
 * null may be only where their length is 0. No function keeps a pointer that it was given. */
#ifndef SELVEDGE_H
#define SELVEDGE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the broker or its device says; docs/broker.md has the sentences. */
enum selvedge_status {
    SELVEDGE_DONE = 0,
    SELVEDGE_MALFORMED = 1,
    SELVEDGE_OVERSIZE = 2,
    SELVEDGE_VERSION = 3,
    SELVEDGE_UNKNOWN_OPERATION = 4,
    SELVEDGE_WRONG_PARAMETERS = 5,
    SELVEDGE_UNKNOWN_KEY = 6,
    SELVEDGE_REJECTED = 7,
    SELVEDGE_DUPLICATE_REQUEST = 8,
    SELVEDGE_BUSY = 9,
    SELVEDGE_CONNECTIONS_FULL = 10,
    SELVEDGE_STOPPING = 11,
    SELVEDGE_DEVICE_UNAVAILABLE = 12,
    SELVEDGE_DEVICE_LOST = 13,
    SELVEDGE_DEVICE_SILENT = 14,
    SELVEDGE_WIRE_CORRUPT = 15,
    SELVEDGE_DEVICE_FAULT = 16,
    SELVEDGE_WRONG_PURPOSE = 17,
    SELVEDGE_TOO_LATE = 18,
    SELVEDGE_NAME_TAKEN = 19,
    SELVEDGE_DEVICE_FULL = 20,
    SELVEDGE_UNKNOWN_CONTEXT = 21,
    SELVEDGE_WHOLE_ONLY = 22,
    SELVEDGE_NOT_PERMITTED = 23,
    SELVEDGE_UNKNOWN_USER = 24,
    SELVEDGE_STORE_FULL = 25,
    /* The library's own. */
    SELVEDGE_E_ARGUMENT = -1,    /* a null pointer, a number that is in no table, text that is too long */
    SELVEDGE_E_ROOM = -2,        /* the answer is longer than its place */
    SELVEDGE_E_UNREACHABLE = -3, /* no broker listens */
    SELVEDGE_E_DISCONNECTED = -4, /* the broker went away, and may have done what was asked */
    SELVEDGE_E_ANSWER = -5,      /* what came is no answer */
    SELVEDGE_E_BUG = -6          /* a bug of the library's */
};

enum selvedge_algorithm {
    SELVEDGE_AES_128 = 1,
    SELVEDGE_AES_192 = 2,
    SELVEDGE_AES_256 = 3,
    SELVEDGE_ASCON_AEAD128 = 4,
    SELVEDGE_HMAC = 5,
    SELVEDGE_HKDF = 6,
    SELVEDGE_P_256 = 7,
    SELVEDGE_ED25519 = 8,
    SELVEDGE_X25519 = 9,
    SELVEDGE_RSA_2048 = 10,
    SELVEDGE_RSA_3072 = 11
};

/* What a key may be used for: bits. */
enum selvedge_usage {
    SELVEDGE_ENCRYPT = 1,
    SELVEDGE_DECRYPT = 2,
    SELVEDGE_SEAL = 4,
    SELVEDGE_OPEN = 8,
    SELVEDGE_MAC = 16,
    SELVEDGE_MAC_VERIFY = 32,
    SELVEDGE_DERIVE = 64,
    SELVEDGE_SIGN = 128,
    SELVEDGE_VERIFY = 256,
    SELVEDGE_AGREE = 512,
    SELVEDGE_WRAP = 1024,
    SELVEDGE_UNWRAP = 2048,
    SELVEDGE_WRAPPABLE = 4096
};

enum selvedge_hash { SELVEDGE_SHA_224 = 1, SELVEDGE_SHA_256 = 2, SELVEDGE_SHA_384 = 3, SELVEDGE_SHA_512 = 4 };

/* Modes of AES. The IV is 16 bytes, and null for ECB. */
enum selvedge_mode { SELVEDGE_ECB = 1, SELVEDGE_CBC = 2, SELVEDGE_CBC_PADDED = 3, SELVEDGE_CTR = 4 };

enum selvedge_suite { SELVEDGE_AES_GCM = 1, SELVEDGE_AES_CCM = 2, SELVEDGE_ASCON = 3 };

/* Ways to sign. ECDSA's signatures are r and s, 32 bytes each. The hash of Ed25519 is 0.
 * Hash 0 of PKCS1 is SHA-1: of a digest that is given, and of no message. */
enum selvedge_scheme { SELVEDGE_ECDSA = 1, SELVEDGE_EDDSA = 2, SELVEDGE_RSA_PKCS1 = 3, SELVEDGE_RSA_PSS = 4 };

/* The handle of a key, 0 for none. */
typedef uint64_t selvedge_key;

typedef struct selvedge selvedge;

/* What key to make. All that is not set is 0. */
typedef struct {
    const char *name;      /* what it is found by, at most 64 bytes; may be null */
    uint16_t usages;       /* bits of enum selvedge_usage */
    uint16_t secret_bytes; /* of HMAC's and HKDF's */
    uint8_t algorithm;     /* of enum selvedge_algorithm */
    uint8_t persistent;    /* 0: it dies with this client's connection */
    uint8_t caller_nonce;  /* 1: who seals chooses the nonce, and must never choose one twice */
    uint8_t zero;
} selvedge_template;

/* How to seal. A nonce of no bytes is the device's, which answers it before the ciphertext. */
typedef struct {
    const uint8_t *nonce;
    size_t nonce_bytes;
    const uint8_t *associated_data;
    size_t associated_bytes;
    uint8_t suite;     /* of enum selvedge_suite */
    uint8_t tag_bytes; /* 16; of CCM also 4, 8 or 12 */
    uint8_t zeros[6];
} selvedge_aead;

/* A client of the broker at a path, or, if that is null, at $SELVEDGE_BROKER or its usual place; "own" there is
 * this user's own, which is started when it is needed. */
int selvedge_new(const char *path, selvedge **client);
void selvedge_free(selvedge *client);

/* A sentence about a status. */
const char *selvedge_meaning(int status);

int selvedge_random(selvedge *client, uint8_t *out, size_t out_bytes);
int selvedge_hash(selvedge *client, int hash, const uint8_t *message, size_t message_bytes, uint8_t *out,
                  size_t *out_bytes);

int selvedge_find(selvedge *client, const char *name, selvedge_key *key);
int selvedge_generate(selvedge *client, const selvedge_template *what, selvedge_key *key);
int selvedge_import(selvedge *client, const selvedge_template *what, const uint8_t *secret, size_t secret_bytes,
                    selvedge_key *key);
int selvedge_import_public(selvedge *client, const selvedge_template *what, const uint8_t *bytes, size_t byte_count,
                           selvedge_key *key);
int selvedge_public(selvedge *client, selvedge_key key, uint8_t *out, size_t *out_bytes);
/* What a key is one of: a number of enum selvedge_algorithm. */
int selvedge_algorithm(selvedge *client, selvedge_key key, int *algorithm);
int selvedge_destroy(selvedge *client, selvedge_key key);
int selvedge_wrap(selvedge *client, selvedge_key key, selvedge_key wrapped, uint8_t *out, size_t *out_bytes);
int selvedge_unwrap(selvedge *client, selvedge_key key, const selvedge_template *what, const uint8_t *wrapped,
                    size_t wrapped_bytes, selvedge_key *unwrapped);
int selvedge_derive(selvedge *client, selvedge_key key, int hash, const selvedge_template *what, const uint8_t *salt,
                    size_t salt_bytes, const uint8_t *info, size_t info_bytes, selvedge_key *derived);
int selvedge_agree(selvedge *client, selvedge_key key, const uint8_t *theirs, size_t their_bytes, uint8_t *out,
                   size_t *out_bytes);

int selvedge_encrypt(selvedge *client, selvedge_key key, int mode, const uint8_t *iv, const uint8_t *message,
                     size_t message_bytes, uint8_t *out, size_t *out_bytes);
int selvedge_decrypt(selvedge *client, selvedge_key key, int mode, const uint8_t *iv, const uint8_t *message,
                     size_t message_bytes, uint8_t *out, size_t *out_bytes);
int selvedge_seal(selvedge *client, selvedge_key key, const selvedge_aead *how, const uint8_t *message,
                  size_t message_bytes, uint8_t *out, size_t *out_bytes);
int selvedge_open(selvedge *client, selvedge_key key, const selvedge_aead *how, const uint8_t *sealed,
                  size_t sealed_bytes, uint8_t *out, size_t *out_bytes);

/* A MAC: hash 0 is CMAC, which an AES key makes. A MAC is verified by its first bytes, at least 8. */
int selvedge_mac(selvedge *client, selvedge_key key, int hash, const uint8_t *message, size_t message_bytes,
                 uint8_t *out, size_t *out_bytes);
int selvedge_mac_verify(selvedge *client, selvedge_key key, int hash, const uint8_t *message, size_t message_bytes,
                        const uint8_t *mac, size_t mac_bytes);

/* A signature of a message, or of the hash's digest of one. */
int selvedge_sign(selvedge *client, selvedge_key key, int scheme, int hash, int is_digest, const uint8_t *message,
                  size_t message_bytes, uint8_t *out, size_t *out_bytes);
int selvedge_verify(selvedge *client, selvedge_key key, int scheme, int hash, int is_digest, const uint8_t *message,
                    size_t message_bytes, const uint8_t *signature, size_t signature_bytes);

#ifdef __cplusplus
}
#endif

#endif
