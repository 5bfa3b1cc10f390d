//! Sealing and opening under AES-128-CCM: what the filters do by themselves (filters.c), and the hosts that are woven
//! with the line (filters_ccm.txt).
#include "../crypto/aes128_ccm_avr_roomy.c"
#include "filter_suites.h"

void ccm_seal(struct sealing *sealing)
{
    aes128_ccm_avr_roomy_seal(sealing->text, sealing->text_bytes, sealing->ad, FRAME_HEADER_BYTES, sealing->nonce,
                                 sealing->key, sealing->text + sealing->text_bytes);
}

void ccm_open(struct sealing *sealing)
{
    sealing->is_authentic =
        aes128_ccm_avr_roomy_open(sealing->text, sealing->text_bytes, sealing->ad, FRAME_HEADER_BYTES,
                                     sealing->nonce, sealing->key, sealing->text + sealing->text_bytes);
}
