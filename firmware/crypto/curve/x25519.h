/*
 * X25519 (RFC 7748): the Montgomery ladder on Curve25519, in constant time.
 */
#ifndef SELVEDGE_X25519_H
#define SELVEDGE_X25519_H

#include "../mp/mpn.h"

#define x25519                LIMB_NAME(x25519_, multiply)
#define x25519_field_multiply LIMB_NAME(x25519_, field_multiply)
#define x25519_field_square   LIMB_NAME(x25519_, field_square)
#define x25519_field_fold     LIMB_NAME(x25519_, field_fold)
#define x25519_field_scale    LIMB_NAME(x25519_, field_scale)
#define x25519_field_add      LIMB_NAME(x25519_, field_add)
#define x25519_field_subtract LIMB_NAME(x25519_, field_subtract)
#define x25519_field_invert   LIMB_NAME(x25519_, field_invert)
#define x25519_ladder_step    LIMB_NAME(x25519_, ladder_step)

#define X25519_BYTES 32

/*
 * result = scalar * u, all of them little-endian as the RFC has them. Returns 0 when the result is all zeros, as it is
 * for points of small order, else 1; whoever agrees on a key MUST refuse then.
 */
uint8_t x25519(uint8_t result[X25519_BYTES], const uint8_t scalar[X25519_BYTES], const uint8_t u[X25519_BYTES]);

/* The two points of the ladder, each x = X / Z, and one step of it (RFC 7748 section 5), without its swaps. */
struct x25519_ladder {
    limb_t x2[LIMBS(256)], z2[LIMBS(256)], x3[LIMBS(256)], z3[LIMBS(256)];
};
void x25519_ladder_step(struct x25519_ladder *points, const limb_t *x1);

/* The field modulo 2^255 - 19; elements are any numbers below 2^256. r MAY be any operand. */
void x25519_field_multiply(limb_t *r, const limb_t *a, const limb_t *b);
void x25519_field_square(limb_t *r, const limb_t *a);
void x25519_field_add(limb_t *r, const limb_t *a, const limb_t *b);
void x25519_field_subtract(limb_t *r, const limb_t *a, const limb_t *b);
/* r = 121665 * a. */
void x25519_field_scale(limb_t *r, const limb_t *a);
/* r = t, of twice the limbs, which are lost. */
void x25519_field_fold(limb_t *r, limb_t *t);
/* r = a^-1, and 0 for 0. r MUST NOT be a. */
void x25519_field_invert(limb_t *r, const limb_t *a);

#endif
