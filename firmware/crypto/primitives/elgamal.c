/*
 * ElGamal encryption, see elgamal.h.
 */
#include "../secret.h"
#include "elgamal.h"

/* see elgamal.h */
ROUTINE uint8_t elgamal_init(struct elgamal *group, limb_t *memory, const struct candidate *candidate, size_t bits,
                             const uint8_t *p, const uint8_t *g)
{
    const size_t limbs = LIMBS(bits);
    limb_t *const prime = memory, *const generator = prime + limbs;

    COUNT(elgamal_init);
    if (bits < ELGAMAL_BITS_MIN || bits > MODULUS_BITS_MAX || bits % LIMB_BITS != 0 || !candidate_is_valid(candidate)) {
        return 0;
    }
    mpn_from_bytes(prime, limbs, p, bits / 8);
    mpn_from_bytes(generator, limbs, g, bits / 8);
    group->candidate = *candidate;
    group->generator = generator;
    group->cache = NULL;
    group->bytes = bits / 8;
    return prime[limbs - 1] >> (LIMB_BITS - 1) == 1 && (prime[0] & 1) == 1 && mpn_cmp(generator, prime, limbs) < 0 &&
           modmul_init(&group->p, candidate, prime, limbs, generator + limbs);
}

INLINE void setup(struct elgamal *group, struct scratch scratch)
{
    if (group->candidate.caching == CACHING_NONE || !group->p.is_set_up) {
        modmul_setup(&group->p, scratch);
    }
}

INLINE struct power_cache *cache_of(struct elgamal *group)
{
    return group->candidate.caching == CACHING_TABLES ? group->cache : NULL;
}

/* A number below p; 0 when it is not. */
INLINE uint8_t take(const struct elgamal *group, limb_t *r, const uint8_t *bytes)
{
    mpn_from_bytes(r, group->p.limbs, bytes, group->bytes);
    return mpn_cmp(r, group->p.modulus, group->p.limbs) < 0;
}

/* The same of a secret, in constant time: that it is below p is none. `less` is lost. */
INLINE uint8_t take_secret(const struct elgamal *group, limb_t *r, limb_t *less, const uint8_t *bytes)
{
    uint8_t below;

    mpn_from_bytes(r, group->p.limbs, bytes, group->bytes);
    below = (uint8_t)mpn_sub_n(less, r, group->p.modulus, group->p.limbs);
    SECRET_PUBLISH(below);
    return below;
}

/* A random exponent from 1 to p - 2; others are drawn anew. */
INLINE void draw(const struct elgamal *group, limb_t *r, limb_t *top, const struct random *random)
{
    const size_t limbs = group->p.limbs;

    (void)mpn_sub_1(top, group->p.modulus, limbs, 1);
    do {
        random->fill(random->context, (uint8_t *)r, limbs * LIMB_BYTES);
    } while (mpn_cmp(r, top, limbs) >= 0 || mpn_is_zero(r, limbs));
}

INLINE void exponentiate(struct elgamal *group, limb_t *r, const limb_t *base, const limb_t *exponent,
                         struct power_cache *cache, struct scratch scratch)
{
    modexp(&group->p, &group->candidate, r, base, exponent, group->p.limbs * LIMB_BITS, cache, scratch);
}

/* see elgamal.h */
ROUTINE void elgamal_generate(struct elgamal *group, uint8_t *x, uint8_t *public, const struct random *random,
                              struct scratch scratch)
{
    const struct scratch whole = scratch;
    const size_t limbs = group->p.limbs;
    limb_t *const exponent = scratch_take(&scratch, limbs);
    limb_t *const power = scratch_take(&scratch, limbs);

    COUNT(elgamal_generate);
    setup(group, scratch);
    draw(group, exponent, power, random);
    exponentiate(group, power, group->generator, exponent, cache_of(group), scratch);
    mpn_to_bytes(x, group->bytes, exponent, limbs);
    mpn_to_bytes(public, group->bytes, power, limbs);
    mpn_zero(whole.next, whole.limbs);
}

/* r = a * b modulo p, for plain numbers: one factor as a residue makes the product plain, with Montgomery's R, too. */
INLINE void multiply(const struct elgamal *group, limb_t *r, const limb_t *a, const limb_t *b, struct scratch scratch)
{
    limb_t *const residue = scratch_take(&scratch, group->p.limbs);

    modmul_in(&group->p, residue, a, scratch);
    modmul_multiply(&group->p, r, residue, b, scratch);
}

/* see elgamal.h; powers of the generator and of the public key are worth keeping */
ROUTINE uint8_t elgamal_encrypt(struct elgamal *group, uint8_t *c1, uint8_t *c2, const uint8_t *public,
                                const uint8_t *message, const struct random *random, struct scratch scratch)
{
    const struct scratch whole = scratch;
    const size_t limbs = group->p.limbs;
    limb_t *const k = scratch_take(&scratch, limbs);
    limb_t *const power = scratch_take(&scratch, limbs);
    limb_t *const number = scratch_take(&scratch, limbs);

    COUNT(elgamal_encrypt);
    if (!take(group, power, public) || !take(group, number, message)) {
        return 0;
    }
    setup(group, scratch);
    draw(group, k, scratch_take(&scratch, limbs), random);
    exponentiate(group, power, power, k, cache_of(group), scratch);
    multiply(group, number, power, number, scratch);
    mpn_to_bytes(c2, group->bytes, number, limbs);
    exponentiate(group, power, group->generator, k, cache_of(group), scratch);
    mpn_to_bytes(c1, group->bytes, power, limbs);
    mpn_zero(whole.next, whole.limbs);
    return 1;
}

/* see elgamal.h; no base comes twice, so none is kept */
ROUTINE uint8_t elgamal_decrypt(struct elgamal *group, uint8_t *message, const uint8_t *x, const uint8_t *c1,
                                const uint8_t *c2, struct scratch scratch)
{
    const struct scratch whole = scratch;
    const size_t limbs = group->p.limbs;
    limb_t *const exponent = scratch_take(&scratch, limbs);
    limb_t *const power = scratch_take(&scratch, limbs);
    limb_t *const number = scratch_take(&scratch, limbs);

    COUNT(elgamal_decrypt);
    if (!take_secret(group, exponent, power, x) || !take(group, power, c1) || !take(group, number, c2)) {
        return 0;
    }
    setup(group, scratch);
    (void)mpn_sub_n(exponent, group->p.modulus, exponent, limbs);
    (void)mpn_sub_1(exponent, exponent, limbs, 1);
    exponentiate(group, power, power, exponent, NULL, scratch);
    multiply(group, number, power, number, scratch);
    mpn_to_bytes(message, group->bytes, number, limbs);
    mpn_zero(whole.next, whole.limbs);
    return 1;
}
