/*
 * Ciphers of the provider as a program in C meets them: each against OpenSSL's own, copies, keys of the device by name, and
 * what is refused. Prints the first line that was not as expected.
 */
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <stdio.h>
#include <string.h>

#define MUST(what)                                                                                                     \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            printf("line %d: %s\n", __LINE__, #what);                                                                  \
            ERR_print_errors_fp(stdout);                                                                               \
            return 0;                                                                                                  \
        }                                                                                                              \
    } while (0)

static const unsigned char key[32] = "an AES key that the device knows";
static const unsigned char nonce[16] = "a nonce, or an I";
static const char ours[] = "provider=selvedge", own[] = "provider=default";

/* What a name of the device's key is given with. */
static void named(OSSL_PARAM params[2], char *name) {
    params[0] = OSSL_PARAM_construct_utf8_string("selvedge-key", name, 0);
    params[1] = OSSL_PARAM_construct_end();
}

/* A message sealed; the key is `name`'s, or `key`. Leaves the context as it was after the message. */
static int seal(EVP_CIPHER_CTX *context, const char *cipher, const char *whose, char *name, int nonce_bytes,
                int tag_bytes, unsigned char sealed[64], unsigned char *tag) {
    OSSL_PARAM params[2];
    int is_ccm = strstr(cipher, "CCM") != NULL, length = 0;
    EVP_CIPHER *fetched = EVP_CIPHER_fetch(NULL, cipher, whose);
    MUST(fetched);
    MUST(EVP_EncryptInit_ex2(context, fetched, NULL, NULL, NULL));
    EVP_CIPHER_free(fetched);
    MUST(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, nonce_bytes, NULL) == 1);
    if (is_ccm)
        MUST(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, tag_bytes, NULL) == 1);
    named(params, name);
    MUST(EVP_EncryptInit_ex2(context, NULL, name ? NULL : key, nonce, name ? params : NULL));
    if (is_ccm)
        MUST(EVP_EncryptUpdate(context, NULL, &length, NULL, 50));
    MUST(EVP_EncryptUpdate(context, NULL, &length, (const unsigned char *)"header", 6));
    memset(sealed, 0x5a, 50);
    MUST(EVP_EncryptUpdate(context, sealed, &length, sealed, 50) && length == 50);
    MUST(EVP_EncryptFinal_ex(context, sealed + 50, &length) && length == 0);
    MUST(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, tag_bytes, tag) == 1);
    return 1;
}

/* Whether it opens; what does not leaves nothing behind. */
static int opens(const char *cipher, int nonce_bytes, int tag_bytes, const unsigned char *sealed, unsigned char *tag) {
    EVP_CIPHER *fetched = EVP_CIPHER_fetch(NULL, cipher, ours);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    unsigned char plain[64] = {0}, filled[50];
    int length = 0, done;
    MUST(fetched && EVP_DecryptInit_ex2(context, fetched, NULL, NULL, NULL));
    MUST(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, nonce_bytes, NULL) == 1);
    MUST(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, tag_bytes, tag) == 1);
    MUST(EVP_DecryptInit_ex2(context, NULL, key, nonce, NULL));
    MUST(EVP_DecryptUpdate(context, NULL, &length, (const unsigned char *)"header", 6));
    done = EVP_DecryptUpdate(context, plain, &length, sealed, 50) == 1;
    memset(filled, done ? 0x5a : 0, 50);
    MUST(memcmp(plain, filled, 50) == 0);
    /* Programs take this for the word on the tag. */
    MUST((EVP_DecryptFinal_ex(context, plain + 50, &length) == 1) == done);
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_free(fetched);
    return done;
}

static int aead(const char *cipher, int nonce_bytes, int tag_bytes) {
    unsigned char expected[64], sealed[64], expected_tag[16], tag[16], more[64];
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new(), *copy = EVP_CIPHER_CTX_new();
    int length = 0;
    MUST(seal(context, cipher, own, NULL, nonce_bytes, tag_bytes, expected, expected_tag));
    for (int is_named = 0; is_named < 2; is_named++) {
        EVP_CIPHER_CTX_reset(context);
        MUST(seal(context, cipher, ours, is_named ? "aead" : NULL, nonce_bytes, tag_bytes, sealed, tag));
        MUST(memcmp(sealed, expected, 50) == 0 && memcmp(tag, expected_tag, tag_bytes) == 0);
        /* The nonce has sealed, in the copy too. */
        MUST(EVP_CIPHER_CTX_copy(copy, context));
        MUST(EVP_EncryptUpdate(copy, more, &length, sealed, 50) != 1);
        MUST(EVP_EncryptUpdate(context, more, &length, sealed, 50) != 1);
        MUST(ERR_GET_REASON(ERR_peek_error()) == 22);
        ERR_clear_error();
        MUST(EVP_CIPHER_CTX_ctrl(copy, EVP_CTRL_AEAD_GET_TAG, tag_bytes, more) == 1);
        MUST(memcmp(more, tag, tag_bytes) == 0);
    }
    MUST(opens(cipher, nonce_bytes, tag_bytes, sealed, tag));
    tag[0] ^= 1;
    MUST(!opens(cipher, nonce_bytes, tag_bytes, sealed, tag));
    MUST(ERR_GET_REASON(ERR_peek_error()) == 7);
    ERR_clear_error();
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_CTX_free(copy);
    return 1;
}

/* A cipher that has not begun is copied; one that has is at the device, and is not. */
static int copies(void) {
    unsigned char zeros[16] = {0}, blocks[2][32];
    EVP_CIPHER *fetched = EVP_CIPHER_fetch(NULL, "AES-256-CBC", ours);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new(), *copy = EVP_CIPHER_CTX_new();
    OSSL_PARAM params[2];
    int length = 0;
    named(params, "cipher");
    MUST(fetched && EVP_EncryptInit_ex2(context, fetched, NULL, zeros, params));
    MUST(EVP_CIPHER_CTX_copy(copy, context));
    MUST(EVP_EncryptUpdate(context, blocks[0], &length, zeros, 16) && length == 16);
    MUST(EVP_EncryptUpdate(copy, blocks[1], &length, zeros, 16) && length == 16);
    MUST(memcmp(blocks[0], blocks[1], 16) == 0);
    EVP_CIPHER_CTX_reset(copy);
    MUST(!EVP_CIPHER_CTX_copy(copy, context));
    ERR_clear_error();
    /* A key of another length is none of this cipher. */
    EVP_CIPHER_free(fetched);
    fetched = EVP_CIPHER_fetch(NULL, "AES-128-CBC", ours);
    MUST(EVP_EncryptInit_ex2(context, fetched, NULL, zeros, params) != 1);
    ERR_clear_error();
    /* Whoever begins a counter, or seals, has spent the IV for all copies. */
    for (int is_aead = 0; is_aead < 2; is_aead++) {
        EVP_CIPHER_CTX_reset(context);
        EVP_CIPHER_CTX_reset(copy);
        EVP_CIPHER_free(fetched);
        fetched = EVP_CIPHER_fetch(NULL, is_aead ? "AES-256-GCM" : "AES-256-CTR", ours);
        MUST(EVP_EncryptInit_ex2(context, fetched, key, zeros, NULL));
        MUST(EVP_CIPHER_CTX_copy(copy, context));
        MUST(EVP_EncryptUpdate(copy, blocks[0], &length, zeros, 16) && length == 16);
        MUST(EVP_EncryptUpdate(context, blocks[1], &length, key, 16) != 1);
        ERR_clear_error();
        MUST(EVP_EncryptInit_ex2(context, NULL, NULL, key, NULL));
        MUST(EVP_EncryptUpdate(context, blocks[1], &length, zeros, 16) && length == 16);
        MUST(memcmp(blocks[0], blocks[1], 16) != 0);
    }
    EVP_CIPHER_free(fetched);
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_CTX_free(copy);
    return 1;
}

/* What goes before is common; a copy of it goes on by itself. */
static int forks(void) {
    unsigned char digests[3][32], macs[3][64];
    size_t length = 0;
    OSSL_PARAM params[2];
    EVP_MD *md = EVP_MD_fetch(NULL, "SHA2-256", ours);
    EVP_MD_CTX *digest = EVP_MD_CTX_new(), *other = EVP_MD_CTX_new();
    EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", ours);
    EVP_MAC_CTX *mac = EVP_MAC_CTX_new(hmac), *mac_other;
    MUST(EVP_DigestInit_ex2(digest, md, NULL) && EVP_DigestUpdate(digest, "one", 3));
    MUST(EVP_MD_CTX_copy_ex(other, digest));
    MUST(EVP_DigestUpdate(digest, "two", 3) && EVP_DigestFinal_ex(digest, digests[0], NULL));
    MUST(EVP_DigestUpdate(other, "two", 3) && EVP_DigestFinal_ex(other, digests[1], NULL));
    MUST(EVP_Digest("onetwo", 6, digests[2], NULL, EVP_sha256(), NULL));
    MUST(memcmp(digests[0], digests[1], 32) == 0 && memcmp(digests[0], digests[2], 32) == 0);
    named(params, "mac");
    MUST(mac && EVP_MAC_init(mac, NULL, 0, params) && EVP_MAC_update(mac, (const unsigned char *)"one", 3));
    MUST((mac_other = EVP_MAC_CTX_dup(mac)) != NULL);
    MUST(EVP_MAC_update(mac, (const unsigned char *)"two", 3) && EVP_MAC_final(mac, macs[0], &length, 64));
    MUST(EVP_MAC_update(mac_other, (const unsigned char *)"two", 3) && EVP_MAC_final(mac_other, macs[1], &length, 64));
    MUST(EVP_Q_mac(NULL, "HMAC", own, "SHA256", NULL, key, 32, (const unsigned char *)"onetwo", 6, macs[2], 64, &length));
    MUST(length == 32 && memcmp(macs[0], macs[1], 32) == 0 && memcmp(macs[0], macs[2], 32) == 0);
    EVP_MAC_CTX_free(mac);
    EVP_MAC_CTX_free(mac_other);
    EVP_MAC_free(hmac);
    EVP_MD_CTX_free(digest);
    EVP_MD_CTX_free(other);
    EVP_MD_free(md);
    return 1;
}

/* What missed a part of its message makes no digest, whether the program looked at that or not. */
static int misses(void) {
    enum { BEGUN_MAX = 16 };
    static unsigned char part[65536];
    unsigned char digest[32], expected[32];
    EVP_MD *md = EVP_MD_fetch(NULL, "SHA2-256", ours);
    EVP_MD_CTX *all[BEGUN_MAX + 1], *other = EVP_MD_CTX_new();
    MUST(md && EVP_DigestInit_ex(other, EVP_sha256(), NULL) && EVP_DigestUpdate(other, part, sizeof part));
    MUST(EVP_DigestUpdate(other, "x", 1) && EVP_DigestFinal_ex(other, expected, NULL));
    for (int number = 0; number <= BEGUN_MAX; number++) {
        all[number] = EVP_MD_CTX_new();
        MUST(EVP_DigestInit_ex2(all[number], md, NULL) && EVP_DigestUpdate(all[number], part, sizeof part));
        /* It is begun at the device now, which has so many for a connection. */
        MUST((EVP_DigestUpdate(all[number], "x", 1) == 1) == (number < BEGUN_MAX));
    }
    for (int number = 0; number <= BEGUN_MAX; number++) {
        MUST((EVP_DigestFinal_ex(all[number], digest, NULL) == 1) == (number < BEGUN_MAX));
        MUST(number == BEGUN_MAX || memcmp(digest, expected, 32) == 0);
        EVP_MD_CTX_free(all[number]);
    }
    ERR_clear_error();
    EVP_MD_CTX_free(other);
    EVP_MD_free(md);
    return 1;
}

#if OPENSSL_VERSION_NUMBER >= 0x30500000L
/* A key that is an object: its name is told, its bytes are not. */
static int objects(void) {
    unsigned char blocks[2][32], macs[2][64];
    const unsigned char *raw;
    char cipher_name[] = "cipher", mac_name[] = "mac";
    OSSL_PARAM params[2];
    int length = 0;
    size_t size = 0;
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, "AES-256-CTR", ours);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", ours);
    EVP_MAC_CTX *mac = EVP_MAC_CTX_new(hmac);
    EVP_SKEY *skey;
    named(params, cipher_name);
    for (int is_raw = 0; is_raw < 2; is_raw++) {
        skey = is_raw ? EVP_SKEY_import_raw_key(NULL, "AES", (unsigned char *)key, 32, ours)
                      : EVP_SKEY_import(NULL, "AES", ours, OSSL_SKEYMGMT_SELECT_ALL, params);
        MUST(skey && EVP_CipherInit_SKEY(context, cipher, skey, nonce, 16, 1, NULL));
        MUST(EVP_CipherUpdate(context, blocks[is_raw], &length, key, 32) && length == 32);
        MUST(!EVP_SKEY_get0_raw_key(skey, &raw, &size));
        MUST(is_raw || strcmp(EVP_SKEY_get0_key_id(skey), "cipher") == 0);
        ERR_clear_error();
        EVP_SKEY_free(skey);
    }
    MUST(memcmp(blocks[0], blocks[1], 32) == 0);
    /* One that the device makes, without a name: it has no bytes to tell, and ends with its object. */
    for (size_t key_bytes = 32; key_bytes > 0; key_bytes -= 16) {
        params[0] = OSSL_PARAM_construct_size_t(OSSL_SKEY_PARAM_KEY_LENGTH, &key_bytes);
        skey = EVP_SKEY_generate(NULL, "AES", ours, params);
        MUST(skey && !EVP_SKEY_get0_raw_key(skey, &raw, &size) && !EVP_SKEY_get0_key_id(skey));
        MUST(EVP_CipherInit_SKEY(context, cipher, skey, nonce, 16, 1, NULL) == (key_bytes == 32));
        ERR_clear_error();
        if (key_bytes == 32) {
            MUST(EVP_CipherUpdate(context, blocks[0], &length, key, 32) && length == 32);
            MUST(memcmp(blocks[0], blocks[1], 32) != 0);
            MUST(EVP_CipherInit_SKEY(context, cipher, skey, nonce, 16, 0, NULL));
            MUST(EVP_CipherUpdate(context, blocks[0], &length, blocks[0], 32) && !memcmp(blocks[0], key, 32));
        }
        EVP_SKEY_free(skey);
    }
    skey = EVP_SKEY_generate(NULL, "GENERIC-SECRET", ours, params + 1);
    MUST(skey && EVP_MAC_init_SKEY(mac, skey, NULL) && EVP_MAC_update(mac, key, 32));
    MUST(EVP_MAC_final(mac, macs[0], &size, 64) && size == 32);
    EVP_SKEY_free(skey);
    named(params, mac_name);
    skey = EVP_SKEY_import(NULL, "GENERIC-SECRET", ours, OSSL_SKEYMGMT_SELECT_ALL, params);
    MUST(skey && EVP_MAC_init_SKEY(mac, skey, NULL) && EVP_MAC_update(mac, key, 32));
    MUST(EVP_MAC_final(mac, macs[0], &size, 64) && size == 32);
    MUST(EVP_Q_mac(NULL, "HMAC", own, "SHA256", NULL, key, 32, key, 32, macs[1], 64, &size));
    MUST(memcmp(macs[0], macs[1], 32) == 0);
    EVP_SKEY_free(skey);
    EVP_MAC_CTX_free(mac);
    EVP_MAC_free(hmac);
    EVP_CIPHER_CTX_free(context);
    EVP_CIPHER_free(cipher);
    return 1;
}
#else
static int objects(void) { return 1; } /* There are none yet. */
#endif

int main(void) {
    OSSL_PROVIDER *of_openssl = OSSL_PROVIDER_load(NULL, "default");
    OSSL_PROVIDER *of_device = OSSL_PROVIDER_load(NULL, "libselvedge_openssl");
    if (!of_openssl || !of_device) {
        ERR_print_errors_fp(stdout);
        return 1;
    }
    if (!aead("AES-256-GCM", 12, 16) || !aead("AES-256-CCM", 12, 16) || !aead("AES-256-CCM", 7, 8) ||
        !aead("AES-256-CCM", 13, 4) || !copies() || !forks() || !misses() || !objects())
        return 1;
    OSSL_PROVIDER_unload(of_device);
    OSSL_PROVIDER_unload(of_openssl);
    printf("%s, built for %s: all is well\n", OpenSSL_version(OPENSSL_VERSION), OPENSSL_VERSION_STR);
    return 0;
}
