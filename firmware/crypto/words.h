/*
 * Words in memory and in registers: reads and writes of 32 and 64 bits in either order of bytes, rotations, and
 * wiping. Included by the ciphers, not by their callers.
 */
#ifndef SELVEDGE_WORDS_H
#define SELVEDGE_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "estimate.h"

/* Before a loop of at most 16 rounds, whose number is a constant: its rounds are written out at every level of
   optimization, so that arrays become registers. */
#ifdef __clang__
#define UNROLLED _Pragma("clang loop unroll(full)")
#else
#define UNROLLED _Pragma("GCC unroll 16")
#endif

/* Least significant byte first, at any address. */
INLINE uint32_t load_le32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

INLINE void store_le32(uint8_t *bytes, uint32_t word)
{
    bytes[0] = (uint8_t)word;
    bytes[1] = (uint8_t)(word >> 8);
    bytes[2] = (uint8_t)(word >> 16);
    bytes[3] = (uint8_t)(word >> 24);
}

/* Most significant byte first, at any address. */
INLINE uint32_t load_be32(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | (uint32_t)bytes[3];
}

INLINE void store_be32(uint8_t *bytes, uint32_t word)
{
    bytes[0] = (uint8_t)(word >> 24);
    bytes[1] = (uint8_t)(word >> 16);
    bytes[2] = (uint8_t)(word >> 8);
    bytes[3] = (uint8_t)word;
}

INLINE uint64_t load_be64(const uint8_t *bytes)
{
    return (uint64_t)load_be32(bytes) << 32 | load_be32(bytes + 4);
}

INLINE void store_be64(uint8_t *bytes, uint64_t word)
{
    store_be32(bytes, (uint32_t)(word >> 32));
    store_be32(bytes + 4, (uint32_t)word);
}

/* Least significant byte first, at a multiple of four: one instruction where words are little-endian. */
INLINE uint32_t load_word(const uint8_t *bytes)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint32_t word;
    __builtin_memcpy(&word, __builtin_assume_aligned(bytes, 4), sizeof word);
    return word;
#else
    return load_le32(bytes);
#endif
}

INLINE void store_word(uint8_t *bytes, uint32_t word)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    __builtin_memcpy(__builtin_assume_aligned(bytes, 4), &word, sizeof word);
#else
    store_le32(bytes, word);
#endif
}

/* By 1 to 31 bits. */
INLINE uint32_t rotate_left(uint32_t word, unsigned bits)
{
    return word << bits | word >> (32 - bits);
}

INLINE uint32_t rotate_right(uint32_t word, unsigned bits)
{
    return word >> bits | word << (32 - bits);
}

INLINE uint64_t rotate_right_64(uint64_t word, unsigned bits)
{
    return word >> bits | word << (64 - bits);
}

/* Zeros that stay, though the memory is never read again: the empty asm makes the compiler think it is. Of whole
   words here. */
INLINE void wipe_words(void *memory, size_t bytes)
{
    uint32_t *word = memory;
    for (; bytes != 0; bytes -= 4) {
        *word++ = 0;
        LOOP_STAYS();
    }
    __asm__ volatile("" : : "r"(memory) : "memory");
}

INLINE void wipe_bytes(void *memory, size_t bytes)
{
    uint8_t *byte = memory;
    for (; bytes != 0; bytes--) {
        *byte++ = 0;
        LOOP_STAYS();
    }
    __asm__ volatile("" : : "r"(memory) : "memory");
}

#endif
