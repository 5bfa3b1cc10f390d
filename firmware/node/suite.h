//! The suites of the node link by their number, and which variant of each is built in: the fastest for the target.
//! The contracts are those of ../crypto/crypto.h; every variant gives the same bytes.
//!
//!     1 ascon-aead128   key 16, nonce 16, tag 16      (beacons are always under this one)
//!     2 aes-128-ccm     key 16, nonce 13, tag  8
#ifndef NODE_SUITE_H
#define NODE_SUITE_H

#include <stdbool.h>
#include <stdint.h>

#include "../crypto/crypto.h"

enum suite {
    SUITE_ASCON_AEAD128 = 1,
    SUITE_AES_128_CCM = 2,
};

enum { SUITE_KEY_BYTES = 16, SUITE_NONCE_BYTES_MAX = 16, SUITE_TAG_BYTES_MAX = 16 };

#if defined(__AVR__)
#define suite_ascon_seal ascon_aead128_avr_seal
#define suite_ascon_open ascon_aead128_avr_open
#define suite_ccm_seal aes128_ccm_avr_seal
#define suite_ccm_open aes128_ccm_avr_open
#else
#define suite_ascon_seal ascon_aead128_c64_seal
#define suite_ascon_open ascon_aead128_c64_open
#define suite_ccm_seal aes128_ccm_c8_seal
#define suite_ccm_open aes128_ccm_c8_open
#endif

/// The length of a suite's tag, or 0 when no such suite is built in.
static inline uint8_t suite_tag_bytes(uint8_t suite)
{
    switch (suite) {
    case SUITE_ASCON_AEAD128:
        return ASCON_AEAD128_TAG_BYTES;
    case SUITE_AES_128_CCM:
        return AES128_CCM_TAG_BYTES;
    default:
        return 0;
    }
}

/// Seals `text` in place under a suite that is built in, with the associated data `ad`, and writes the tag right after
/// the text. A suite whose nonce is shorter takes its first bytes.
static inline void suite_seal(uint8_t suite, uint8_t *text, uint8_t text_bytes, const uint8_t *ad, uint8_t ad_bytes,
                              const uint8_t *nonce, const uint8_t *key)
{
    uint8_t *tag = text + text_bytes;
    if (suite == SUITE_AES_128_CCM) {
        suite_ccm_seal(text, text_bytes, ad, ad_bytes, nonce, key, tag);
    } else {
        suite_ascon_seal(text, text_bytes, ad, ad_bytes, nonce, key, tag);
    }
}

/// Opens what `suite_seal` sealed. False, with zeros in `text`, when the tag is wrong.
static inline bool suite_open(uint8_t suite, uint8_t *text, uint8_t text_bytes, const uint8_t *ad, uint8_t ad_bytes,
                              const uint8_t *nonce, const uint8_t *key)
{
    const uint8_t *tag = text + text_bytes;
    if (suite == SUITE_AES_128_CCM) {
        return suite_ccm_open(text, text_bytes, ad, ad_bytes, nonce, key, tag);
    }
    return suite_ascon_open(text, text_bytes, ad, ad_bytes, nonce, key, tag);
}

#endif
