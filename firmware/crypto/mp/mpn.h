/*
 * The basic layer: natural numbers as vectors of limbs, least significant first. Contracts of what mpn_c.c,
 * mpn_unrolled.c and mpn_rv32.S (the leaves, of which a program links one file) and mpn_vector.c, mpn_mul.c and
 * mpn_divrem.c do; signs and sizes that are not the caller's business are mpz.h's.
 *
 * Rules for all of them:
 *  - The caller owns all memory; lengths are in limbs and at least 1.
 *  - Results MAY be the very operand of the same length, but MUST NOT overlap any operand otherwise; what else may
 *    not be the same vector is said where that is so.
 *  - Neither time nor addresses depend on the limbs' values, except in mpn_cmp and mpn_divrem. They depend on lengths.
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
#define mpn_is_zero          LIMB_NAME(mpn, is_zero)
#define mpn_mul              LIMB_NAME(mpn, mul)
#define mpn_sqr              LIMB_NAME(mpn, sqr)
#define mpn_mul_basecase     LIMB_NAME(mpn, mul_basecase)
#define mpn_sqr_basecase     LIMB_NAME(mpn, sqr_basecase)
#define mpn_mul_karatsuba    LIMB_NAME(mpn, mul_karatsuba)
#define mpn_sqr_karatsuba    LIMB_NAME(mpn, sqr_karatsuba)
#define mpn_reciprocal       LIMB_NAME(mpn, reciprocal)
#define mpn_divrem           LIMB_NAME(mpn, divrem)
#define mpn_mod_1            LIMB_NAME(mpn, mod_1)
#define mpn_from_bytes       LIMB_NAME(mpn, from_bytes)
#define mpn_to_bytes         LIMB_NAME(mpn, to_bytes)

/* Limbs that the unrolled leaves do in a straight line; what is counted by it is said in routines.def. */
#define MPN_BLOCK_LIMBS 8
#define MPN_BLOCKS(n)   ((n) / MPN_BLOCK_LIMBS)
#define MPN_PARTIAL(n)  ((n) % MPN_BLOCK_LIMBS != 0)

/* ---- Leaves ---- */

/* r = a + b, and a - b; return what is carried out of, or borrowed by, the highest limb. */
limb_t mpn_add_n(limb_t *r, const limb_t *a, const limb_t *b, size_t n);
limb_t mpn_sub_n(limb_t *r, const limb_t *a, const limb_t *b, size_t n);

/* r = a * b, r += a * b, r -= a * b for one limb b; return the limb above. */
limb_t mpn_mul_1(limb_t *r, const limb_t *a, size_t n, limb_t b);
limb_t mpn_addmul_1(limb_t *r, const limb_t *a, size_t n, limb_t b);
limb_t mpn_submul_1(limb_t *r, const limb_t *a, size_t n, limb_t b);

/* t = r + a * b, whose lowest limb MUST be 0: r[0 .. n-2] = t[1 .. n-1]. Returns t[n]; r[n-1] is left as it was. */
limb_t mpn_addmul_1_shifted(limb_t *r, const limb_t *a, size_t n, limb_t b);

/*
 * t = r + a * b + m * q with q such that t's lowest limb is 0, where `inverse` is -m[0]^-1: r[0 .. n-2] = t[1 .. n-1],
 * r[n-1] and r[n] hold what is above, plus r[n] as it was. r has n + 1 limbs; t MUST be below 2^LIMB_BITS times what
 * those hold, as it is for r < 2m and a < m.
 */
void mpn_addmul_redc(limb_t *r, const limb_t *a, const limb_t *m, size_t n, limb_t b, limb_t inverse);

/* sum[0 .. 2] += the sum over i of a[i] * b[n-1-i]. `sum` is no operand. */
void mpn_dot(limb_t *sum, const limb_t *a, const limb_t *b, size_t n);

/* r[2i], r[2i+1] += a[i]^2 with carries from one to the next; r has 2n limbs and holds the carry out. */
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

/* 1 when a is 0, else 0. */
limb_t mpn_is_zero(const limb_t *a, size_t n);

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

/* The same, limb by limb. */
void mpn_mul_basecase(limb_t *r, const limb_t *a, size_t a_limbs, const limb_t *b, size_t b_limbs);
void mpn_sqr_basecase(limb_t *r, const limb_t *a, size_t n);

/* ---- Quotients (mpn_divrem.c) ---- */

/* floor((B^2 - 1) / d) - B for B = 2^LIMB_BITS and a d whose highest bit is 1. Constant time. */
limb_t mpn_reciprocal(limb_t d);

/*
 * Divides a, of a_limbs limbs, by d, of d_limbs: the quotient's a_limbs - d_limbs limbs go to q, its next one is
 * returned; the remainder is left in a[0 .. d_limbs-1], and above it zeros. The highest bit of d MUST be 1 (shift both
 * numbers first), a_limbs at least d_limbs, and `reciprocal` be that of d's highest limb. q MAY be NULL.
 */
limb_t mpn_divrem(limb_t *q, limb_t *a, size_t a_limbs, const limb_t *d, size_t d_limbs, limb_t reciprocal);

/* The remainder of a by the limb d, whose highest bit is 1 and whose reciprocal is given. Constant time. */
limb_t mpn_mod_1(const limb_t *a, size_t n, limb_t d, limb_t reciprocal);

#endif
