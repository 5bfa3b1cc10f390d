/*
 * Operations of the public-key primitives: see public_key.def.
 */
#include "explore_limbs.h"

/* What an operation of RSA needs: a key in the room's memory, and scratch behind it. */
struct rsa_room {
    struct rsa_public public;
    struct rsa_private private;
    struct power_cache cache;
    struct scratch scratch;
    size_t bits, bytes;
};

static uint8_t take_bits(struct rsa_room *rsa, size_t bytes)
{
    rsa->bytes = bytes;
    rsa->bits = 8 * bytes;
    return rsa->bits >= RSA_BITS_MIN && rsa->bits <= RSA_BITS_MAX;
}

/* Operand 0 and 1 as a public key. */
static uint8_t take_public(struct explore_call *call, struct rsa_room *rsa, struct scratch room)
{
    struct rsa_number n;

    if (call->operands < 2 || !take_bits(rsa, call->operand[0].count) || !explore_has(call, 1, 4)) {
        return 0;
    }
    n = (struct rsa_number){call->operand[0].bytes, call->operand[0].count};
    if (!rsa_public_init(&rsa->public, scratch_take(&room, RSA_PUBLIC_MEMORY(rsa->bits)), &call->candidate, rsa->bits,
                         &n, explore_number(call, 1))) {
        return 0;
    }
    rsa->scratch = explore_scratch(&room, RSA_SCRATCH(rsa->bits));
    return 1;
}

/* A cache of power tables, if the candidate has one. */
static void take_cache(struct explore_call *call, struct rsa_room *rsa, struct scratch *room)
{
    if (call->candidate.caching == CACHING_TABLES) {
        const size_t limbs = LIMBS(rsa->bits) / (call->candidate.crt == CRT_NONE ? 1 : 2);
        limb_t *const memory = explore_behind(room, CACHE_SLOTS * POWER_CACHE_SLOT(limbs, call->candidate.window_bits));
        power_cache_init(&rsa->cache, memory, CACHE_SLOTS, limbs, call->candidate.window_bits);
        rsa->private.cache = &rsa->cache;
    }
}

/* Operands 0 to 5 as a private key. */
static uint8_t take_private(struct explore_call *call, struct rsa_room *rsa, struct scratch room)
{
    struct rsa_number numbers[6];
    size_t i;

    if (call->operands < 6 || !take_bits(rsa, call->operand[0].count)) {
        return 0;
    }
    for (i = 0; i < 6; i++) {
        numbers[i] = (struct rsa_number){call->operand[i].bytes, call->operand[i].count};
        if (i != 0) {
            EXPLORE_SECRET(numbers[i].bytes, numbers[i].count);
        }
    }
    if (!rsa_private_init(&rsa->private, scratch_take(&room, RSA_PRIVATE_MEMORY(rsa->bits)), &call->candidate,
                          rsa->bits,
                          &(struct rsa_numbers){numbers[0], numbers[1], numbers[2], numbers[3], numbers[4],
                                                numbers[5]})) {
        return 0;
    }
    take_cache(call, rsa, &room);
    rsa->scratch = explore_scratch(&room, RSA_SCRATCH(rsa->bits));
    return 1;
}

/* The response of a number of limbs, as octets. */
static void answer_number(struct explore_call *call, const limb_t *number, size_t bytes)
{
    mpn_to_bytes(explore_result(call, bytes), bytes, number, LIMBS(8 * bytes));
}

/* The response of a key: n and d, then its factors and their exponents. */
static void answer_numbers(struct explore_call *call, const uint8_t *numbers, size_t bytes)
{
    explore_result_bytes(call, numbers, bytes);
    explore_result_bytes(call, numbers + bytes, bytes);
    for (size_t half = 4; half < 8; half++) {
        explore_result_bytes(call, numbers + half * bytes / 2, bytes / 2);
    }
}

EXPLORE(rsa_public_load)
{
    struct rsa_room rsa;
    uint8_t done = 0;

    TIMED((void)0, done = take_public(call, &rsa, explore_all()));
    if (!done) {
        return EXPLORE_UNFIT;
    }
    answer_number(call, rsa.public.n.modulus, rsa.bytes);
    answer_number(call, rsa.public.exponent, 4);
    return EXPLORE_DONE;
}

EXPLORE(rsa_private_load)
{
    uint8_t numbers[4 * RSA_BITS_MAX / 8];
    const uint8_t has_factors = call->candidate.crt != CRT_NONE;
    struct rsa_room rsa;
    uint8_t done = 0;

    TIMED((void)0, if ((done = take_private(call, &rsa, explore_all())) != 0 && has_factors) {
        rsa_export(&rsa.private, numbers);
    });
    if (!done) {
        return EXPLORE_UNFIT;
    }
    if (has_factors) {
        answer_numbers(call, numbers, rsa.bytes);
    } else {
        answer_number(call, rsa.private.n.modulus, rsa.bytes);
        answer_number(call, rsa.private.d, rsa.bytes);
    }
    return EXPLORE_DONE;
}

EXPLORE(rsa_public)
{
    struct rsa_room rsa;
    uint8_t *output, done = 0;

    if (call->operands != 3 || !take_public(call, &rsa, explore_all()) || !explore_has(call, 2, rsa.bytes)) {
        return EXPLORE_UNFIT;
    }
    output = explore_result(call, rsa.bytes);
    TIMED((void)0, done = rsa_public(&rsa.public, output, call->operand[2].bytes, rsa.scratch));
    return done ? EXPLORE_DONE : EXPLORE_REFUSED;
}

EXPLORE(rsa_private)
{
    struct rsa_room rsa;
    uint8_t *output, done = 0;

    if (call->operands != 7 || !take_private(call, &rsa, explore_all()) || !explore_has(call, 6, rsa.bytes)) {
        return EXPLORE_UNFIT;
    }
    output = explore_result(call, rsa.bytes);
    TIMED((void)0, done = rsa_private(&rsa.private, output, call->operand[6].bytes, rsa.scratch));
    return done ? EXPLORE_DONE : EXPLORE_REFUSED;
}

EXPLORE(rsa_generate)
{
    struct scratch room = explore_all(), scratch;
    struct explore_random state;
    struct rsa_private key;
    struct random random;
    uint8_t *numbers;
    uint32_t e, bits;
    limb_t *memory;

    if (call->operands != 3 || !explore_has(call, 1, 4) || !explore_has(call, 2, 2)) {
        return EXPLORE_UNFIT;
    }
    e = explore_number(call, 1);
    bits = explore_number(call, 2);
    if (bits < RSA_BITS_MIN || bits > RSA_BITS_MAX || bits % 64 != 0 || e < 3 || (e & 1) == 0) {
        return EXPLORE_UNFIT;
    }
    memory = scratch_take(&room, RSA_PRIVATE_MEMORY(bits));
    scratch = explore_scratch(&room, RSA_GENERATE_SCRATCH(bits));
    numbers = (uint8_t *)scratch_take(&room, 4 * LIMBS(bits));
    TIMED(random = explore_random_start(&state, call, 0),
          rsa_generate(&key, memory, &call->candidate, bits, e, &random, scratch));
    rsa_export(&key, numbers);
    answer_numbers(call, numbers, key.bytes);
    return EXPLORE_DONE;
}

EXPLORE(rsa_encrypt)
{
    struct explore_random state;
    struct rsa_room rsa;
    struct random random;
    uint8_t *output, done = 0;

    if (call->operands != 4 || !take_public(call, &rsa, explore_all())) {
        return EXPLORE_UNFIT;
    }
    output = explore_result(call, rsa.bytes);
    TIMED(random = explore_random_start(&state, call, 3),
          done = rsa_encrypt(&rsa.public, output, call->operand[2].bytes, call->operand[2].count, &random,
                             rsa.scratch));
    return done ? EXPLORE_DONE : EXPLORE_REFUSED;
}

EXPLORE(rsa_decrypt)
{
    uint8_t message[RSA_BITS_MAX / 8];
    struct rsa_room rsa;
    uint8_t done = 0;
    size_t count;

    if (call->operands != 7 || !take_private(call, &rsa, explore_all()) || !explore_has(call, 6, rsa.bytes)) {
        return EXPLORE_UNFIT;
    }
    TIMED((void)0, done = rsa_decrypt(&rsa.private, message, &count, call->operand[6].bytes, rsa.scratch));
    if (!done) {
        return EXPLORE_REFUSED;
    }
    explore_result_bytes(call, message, count);
    return EXPLORE_DONE;
}

EXPLORE(rsa_sign)
{
    struct rsa_room rsa;
    uint8_t *signature, done = 0;

    if (call->operands != 7 || !take_private(call, &rsa, explore_all())) {
        return EXPLORE_UNFIT;
    }
    signature = explore_result(call, rsa.bytes);
    TIMED((void)0, done = rsa_sign(&rsa.private, signature, call->choice, call->operand[6].bytes,
                                   call->operand[6].count, rsa.scratch));
    return done ? EXPLORE_DONE : EXPLORE_REFUSED;
}

EXPLORE(rsa_verify)
{
    struct rsa_room rsa;
    uint8_t done = 0;

    if (call->operands != 4 || !take_public(call, &rsa, explore_all()) || !explore_has(call, 3, rsa.bytes)) {
        return EXPLORE_UNFIT;
    }
    TIMED((void)0, done = rsa_verify(&rsa.public, call->operand[3].bytes, call->choice, call->operand[2].bytes,
                                     call->operand[2].count, rsa.scratch));
    explore_result_number(call, done, 1);
    return done ? EXPLORE_DONE : EXPLORE_REFUSED;
}

/* Operands 0 and 1 as a group, `count` others of its length, and scratch; 0 when they do not fit. */
static uint8_t take_group(struct explore_call *call, struct elgamal *group, struct power_cache *cache, size_t count,
                          struct scratch *scratch)
{
    struct scratch room = explore_all();
    const size_t bytes = call->operands == 0 ? 0 : call->operand[0].count, bits = 8 * bytes;
    limb_t *memory;
    size_t i;

    for (i = 0; i < 2 + count; i++) {
        if (!explore_has(call, i, bytes)) {
            return 0;
        }
    }
    if (bits > MODULUS_BITS_MAX) {
        return 0;
    }
    memory = scratch_take(&room, ELGAMAL_MEMORY(bits));
    if (!elgamal_init(group, memory, &call->candidate, bits, call->operand[0].bytes, call->operand[1].bytes)) {
        return 0;
    }
    if (call->candidate.caching == CACHING_TABLES) {
        const size_t slot = POWER_CACHE_SLOT(LIMBS(bits), call->candidate.window_bits);
        power_cache_init(cache, explore_behind(&room, CACHE_SLOTS * slot), CACHE_SLOTS, LIMBS(bits),
                         call->candidate.window_bits);
        group->cache = cache;
    }
    *scratch = explore_scratch(&room, ELGAMAL_SCRATCH(bits));
    return 1;
}

EXPLORE(elgamal_load)
{
    struct power_cache cache;
    struct elgamal group;
    struct scratch scratch;
    uint8_t done = 0;

    TIMED((void)0, done = take_group(call, &group, &cache, 0, &scratch));
    if (!done) {
        return EXPLORE_UNFIT;
    }
    answer_number(call, group.p.modulus, group.bytes);
    answer_number(call, group.generator, group.bytes);
    return EXPLORE_DONE;
}

EXPLORE(elgamal_generate)
{
    struct explore_random state;
    struct power_cache cache;
    struct elgamal group;
    struct random random;
    struct scratch scratch;
    uint8_t *x, *public;

    if (call->operands != 3 || !take_group(call, &group, &cache, 0, &scratch)) {
        return EXPLORE_UNFIT;
    }
    x = explore_result(call, group.bytes);
    public = explore_result(call, group.bytes);
    TIMED(random = explore_random_start(&state, call, 2), elgamal_generate(&group, x, public, &random, scratch));
    return EXPLORE_DONE;
}

EXPLORE(elgamal_encrypt)
{
    struct explore_random state;
    struct power_cache cache;
    struct elgamal group;
    struct random random;
    struct scratch scratch;
    uint8_t *c1, *c2, done = 0;

    if (call->operands != 5 || !take_group(call, &group, &cache, 2, &scratch)) {
        return EXPLORE_UNFIT;
    }
    c1 = explore_result(call, group.bytes);
    c2 = explore_result(call, group.bytes);
    TIMED(random = explore_random_start(&state, call, 4),
          done = elgamal_encrypt(&group, c1, c2, call->operand[2].bytes, call->operand[3].bytes, &random, scratch));
    return done ? EXPLORE_DONE : EXPLORE_REFUSED;
}

EXPLORE(elgamal_decrypt)
{
    struct power_cache cache;
    struct elgamal group;
    struct scratch scratch;
    uint8_t *message, done = 0;

    if (call->operands != 5 || !take_group(call, &group, &cache, 3, &scratch)) {
        return EXPLORE_UNFIT;
    }
    EXPLORE_SECRET(call->operand[2].bytes, group.bytes);
    message = explore_result(call, group.bytes);
    TIMED((void)0, done = elgamal_decrypt(&group, message, call->operand[2].bytes, call->operand[3].bytes,
                                          call->operand[4].bytes, scratch));
    return done ? EXPLORE_DONE : EXPLORE_REFUSED;
}

/* The choice as how points are multiplied; 0 when it is none. */
static uint8_t take_choice(const struct explore_call *call, struct ecc_choice *choice)
{
    choice->method = call->choice == 0 ? P256_LADDER : P256_WINDOW;
    choice->window_bits = call->choice;
    return call->choice <= 5;
}

EXPLORE(ecdh_p256_public)
{
    struct scratch room = explore_all(), scratch = explore_scratch(&room, ECC_SCRATCH);
    struct ecc_choice choice;
    uint8_t *public, done = 0;

    if (call->operands != 1 || !explore_has(call, 0, 32) || !take_choice(call, &choice)) {
        return EXPLORE_UNFIT;
    }
    EXPLORE_SECRET(call->operand[0].bytes, 32);
    public = explore_result(call, 64);
    TIMED((void)0, done = ecdh_p256_public(public, call->operand[0].bytes, choice, scratch));
    return done ? EXPLORE_DONE : EXPLORE_REFUSED;
}

EXPLORE(ecdh_p256_agree)
{
    struct scratch room = explore_all(), scratch = explore_scratch(&room, ECC_SCRATCH);
    struct ecc_choice choice;
    uint8_t *shared, done = 0;

    if (call->operands != 2 || !explore_has(call, 0, 32) || !explore_has(call, 1, 64) ||
        !take_choice(call, &choice)) {
        return EXPLORE_UNFIT;
    }
    EXPLORE_SECRET(call->operand[0].bytes, 32);
    shared = explore_result(call, 32);
    TIMED((void)0,
          done = ecdh_p256_agree(shared, call->operand[0].bytes, call->operand[1].bytes, choice, scratch));
    return done ? EXPLORE_DONE : EXPLORE_REFUSED;
}

/* A nonce that is known beforehand: the operand, as often as it is drawn. */
static void fill_nonce(void *context, uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bytes[i] = ((const uint8_t *)context)[i];
    }
}

EXPLORE(ecdsa_p256_sign)
{
    struct scratch room = explore_all(), scratch = explore_scratch(&room, ECC_SCRATCH);
    struct ecc_choice choice;
    uint8_t nonce[32], *signature, done = 0;
    struct random random = {fill_nonce, nonce};

    /* One that is not drawn again: below the order, whose highest bits are all ones, and not 0. */
    if (call->operands != 3 || !explore_has(call, 0, 32) || !explore_has(call, 1, 32) || !explore_has(call, 2, 32) ||
        !take_choice(call, &choice) || call->operand[2].bytes[0] == 0 || call->operand[2].bytes[0] == 0xff) {
        return EXPLORE_UNFIT;
    }
    fill_nonce((void *)call->operand[2].bytes, nonce, 32);
    EXPLORE_SECRET(nonce, sizeof(nonce));
    EXPLORE_SECRET(call->operand[0].bytes, 32);
    signature = explore_result(call, 64);
    TIMED((void)0, done = ecdsa_p256_sign(signature, call->operand[0].bytes, call->operand[1].bytes, &random, choice,
                                          scratch));
    return done ? EXPLORE_DONE : EXPLORE_REFUSED;
}

EXPLORE(ecdsa_p256_verify)
{
    struct scratch room = explore_all(), scratch = explore_scratch(&room, ECC_SCRATCH);
    struct ecc_choice choice;
    uint8_t done = 0;

    if (call->operands != 3 || !explore_has(call, 0, 64) || !explore_has(call, 1, 32) || !explore_has(call, 2, 64) ||
        !take_choice(call, &choice)) {
        return EXPLORE_UNFIT;
    }
    TIMED((void)0, done = ecdsa_p256_verify(call->operand[2].bytes, call->operand[0].bytes, call->operand[1].bytes,
                                            choice, scratch));
    explore_result_number(call, done, 1);
    return done ? EXPLORE_DONE : EXPLORE_REFUSED;
}

EXPLORE(x25519)
{
    uint8_t *result, done = 0;

    if (call->operands != 2 || !explore_has(call, 0, 32) || !explore_has(call, 1, 32)) {
        return EXPLORE_UNFIT;
    }
    EXPLORE_SECRET(call->operand[0].bytes, 32);
    result = explore_result(call, 32);
    /* All that it works on is on the stack. */
    EXPLORE_KEEPS(0);
    TIMED((void)0, done = x25519(result, call->operand[0].bytes, call->operand[1].bytes));
    return done ? EXPLORE_DONE : EXPLORE_REFUSED;
}
