//! LEGACY. What the paper wove (section 4.1), RC5 and RC4, with a MAC: both encrypt, and then a CBC-MAC by RC5-32/12/8
//! under a key of its own covers what was made. Keys of 64 bits and RC4 are broken: nothing new may use this.
//!
//! A cipher's file defines FILTER_CIPHER and `crypt`, and includes this. The tag, 8 bytes, is the last block of the chain
//! over: the text's bytes, the associated data's, six zeros | nonce | associated data | text; the last two are padded
//! with zeros. The lengths come first, so that no message is the beginning of another.
#include "../crypto/crypto.h"
#include "../crypto/secret.h"
#include "filter_suites.h"

enum { LEGACY_BLOCK_BYTES = RC5_BLOCK_BYTES };

#define LEGACY_STEP static inline __attribute__((always_inline))

/// Each byte into the chain's block, which is encrypted when it is full, and behind the last one.
LEGACY_STEP void absorb(const struct rc5 *schedule, uint8_t *block, const uint8_t *bytes, uint8_t count)
{
    uint8_t filled = 0;

    while (count--) {
        if (filled == LEGACY_BLOCK_BYTES) {
            rc5_avr_encrypt(schedule, block, 1);
            filled = 0;
        }
        block[filled++] ^= *bytes++;
    }
    if (filled) {
        rc5_avr_encrypt(schedule, block, 1);
    }
}

/// The tag of what is encrypted.
LEGACY_STEP void authenticate(const struct sealing *sealing, uint8_t tag[LEGACY_BLOCK_BYTES])
{
    const struct rc5 *schedule = &((const struct legacy_key *)sealing->key)->mac;

    tag[0] = sealing->text_bytes;
    tag[1] = FRAME_HEADER_BYTES;
    for (uint8_t i = 2; i < LEGACY_BLOCK_BYTES; i++) {
        tag[i] = 0;
    }
    rc5_avr_encrypt(schedule, tag, 1);
    absorb(schedule, tag, sealing->nonce, FRAME_NONCE_BYTES);
    absorb(schedule, tag, sealing->ad, FRAME_HEADER_BYTES);
    absorb(schedule, tag, sealing->text, sealing->text_bytes);
}

#define LEGACY_JOIN_(cipher, does) cipher##_##does
#define LEGACY_JOIN(cipher, does)  LEGACY_JOIN_(cipher, does)

void LEGACY_JOIN(FILTER_CIPHER, seal)(struct sealing *sealing)
{
    crypt(sealing);
    authenticate(sealing, sealing->text + sealing->text_bytes);
}

void LEGACY_JOIN(FILTER_CIPHER, open)(struct sealing *sealing)
{
    uint8_t tag[LEGACY_BLOCK_BYTES];

    authenticate(sealing, tag);
    sealing->is_authentic = secret_equal(tag, sealing->text + sealing->text_bytes, LEGACY_BLOCK_BYTES);
    if (sealing->is_authentic) {
        crypt(sealing);
    } else {
        secret_wipe(sealing->text, sealing->text_bytes);
    }
}
