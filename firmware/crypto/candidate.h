/*
 * A candidate of modular exponentiation: which of each kind of algorithm is put together. Owns the choices and their
 * numbers, which requests carry (firmware/bench/explore.h); knows nothing of limbs, whose width is chosen when the
 * library is compiled.
 */
#ifndef SELVEDGE_CANDIDATE_H
#define SELVEDGE_CANDIDATE_H

#include <stdint.h>

/* How two residues are multiplied; modmul.h says what each does. */
enum multiplication {
#define MULTIPLICATION(NAME, ...) MULTIPLICATION_##NAME,
#include "multiplications.def"
#undef MULTIPLICATION
    MULTIPLICATIONS
};

/* How an exponent is walked through; modexp.h says what each does. */
enum method {
    METHOD_BINARY, /* window 1 only */
    METHOD_KARY,
    METHOD_SLIDING,
    METHOD_FIXED, /* constant time, as far as the multiplication is */
    METHODS
};

#define WINDOW_BITS_MAX 5

/* How a private operation of RSA uses the factors; crt.h. */
enum crt { CRT_NONE, CRT_GAUSS, CRT_GARNER, CRTS };

/*
 * What is kept from one operation to the next. CONSTANTS: what depends on moduli. TABLES: powers of bases, too, in a
 * hash table of the caller's (modexp.h).
 */
enum caching { CACHING_NONE, CACHING_CONSTANTS, CACHING_TABLES, CACHINGS };

struct candidate {
    uint8_t multiplication; /* enum multiplication */
    uint8_t method;         /* enum method */
    uint8_t window_bits;    /* 1 to WINDOW_BITS_MAX */
    uint8_t crt;            /* enum crt */
    uint8_t caching;        /* enum caching */
    uint8_t squaring;       /* 1: squares are not computed as products */
    uint8_t karatsuba;      /* 1: long products are made of three products of half the length */
};

/* 1 when each choice exists and they go together. */
static inline uint8_t candidate_is_valid(const struct candidate *candidate)
{
    return candidate->multiplication < MULTIPLICATIONS && candidate->method < METHODS && candidate->crt < CRTS &&
           candidate->caching < CACHINGS && candidate->squaring <= 1 && candidate->karatsuba <= 1 &&
           candidate->window_bits >= 1 && candidate->window_bits <= WINDOW_BITS_MAX &&
           (candidate->method != METHOD_BINARY || candidate->window_bits == 1);
}

#endif
