//! LEGACY. The keys of filter_legacy.h, expanded.
#include "filter_suites.h"

void legacy_expand(struct legacy_key *legacy, const uint8_t key[2 * RC5_KEY_BYTES], struct rc4 *state)
{
    if (state) {
        legacy->cipher.rc4.state = state;
        for (uint8_t i = 0; i < LEGACY_RC4_KEY_BYTES; i++) {
            legacy->cipher.rc4.key[i] = key[i];
        }
    } else {
        rc5_avr_init(&legacy->cipher.rc5, key);
    }
    rc5_avr_init(&legacy->mac, key + RC5_KEY_BYTES);
}
