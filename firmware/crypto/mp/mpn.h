/*
 * The basic layer: natural numbers as vectors of limbs, least significant first. Contracts of what mpn_c.c,
 * mpn_unrolled.c and mpn_rv32.S (the leaves, of which a program links one file; native estimation has one of its own)
 * and mpn_vector.c, mpn_mul.c and mpn_divrem.c do; signs and sizes that are not the caller's business are mpz.h's.
 *
 * Rules for all of them:
 *  - The caller owns all memory; lengths are in limbs and at least 1.
 *  - Results MAY be the very operand of the same length, but MUST NOT overlap any operand otherwise; what else may
 *    not be the same vector is said where that is so.
 *  - Neither time nor addresses depend on the limbs' values, except in mpn_cmp, mpn_bit_length and mpn_divrem. They
 *    depend on lengths.
 */
#ifndef SELVEDGE_MPN_H
#define SELVEDGE_MPN_H

#include "limb.h"
#include "scratch.h"

#define mpn_add_n            LIMB_NAME(mpn, add_n)
#define mpn_sub_n            LIMB_NAME(mpn, sub_n)
#define mpn_mul_1            LIMB_NAME(mpn, mul_1)
#define mpn_addmul_1         LIMB_NAME(mpn, addmul_1)
#define mpn_submul_1         LIMB_NAME(mpn, submul_1)
#define mpn_addmul_1_shifted LIMB_NAME(mpn, addmul_1_shifted)
#define mpn_addmul_redc      LIMB_NAME(mpn, addmul_redc)
#define mpn_dot              LIMB_NAME(mpn, dot)
#define mpn_sqr_diagonal     LIMB_NAME(mpn, sqr_diagonal)
#define mpn_lshift           LIMB_NAME(mpn, lshift)
#define mpn_rshift           LIMB_NAME(mpn, rshift)
#define mpn_add_1            LIMB_NAME(mpn, add_1)
#define mpn_sub_1            LIMB_NAME(mpn, sub_1)
#define mpn_cmp              LIMB_NAME(mpn, cmp)
#define mpn_copy             LIMB_NAME(mpn, copy)
#define mpn_zero             LIMB_NAME(mpn, zero)
#define mpn_select           LIMB_NAME(mpn, select)
#define mpn_swap             LIMB_NAME(mpn, swap)
#define mpn_gather           LIMB_NAME(mpn, gather)
#define mpn_is_zero          LIMB_NAME(mpn, is_zero)
#define mpn_negate           LIMB_NAME(mpn, negate)
#define mpn_bit_length       LIMB_NAME(mpn, bit_length)
#define mpn_mul              LIMB_NAME(mpn, mul)
#define mpn_sqr              LIMB_NAME(mpn, sqr)
#define mpn_mul_basecase     LIMB_NAME(mpn, mul_basecase)
#define mpn_sqr_basecase     LIMB_NAME(mpn, sqr_basecase)
#define mpn_mul_low          LIMB_NAME(mpn, mul_low)
#define mpn_mul_karatsuba    LIMB_NAME(mpn, mul_karatsuba)
#define mpn_sqr_karatsuba    LIMB_NAME(mpn, sqr_karatsuba)
#define mpn_reciprocal       LIMB_NAME(mpn, reciprocal)
#define mpn_divrem           LIMB_NAME(mpn, divrem)
#define mpn_divrem_1         LIMB_NAME(mpn, divrem_1)
#define mpn_mod_1            LIMB_NAME(mpn, mod_1)
#define mpn_from_bytes       LIMB_NAME(mpn, from_bytes)
#define mpn_to_bytes         LIMB_NAME(mpn, to_bytes)

/* Limbs that the unrolled leaves do in a straight line; what is counted by it is said in routines.def. */
#define MPN_BLOCK_LIMBS  8
#define MPN_BLOCKS(n)    ((n) / MPN_BLOCK_LIMBS)
#define MPN_PARTIAL(n)   ((n) % MPN_BLOCK_LIMBS != 0)
#define MPN_BLOCKLESS(n) ((n) < MPN_BLOCK_LIMBS)

/* ---- Leaves ---- */

/* r = a + b, and a - b; return what is carried out of, or borrowed by, the highest limb. */
limb_t mpn_add_n(limb_t *r, const limb_t *a, const limb_t *b, size_t n);
limb_t mpn_sub_n(limb_t *r, const limb_t *a, const limb_t *b, size_t n);

/* r = a * b, r += a * b, r -= a * b for one limb b; return the limb above. */
limb_t mpn_mul_1(limb_t *r, const limb_t *a, size_t n, limb_t b);
limb_t mpn_addmul_1(limb_t *r, const limb_t *a, size_t n, limb_t b);
limb_t mpn_submul_1(limb_t *r, const limb_t *a, size_t n, limb_t b);

/* t = r + a * b, whose lowest limb MUST be 0: r[0 .. n-2] = t[1 .. n-1]. Returns t[n]; r[n-1] is left as it was. n MUST
   be at least 2. */
limb_t mpn_addmul_1_shifted(limb_t *r, const limb_t *a, size_t n, limb_t b);

/*
 * t = r + a * b + m * q with q such that t's lowest limb is 0, where `inverse` is -m[0]^-1: r[0 .. n-2] = t[1 .. n-1],
 * r[n-1] and r[n] hold what is above, plus r[n] as it was. r has n + 1 limbs, and n MUST be at least 2. The result MUST
 * fit, as it does for r < 2m and a < m.
 */
void mpn_addmul_redc(limb_t *r, const limb_t *a, const limb_t *m, size_t n, limb_t b, limb_t inverse);

/* sum[0 .. 2] += the sum over i of a[i] * b[n-1-i]. `sum` is no operand. */
void mpn_dot(limb_t *sum, const limb_t *a, const limb_t *b, size_t n);

/* r = 2 * r + the sum over i of a[i]^2 * B^2i, for B = 2^LIMB_BITS; r has 2n limbs, in which that MUST fit. */
void mpn_sqr_diagonal(limb_t *r, const limb_t *a, size_t n);

/* r = a shifted by `bits`, 1 to LIMB_BITS - 1; return the bits that leave, at the other end of a limb. */
limb_t mpn_lshift(limb_t *r, const limb_t *a, size_t n, unsigned bits);
limb_t mpn_rshift(limb_t *r, const limb_t *a, size_t n, unsigned bits);

/* ---- Vectors (mpn_vector.c) ---- */

/* r = a + b, a - b for one limb b; return the carry or borrow. */
limb_t mpn_add_1(limb_t *r, const limb_t *a, size_t n, limb_t b);
limb_t mpn_sub_1(limb_t *r, const limb_t *a, size_t n, limb_t b);

/* Negative, 0 or positive as a is less than, equal to or greater than b. Ends at the first limbs that differ. */
int mpn_cmp(const limb_t *a, const limb_t *b, size_t n);

void mpn_copy(limb_t *r, const limb_t *a, size_t n);
void mpn_zero(limb_t *r, size_t n);

/* r = a where `mask` is all ones, b where it is 0. */
void mpn_select(limb_t *r, const limb_t *a, const limb_t *b, size_t n, limb_t mask);

/* Exchanges a and b where `mask` is all ones, and leaves them where it is 0. */
void mpn_swap(limb_t *a, limb_t *b, size_t n, limb_t mask);

/* r = entry `index` of `count` vectors of n limbs at `table`, an even number, all of which are read. */
void mpn_gather(limb_t *r, const limb_t *table, size_t count, size_t n, size_t index);

/* 1 when a is 0, else 0. */
limb_t mpn_is_zero(const limb_t *a, size_t n);

/* r = -a modulo 2^(LIMB_BITS * n) where `mask` is all ones, and a where it is 0; returns 1 for -0, else 0. */
limb_t mpn_negate(limb_t *r, const limb_t *a, size_t n, limb_t mask);

/* Bits of a without leading zeros; tells where the highest limb is that is not 0. */
size_t mpn_bit_length(const limb_t *a, size_t n);

/* The number that `count` bytes are, most significant first, in n limbs; bytes that do not fit are dropped. And back,
   with zeros before it. */
void mpn_from_bytes(limb_t *r, size_t n, const uint8_t *bytes, size_t count);
void mpn_to_bytes(uint8_t *bytes, size_t count, const limb_t *a, size_t n);

/* ---- Products (mpn_mul.c) ---- */

/*
 * r = a * b and r = a^2, of a_limbs + b_limbs and 2n limbs. a_limbs MUST be at least b_limbs. r is no operand.
 *
 * From `karatsuba_limbs` limbs on, products of two vectors of equal length are three products of half the length;
 * 0 is never. That takes MPN_KARATSUBA_SCRATCH(n) limbs of scratch, and else none is needed.
 */
void mpn_mul(limb_t *r, const limb_t *a, size_t a_limbs, const limb_t *b, size_t b_limbs, size_t karatsuba_limbs,
             struct scratch scratch);
void mpn_sqr(limb_t *r, const limb_t *a, size_t n, size_t karatsuba_limbs, struct scratch scratch);

#define MPN_KARATSUBA_SCRATCH(n) (4 * (n) + 64)
/* What candidates with Karatsuba take, see candidate.h. */
#define MPN_KARATSUBA_LIMBS      16

/* r = a * b modulo 2^(LIMB_BITS * n), for a of n limbs and b of at most as many. r is no operand. */
void mpn_mul_low(limb_t *r, const limb_t *a, size_t n, const limb_t *b, size_t b_limbs);

/* Products limb by limb, and by three products of half the length, for mpn_mul and mpn_sqr to choose from. */
void mpn_mul_karatsuba(limb_t *r, const limb_t *a, const limb_t *b, size_t n, size_t karatsuba_limbs,
                       struct scratch scratch);
void mpn_sqr_karatsuba(limb_t *r, const limb_t *a, size_t n, size_t karatsuba_limbs, struct scratch scratch);
void mpn_mul_basecase(limb_t *r, const limb_t *a, size_t a_limbs, const limb_t *b, size_t b_limbs);
void mpn_sqr_basecase(limb_t *r, const limb_t *a, size_t n);

/* ---- Quotients (mpn_divrem.c) ---- */

/*
 * What divisions by d multiply with, for a d whose highest bit is 1: floor((B^2 - 1) / d) - B for B = 2^LIMB_BITS and a
 * d of one limb, and floor((B^3 - 1) / d) - B of d's two highest limbs otherwise (Moller and Granlund, "Improved
 * division by invariant integers", IEEE Transactions on Computers 60(2), 2011). Constant time.
 */
limb_t mpn_reciprocal(const limb_t *d, size_t d_limbs);

/*
 * Divides a, of a_limbs limbs, by d, of d_limbs, which are fewer: the quotient's a_limbs - d_limbs limbs go to q, the
 * remainder is left in a[0 .. d_limbs-1], and above it zeros. The highest bit of d MUST be 1 (shift both numbers first),
 * the d_limbs highest limbs of a MUST be below d (give it a limb more), and `reciprocal` be d's. No vectors overlap.
 */
void mpn_divrem(limb_t *q, limb_t *a, size_t a_limbs, const limb_t *d, size_t d_limbs, limb_t reciprocal);

/* a divided by the limb d, whose highest bit is 1: the quotient's n limbs, which MAY be a; returns the remainder. The
   same without a quotient. Constant time. */
limb_t mpn_divrem_1(limb_t *q, const limb_t *a, size_t n, limb_t d, limb_t reciprocal);
limb_t mpn_mod_1(const limb_t *a, size_t n, limb_t d, limb_t reciprocal);

#endif
