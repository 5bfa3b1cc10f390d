//! Which variant of the node link's suite, Ascon-AEAD128, is built in: the fastest for the target.
//! The contracts are those of ../crypto/crypto.h; every variant gives the same bytes.
#ifndef NODE_SUITE_H
#define NODE_SUITE_H

#include "../crypto/crypto.h"

#if defined(__AVR__)
#define suite_seal ascon_aead128_avr_seal
#define suite_open ascon_aead128_avr_open
#else
#define suite_seal ascon_aead128_c64_seal
#define suite_open ascon_aead128_c64_open
#endif

#endif
