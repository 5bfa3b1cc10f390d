/*
 * RSA's keys and raw operations, see rsa.h. Padding is rsa_pkcs1.c's, generation rsa_generate.c's.
 */
#include "../secret.h"
#include "rsa.h"

/* A number into `limbs` limbs; returns 0 when it does not fit, which is no secret. */
INLINE uint8_t take(limb_t *r, size_t limbs, const struct rsa_number *number)
{
    const size_t most = limbs * LIMB_BYTES, excess = number->count > most ? number->count - most : 0;
    uint8_t above = 0;
    size_t i;

    for (i = 0; i < excess; i++) {
        above |= number->bytes[i];
    }
    SECRET_PUBLISH(above);
    if (above != 0 || number->count == 0) {
        return 0;
    }
    mpn_from_bytes(r, limbs, number->bytes + excess, number->count - excess);
    return 1;
}

/* The same for a modulus: odd, with its highest bit set. */
INLINE uint8_t take_modulus(struct modmul *modmul, const struct candidate *candidate, limb_t *r, size_t limbs,
                            const struct rsa_number *number, limb_t *constants)
{
    limb_t sound;

    if (!take(r, limbs, number)) {
        return 0;
    }
    sound = r[limbs - 1] >> (LIMB_BITS - 1) & r[0] & 1;
    SECRET_PUBLISH(sound);
    return sound && modmul_init(modmul, candidate, r, limbs, constants);
}

INLINE uint8_t is_size(size_t bits)
{
    return bits >= RSA_BITS_MIN && bits <= RSA_BITS_MAX && bits % (2 * LIMB_BITS) == 0;
}

/* see rsa.h */
ROUTINE uint8_t rsa_public_init(struct rsa_public *key, limb_t *memory, const struct candidate *candidate, size_t bits,
                                const struct rsa_number *n, uint32_t e)
{
    const size_t limbs = LIMBS(bits);
    size_t i;

    COUNT(rsa_public_init);
    if (!is_size(bits) || !candidate_is_valid(candidate) || (e & 1) == 0 || e == 1) {
        return 0;
    }
    key->candidate = *candidate;
    key->bytes = bits / 8;
    for (i = 0; i < LIMBS(32); i++) {
        key->exponent[i] = (limb_t)(e >> (i * (LIMB_BITS % 32)));
    }
    return take_modulus(&key->n, candidate, memory, limbs, n, memory + limbs);
}

/* see rsa.h; the memory has n, d, p, q, d_p, d_q, then the constants of n, p and q and of the CRT */
ROUTINE uint8_t rsa_private_init(struct rsa_private *key, limb_t *memory, const struct candidate *candidate,
                                 size_t bits, const struct rsa_numbers *numbers)
{
    const size_t limbs = LIMBS(bits), half = limbs / 2;
    limb_t *const n = memory, *const d = n + limbs, *const p = d + limbs, *const q = p + half;
    limb_t *const d_p = q + half, *const d_q = d_p + half, *const constants = d_q + half;
    limb_t same;

    COUNT(rsa_private_init, candidate->crt != CRT_NONE);
    if (!is_size(bits) || !candidate_is_valid(candidate)) {
        return 0;
    }
    key->candidate = *candidate;
    key->bytes = bits / 8;
    key->cache = NULL;
    key->is_set_up = 0;
    key->d = d;
    key->d_p = d_p;
    key->d_q = d_q;
    key->crt.coefficient = constants + 3 * MODMUL_CONSTANTS(limbs);
    key->crt.weights = key->crt.coefficient;
    if (!take_modulus(&key->n, candidate, n, limbs, &numbers->n, constants) || !take(d, limbs, &numbers->d)) {
        return 0;
    }
    if (candidate->crt == CRT_NONE) {
        return 1;
    }
    if (!take_modulus(&key->p, candidate, p, half, &numbers->p, constants + MODMUL_CONSTANTS(limbs)) ||
        !take_modulus(&key->q, candidate, q, half, &numbers->q, constants + 2 * MODMUL_CONSTANTS(limbs)) ||
        !take(d_p, half, &numbers->d_p) || !take(d_q, half, &numbers->d_q)) {
        return 0;
    }
    (void)mpn_sub_n(constants, p, q, half);
    same = mpn_is_zero(constants, half);
    SECRET_PUBLISH(same);
    return same == 0;
}

/* see rsa.h */
ROUTINE void rsa_private_setup(struct rsa_private *key, struct scratch scratch)
{
    COUNT(rsa_private_setup, key->candidate.crt != CRT_NONE);
    if (key->candidate.crt == CRT_NONE) {
        modmul_setup(&key->n, scratch);
    } else {
        modmul_setup(&key->p, scratch);
        modmul_setup(&key->q, scratch);
        crt_setup(&key->crt, key->candidate.crt, &key->p, &key->q, scratch);
    }
    key->is_set_up = 1;
}

/* see rsa.h */
ROUTINE uint8_t rsa_public(struct rsa_public *key, uint8_t *output, const uint8_t *input, struct scratch scratch)
{
    const struct scratch whole = scratch;
    const size_t limbs = key->n.limbs;
    limb_t *const number = scratch_take(&scratch, limbs);

    COUNT(rsa_public, key->candidate.caching == CACHING_NONE || !key->n.is_set_up);
    mpn_from_bytes(number, limbs, input, key->bytes);
    if (mpn_cmp(number, key->n.modulus, limbs) >= 0) {
        return 0;
    }
    if (key->candidate.caching == CACHING_NONE || !key->n.is_set_up) {
        modmul_setup(&key->n, scratch);
    }
    modexp(&key->n, &key->candidate, number, number, key->exponent, 32, NULL, scratch);
    mpn_to_bytes(output, key->bytes, number, limbs);
    mpn_zero(whole.next, whole.limbs);
    return 1;
}

/* x = base^d by the factors. */
INLINE void exponentiate_by_factors(const struct rsa_private *key, limb_t *x, const limb_t *base,
                                    struct power_cache *cache, struct scratch scratch)
{
    const size_t half = key->p.limbs;
    limb_t *const x_p = scratch_take(&scratch, half);
    limb_t *const x_q = scratch_take(&scratch, half);

    modmul_reduce(&key->p, x_p, base, 2 * half, scratch);
    modexp(&key->p, &key->candidate, x_p, x_p, key->d_p, half * LIMB_BITS, cache, scratch);
    modmul_reduce(&key->q, x_q, base, 2 * half, scratch);
    modexp(&key->q, &key->candidate, x_q, x_q, key->d_q, half * LIMB_BITS, cache, scratch);
    if (key->candidate.crt == CRT_GAUSS) {
        crt_gauss(x, x_p, x_q, &key->crt, half, scratch);
    } else {
        crt_garner(x, x_p, x_q, &key->crt, &key->p, &key->q, scratch);
    }
}

/* see rsa.h */
ROUTINE uint8_t rsa_private(struct rsa_private *key, uint8_t *output, const uint8_t *input, struct scratch scratch)
{
    const struct scratch whole = scratch;
    const size_t limbs = key->n.limbs;
    const uint8_t setup = key->candidate.caching == CACHING_NONE || !key->is_set_up;
    struct power_cache *const cache = key->candidate.caching == CACHING_TABLES ? key->cache : NULL;
    limb_t *const number = scratch_take(&scratch, limbs);

    COUNT(rsa_private, setup, key->candidate.crt == CRT_NONE, key->candidate.crt == CRT_GAUSS, cache != NULL);
    mpn_from_bytes(number, limbs, input, key->bytes);
    if (mpn_cmp(number, key->n.modulus, limbs) >= 0) {
        return 0;
    }
    if (setup) {
        rsa_private_setup(key, scratch);
    }
    if (key->candidate.crt == CRT_NONE) {
        modexp(&key->n, &key->candidate, number, number, key->d, limbs * LIMB_BITS, cache, scratch);
    } else {
        exponentiate_by_factors(key, number, number, cache, scratch);
    }
    mpn_to_bytes(output, key->bytes, number, limbs);
    mpn_zero(whole.next, whole.limbs);
    return 1;
}

/* see rsa.h */
ROUTINE void rsa_export(const struct rsa_private *key, uint8_t *numbers)
{
    const size_t limbs = key->n.limbs, half = limbs / 2, bytes = key->bytes;

    COUNT(rsa_export);
    mpn_to_bytes(numbers, bytes, key->n.modulus, limbs);
    mpn_to_bytes(numbers + bytes, bytes, key->d, limbs);
    mpn_to_bytes(numbers + 2 * bytes, bytes / 2, key->p.modulus, half);
    mpn_to_bytes(numbers + 5 * bytes / 2, bytes / 2, key->q.modulus, half);
    mpn_to_bytes(numbers + 3 * bytes, bytes / 2, key->d_p, half);
    mpn_to_bytes(numbers + 7 * bytes / 2, bytes / 2, key->d_q, half);
}
