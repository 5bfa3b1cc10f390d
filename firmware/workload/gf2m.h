/*
 * The field GF(2^233) and the curve sect233k1 over it (SEC 2 version 2, section 3.3.1; NIST K-233), by x coordinates.
 *
 * Owns the field's arithmetic and the multiplication of a point. Leaves keys, hashing and encryption to pegwit.c. A
 * workload, not a library: it is measured, its time depends on its operands, and nothing that ships uses it.
 */
#ifndef SELVEDGE_WORKLOAD_GF2M_H
#define SELVEDGE_WORKLOAD_GF2M_H

#include <stdint.h>

#define GF2M_WORDS 8
#define GF2M_BYTES 30

/* A polynomial of degree at most 232: bit i of word j is the coefficient of x^(32 j + i). */
typedef struct {
    uint32_t word[GF2M_WORDS];
} gf2m;

/* From and to GF2M_BYTES bytes, the highest first. Bits above x^232 are dropped. */
gf2m gf2m_load(const uint8_t bytes[GF2M_BYTES]);
void gf2m_store(const gf2m *value, uint8_t bytes[GF2M_BYTES]);

/* The x coordinate of the curve's base point. */
gf2m gf2m_base(void);

/*
 * The x coordinate of `scalar` times a point whose x coordinate is `x`, which is not 0. The scalar's bits are those
 * of GF2M_BYTES bytes, the highest first, as gf2m_load reads them. Returns 0 and leaves `result` for the point at
 * infinity.
 */
int gf2m_multiply_point(gf2m *result, const gf2m *scalar, const gf2m *x);

#endif
