/*
 * Modular multiplication: one interface, and the ways of ../multiplications.def, a file each (modmul_<name>.c). Owns
 * what depends on a modulus alone; exponents are modexp.h's.
 *
 *   divide       a product, then Knuth's division; on mpz.h
 *   interleaved  limb by limb, and after each a quotient of one limb
 *   barrett      a product, then two products with the reciprocal of the modulus
 *   sos          Montgomery: the product first, then the reduction ("separated operand scanning")
 *   cios         Montgomery: a row of the product and one of the reduction in turn ("coarsely integrated")
 *   fios         Montgomery: both rows in one loop ("finely integrated")
 *   fips         Montgomery: columns instead of rows ("finely integrated product scanning")
 *   cihs         Montgomery: half of the product by rows first, the rest by columns ("hybrid scanning")
 *
 * The names of Montgomery's are those of Koc, Acar and Kaliski, "Analyzing and comparing Montgomery multiplication
 * algorithms", IEEE Micro 16(3), 1996. Those need an odd modulus.
 *
 * With `squaring`, a square is what mpn_sqr makes and the separate reduction of the family, or for fips its own columns.
 * `karatsuba` is for products that are made first: all of divide, barrett and sos, and squares.
 */
#ifndef SELVEDGE_MODMUL_H
#define SELVEDGE_MODMUL_H

#include "../candidate.h"
#include "../mp/mpn.h"

/* What a multiplication is made of: MODMUL(cios_multiply). */
#define MODMUL(name) LIMB_NAME(modmul, name)

#define modmul_init                 LIMB_NAME(modmul, init)
#define modmul_setup                LIMB_NAME(modmul, setup)
#define modmul_in                   LIMB_NAME(modmul, in)
#define modmul_out                  LIMB_NAME(modmul, out)
#define modmul_one                  LIMB_NAME(modmul, one)
#define modmul_reduce               LIMB_NAME(modmul, reduce)
#define modmul_correct              LIMB_NAME(modmul, correct)
#define modmul_redc                 LIMB_NAME(modmul, redc)
#define modmul_barrett_reduce       LIMB_NAME(modmul, barrett_reduce)

struct modmul;

/* r = a * b, or a^2 whatever b is. */
typedef void modmul_function(const struct modmul *modmul, limb_t *r, const limb_t *a, const limb_t *b,
                             struct scratch scratch);

/* A modulus and what multiplications by it need. Fields are set by modmul_init and modmul_setup. */
struct modmul {
    const limb_t *modulus; /* the caller's; its highest limb is not 0 */
    limb_t *constants;     /* the caller's, MODMUL_CONSTANTS(limbs) limbs: see modmul_setup */
    size_t limbs;
    size_t karatsuba_limbs; /* 0 without */
    limb_t inverse;         /* Montgomery: -modulus^-1 modulo 2^LIMB_BITS; else the shifted modulus' reciprocal */
    uint8_t shift;          /* bits that make the modulus' highest bit 1 */
    uint8_t montgomery;     /* 1: residues a are kept as a * 2^(LIMB_BITS * limbs) */
    uint8_t constant_time;  /* 1: corrections are computed whether they are needed or not */
    uint8_t is_set_up;      /* constants are there */
    modmul_function *multiply, *square;
};

#define MODMUL_CONSTANTS(limbs) (2 * (limbs) + 4)
/* Scratch of every function here, for any candidate. */
#define MODMUL_SCRATCH(limbs)   (14 * (limbs) + 128)

/*
 * Chooses the functions of `candidate` for a modulus of at least two limbs, of which the highest is not 0. Returns 0,
 * and has done nothing, when the multiplication needs an odd modulus and this one is even, and for barrett when it is
 * the least number of so many limbs, 2^(LIMB_BITS * (limbs - 1)): its constant has a limb more than those of all others.
 */
uint8_t modmul_init(struct modmul *modmul, const struct candidate *candidate, const limb_t *modulus, size_t limbs,
                    limb_t *constants);
/* Makes the constants; before it nothing below may be called. Time depends on the modulus but for Montgomery's. */
void modmul_setup(struct modmul *modmul, struct scratch scratch);

/* r = a * b, a^2: `limbs` limbs and below the modulus, in the form that residues are kept in. Vectors MAY be the same. */
INLINE void modmul_multiply(const struct modmul *modmul, limb_t *r, const limb_t *a, const limb_t *b,
                            struct scratch scratch)
{
    modmul->multiply(modmul, r, a, b, scratch);
}
INLINE void modmul_square(const struct modmul *modmul, limb_t *r, const limb_t *a, struct scratch scratch)
{
    modmul->square(modmul, r, a, a, scratch);
}

/* A number below the modulus into the form that residues are kept in, and back; 1 in that form. */
void modmul_in(const struct modmul *modmul, limb_t *r, const limb_t *a, struct scratch scratch);
void modmul_out(const struct modmul *modmul, limb_t *r, const limb_t *a, struct scratch scratch);
void modmul_one(const struct modmul *modmul, limb_t *r, struct scratch scratch);

/*
 * r = a modulo the modulus, for plain numbers and a of at most 2 * limbs; for Montgomery's it MUST be below the modulus
 * times 2^(LIMB_BITS * limbs), and takes constant time with `constant_time`.
 */
void modmul_reduce(const struct modmul *modmul, limb_t *r, const limb_t *a, size_t a_limbs, struct scratch scratch);

/* ---- What the multiplications share, for their files ---- */

/* r = carry, t modulo the modulus, of less than twice that; `carry` is 0 or 1. r MAY be t. */
void modmul_correct(const struct modmul *modmul, limb_t *r, const limb_t *t, limb_t carry, struct scratch scratch);
/* r = t / 2^(LIMB_BITS * limbs) modulo the modulus, for t of twice its limbs, which are lost. */
void modmul_redc(const struct modmul *modmul, limb_t *r, limb_t *t, struct scratch scratch);
/* r = t modulo the modulus, for t of twice its limbs. */
void modmul_barrett_reduce(const struct modmul *modmul, limb_t *r, const limb_t *t, struct scratch scratch);

#define MULTIPLICATION(NAME, name, form, square, ...) modmul_function MODMUL(name##_multiply), MODMUL(square);
#include "../multiplications.def"
#undef MULTIPLICATION

#endif
