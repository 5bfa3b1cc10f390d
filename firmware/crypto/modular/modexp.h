/*
 * Modular exponentiation: base^exponent by the methods of candidate.h, and the caller's hash table of powers.
 *
 *   binary   square for each bit, multiply for each 1
 *   kary     square for each bit, multiply for each group of `window_bits` that is not 0
 *   sliding  the same with groups that begin and end with 1, so that only odd powers are kept
 *   fixed    multiply for each group, 0 or not, by a power that is read among all of them: time and addresses depend
 *            on lengths alone where the multiplication is Montgomery's or Barrett's
 */
#ifndef SELVEDGE_MODEXP_H
#define SELVEDGE_MODEXP_H

#include "modmul.h"

#define modexp           LIMB_NAME(modexp, exponentiate)
#define modexp_residue   LIMB_NAME(modexp, residue)
#define modexp_powers    LIMB_NAME(modexp, powers)
#define modexp_binary    LIMB_NAME(modexp, binary)
#define modexp_kary      LIMB_NAME(modexp, kary)
#define modexp_sliding   LIMB_NAME(modexp, sliding)
#define modexp_fixed     LIMB_NAME(modexp, fixed)
#define power_cache_init LIMB_NAME(power_cache, init)
#define power_cache_find LIMB_NAME(power_cache, find)
#define power_cache_hash LIMB_NAME(power_cache, hash)

/* Powers that a window can ask for. */
#define MODEXP_POWERS(window_bits)               ((size_t)1 << (window_bits))
#define MODEXP_SCRATCH(limbs, window_bits)       ((MODEXP_POWERS(window_bits) + 3) * (limbs) + MODMUL_SCRATCH(limbs))

/*
 * Power tables by base and modulus, in the caller's memory. A slot holds a modulus, a base and the base's powers; the
 * hash of the first two chooses it, and whoever comes later to the same slot replaces what is there. For one candidate.
 */
struct power_cache {
    limb_t *memory; /* slots * POWER_CACHE_SLOT(limbs_max, window_bits) limbs */
    size_t slots;   /* a power of two */
    size_t limbs_max;
    uint8_t window_bits;
};

#define POWER_CACHE_SLOT(limbs, window_bits) ((MODEXP_POWERS(window_bits) + 2) * (limbs) + 1)

/* ---- Parts of modexp, each a routine ---- */

/*
 * What a method reads, each of `modmul`'s limbs: for sliding windows the odd powers, base^(2i + 1) at i, else base^i at i,
 * of which kary and binary never read that at 0. `base` is a residue.
 */
void modexp_powers(const struct modmul *modmul, const struct candidate *candidate, limb_t *powers, const limb_t *base,
                   struct scratch scratch);
/* acc = the power, a residue, for an exponent whose highest bit is at bits - 1, by the method of the name. */
void modexp_binary(const struct modmul *modmul, limb_t *acc, const limb_t *base, const limb_t *exponent, size_t bits,
                   struct scratch scratch);
void modexp_kary(const struct modmul *modmul, size_t window_bits, limb_t *acc, const limb_t *powers,
                 const limb_t *exponent, size_t bits, struct scratch scratch);
void modexp_sliding(const struct modmul *modmul, size_t window_bits, limb_t *acc, const limb_t *powers,
                    const limb_t *exponent, size_t bits, struct scratch scratch);
void modexp_fixed(const struct modmul *modmul, size_t window_bits, limb_t *acc, const limb_t *powers,
                  const limb_t *exponent, size_t bits, struct scratch scratch);
/* The hash of Fowler, Noll and Vo, by limbs, from where it is. */
uint32_t power_cache_hash(uint32_t hash, const limb_t *a, size_t n);

/* An empty cache. */
void power_cache_init(struct power_cache *cache, limb_t *memory, size_t slots, size_t limbs_max, uint8_t window_bits);

/*
 * The powers of `base` modulo `modulus`, plain numbers of `limbs` limbs, at most limbs_max. `hit` is 1 when they are
 * there; when it is 0 the slot has become theirs, and the caller MUST compute them.
 */
limb_t *power_cache_find(struct power_cache *cache, const limb_t *modulus, const limb_t *base, size_t limbs,
                         uint8_t *hit);

/*
 * r = base^exponent modulo modmul's modulus; plain numbers, base below the modulus. The exponent has `exponent_bits`
 * bits, at least 1, of which leading ones may be 0. `cache` MAY be NULL. r MAY be base. Of the candidate, only method
 * and window_bits count. The second leaves the power as modmul keeps its residues.
 */
void modexp(const struct modmul *modmul, const struct candidate *candidate, limb_t *r, const limb_t *base,
            const limb_t *exponent, size_t exponent_bits, struct power_cache *cache, struct scratch scratch);
void modexp_residue(const struct modmul *modmul, const struct candidate *candidate, limb_t *r, const limb_t *base,
                    const limb_t *exponent, size_t exponent_bits, struct power_cache *cache, struct scratch scratch);

#endif
