/*
 * Limbs: the digits of long numbers, of LIMB_BITS bits (16 or 32), and how symbols of the two radices are told apart.
 * All files below mp/, modular/, curve/ and primitives/ are compiled once for each radix, with -DLIMB_BITS, and both
 * may be linked into one program: mpn_add_n is mpn16_add_n or mpn32_add_n there.
 */
#ifndef SELVEDGE_LIMB_H
#define SELVEDGE_LIMB_H

#include <stddef.h>
#include <stdint.h>

#include "../estimate.h"

#if LIMB_BITS == 16
typedef uint16_t limb_t;
typedef uint32_t dlimb_t; /* two limbs */
#define LIMB_NAME(prefix, name) prefix##16_##name
#elif LIMB_BITS == 32
typedef uint32_t limb_t;
typedef uint64_t dlimb_t;
#define LIMB_NAME(prefix, name) prefix##32_##name
#else
#error "LIMB_BITS is 16 or 32"
#endif

/* Limbs of a constant, from its 32-bit words. */
#if LIMB_BITS == 16
#define WORD(word) (limb_t)((word) & 0xFFFF), (limb_t)((word) >> 16)
#else
#define WORD(word) (word)
#endif

#define LIMB_BYTES       (LIMB_BITS / 8)
#define LIMB_MAX         ((limb_t)~(limb_t)0)
/* Limbs of a number of so many bits. */
#define LIMBS(bits)      (((bits) + LIMB_BITS - 1) / LIMB_BITS)
/* The longest modulus. */
#define MODULUS_BITS_MAX 4096

/* All ones when `bit` is 1, 0 when it is 0; no compiler sees that there are only two values. */
INLINE limb_t limb_mask(limb_t bit)
{
    __asm__("" : "+r"(bit));
    return (limb_t)(0 - bit);
}

/* 1 when `limb` is 0, else 0. */
INLINE limb_t limb_is_zero(limb_t limb)
{
    return (limb_t)(((limb_t)~limb & (limb_t)(limb - 1)) >> (LIMB_BITS - 1));
}

/* How far `limb`, which is not 0, can be shifted to the left. */
INLINE unsigned limb_leading_zeros(limb_t limb)
{
    unsigned zeros = 0;
    for (unsigned step = LIMB_BITS / 2; step != 0; step /= 2) {
        const unsigned move = step & (unsigned)(0 - (unsigned)((limb >> (LIMB_BITS - step)) == 0));
        zeros += move;
        limb = (limb_t)(limb << move);
    }
    return zeros;
}

#endif
