//! Sealing and opening under Ascon-AEAD128: what the filters do by themselves (filters.c), and the hosts that are woven
//! with the line (filters_ascon.txt).
#include "../crypto/ascon_aead128_avr_roomy.c"
#include "filter_suites.h"

void ascon_seal(struct sealing *sealing)
{
    ascon_aead128_avr_roomy_seal(sealing->text, sealing->text_bytes, sealing->ad, FRAME_HEADER_BYTES, sealing->nonce,
                                 sealing->key, sealing->text + sealing->text_bytes);
}

void ascon_open(struct sealing *sealing)
{
    sealing->is_authentic =
        ascon_aead128_avr_roomy_open(sealing->text, sealing->text_bytes, sealing->ad, FRAME_HEADER_BYTES,
                                     sealing->nonce, sealing->key, sealing->text + sealing->text_bytes);
}
