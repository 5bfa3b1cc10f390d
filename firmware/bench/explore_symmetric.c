/*
 * The operations of symmetric ciphers and hashes: see explore.h and symmetric.def.
 */
#include "../crypto/block/aes.h"
#include "../crypto/block/des.h"
#include "../crypto/crypto.h"
#include "../crypto/hash/hash.h"
#include "../crypto/secret.h"
#include "explore_call.h"

#define SHIFT_MAX 7

/* What is worked on in place, at a known distance from a multiple of eight. */
#define WORK_BYTES (EXPLORE_REQUEST_BYTES_MAX + (SHIFT_MAX + 8) * EXPLORE_OPERANDS_MAX)
static EXPLORE_STATE uint8_t work[WORK_BYTES] __attribute__((aligned(8)));
static EXPLORE_STATE union {
    struct aes aes;
    struct des des;
    struct hash hash;
    struct hmac hmac;
    struct rc4 rc4;
} state;

/* What is told of them natively is so on the target, where pointers are shorter. */
_Static_assert(sizeof(struct hash) == 208 && sizeof(struct hmac) == 416, "a state is as long on every machine");

static void copy_operand(uint8_t *to, const struct explore_call *call, size_t operand)
{
    for (size_t i = 0; i < call->operand[operand].count; i++) {
        to[i] = call->operand[operand].bytes[i];
    }
    EXPLORE_SECRET(to, call->operand[operand].count);
}

/* A copy of an operand, `shift` octets behind a multiple of eight. */
static uint8_t *work_on(const struct explore_call *call, size_t operand, uint8_t shift)
{
    copy_operand(work + shift, call, operand);
    return work + shift;
}

/* The key of a block cipher, as a secret; NULL when there is none of a length that it has. */
static const uint8_t *take_key(const struct explore_call *call, size_t bytes_min)
{
    const size_t count = call->operands == 0 ? 0 : call->operand[0].count;

    if (count % 8 != 0 || count < bytes_min || count > bytes_min + 16) {
        return NULL;
    }
    EXPLORE_SECRET(call->operand[0].bytes, count);
    return call->operand[0].bytes;
}

typedef void aes_init(struct aes *key, const uint8_t *bytes, uint8_t key_bytes);
typedef void aes_crypt(const struct aes *key, uint8_t *blocks, size_t count);

static uint16_t run_EXPAND_AES(struct explore_call *call, aes_init *init)
{
    const uint8_t *const key = take_key(call, 16);

    if (key == NULL || call->operands != 1 || call->choice != 0) {
        return EXPLORE_UNFIT;
    }
    state.aes = (struct aes){0};
    EXPLORE_KEEPS(sizeof state.aes);
    TIMED((void)0, init(&state.aes, key, (uint8_t)call->operand[0].count));
    explore_result_bytes(call, &state.aes, sizeof state.aes);
    secret_wipe(&state, sizeof state);
    return EXPLORE_DONE;
}

static uint16_t run_CRYPT_AES(struct explore_call *call, aes_init *init, aes_crypt *crypt)
{
    const uint8_t *const key = take_key(call, 16);
    const size_t bytes = call->operands == 2 ? call->operand[1].count : 0;
    uint8_t *blocks;

    if (key == NULL || call->operands != 2 || call->choice != 0 || bytes % AES_BLOCK_BYTES != 0) {
        return EXPLORE_UNFIT;
    }
    FOLLOWED(init(&state.aes, key, (uint8_t)call->operand[0].count));
    EXPLORE_KEEPS(sizeof state.aes);
    TIMED(blocks = work_on(call, 1, 0), crypt(&state.aes, blocks, bytes / AES_BLOCK_BYTES));
    explore_result_bytes(call, blocks, bytes);
    secret_wipe(&state, sizeof state);
    return EXPLORE_DONE;
}

typedef void des_init(struct des *key, const uint8_t *bytes, uint8_t key_bytes);
typedef void des_crypt(const struct des *key, uint8_t *blocks, size_t count);

static uint16_t run_EXPAND_DES(struct explore_call *call, des_init *init)
{
    const uint8_t *const key = take_key(call, 8);

    if (key == NULL || call->operands != 1 || call->choice != 0) {
        return EXPLORE_UNFIT;
    }
    state.des = (struct des){0};
    EXPLORE_KEEPS(sizeof state.des);
    TIMED((void)0, init(&state.des, key, (uint8_t)call->operand[0].count));
    explore_result_bytes(call, &state.des, sizeof state.des);
    secret_wipe(&state, sizeof state);
    return EXPLORE_DONE;
}

static uint16_t run_CRYPT_DES(struct explore_call *call, des_init *init, des_crypt *crypt)
{
    const uint8_t *const key = take_key(call, 8);
    const size_t bytes = call->operands == 2 ? call->operand[1].count : 0;
    uint8_t *blocks;

    if (key == NULL || call->operands != 2 || call->choice > SHIFT_MAX || bytes % DES_BLOCK_BYTES != 0) {
        return EXPLORE_UNFIT;
    }
    FOLLOWED(init(&state.des, key, (uint8_t)call->operand[0].count));
    EXPLORE_KEEPS(sizeof state.des);
    TIMED(blocks = work_on(call, 1, call->choice), crypt(&state.des, blocks, bytes / DES_BLOCK_BYTES));
    explore_result_bytes(call, blocks, bytes);
    secret_wipe(&state, sizeof state);
    return EXPLORE_DONE;
}

/* Copies of all operands, each `choice` octets behind a multiple of eight; 0 when there is no room. */
static uint8_t work_on_pieces(const struct explore_call *call, const uint8_t *pieces[])
{
    size_t at = 0;

    for (size_t i = 0; i < call->operands; i++) {
        const size_t count = call->operand[i].count;
        at = ((at + 7) & ~(size_t)7) + call->choice;
        if (count > sizeof work || at > sizeof work - count) {
            return 0;
        }
        copy_operand(work + at, call, i);
        pieces[i] = work + at;
        at += count;
    }
    return 1;
}

static uint16_t run_COMPRESS(struct explore_call *call, const struct hash_algorithm *algorithm)
{
    const size_t bytes = call->operands == 1 ? call->operand[0].count : 1;
    uint8_t *blocks;

    if (call->choice > SHIFT_MAX || bytes % algorithm->block_bytes != 0) {
        return EXPLORE_UNFIT;
    }
    blocks = work_on(call, 0, call->choice);
    EXPLORE_KEEPS(sizeof state.hash.state);
    TIMED(state.hash.state = algorithm->initial,
          algorithm->compress(&state.hash.state, blocks, bytes / algorithm->block_bytes));
    explore_result_bytes(call, &state.hash.state, 8u * algorithm->word_bytes);
    secret_wipe(&state, sizeof state);
    return EXPLORE_DONE;
}

static ROUTINE void explore_hash(const struct explore_call *call, const struct hash_algorithm *algorithm,
                        const uint8_t *const pieces[], uint8_t *digest)
{
    COUNT(explore_hash, call->operands);
    hash_init(&state.hash, algorithm);
    for (size_t i = 0; i < call->operands; i++) {
        hash_update(&state.hash, pieces[i], call->operand[i].count);
    }
    hash_finish(&state.hash, digest);
}

static uint16_t run_HASH(struct explore_call *call, const struct hash_algorithm *algorithm)
{
    const uint8_t *pieces[EXPLORE_OPERANDS_MAX];
    uint8_t *digest;

    if (call->choice > SHIFT_MAX || !work_on_pieces(call, pieces)) {
        return EXPLORE_UNFIT;
    }
    digest = explore_result(call, algorithm->digest_bytes);
    EXPLORE_KEEPS(sizeof state.hash);
    TIMED((void)0, explore_hash(call, algorithm, pieces, digest));
    return EXPLORE_DONE;
}

static ROUTINE void explore_hmac(const struct explore_call *call, const struct hash_algorithm *algorithm,
                        const uint8_t *const pieces[], uint8_t *tag)
{
    COUNT(explore_hmac, call->operands - 1);
    hmac_init(&state.hmac, algorithm, pieces[0], call->operand[0].count);
    for (size_t i = 1; i < call->operands; i++) {
        hmac_update(&state.hmac, pieces[i], call->operand[i].count);
    }
    hmac_finish(&state.hmac, tag);
}

static uint16_t run_HMAC(struct explore_call *call, const struct hash_algorithm *algorithm)
{
    const uint8_t *pieces[EXPLORE_OPERANDS_MAX];
    uint8_t *tag;

    if (call->choice > SHIFT_MAX || call->operands == 0 || !work_on_pieces(call, pieces)) {
        return EXPLORE_UNFIT;
    }
    tag = explore_result(call, algorithm->digest_bytes);
    EXPLORE_KEEPS(sizeof state.hmac);
    TIMED((void)0, explore_hmac(call, algorithm, pieces, tag));
    return EXPLORE_DONE;
}

typedef void rc4_init(struct rc4 *state, const uint8_t *key, uint8_t key_bytes);
typedef void rc4_crypt(struct rc4 *state, uint8_t *buffer, uint16_t length);

/* Whether the first operand is a key of RC4, which is a secret from then on. */
static uint8_t has_rc4_key(const struct explore_call *call)
{
    const size_t count = call->operands == 0 ? 0 : call->operand[0].count;

    if (count < 1 || count > 255 || call->choice > SHIFT_MAX) {
        return 0;
    }
    EXPLORE_SECRET(call->operand[0].bytes, count);
    return 1;
}

static uint16_t run_RC4_INIT(struct explore_call *call, rc4_init *init)
{
    if (!has_rc4_key(call) || call->operands != 1 || call->choice != 0) {
        return EXPLORE_UNFIT;
    }
    EXPLORE_KEEPS(sizeof state.rc4);
    TIMED((void)0, init(&state.rc4, call->operand[0].bytes, (uint8_t)call->operand[0].count));
    explore_result_bytes(call, &state.rc4, sizeof state.rc4);
    secret_wipe(&state, sizeof state);
    return EXPLORE_DONE;
}

static uint16_t run_RC4(struct explore_call *call, rc4_init *init, rc4_crypt *crypt)
{
    uint8_t *message;

    if (!has_rc4_key(call) || call->operands != 2) {
        return EXPLORE_UNFIT;
    }
    EXPLORE_KEEPS(sizeof state.rc4);
    TIMED((init(&state.rc4, call->operand[0].bytes, (uint8_t)call->operand[0].count),
           message = work_on(call, 1, call->choice)),
          crypt(&state.rc4, message, (uint16_t)call->operand[1].count));
    explore_result_bytes(call, message, call->operand[1].count);
    secret_wipe(&state, sizeof state);
    return EXPLORE_DONE;
}

#define SYMMETRIC(name, kind, ...)                                                                           \
    uint16_t explore_##name(struct explore_call *call);                                                      \
    uint16_t explore_##name(struct explore_call *call)                                                       \
    {                                                                                                        \
        return run_##kind(call, __VA_ARGS__);                                                                \
    }
#include "symmetric.def"
#undef SYMMETRIC
