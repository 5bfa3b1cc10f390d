/*
 * ECDH and ECDSA on P-256, see ecc.h.
 */
#include "../secret.h"
#include "ecc.h"

/* The order of the group */
static const limb_t order[P256_LIMBS] = {
    WORD(0xfc632551), WORD(0xf3b9cac2), WORD(0xa7179e84), WORD(0xbce6faad),
    WORD(0xffffffff), WORD(0xffffffff), WORD(0x00000000), WORD(0xffffffff),
};

/* Scalars modulo the order, multiplied as Montgomery does and in constant time. */
static const struct candidate scalars = {
    .multiplication = MULTIPLICATION_CIOS, .method = METHOD_FIXED, .window_bits = 4, .squaring = 1};

/* From 32 bytes; 1 when it is from 1 to the order less 1, which is no secret. */
INLINE uint8_t take_scalar(limb_t *r, const uint8_t *bytes)
{
    limb_t less[P256_LIMBS];
    uint8_t fits;

    mpn_from_bytes(r, P256_LIMBS, bytes, 32);
    fits = (uint8_t)(mpn_sub_n(less, r, order, P256_LIMBS) & (1 ^ mpn_is_zero(r, P256_LIMBS)));
    mpn_zero(less, P256_LIMBS);
    SECRET_PUBLISH(fits);
    return fits;
}

/* x = scalar * point as bytes; 0 for the point at infinity. */
INLINE uint8_t multiply(uint8_t *bytes, const limb_t *scalar, const struct p256_point *point, struct ecc_choice choice,
                        struct scratch scratch)
{
    struct p256_point product;
    uint8_t finite;

    p256_multiply(&product, scalar, point, choice.method, choice.window_bits, scratch);
    finite = p256_store(bytes, &product);
    mpn_zero(product.all, 3 * P256_LIMBS);
    SECRET_PUBLISH(finite);
    return finite;
}

/* see ecc.h */
ROUTINE uint8_t ecdh_p256_public(uint8_t public[64], const uint8_t private[32], struct ecc_choice choice,
                                 struct scratch scratch)
{
    const struct scratch whole = scratch;
    limb_t *const scalar = scratch_take(&scratch, P256_LIMBS);
    struct p256_point base;
    uint8_t done;

    COUNT(ecdh_p256_public);
    p256_base(&base);
    done = take_scalar(scalar, private);
    done &= multiply(public, scalar, &base, choice, scratch);
    mpn_zero(whole.next, whole.limbs);
    return done;
}

/* see ecc.h */
ROUTINE uint8_t ecdh_p256_agree(uint8_t shared[32], const uint8_t private[32], const uint8_t public[64],
                                struct ecc_choice choice, struct scratch scratch)
{
    const struct scratch whole = scratch;
    limb_t *const scalar = scratch_take(&scratch, P256_LIMBS);
    uint8_t *const bytes = (uint8_t *)scratch_take(&scratch, 2 * P256_LIMBS);
    struct p256_point point;
    uint8_t done;
    size_t i;

    COUNT(ecdh_p256_agree);
    if (!p256_load(&point, public)) {
        return 0;
    }
    done = take_scalar(scalar, private);
    done &= multiply(bytes, scalar, &point, choice, scratch);
    for (i = 0; i < 32; i++) {
        shared[i] = bytes[i];
        LOOP_STAYS();
    }
    mpn_zero(whole.next, whole.limbs);
    return done;
}

/* A number of 256 bits, which is below twice the order, modulo the order. */
INLINE void reduce(const struct modmul *modmul, limb_t *r, const uint8_t *bytes, struct scratch scratch)
{
    mpn_from_bytes(r, P256_LIMBS, bytes, 32);
    modmul_correct(modmul, r, r, 0, scratch);
}

/* r = a^(order - 2), which is a^-1, as a residue. */
INLINE void invert(const struct modmul *modmul, limb_t *r, const limb_t *a, struct scratch scratch)
{
    limb_t exponent[P256_LIMBS];

    (void)mpn_sub_1(exponent, order, P256_LIMBS, 2);
    modexp_residue(modmul, &scalars, r, a, exponent, 256, NULL, scratch);
}

/* What signing and verifying begin with: the order as a modulus. */
INLINE void begin(struct modmul *modmul, struct scratch *scratch)
{
    (void)modmul_init(modmul, &scalars, order, P256_LIMBS, scratch_take(scratch, MODMUL_CONSTANTS(P256_LIMBS)));
    modmul_setup(modmul, *scratch);
}

/* r = x of nonce * base modulo the order; s = (digest + private * r) / nonce. 0 when either is 0. */
INLINE uint8_t sign(uint8_t *signature, const struct modmul *modmul, const limb_t *nonce, const limb_t *private,
                    const uint8_t *digest, struct ecc_choice choice, struct scratch scratch)
{
    limb_t *const r = scratch_take(&scratch, P256_LIMBS);
    limb_t *const s = scratch_take(&scratch, P256_LIMBS);
    limb_t *const residue = scratch_take(&scratch, P256_LIMBS);
    struct p256_point base;
    uint8_t done;
    limb_t carry;

    p256_base(&base);
    (void)multiply(signature, nonce, &base, choice, scratch);
    reduce(modmul, r, signature, scratch);
    modmul_in(modmul, residue, private, scratch);
    modmul_multiply(modmul, residue, residue, r, scratch);
    reduce(modmul, s, digest, scratch);
    carry = mpn_add_n(s, s, residue, P256_LIMBS);
    modmul_correct(modmul, s, s, carry, scratch);
    invert(modmul, residue, nonce, scratch);
    modmul_multiply(modmul, s, s, residue, scratch);
    mpn_to_bytes(signature, 32, r, P256_LIMBS);
    mpn_to_bytes(signature + 32, 32, s, P256_LIMBS);
    done = (uint8_t)(1 ^ (mpn_is_zero(r, P256_LIMBS) | mpn_is_zero(s, P256_LIMBS)));
    SECRET_PUBLISH(done);
    return done;
}

/* see ecc.h */
ROUTINE uint8_t ecdsa_p256_sign(uint8_t signature[64], const uint8_t private[32], const uint8_t digest[32],
                                const struct random *random, struct ecc_choice choice, struct scratch scratch)
{
    const struct scratch whole = scratch;
    limb_t *const key = scratch_take(&scratch, P256_LIMBS);
    limb_t *const nonce = scratch_take(&scratch, P256_LIMBS);
    uint8_t *const drawn = (uint8_t *)scratch_take(&scratch, P256_LIMBS);
    struct modmul modmul;
    uint8_t done;

    COUNT(ecdsa_p256_sign, 0);
    done = take_scalar(key, private);
    if (done) {
        begin(&modmul, &scratch);
        do {
            do {
                COUNT_TERM(ecdsa_p256_sign, draws, 1);
                random->fill(random->context, drawn, 32);
            } while (!take_scalar(nonce, drawn));
        } while (!sign(signature, &modmul, nonce, key, digest, choice, scratch));
    }
    mpn_zero(whole.next, whole.limbs);
    return done;
}

/* see ecc.h: x of (digest / s) * base + (r / s) * public modulo the order is r */
ROUTINE uint8_t ecdsa_p256_verify(const uint8_t signature[64], const uint8_t public[64], const uint8_t digest[32],
                                  struct ecc_choice choice, struct scratch scratch)
{
    limb_t *const r = scratch_take(&scratch, P256_LIMBS);
    limb_t *const s = scratch_take(&scratch, P256_LIMBS);
    limb_t *const scalar = scratch_take(&scratch, P256_LIMBS);
    uint8_t *const bytes = (uint8_t *)scratch_take(&scratch, 2 * P256_LIMBS);
    struct p256_point point, sum, product;
    struct modmul modmul;

    COUNT(ecdsa_p256_verify);
    if (!p256_load(&point, public) || !take_scalar(r, signature) || !take_scalar(s, signature + 32)) {
        return 0;
    }
    begin(&modmul, &scratch);
    invert(&modmul, s, s, scratch);
    modmul_multiply(&modmul, scalar, r, s, scratch);
    p256_multiply(&product, scalar, &point, choice.method, choice.window_bits, scratch);
    reduce(&modmul, scalar, digest, scratch);
    modmul_multiply(&modmul, scalar, scalar, s, scratch);
    p256_base(&point);
    p256_multiply(&sum, scalar, &point, choice.method, choice.window_bits, scratch);
    p256_add(&sum, &sum, &product);
    if (!p256_store(bytes, &sum)) {
        return 0;
    }
    reduce(&modmul, scalar, bytes, scratch);
    return mpn_cmp(scalar, r, P256_LIMBS) == 0;
}
