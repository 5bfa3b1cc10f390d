/*
 * AES by tables (Daemen and Rijmen's, for processors of 32 bits): an entry is what MixColumns makes of a column with
 * one substituted byte in it, as a word with row 0 in its lowest byte. Macros of bytes of the S-box, for an array in
 * C or a `.word` in assembly.
 */
#ifndef SELVEDGE_AES_TABLES_H
#define SELVEDGE_AES_TABLES_H

#include "../aes_sbox.h"

/* Times x, x^2 and x^3 in GF(2^8). */
#define AES_TIMES_2(s) (((s) << 1) ^ (((s) >> 7) * 0x11b))
#define AES_TIMES_4(s) (((s) << 2) ^ (((s) >> 7) * 0x236) ^ ((((s) >> 6) & 1) * 0x11b))
#define AES_TIMES_8(s)                                                                                       \
    (((s) << 3) ^ (((s) >> 7) * 0x46c) ^ ((((s) >> 6) & 1) * 0x236) ^ ((((s) >> 5) & 1) * 0x11b))

/* A word of four bytes, with row 0's `rotation` rows further. */
#define AES_WORD(rotation, row0, row1, row2, row3)                                                           \
    (((row0) << (8 * ((rotation) & 3))) | ((row1) << (8 * (((rotation) + 1) & 3))) |                         \
     ((row2) << (8 * (((rotation) + 2) & 3))) | ((row3) << (8 * (((rotation) + 3) & 3))))

/* The entry of a byte in row `row`, of encryption from a byte of the S-box, of decryption from one of its inverse. */
#define AES_ENTRY(row, s) AES_WORD(row, AES_TIMES_2(s), s, s, AES_TIMES_2(s) ^ (s))
#define AES_INVERSE_ENTRY(row, s)                                                                            \
    AES_WORD(row, AES_TIMES_8(s) ^ AES_TIMES_4(s) ^ AES_TIMES_2(s), AES_TIMES_8(s) ^ (s),                    \
             AES_TIMES_8(s) ^ AES_TIMES_4(s) ^ (s), AES_TIMES_8(s) ^ AES_TIMES_2(s) ^ (s))

#ifdef __ASSEMBLER__
#define AES_BYTE(s) s
#else
/* The shifts are of words without a sign. */
#define AES_BYTE(s) s##u
/* The entry of a table of words for the byte that lies in bits 2 to 9 of `word`: an index that is an offset
   already. */
#define AES_AT(table, word) (*(const uint32_t *)((const uint8_t *)(table) + ((word) & 0x3fc)))
#endif

#define AES_ENTRY_0(s)         AES_ENTRY(0, AES_BYTE(s))
#define AES_ENTRY_1(s)         AES_ENTRY(1, AES_BYTE(s))
#define AES_ENTRY_2(s)         AES_ENTRY(2, AES_BYTE(s))
#define AES_ENTRY_3(s)         AES_ENTRY(3, AES_BYTE(s))
#define AES_INVERSE_ENTRY_0(s) AES_INVERSE_ENTRY(0, AES_BYTE(s))
#define AES_INVERSE_ENTRY_1(s) AES_INVERSE_ENTRY(1, AES_BYTE(s))
#define AES_INVERSE_ENTRY_2(s) AES_INVERSE_ENTRY(2, AES_BYTE(s))
#define AES_INVERSE_ENTRY_3(s) AES_INVERSE_ENTRY(3, AES_BYTE(s))

#endif
