/* A program as somebody writes it: the test compiles it, links it with the library, and runs it before a broker. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "selvedge.h"

#define EXPECT(status, call)                                                                            \
    do {                                                                                                \
        int got = (call);                                                                               \
        if (got != (status)) {                                                                          \
            fprintf(stderr, "line %d: %s: %d, %s\n", __LINE__, #call, got, selvedge_meaning(got));      \
            return 1;                                                                                   \
        }                                                                                               \
    } while (0)

static const uint8_t message[] = "a message";

static int null_is_no_place(selvedge *client) {
    uint8_t out[64];
    size_t bytes = sizeof out;
    selvedge_key key;
    EXPECT(SELVEDGE_E_ARGUMENT, selvedge_new(NULL, NULL));
    EXPECT(SELVEDGE_E_ARGUMENT, selvedge_random(NULL, out, 1));
    EXPECT(SELVEDGE_E_ARGUMENT, selvedge_random(client, NULL, 1));
    EXPECT(SELVEDGE_E_ARGUMENT, selvedge_hash(client, SELVEDGE_SHA_256, NULL, 1, out, &bytes));
    EXPECT(SELVEDGE_E_ARGUMENT, selvedge_hash(client, SELVEDGE_SHA_256, message, SIZE_MAX, out, &bytes));
    EXPECT(SELVEDGE_E_ARGUMENT, selvedge_hash(client, SELVEDGE_SHA_256, message, 1, NULL, &bytes));
    EXPECT(SELVEDGE_E_ARGUMENT, selvedge_hash(client, SELVEDGE_SHA_256, message, 1, out, NULL));
    EXPECT(SELVEDGE_E_ARGUMENT, selvedge_hash(client, 99, message, 1, out, &bytes));
    EXPECT(SELVEDGE_E_ARGUMENT, selvedge_generate(client, NULL, &key));
    EXPECT(SELVEDGE_E_ARGUMENT, selvedge_find(client, NULL, &key));
    EXPECT(SELVEDGE_UNKNOWN_KEY, selvedge_destroy(client, 0));
    bytes = 31;
    EXPECT(SELVEDGE_E_ROOM, selvedge_hash(client, SELVEDGE_SHA_256, message, 1, out, &bytes));
    return bytes == 32 ? 0 : 1;
}

static int symmetric_keys(selvedge *client) {
    selvedge_template what = {.algorithm = SELVEDGE_AES_256, .usages = SELVEDGE_SEAL | SELVEDGE_OPEN, .name = "sealing"};
    selvedge_aead how = {.suite = SELVEDGE_AES_GCM, .tag_bytes = 16, .associated_data = message, .associated_bytes = 3};
    selvedge_key key, found;
    uint8_t sealed[200], opened[200], mac[64];
    size_t sealed_bytes = sizeof sealed, opened_bytes = sizeof opened, mac_bytes = sizeof mac;
    EXPECT(SELVEDGE_DONE, selvedge_generate(client, &what, &key));
    EXPECT(SELVEDGE_NAME_TAKEN, selvedge_generate(client, &what, &found));
    EXPECT(SELVEDGE_DONE, selvedge_find(client, "sealing", &found));
    if (found != key) return 1;
    EXPECT(SELVEDGE_DONE, selvedge_seal(client, key, &how, message, sizeof message, sealed, &sealed_bytes));
    EXPECT(SELVEDGE_DONE, selvedge_open(client, key, &how, sealed, sealed_bytes, opened, &opened_bytes));
    if (opened_bytes != sizeof message || memcmp(opened, message, opened_bytes)) return 1;
    sealed[sealed_bytes - 1] ^= 1;
    EXPECT(SELVEDGE_REJECTED, selvedge_open(client, key, &how, sealed, sealed_bytes, opened, &opened_bytes));
    EXPECT(SELVEDGE_WRONG_PURPOSE, selvedge_mac(client, key, 0, message, 1, mac, &mac_bytes));
    EXPECT(SELVEDGE_DONE, selvedge_destroy(client, key));
    EXPECT(SELVEDGE_UNKNOWN_KEY, selvedge_destroy(client, key));

    what = (selvedge_template){.algorithm = SELVEDGE_HMAC, .usages = SELVEDGE_MAC | SELVEDGE_MAC_VERIFY, .secret_bytes = 9};
    EXPECT(SELVEDGE_DONE, selvedge_import(client, &what, message, 9, &key));
    EXPECT(SELVEDGE_DONE, selvedge_mac(client, key, SELVEDGE_SHA_256, message, 9, mac, &mac_bytes));
    EXPECT(SELVEDGE_DONE, selvedge_mac_verify(client, key, SELVEDGE_SHA_256, message, 9, mac, mac_bytes));
    EXPECT(SELVEDGE_REJECTED, selvedge_mac_verify(client, key, SELVEDGE_SHA_256, message, 8, mac, mac_bytes));

    what = (selvedge_template){.algorithm = SELVEDGE_AES_128, .usages = SELVEDGE_ENCRYPT | SELVEDGE_DECRYPT};
    sealed_bytes = sizeof sealed;
    opened_bytes = sizeof opened;
    EXPECT(SELVEDGE_DONE, selvedge_generate(client, &what, &key));
    EXPECT(SELVEDGE_E_ARGUMENT, selvedge_encrypt(client, key, SELVEDGE_CBC, NULL, message, 9, sealed, &sealed_bytes));
    EXPECT(SELVEDGE_DONE,
           selvedge_encrypt(client, key, SELVEDGE_CBC_PADDED, mac, message, 9, sealed, &sealed_bytes));
    EXPECT(SELVEDGE_DONE,
           selvedge_decrypt(client, key, SELVEDGE_CBC_PADDED, mac, sealed, sealed_bytes, opened, &opened_bytes));
    return opened_bytes == 9 && sealed_bytes == 16 && !memcmp(opened, message, 9) ? 0 : 1;
}

static int pairs(selvedge *client) {
    selvedge_template what = {.algorithm = SELVEDGE_P_256, .usages = SELVEDGE_SIGN | SELVEDGE_AGREE};
    selvedge_key keys[2], elsewhere;
    uint8_t points[2][65], shared[2][32], signature[64];
    size_t bytes;
    int algorithm;
    for (int i = 0; i < 2; i++) {
        bytes = sizeof points[i];
        EXPECT(SELVEDGE_DONE, selvedge_generate(client, &what, &keys[i]));
        EXPECT(SELVEDGE_DONE, selvedge_public(client, keys[i], points[i], &bytes));
        EXPECT(SELVEDGE_DONE, selvedge_algorithm(client, keys[i], &algorithm));
        if (algorithm != what.algorithm) return 1;
    }
    for (int i = 0; i < 2; i++) {
        bytes = sizeof shared[i];
        EXPECT(SELVEDGE_DONE, selvedge_agree(client, keys[i], points[1 - i], 65, shared[i], &bytes));
    }
    if (memcmp(shared[0], shared[1], 32)) return 1;
    bytes = sizeof signature;
    EXPECT(SELVEDGE_DONE, selvedge_sign(client, keys[0], SELVEDGE_ECDSA, SELVEDGE_SHA_256, 0, message, 9, signature, &bytes));
    what.usages = SELVEDGE_VERIFY;
    EXPECT(SELVEDGE_DONE, selvedge_import_public(client, &what, points[0], 65, &elsewhere));
    EXPECT(SELVEDGE_DONE,
           selvedge_verify(client, elsewhere, SELVEDGE_ECDSA, SELVEDGE_SHA_256, 0, message, 9, signature, bytes));
    EXPECT(SELVEDGE_REJECTED,
           selvedge_verify(client, elsewhere, SELVEDGE_ECDSA, SELVEDGE_SHA_256, 0, message, 8, signature, bytes));

    selvedge_template wraps = {.algorithm = SELVEDGE_AES_256, .usages = SELVEDGE_WRAP | SELVEDGE_UNWRAP};
    selvedge_template hkdf = {.algorithm = SELVEDGE_HKDF, .usages = SELVEDGE_DERIVE | SELVEDGE_WRAPPABLE, .secret_bytes = 32};
    selvedge_key wrapping, base, again, derived;
    uint8_t wrapped[64];
    bytes = sizeof wrapped;
    EXPECT(SELVEDGE_DONE, selvedge_generate(client, &wraps, &wrapping));
    EXPECT(SELVEDGE_DONE, selvedge_generate(client, &hkdf, &base));
    EXPECT(SELVEDGE_DONE, selvedge_wrap(client, wrapping, base, wrapped, &bytes));
    EXPECT(SELVEDGE_DONE, selvedge_unwrap(client, wrapping, &hkdf, wrapped, bytes, &again));
    what = (selvedge_template){.algorithm = SELVEDGE_AES_128, .usages = SELVEDGE_ENCRYPT};
    EXPECT(SELVEDGE_DONE, selvedge_derive(client, again, SELVEDGE_SHA_256, &what, NULL, 0, message, 9, &derived));
    return 0;
}

int main(void) {
    selvedge *client, *nobody;
    EXPECT(SELVEDGE_DONE, selvedge_new(NULL, &client));
    EXPECT(SELVEDGE_DONE, selvedge_new("/nowhere/broker.sock", &nobody));
    uint8_t random[32];
    EXPECT(SELVEDGE_E_UNREACHABLE, selvedge_random(nobody, random, sizeof random));
    EXPECT(SELVEDGE_DONE, selvedge_random(client, random, sizeof random));
    if (null_is_no_place(client) || symmetric_keys(client) || pairs(client)) return 1;
    pid_t child = fork();
    if (child == 0) _exit(selvedge_random(client, random, sizeof random));
    int ended = 1;
    if (waitpid(child, &ended, 0) != child || ended) return 1;
    selvedge_free(nobody);
    selvedge_free(client);
    selvedge_free(NULL);
    puts("all is well");
    return 0;
}
