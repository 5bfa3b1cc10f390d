//! The filters of each suite: two by themselves, two that only the line has to do with, and four that are both at once.
//!
//! Owns their names. What they do is filters.h's; the last four of a suite are made by the build, by a line of the
//! suite's list each (filters_ascon.txt), for the chip and the line of the node. An image has those of one suite.
//!
//! Whoever calls a woven filter sees to what weaving takes for granted: a `struct sealing` and what it points to do not
//! overlap a `struct transfer` and what that points to.
#ifndef NODE_FILTER_SUITES_H
#define NODE_FILTER_SUITES_H

#include "../crypto/crypto.h"
#include "filters.h"

/// Sends with interrupts as they are, each byte when the one before it is over.
filter line_transmit;

/// Receives with interrupts as they are: a byte that waits for handlers for as long as the next one takes is lost.
/// `is_over` is 0 when one did not come within LINE_BYTE_POLLS_MAX.
filter line_receive;

/// A chip may have no room for it: the ATmega328P has none for those that open. It is NULL then.
#define FILTER_PERHAPS __attribute__((weak))

#define FILTER_SUITE(suite)                                                                                            \
    void suite##_seal(struct sealing *sealing);                                                                        \
    void suite##_open(struct sealing *sealing);                                                                        \
    extern filter suite##_seal_transmit FILTER_PERHAPS, suite##_seal_receive FILTER_PERHAPS,                           \
        suite##_open_transmit FILTER_PERHAPS, suite##_open_receive FILTER_PERHAPS

FILTER_SUITE(ascon);
FILTER_SUITE(ccm);
FILTER_SUITE(rc5);
FILTER_SUITE(rc4);

/// LEGACY. What `key` of a `struct sealing` points to for RC5 and RC4: expanded once, as the paper has it (section 4.1).
enum { LEGACY_RC4_KEY_BYTES = 8 };
struct legacy_key {
    struct rc5 mac;
    union {
        struct rc5 rc5;
        struct {
            struct rc4 *state; // at a multiple of 256
            uint8_t key[LEGACY_RC4_KEY_BYTES];
        } rc4;
    } cipher;
};

/// Expands the cipher's key and then the MAC's, 8 bytes each: for RC4 with a `state`, for RC5 without.
void legacy_expand(struct legacy_key *legacy, const uint8_t key[2 * RC5_KEY_BYTES], struct rc4 *state);

/// Those of the image's suite, by FILTER(); NULL where there is none.
extern filter *const filters[FILTERS];

#endif
