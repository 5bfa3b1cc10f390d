/*
 * AES over four tables, see aes.h: of SubBytes and MixColumns of each row.
 */
#include "aes_tables.h"

#include <stdint.h>

static const uint8_t sbox[256] = { AES_SBOX };
static const uint8_t inverse_sbox[256] = { AES_INVERSE_SBOX };
static const uint32_t tables[4][256] = {
    { AES_SBOX_EACH(AES_ENTRY_0) },
    { AES_SBOX_EACH(AES_ENTRY_1) },
    { AES_SBOX_EACH(AES_ENTRY_2) },
    { AES_SBOX_EACH(AES_ENTRY_3) },
};
static const uint32_t inverse_tables[4][256] = {
    { AES_INVERSE_SBOX_EACH(AES_INVERSE_ENTRY_0) },
    { AES_INVERSE_SBOX_EACH(AES_INVERSE_ENTRY_1) },
    { AES_INVERSE_SBOX_EACH(AES_INVERSE_ENTRY_2) },
    { AES_INVERSE_SBOX_EACH(AES_INVERSE_ENTRY_3) },
};

#define COLUMN(t, a, b, c, d)                                                                                \
    (AES_AT((t)[0], (a) << 2) ^ AES_AT((t)[1], (b) >> 6) ^ AES_AT((t)[2], (c) >> 14) ^ AES_AT((t)[3], (d) >> 22))

#ifdef AES_T4
#define AES_VARIANT AES_T4
#else
#define AES_VARIANT aes_t4
#endif
#include "aes_table_rounds.h"
