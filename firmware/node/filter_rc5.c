//! LEGACY. Sealing and opening by RC5-32/12/8 in counter mode, with a MAC (filter_legacy.h). Block i of the key stream is
//! E(E(N0) ^ N1 ^ i), where N0 and N1 are the halves of the nonce and i counts in the last byte.
#include "../crypto/crypto.h"
#include "filter_suites.h"

static inline __attribute__((always_inline)) void crypt(const struct sealing *sealing)
{
    const struct rc5 *schedule = &((const struct legacy_key *)sealing->key)->cipher.rc5;
    uint8_t start[RC5_BLOCK_BYTES], stream[RC5_BLOCK_BYTES];
    uint8_t *text = sealing->text;
    uint8_t left = sealing->text_bytes, used = RC5_BLOCK_BYTES, i;

    for (i = 0; i < RC5_BLOCK_BYTES; i++) {
        start[i] = sealing->nonce[i];
    }
    rc5_avr_encrypt(schedule, start, 1);
    for (i = 0; i < RC5_BLOCK_BYTES; i++) {
        start[i] ^= sealing->nonce[RC5_BLOCK_BYTES + i];
    }
    for (uint8_t number = 0; left; left--) {
        if (used == RC5_BLOCK_BYTES) {
            for (i = 0; i < RC5_BLOCK_BYTES; i++) {
                stream[i] = start[i];
            }
            stream[RC5_BLOCK_BYTES - 1] ^= number++;
            rc5_avr_encrypt(schedule, stream, 1);
            used = 0;
        }
        *text++ ^= stream[used++];
    }
}

#define FILTER_CIPHER rc5
#include "filter_legacy.h"
