/* OpenSSL's EVP behind four functions, for the bench and the tests: a context is set up once, and works as often as
 * asked. */

#include <openssl/evp.h>

/* A context for one of EVP's ciphers; NULL when there is none of the name. */
void *openssl_open(const char *name, const unsigned char *key, int encrypt)
{
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, name, NULL);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();

    if (cipher == NULL || context == NULL || EVP_CipherInit_ex2(context, cipher, key, NULL, encrypt, NULL) != 1) {
        EVP_CIPHER_CTX_free(context);
        context = NULL;
    } else {
        EVP_CIPHER_CTX_set_padding(context, 0);
    }
    EVP_CIPHER_free(cipher);
    return context;
}

/* In place. Returns 1 if everything went well. */
int openssl_crypt(void *context, const unsigned char *iv, unsigned char *data, int bytes)
{
    int written;

    return EVP_CipherInit_ex2(context, NULL, NULL, iv, -1, NULL) == 1
        && EVP_CipherUpdate(context, data, &written, data, bytes) == 1 && written == bytes;
}

/* Seals in place, under a key that comes along: EVP's CCM takes lengths before key and nonce. Returns 1 if all is
 * well. */
int openssl_ccm(void *context, const unsigned char *key, const unsigned char *nonce, int nonce_bytes,
                const unsigned char *associated, int associated_bytes, unsigned char *data, int bytes,
                unsigned char *tag, int tag_bytes)
{
    int written;

    return EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, nonce_bytes, NULL) == 1
        && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, tag_bytes, NULL) == 1
        && EVP_CipherInit_ex2(context, NULL, key, nonce, 1, NULL) == 1
        && EVP_CipherUpdate(context, NULL, &written, NULL, bytes) == 1
        && (associated_bytes == 0 || EVP_CipherUpdate(context, NULL, &written, associated, associated_bytes) == 1)
        && EVP_CipherUpdate(context, data, &written, data, bytes) == 1 && written == bytes
        && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, tag_bytes, tag) == 1;
}

/* Frees a context, which may be NULL. */
void openssl_close(void *context)
{
    EVP_CIPHER_CTX_free(context);
}
