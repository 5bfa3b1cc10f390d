/*
 * Moduli, their constants, and how residues are kept, see modmul.h. The multiplications are in files of their own.
 */
#include "../mp/mpz.h"
#include "../secret.h"
#include "modmul.h"

/* How residues are kept, as multiplications.def says it. */
enum { FORM_PLAIN, FORM_MONTGOMERY };

/* What keeps residues as a * R for R = 2^(LIMB_BITS * limbs), and how squares are computed where they are a case of
   their own. */
static const struct {
    uint8_t montgomery;
    modmul_function *multiply, *square;
} multiplications[MULTIPLICATIONS] = {
#define MULTIPLICATION(NAME, name, form, square, ...)                                                        \
    [MULTIPLICATION_##NAME] = {FORM_##form, MODMUL(name##_multiply), MODMUL(square)},
#include "../multiplications.def"
#undef MULTIPLICATION
};

/* see modmul.h */
ROUTINE uint8_t modmul_init(struct modmul *modmul, const struct candidate *candidate, const limb_t *modulus,
                            size_t limbs, limb_t *constants)
{
    const uint8_t montgomery = multiplications[candidate->multiplication].montgomery;
    uint8_t shift = (uint8_t)limb_leading_zeros(modulus[limbs - 1]), even = (modulus[0] & 1) == 0, least;

    COUNT(modmul_init);
    /* A modulus may be a secret, but how long it is and whether it is odd are none. */
    SECRET_PUBLISH(shift);
    SECRET_PUBLISH(even);
    if (montgomery && even) {
        return 0;
    }
    /* The highest limb is 1: of the least number of so many limbs Barrett's constant is too long for its room. */
    if (shift == LIMB_BITS - 1 && candidate->multiplication == MULTIPLICATION_BARRETT) {
        least = (uint8_t)mpn_is_zero(modulus, limbs - 1);
        SECRET_PUBLISH(least);
        if (least) {
            return 0;
        }
    }
    modmul->modulus = modulus;
    modmul->constants = constants;
    modmul->limbs = limbs;
    modmul->karatsuba_limbs = candidate->karatsuba ? MPN_KARATSUBA_LIMBS : 0;
    modmul->inverse = 0;
    modmul->shift = shift;
    modmul->montgomery = montgomery;
    modmul->constant_time = candidate->method == METHOD_FIXED;
    modmul->is_set_up = 0;
    modmul->multiply = multiplications[candidate->multiplication].multiply;
    modmul->square = candidate->squaring ? multiplications[candidate->multiplication].square : modmul->multiply;
    return 1;
}

/* -n^-1 modulo 2^LIMB_BITS for an odd n, by Newton's iteration: n is its own inverse to three bits, and each step
   doubles how many there are. */
INLINE limb_t negative_inverse(limb_t n)
{
    limb_t inverse = n;
    unsigned bits;

    for (bits = 3; bits < LIMB_BITS; bits *= 2) {
        inverse = (limb_t)((dlimb_t)inverse * (limb_t)(2 - (dlimb_t)n * inverse));
    }
    return (limb_t)(0 - inverse);
}

/* r = 2r modulo the modulus. */
INLINE void twice(const struct modmul *modmul, limb_t *r, struct scratch scratch)
{
    const limb_t carry = mpn_lshift(r, r, modmul->limbs, 1);
    modmul_correct(modmul, r, r, carry, scratch);
}

/*
 * Montgomery's constants: R^2 and then R, both modulo the modulus. From 2^(its bits - 1), which is below it, doubling
 * leads to R, and a few more to R * 2^k, which squaring leads to R * 2^(k * 2^t): in constant time, since a modulus
 * may be a secret prime.
 */
INLINE void setup_montgomery(struct modmul *modmul, struct scratch scratch)
{
    const size_t limbs = modmul->limbs;
    limb_t *const r2 = modmul->constants, *const r1 = r2 + limbs;
    size_t power = limbs * LIMB_BITS;
    unsigned doublings = modmul->shift + 1u;

    modmul->inverse = negative_inverse(modmul->modulus[0]);
    mpn_zero(r1, limbs);
    r1[limbs - 1] = (limb_t)((limb_t)1 << (LIMB_BITS - 1 - modmul->shift));
    do {
        COUNT_TERM(modmul_setup, doublings, 1);
        twice(modmul, r1, scratch);
    } while (--doublings != 0);
    mpn_copy(r2, r1, limbs);
    while ((power & 1) == 0) {
        power /= 2;
        doublings++;
    }
    do {
        COUNT_TERM(modmul_setup, doublings, 1);
        twice(modmul, r2, scratch);
    } while (--power != 0);
    do {
        COUNT_TERM(modmul_setup, squares, 1);
        modmul_square(modmul, r2, r2, scratch);
    } while (--doublings != 0);
}

/* Barrett's: floor(B^(2 * limbs) / modulus), limbs + 1 long, and the modulus with a zero above it. */
INLINE void setup_barrett(struct modmul *modmul, struct scratch scratch)
{
    const size_t limbs = modmul->limbs;
    struct mpz power, modulus, quotient, rest;

    mpz_init(&power, 2 * limbs + 1, &scratch);
    mpz_init(&modulus, limbs, &scratch);
    mpz_init(&quotient, limbs + 2, &scratch);
    mpz_init(&rest, limbs, &scratch);
    mpn_zero(power.limbs, 2 * limbs);
    power.limbs[2 * limbs] = 1;
    power.size = 2 * limbs + 1;
    mpz_set_mpn(&modulus, modmul->modulus, limbs);
    mpz_divmod(&quotient, &rest, &power, &modulus, scratch);
    mpz_get_mpn(modmul->constants, limbs + 1, &quotient);
    mpn_copy(modmul->constants + limbs + 1, modmul->modulus, limbs);
    modmul->constants[2 * limbs + 1] = 0;
}

/* The interleaved one's: the modulus, shifted so that its highest bit is 1, and its reciprocal. */
INLINE void setup_interleaved(struct modmul *modmul)
{
    if (modmul->shift != 0) {
        (void)mpn_lshift(modmul->constants, modmul->modulus, modmul->limbs, modmul->shift);
    } else {
        mpn_copy(modmul->constants, modmul->modulus, modmul->limbs);
    }
    modmul->inverse = mpn_reciprocal(modmul->constants, modmul->limbs);
}

/* see modmul.h */
ROUTINE void modmul_setup(struct modmul *modmul, struct scratch scratch)
{
    COUNT(modmul_setup, 0, 0, modmul->multiply == MODMUL(barrett_multiply),
          modmul->multiply == MODMUL(interleaved_multiply));
    if (modmul->montgomery) {
        setup_montgomery(modmul, scratch);
    } else if (modmul->multiply == MODMUL(barrett_multiply)) {
        setup_barrett(modmul, scratch);
    } else if (modmul->multiply == MODMUL(interleaved_multiply)) {
        setup_interleaved(modmul);
    }
    modmul->is_set_up = 1;
}

/* see modmul.h */
ROUTINE void modmul_in(const struct modmul *modmul, limb_t *r, const limb_t *a, struct scratch scratch)
{
    COUNT(modmul_in, modmul->montgomery);
    if (modmul->montgomery) {
        modmul_multiply(modmul, r, a, modmul->constants, scratch);
    } else {
        mpn_copy(r, a, modmul->limbs);
    }
}

/* see modmul.h */
ROUTINE void modmul_out(const struct modmul *modmul, limb_t *r, const limb_t *a, struct scratch scratch)
{
    const size_t limbs = modmul->limbs;

    COUNT(modmul_out, modmul->montgomery);
    if (modmul->montgomery) {
        limb_t *const t = scratch_take(&scratch, 2 * limbs);
        mpn_copy(t, a, limbs);
        mpn_zero(t + limbs, limbs);
        modmul_redc(modmul, r, t, scratch);
    } else {
        mpn_copy(r, a, limbs);
    }
}

/* see modmul.h */
ROUTINE void modmul_one(const struct modmul *modmul, limb_t *r, struct scratch scratch)
{
    COUNT(modmul_one, modmul->montgomery);
    (void)scratch;
    if (modmul->montgomery) {
        mpn_copy(r, modmul->constants + modmul->limbs, modmul->limbs);
    } else {
        mpn_zero(r, modmul->limbs);
        r[0] = 1;
    }
}

/* see modmul.h */
ROUTINE void modmul_reduce(const struct modmul *modmul, limb_t *r, const limb_t *a, size_t a_limbs,
                           struct scratch scratch)
{
    const size_t limbs = modmul->limbs;
    const uint8_t barrett = modmul->multiply == MODMUL(barrett_multiply);

    COUNT(modmul_reduce, modmul->montgomery, barrett, a_limbs < 2 * limbs);
    if (modmul->montgomery || barrett) {
        limb_t *const t = scratch_take(&scratch, 2 * limbs);
        mpn_copy(t, a, a_limbs);
        if (a_limbs < 2 * limbs) {
            mpn_zero(t + a_limbs, 2 * limbs - a_limbs);
        }
        if (barrett) {
            modmul_barrett_reduce(modmul, r, t, scratch);
        } else {
            modmul_redc(modmul, r, t, scratch);
            modmul_multiply(modmul, r, r, modmul->constants, scratch);
        }
    } else {
        struct mpz number, modulus, rest;
        mpz_init(&number, a_limbs, &scratch);
        mpz_init(&modulus, limbs, &scratch);
        mpz_init(&rest, limbs, &scratch);
        mpz_set_mpn(&number, a, a_limbs);
        mpz_set_mpn(&modulus, modmul->modulus, limbs);
        mpz_mod(&rest, &number, &modulus, scratch);
        mpz_get_mpn(r, limbs, &rest);
    }
}

/* see modmul.h */
ROUTINE void modmul_correct(const struct modmul *modmul, limb_t *r, const limb_t *t, limb_t carry,
                            struct scratch scratch)
{
    const size_t limbs = modmul->limbs;

    COUNT(modmul_correct, modmul->constant_time, 0, 0);
    if (modmul->constant_time) {
        limb_t *const less = scratch_take(&scratch, limbs);
        const limb_t borrow = mpn_sub_n(less, t, modmul->modulus, limbs);
        mpn_select(r, t, less, limbs, limb_mask((limb_t)(borrow & ~carry & 1)));
    } else if (carry != 0) {
        COUNT_TERM(modmul_correct, carried, 1);
        (void)mpn_sub_n(r, t, modmul->modulus, limbs);
    } else if (mpn_cmp(t, modmul->modulus, limbs) >= 0) {
        COUNT_TERM(modmul_correct, corrected, 1);
        (void)mpn_sub_n(r, t, modmul->modulus, limbs);
    } else if (r != t) {
        COUNT_TERM(modmul_correct, copied, 1);
        mpn_copy(r, t, limbs);
    }
}
