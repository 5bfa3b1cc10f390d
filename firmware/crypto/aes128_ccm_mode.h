/*
 * The mode of AES-128-CCM over any aes128_<variant>, see crypto.h: RFC 3610 with a length field of 2
 * bytes (so a nonce of 13) and a tag of 8.
 *
 * A variant's file defines AES_VARIANT and includes this once. The round keys are expanded once per message.
 */
#include "crypto.h"
#include "secret.h"

#define AES_JOIN_(prefix, variant, suffix) prefix##variant##suffix
#define AES_JOIN(prefix, variant, suffix)  AES_JOIN_(prefix, variant, suffix)
#define AES_INIT                           AES_JOIN(aes128_, AES_VARIANT, _init)
#define AES_ENCRYPT                        AES_JOIN(aes128_, AES_VARIANT, _encrypt)
#define CCM_SEAL                           AES_JOIN(aes128_ccm_, AES_VARIANT, _seal)
#define CCM_OPEN                           AES_JOIN(aes128_ccm_, AES_VARIANT, _open)

/* What a step of the mode is. A variant may have all of them in its two functions. */
#ifndef CCM_STEP
#define CCM_STEP static
#endif

#define BLOCK_BYTES  16
#define FLAGS_AD     0x40
#define FLAGS_TAG    (8 * ((AES128_CCM_TAG_BYTES - 2) / 2))
#define FLAGS_LENGTH (15 - AES128_CCM_NONCE_BYTES - 1)

/* Whole blocks, where the variant has them in assembly: it is faster, and a weaver need not count. */
#ifdef CCM_BLOCKS_ELSEWHERE
#define COPY_BLOCK AES_JOIN(aes128_copy_, AES_VARIANT, )
#define XOR_BLOCK  AES_JOIN(aes128_xor_, AES_VARIANT, )
void COPY_BLOCK(uint8_t *to, const uint8_t *from);
void XOR_BLOCK(uint8_t *to, const uint8_t *from);
#endif

/* Everything that one message needs; wiped when it is done. */
struct ccm {
    uint8_t round_keys[AES128_ROUND_KEY_BYTES];
    uint8_t mac[BLOCK_BYTES];     /* the CBC-MAC so far */
    uint8_t counter[BLOCK_BYTES]; /* the counter block A_i */
    uint8_t stream[BLOCK_BYTES];  /* its encryption, S_i */
};

/* The associated data behind its length, padded with zeros. */
CCM_STEP void absorb(struct ccm *ccm, const uint8_t *ad, size_t ad_length)
{
    uint8_t filled = 2;

    if (ad_length == 0) {
        return;
    }
    ccm->mac[0] ^= (uint8_t)(ad_length >> 8);
    ccm->mac[1] ^= (uint8_t)ad_length;
    while (ad_length--) {
        if (filled == BLOCK_BYTES) {
            AES_ENCRYPT(ccm->round_keys, ccm->mac);
            filled = 0;
        }
        ccm->mac[filled++] ^= *ad++;
    }
    AES_ENCRYPT(ccm->round_keys, ccm->mac);
}

/* Everything before the message: B_0, and the associated data. */
CCM_STEP void begin(struct ccm *ccm, size_t length, const uint8_t *ad, size_t ad_length, const uint8_t *nonce,
                  const uint8_t *key)
{
    uint8_t i;

    AES_INIT(ccm->round_keys, key);
    ccm->mac[0] = (uint8_t)((ad_length != 0 ? FLAGS_AD : 0) | FLAGS_TAG | FLAGS_LENGTH);
    ccm->counter[0] = FLAGS_LENGTH;
    for (i = 0; i < AES128_CCM_NONCE_BYTES; i++) {
        ccm->mac[1 + i] = nonce[i];
        ccm->counter[1 + i] = nonce[i];
    }
    ccm->mac[14] = (uint8_t)(length >> 8);
    ccm->mac[15] = (uint8_t)length;
    ccm->counter[14] = 0;
    ccm->counter[15] = 0;
    AES_ENCRYPT(ccm->round_keys, ccm->mac);
    absorb(ccm, ad, ad_length);
}

/* The key stream of the counter block, into `stream`. */
CCM_STEP void make_stream(struct ccm *ccm)
{
#ifdef CCM_BLOCKS_ELSEWHERE
    COPY_BLOCK(ccm->stream, ccm->counter);
#else
    uint8_t i;
    for (i = 0; i < BLOCK_BYTES; i++) {
        ccm->stream[i] = ccm->counter[i];
    }
#endif
    AES_ENCRYPT(ccm->round_keys, ccm->stream);
}

/* The key stream of the next counter block. The counter reaches 4096 at most, for 65535 bytes. */
CCM_STEP void next_stream(struct ccm *ccm)
{
    if (++ccm->counter[15] == 0) {
        ccm->counter[14]++;
    }
    make_stream(ccm);
}

/* Turns `mac` into the tag, which is its first 8 bytes. */
CCM_STEP void finish(struct ccm *ccm)
{
    uint8_t i;
    ccm->counter[14] = 0;
    ccm->counter[15] = 0;
    make_stream(ccm);
    for (i = 0; i < AES128_CCM_TAG_BYTES; i++) {
        ccm->mac[i] ^= ccm->stream[i];
    }
}

/* see crypto.h */
void CCM_SEAL(uint8_t *buffer, size_t length, const uint8_t *ad, size_t ad_length, const uint8_t *nonce,
              const uint8_t *key, uint8_t *tag)
{
    struct ccm ccm;
    uint8_t i;

    begin(&ccm, length, ad, ad_length, nonce, key);
#ifdef CCM_BLOCKS_ELSEWHERE
    for (; length >= BLOCK_BYTES; length -= BLOCK_BYTES) {
        next_stream(&ccm);
        XOR_BLOCK(ccm.mac, buffer);
        XOR_BLOCK(buffer, ccm.stream);
        AES_ENCRYPT(ccm.round_keys, ccm.mac);
        buffer += BLOCK_BYTES;
    }
#endif
    while (length != 0) {
        uint8_t count = length < BLOCK_BYTES ? (uint8_t)length : BLOCK_BYTES;
        next_stream(&ccm);
        for (i = 0; i < count; i++) {
            uint8_t byte = *buffer;
            ccm.mac[i] ^= byte;
            *buffer++ = byte ^ ccm.stream[i];
        }
        AES_ENCRYPT(ccm.round_keys, ccm.mac);
        length -= count;
    }
    finish(&ccm);
    for (i = 0; i < AES128_CCM_TAG_BYTES; i++) {
        tag[i] = ccm.mac[i];
    }
    secret_wipe(&ccm, sizeof ccm);
}

/* see crypto.h */
uint8_t CCM_OPEN(uint8_t *buffer, size_t length, const uint8_t *ad, size_t ad_length, const uint8_t *nonce,
                 const uint8_t *key, const uint8_t *tag)
{
    struct ccm ccm;
    uint8_t *next = buffer;
    size_t rest = length;
    uint8_t authentic;

    begin(&ccm, length, ad, ad_length, nonce, key);
#ifdef CCM_BLOCKS_ELSEWHERE
    for (; rest >= BLOCK_BYTES; rest -= BLOCK_BYTES) {
        next_stream(&ccm);
        XOR_BLOCK(next, ccm.stream);
        XOR_BLOCK(ccm.mac, next);
        AES_ENCRYPT(ccm.round_keys, ccm.mac);
        next += BLOCK_BYTES;
    }
#endif
    while (rest != 0) {
        uint8_t count = rest < BLOCK_BYTES ? (uint8_t)rest : BLOCK_BYTES;
        uint8_t i;
        next_stream(&ccm);
        for (i = 0; i < count; i++) {
            uint8_t byte = *next ^ ccm.stream[i];
            *next++ = byte;
            ccm.mac[i] ^= byte;
        }
        AES_ENCRYPT(ccm.round_keys, ccm.mac);
        rest -= count;
    }
    finish(&ccm);
    authentic = secret_equal(ccm.mac, tag, AES128_CCM_TAG_BYTES);
    secret_wipe(&ccm, sizeof ccm);
    if (!authentic) {
        secret_wipe(buffer, length);
    }
    return authentic;
}
