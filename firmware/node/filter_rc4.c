//! LEGACY. Sealing and opening by RC4 with a MAC (filter_legacy.h). Its key is 8 bytes of key and then the nonce, as WEP
//! did it, which is how WEP was broken.
#include "../crypto/crypto.h"
#include "filter_suites.h"

static inline __attribute__((always_inline)) void crypt(const struct sealing *sealing)
{
    const struct legacy_key *legacy = (const struct legacy_key *)sealing->key;
    uint8_t key[LEGACY_RC4_KEY_BYTES + FRAME_NONCE_BYTES];

    for (uint8_t i = 0; i < LEGACY_RC4_KEY_BYTES; i++) {
        key[i] = legacy->cipher.rc4.key[i];
    }
    for (uint8_t i = 0; i < FRAME_NONCE_BYTES; i++) {
        key[LEGACY_RC4_KEY_BYTES + i] = sealing->nonce[i];
    }
    rc4_avr_init(legacy->cipher.rc4.state, key, sizeof key);
    rc4_avr_crypt(legacy->cipher.rc4.state, sealing->text, sealing->text_bytes);
}

#define FILTER_CIPHER rc4
#include "filter_legacy.h"
