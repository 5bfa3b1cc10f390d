/*
 * AES over one table, see aes.h: of SubBytes and MixColumns of row 0; the other rows' entries are its rotations.
 */
#include "aes_tables.h"

#include <stdint.h>

static const uint8_t sbox[256] = { AES_SBOX };
static const uint8_t inverse_sbox[256] = { AES_INVERSE_SBOX };
static const uint32_t tables[256] = { AES_SBOX_EACH(AES_ENTRY_0) };
static const uint32_t inverse_tables[256] = { AES_INVERSE_SBOX_EACH(AES_INVERSE_ENTRY_0) };

/* Rotations that rows have in common are done for all of them at once. */
#define NEXT(entries) rotate_left(entries, 8)
#define COLUMN(t, a, b, c, d)                                                                                \
    (AES_AT(t, (a) << 2) ^ NEXT(AES_AT(t, (b) >> 6) ^ NEXT(AES_AT(t, (c) >> 14) ^ NEXT(AES_AT(t, (d) >> 22)))))

#define AES_VARIANT aes_t1
#include "aes_table_rounds.h"
