/*
 * Modular exponentiation, see modexp.h. The cache of powers is power_cache.c's.
 */
#include "modexp.h"

INLINE size_t exponent_bit(const limb_t *exponent, size_t place)
{
    return exponent[place / LIMB_BITS] >> (place % LIMB_BITS) & 1;
}

/* `count` bits of the exponent, the lowest at `place`. */
INLINE size_t exponent_digit(const limb_t *exponent, size_t place, size_t count)
{
    size_t digit = 0;

    do {
        digit = digit << 1 | exponent_bit(exponent, place + --count);
    } while (count != 0);
    return digit;
}

/* How many bits the highest digit has, of an exponent of at least one bit: all others have as many as the window. */
INLINE size_t highest_digit_bits(size_t bits, size_t window_bits)
{
    while (bits > window_bits) {
        bits -= window_bits;
    }
    return bits;
}

/* see modexp.h */
ROUTINE void modexp_powers(const struct modmul *modmul, const struct candidate *candidate, limb_t *powers,
                           const limb_t *base, struct scratch scratch)
{
    const size_t limbs = modmul->limbs, count = MODEXP_POWERS(candidate->window_bits);
    size_t i;

    COUNT(modexp_powers, 0, 0, candidate->method == METHOD_FIXED, candidate->method == METHOD_SLIDING);
    if (candidate->method == METHOD_SLIDING) {
        limb_t *const square = scratch_take(&scratch, limbs);
        mpn_copy(powers, base, limbs);
        if (count > 2) {
            modmul_square(modmul, square, base, scratch);
        }
        for (i = 1; i < count / 2; i++) {
            COUNT_TERM(modexp_powers, products, 1);
            modmul_multiply(modmul, powers + i * limbs, powers + (i - 1) * limbs, square, scratch);
        }
        return;
    }
    if (candidate->method == METHOD_FIXED) {
        modmul_one(modmul, powers, scratch);
    }
    mpn_copy(powers + limbs, base, limbs);
    for (i = 2; i < count; i += 2) {
        COUNT_TERM(modexp_powers, pairs, 1);
        modmul_square(modmul, powers + i * limbs, powers + i / 2 * limbs, scratch);
        modmul_multiply(modmul, powers + (i + 1) * limbs, powers + i * limbs, base, scratch);
    }
}

/* see modexp.h */
ROUTINE void modexp_binary(const struct modmul *modmul, limb_t *acc, const limb_t *base, const limb_t *exponent,
                           size_t bits, struct scratch scratch)
{
    COUNT(modexp_binary, bits - 1, 0);
    mpn_copy(acc, base, modmul->limbs);
    while (--bits != 0) {
        modmul_square(modmul, acc, acc, scratch);
        if (exponent_bit(exponent, bits - 1)) {
            COUNT_TERM(modexp_binary, products, 1);
            modmul_multiply(modmul, acc, acc, base, scratch);
        }
    }
}

/* The same by digits of `window_bits`. */
ROUTINE void modexp_kary(const struct modmul *modmul, size_t window_bits, limb_t *acc, const limb_t *powers,
                         const limb_t *exponent, size_t bits, struct scratch scratch)
{
    const size_t limbs = modmul->limbs, top_bits = highest_digit_bits(bits, window_bits);
    size_t place = bits - top_bits;

    COUNT(modexp_kary, place / window_bits, place, top_bits, 0);
    mpn_copy(acc, powers + exponent_digit(exponent, place, top_bits) * limbs, limbs);
    while (place != 0) {
        size_t square = window_bits, digit;
        place -= window_bits;
        do {
            modmul_square(modmul, acc, acc, scratch);
        } while (--square != 0);
        digit = exponent_digit(exponent, place, window_bits);
        if (digit != 0) {
            COUNT_TERM(modexp_kary, products, 1);
            modmul_multiply(modmul, acc, acc, powers + digit * limbs, scratch);
        }
    }
}

/* The same by digits that begin and end with a 1 and have at most `window_bits`. `place` is behind the next bit. */
ROUTINE void modexp_sliding(const struct modmul *modmul, size_t window_bits, limb_t *acc, const limb_t *powers,
                            const limb_t *exponent, size_t bits, struct scratch scratch)
{
    const size_t limbs = modmul->limbs;
    size_t place = bits;

    COUNT(modexp_sliding, 0, 0, 0, 0, 0);
    while (place != 0) {
        if (exponent_bit(exponent, place - 1) == 0) {
            COUNT_TERM(modexp_sliding, zeros, 1);
            modmul_square(modmul, acc, acc, scratch);
            place--;
        } else {
            const size_t longest = place < window_bits ? place : window_bits;
            size_t low = place - longest, digit, square;
            while (exponent_bit(exponent, low) == 0) {
                COUNT_TERM(modexp_sliding, trimmed, 1);
                low++;
            }
            digit = exponent_digit(exponent, low, place - low);
            COUNT_TERM(modexp_sliding, windows, 1);
            COUNT_TERM(modexp_sliding, window_bits, place - low);
            if (place == bits) {
                COUNT_TERM(modexp_sliding, first_bits, place - low);
                mpn_copy(acc, powers + digit / 2 * limbs, limbs);
            } else {
                for (square = place - low; square != 0; square--) {
                    modmul_square(modmul, acc, acc, scratch);
                }
                modmul_multiply(modmul, acc, acc, powers + digit / 2 * limbs, scratch);
            }
            place = low;
        }
    }
}

/* The same by digits of `window_bits`, all of `bits` bits, in an order that depends on their number alone. */
ROUTINE void modexp_fixed(const struct modmul *modmul, size_t window_bits, limb_t *acc, const limb_t *powers,
                          const limb_t *exponent, size_t bits, struct scratch scratch)
{
    const size_t limbs = modmul->limbs, count = MODEXP_POWERS(window_bits);
    const size_t top_bits = highest_digit_bits(bits, window_bits);
    limb_t *const power = scratch_take(&scratch, limbs);
    size_t place = bits - top_bits;

    COUNT(modexp_fixed, place / window_bits, place, top_bits);
    mpn_gather(acc, powers, count, limbs, exponent_digit(exponent, place, top_bits));
    while (place != 0) {
        size_t square = window_bits;
        place -= window_bits;
        do {
            modmul_square(modmul, acc, acc, scratch);
        } while (--square != 0);
        mpn_gather(power, powers, count, limbs, exponent_digit(exponent, place, window_bits));
        modmul_multiply(modmul, acc, acc, power, scratch);
    }
}

/* see modexp.h */
ROUTINE void modexp_residue(const struct modmul *modmul, const struct candidate *candidate, limb_t *r,
                            const limb_t *base, const limb_t *exponent, size_t exponent_bits,
                            struct power_cache *cache, struct scratch scratch)
{
    const size_t limbs = modmul->limbs, window_bits = candidate->window_bits;
    limb_t *powers;
    uint8_t hit = 0;

    COUNT(modexp_residue, cache != NULL, 0, 0);
    if (cache != NULL) {
        powers = power_cache_find(cache, modmul->modulus, base, limbs, &hit);
    } else {
        powers = scratch_take(&scratch, MODEXP_POWERS(window_bits) * limbs);
    }
    if (!hit) {
        limb_t *const residue = scratch_take(&scratch, limbs);
        COUNT_TERM(modexp_residue, made, 1);
        modmul_in(modmul, residue, base, scratch);
        modexp_powers(modmul, candidate, powers, residue, scratch);
    }
    if (candidate->method == METHOD_FIXED) {
        modexp_fixed(modmul, window_bits, r, powers, exponent, exponent_bits, scratch);
        return;
    }
    exponent_bits = mpn_bit_length(exponent, LIMBS(exponent_bits));
    if (exponent_bits == 0) {
        COUNT_TERM(modexp_residue, zero, 1);
        modmul_one(modmul, r, scratch);
    } else if (candidate->method == METHOD_BINARY) {
        modexp_binary(modmul, r, powers + limbs, exponent, exponent_bits, scratch);
    } else if (candidate->method == METHOD_KARY) {
        modexp_kary(modmul, window_bits, r, powers, exponent, exponent_bits, scratch);
    } else {
        modexp_sliding(modmul, window_bits, r, powers, exponent, exponent_bits, scratch);
    }
}

/* see modexp.h */
ROUTINE void modexp(const struct modmul *modmul, const struct candidate *candidate, limb_t *r, const limb_t *base,
                    const limb_t *exponent, size_t exponent_bits, struct power_cache *cache, struct scratch scratch)
{
    limb_t *const residue = scratch_take(&scratch, modmul->limbs);

    COUNT(modexp);
    modexp_residue(modmul, candidate, residue, base, exponent, exponent_bits, cache, scratch);
    modmul_out(modmul, r, residue, scratch);
}
