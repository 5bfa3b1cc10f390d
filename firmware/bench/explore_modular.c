/*
 * Operations of the complex layer, each by itself: see public_key.def.
 */
#include "explore_limbs.h"

/* Operand 0 as a modulus for the call's candidate; 0 when it is none. */
static uint8_t take_modulus(struct explore_call *call, struct modmul *modmul, size_t operand, struct scratch *room)
{
    const struct vector n = explore_vector(call, operand, room);

    return n.n >= 2 && n.n <= LIMBS(MODULUS_BITS_MAX) && n.limbs[n.n - 1] != 0 &&
           modmul_init(modmul, &call->candidate, n.limbs, n.n, scratch_take(room, MODMUL_CONSTANTS(n.n)));
}

/* A vector below the modulus; 0 when it is not. */
static uint8_t take_residue(struct explore_call *call, struct vector *a, const struct modmul *modmul, size_t operand,
                            struct scratch *room)
{
    *a = explore_vector(call, operand, room);
    return a->n == modmul->limbs && mpn_cmp(a->limbs, modmul->modulus, a->n) < 0;
}

EXPLORE(modmul_setup)
{
    struct scratch room = explore_all(), scratch;
    struct modmul n;
    limb_t *r;

    if (call->operands != 1 || !take_modulus(call, &n, 0, &room)) {
        return EXPLORE_UNFIT;
    }
    r = scratch_take(&room, n.limbs);
    scratch = explore_scratch(&room, MODMUL_SCRATCH(n.limbs));
    TIMED((void)0, modmul_setup(&n, scratch));
    modmul_one(&n, r, scratch);
    explore_result_limbs(call, r, n.limbs);
    return EXPLORE_DONE;
}

static uint16_t product(struct explore_call *call, uint8_t square)
{
    struct scratch room = explore_all(), scratch;
    struct modmul n;
    struct vector a, b = {NULL, 0};
    limb_t *r;

    if (call->operands != 3u - square || !take_modulus(call, &n, 0, &room) ||
        !take_residue(call, &a, &n, 1, &room) || (!square && !take_residue(call, &b, &n, 2, &room))) {
        return EXPLORE_UNFIT;
    }
    r = scratch_take(&room, n.limbs);
    scratch = explore_scratch(&room, MODMUL_SCRATCH(n.limbs));
    modmul_setup(&n, scratch);
    modmul_in(&n, a.limbs, a.limbs, scratch);
    if (square) {
        TIMED((void)0, modmul_square(&n, r, a.limbs, scratch));
    } else {
        modmul_in(&n, b.limbs, b.limbs, scratch);
        TIMED((void)0, modmul_multiply(&n, r, a.limbs, b.limbs, scratch));
    }
    modmul_out(&n, r, r, scratch);
    explore_result_limbs(call, r, n.limbs);
    return EXPLORE_DONE;
}

EXPLORE(modmul_multiply)
{
    return product(call, 0);
}

EXPLORE(modmul_square)
{
    return product(call, 1);
}

EXPLORE(modexp)
{
    struct scratch room = explore_all(), scratch;
    struct power_cache cache, *used = NULL;
    struct modmul n;
    struct vector base, exponent;
    limb_t *r;

    if (call->operands != 3 || !take_modulus(call, &n, 0, &room) || !take_residue(call, &base, &n, 1, &room)) {
        return EXPLORE_UNFIT;
    }
    exponent = explore_vector(call, 2, &room);
    if (exponent.n == 0) {
        return EXPLORE_UNFIT;
    }
    r = scratch_take(&room, n.limbs);
    if (call->candidate.caching == CACHING_TABLES) {
        limb_t *const memory =
            explore_behind(&room, CACHE_SLOTS * POWER_CACHE_SLOT(n.limbs, call->candidate.window_bits));
        power_cache_init(&cache, memory, CACHE_SLOTS, n.limbs, call->candidate.window_bits);
        used = &cache;
    }
    scratch = explore_scratch(&room, MODEXP_SCRATCH(n.limbs, call->candidate.window_bits));
    TIMED((void)0, {
        if (call->candidate.caching == CACHING_NONE || !n.is_set_up) {
            modmul_setup(&n, scratch);
        }
        modexp(&n, &call->candidate, r, base.limbs, exponent.limbs, exponent.n * LIMB_BITS, used, scratch);
    });
    explore_result_limbs(call, r, n.limbs);
    return EXPLORE_DONE;
}

/* Operands 0 and 1 as different moduli of one length, and memory for the CRT's constants. */
static uint8_t take_primes(struct explore_call *call, struct modmul *p, struct modmul *q,
                           struct crt_constants *constants, struct scratch *room)
{
    if (call->candidate.crt == CRT_NONE || !take_modulus(call, p, 0, room) || !take_modulus(call, q, 1, room) ||
        p->limbs != q->limbs || mpn_cmp(p->modulus, q->modulus, p->limbs) == 0) {
        return 0;
    }
    constants->coefficient = scratch_take(room, CRT_CONSTANTS(p->limbs));
    constants->weights = constants->coefficient;
    return 1;
}

EXPLORE(crt_setup)
{
    struct scratch room = explore_all(), scratch;
    struct crt_constants constants;
    struct modmul p, q;

    if (call->operands != 2 || !take_primes(call, &p, &q, &constants, &room)) {
        return EXPLORE_UNFIT;
    }
    scratch = explore_scratch(&room, CRT_SCRATCH(p.limbs));
    modmul_setup(&p, scratch);
    modmul_setup(&q, scratch);
    TIMED((void)0, crt_setup(&constants, call->candidate.crt, &p, &q, scratch));
    explore_result_number(call, 1, 1);
    return EXPLORE_DONE;
}

EXPLORE(crt_combine)
{
    struct scratch room = explore_all(), scratch;
    struct crt_constants constants;
    struct modmul p, q;
    struct vector x_p, x_q;
    limb_t *x;

    if (call->operands != 4 || !take_primes(call, &p, &q, &constants, &room) ||
        !take_residue(call, &x_p, &p, 2, &room) || !take_residue(call, &x_q, &q, 3, &room)) {
        return EXPLORE_UNFIT;
    }
    x = scratch_take(&room, 2 * p.limbs);
    scratch = explore_scratch(&room, CRT_SCRATCH(p.limbs));
    modmul_setup(&p, scratch);
    modmul_setup(&q, scratch);
    crt_setup(&constants, call->candidate.crt, &p, &q, scratch);
    if (call->candidate.crt == CRT_GAUSS) {
        TIMED((void)0, crt_gauss(x, x_p.limbs, x_q.limbs, &constants, p.limbs, scratch));
    } else {
        TIMED((void)0, crt_garner(x, x_p.limbs, x_q.limbs, &constants, &p, &q, scratch));
    }
    explore_result_limbs(call, x, 2 * p.limbs);
    return EXPLORE_DONE;
}

EXPLORE(prime_is_probable)
{
    struct scratch room = explore_all(), scratch;
    const struct vector n = explore_vector(call, 0, &room);
    struct explore_random state;
    struct random random;
    uint8_t probable = 0;

    if (call->operands != 2 || n.n < 2 || n.n > LIMBS(MODULUS_BITS_MAX) || (n.limbs[0] & 1) == 0 ||
        n.limbs[n.n - 1] == 0 || call->choice == 0) {
        return EXPLORE_UNFIT;
    }
    scratch = explore_scratch(&room, PRIME_SCRATCH(n.n));
    TIMED(random = explore_random_start(&state, call, 1),
          probable = prime_is_probable(n.limbs, n.n, call->choice, &call->candidate, &random, scratch));
    explore_result_number(call, probable, 1);
    return EXPLORE_DONE;
}

EXPLORE(prime_generate)
{
    struct scratch room = explore_all(), scratch;
    struct explore_random state;
    struct random random;
    limb_t *p;
    uint32_t e, bits;

    if (call->operands != 3 || !explore_has(call, 1, 4) || !explore_has(call, 2, 2)) {
        return EXPLORE_UNFIT;
    }
    e = explore_number(call, 1);
    bits = explore_number(call, 2);
    if (bits < 128 || bits > MODULUS_BITS_MAX / 2 || bits % 32 != 0 || e < 3) {
        return EXPLORE_UNFIT;
    }
    p = scratch_take(&room, LIMBS(bits));
    scratch = explore_scratch(&room, PRIME_SCRATCH(LIMBS(bits)));
    TIMED(random = explore_random_start(&state, call, 0),
          prime_generate(p, bits, e, &call->candidate, &random, scratch));
    explore_result_limbs(call, p, LIMBS(bits));
    return EXPLORE_DONE;
}

/* Operands of 256 bits; those of P-256 below its prime. */
static uint8_t take_field(struct explore_call *call, struct vector *v, size_t count, uint8_t below_prime,
                          struct scratch *room)
{
    for (size_t i = 0; i < count; i++) {
        v[i] = explore_vector(call, i, room);
        if (v[i].n != P256_LIMBS || (below_prime && mpn_cmp(v[i].limbs, p256_prime, P256_LIMBS) >= 0)) {
            return 0;
        }
    }
    return call->operands == count;
}

static uint16_t field_multiply(struct explore_call *call, uint8_t below_prime,
                               void (*function)(limb_t *, const limb_t *, const limb_t *))
{
    struct scratch room = explore_all();
    limb_t r[P256_LIMBS];
    struct vector v[2];

    if (!take_field(call, v, 2, below_prime, &room)) {
        return EXPLORE_UNFIT;
    }
    TIMED((void)0, function(r, v[0].limbs, v[1].limbs));
    explore_result_limbs(call, r, P256_LIMBS);
    return EXPLORE_DONE;
}

static uint16_t field_square(struct explore_call *call, uint8_t below_prime, void (*function)(limb_t *, const limb_t *))
{
    struct scratch room = explore_all();
    limb_t r[P256_LIMBS];
    struct vector a;

    if (!take_field(call, &a, 1, below_prime, &room)) {
        return EXPLORE_UNFIT;
    }
    TIMED((void)0, function(r, a.limbs));
    explore_result_limbs(call, r, P256_LIMBS);
    return EXPLORE_DONE;
}

EXPLORE(p256_field_multiply)
{
    return field_multiply(call, 1, p256_field_multiply);
}

EXPLORE(p256_field_square)
{
    return field_square(call, 1, p256_field_square);
}

EXPLORE(x25519_field_multiply)
{
    return field_multiply(call, 0, x25519_field_multiply);
}

EXPLORE(x25519_field_square)
{
    return field_square(call, 0, x25519_field_square);
}

/* Operands as points, of three coordinates each. */
static uint8_t take_points(struct explore_call *call, struct p256_point *points, size_t count, struct scratch *room)
{
    for (size_t i = 0; i < count; i++) {
        const struct vector v = explore_vector(call, i, room);
        if (v.n != 3 * P256_LIMBS) {
            return 0;
        }
        mpn_copy(points[i].all, v.limbs, 3 * P256_LIMBS);
    }
    return call->operands == count;
}

EXPLORE(p256_add)
{
    struct scratch room = explore_all();
    struct p256_point points[2], r;

    if (!take_points(call, points, 2, &room)) {
        return EXPLORE_UNFIT;
    }
    TIMED((void)0, p256_add(&r, &points[0], &points[1]));
    explore_result_limbs(call, r.all, 3 * P256_LIMBS);
    return EXPLORE_DONE;
}

EXPLORE(p256_double)
{
    struct scratch room = explore_all();
    struct p256_point point, r;

    if (!take_points(call, &point, 1, &room)) {
        return EXPLORE_UNFIT;
    }
    TIMED((void)0, p256_double(&r, &point));
    explore_result_limbs(call, r.all, 3 * P256_LIMBS);
    return EXPLORE_DONE;
}
