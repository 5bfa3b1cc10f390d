/*
 * The curve P-256 (SP 800-186 section 3.2.1.3): its field, its points, multiples of them. In constant time throughout:
 * points are added by formulas that hold for all of them (Renes, Costello and Batina, "Complete addition formulas for
 * prime order elliptic curves", 2016), tables are read in full.
 */
#ifndef SELVEDGE_P256_H
#define SELVEDGE_P256_H

#include "../mp/mpn.h"

#define p256_prime          LIMB_NAME(p256_, prime)
#define p256_field_multiply LIMB_NAME(p256_, field_multiply)
#define p256_field_square   LIMB_NAME(p256_, field_square)
#define p256_field_reduce   LIMB_NAME(p256_, field_reduce)
#define p256_field_add      LIMB_NAME(p256_, field_add)
#define p256_field_subtract LIMB_NAME(p256_, field_subtract)
#define p256_field_invert   LIMB_NAME(p256_, field_invert)
#define p256_add            LIMB_NAME(p256_, add)
#define p256_double         LIMB_NAME(p256_, double)
#define p256_ladder         LIMB_NAME(p256_, ladder)
#define p256_window         LIMB_NAME(p256_, window)
#define p256_multiply       LIMB_NAME(p256_, multiply)
#define p256_load           LIMB_NAME(p256_, load)
#define p256_store          LIMB_NAME(p256_, store)
#define p256_base           LIMB_NAME(p256_, base)

#define P256_LIMBS LIMBS(256)
#define P256_BYTES 32

/* X : Y : Z, each times 2^256 modulo p; (0 : 1 : 0) is the point at infinity. */
struct p256_point {
    union {
        struct {
            limb_t x[P256_LIMBS], y[P256_LIMBS], z[P256_LIMBS];
        };
        limb_t all[3 * P256_LIMBS];
    };
};

/* How multiples are computed: an addition and a doubling for each bit, or an addition for a window of 1 to 5 bits. */
enum p256_method { P256_LADDER, P256_WINDOW };

/* r = scalar * point, for any 256-bit scalar. */
void p256_multiply(struct p256_point *r, const limb_t scalar[P256_LIMBS], const struct p256_point *point,
                   uint8_t method, uint8_t window_bits, struct scratch scratch);
/* The same by each method: parts of it. */
void p256_ladder(struct p256_point *r, const limb_t *scalar, const struct p256_point *point);
void p256_window(struct p256_point *r, const limb_t *scalar, const struct p256_point *point, size_t window_bits,
                 struct scratch scratch);
void p256_add(struct p256_point *r, const struct p256_point *a, const struct p256_point *b);
void p256_double(struct p256_point *r, const struct p256_point *a);
/* The generator. */
void p256_base(struct p256_point *r);

/* From 64 bytes x, y, most significant first; returns 0 when they are no point of the curve. And back; returns 0, and
   writes zeros, for the point at infinity. */
uint8_t p256_load(struct p256_point *r, const uint8_t bytes[2 * P256_BYTES]);
uint8_t p256_store(uint8_t bytes[2 * P256_BYTES], const struct p256_point *a);

#define P256_SCRATCH ((((size_t)1 << 5) + 1) * 3 * P256_LIMBS)

/* ---- The field ---- */

extern const limb_t p256_prime[P256_LIMBS];

/* Elements are below p and kept times R = 2^256. r MAY be any operand. */
void p256_field_multiply(limb_t *r, const limb_t *a, const limb_t *b);
void p256_field_square(limb_t *r, const limb_t *a);
void p256_field_subtract(limb_t *r, const limb_t *a, const limb_t *b);
void p256_field_add(limb_t *r, const limb_t *a, const limb_t *b);
/* r = t / R modulo p, for t of twice the limbs and below p * R. */
void p256_field_reduce(limb_t *r, const limb_t *t);
/* r = a^-1, and 0 for 0. r MUST NOT be a. */
void p256_field_invert(limb_t *r, const limb_t *a);

#endif
