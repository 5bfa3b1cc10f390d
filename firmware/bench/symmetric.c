/*
 * What the operations of symmetric.def do, see symmetric.h. What is prepared before the call that counts, and wiped
 * after it, is not between explore_begin and explore_end.
 */
#include "symmetric.h"
#include "../crypto/block/aes.h"
#include "../crypto/secret.h"

/* The last time is what counts, and each begins with the same. */
#define REPEAT(call, prepare, counted)                                                                       \
    for (uint8_t left_ = (call)->repeats; left_ != 0; left_--) {                                             \
        prepare;                                                                                             \
        if (left_ == 1) {                                                                                    \
            explore_begin();                                                                                 \
        }                                                                                                    \
        counted;                                                                                             \
        if (left_ == 1) {                                                                                    \
            explore_end();                                                                                   \
        }                                                                                                    \
    }

static void copy(uint8_t *to, const uint8_t *from, size_t bytes)
{
    while (bytes--) {
        *to++ = *from++;
    }
}

static uint8_t is_aes_key(size_t bytes)
{
    return bytes == 16 || bytes == 24 || bytes == 32;
}

typedef void aes_init(struct aes *key, const uint8_t *bytes, uint8_t key_bytes);
typedef void aes_crypt(const struct aes *key, uint8_t *blocks, size_t count);

static enum explore_status run_AES_EXPAND(struct symmetric_call *call, aes_init *init)
{
    struct aes key = {0};

    if (call->operands != 1 || !is_aes_key(call->operand_bytes[0]) || call->result_bytes < sizeof key) {
        return EXPLORE_UNFIT;
    }
    REPEAT(call, , init(&key, call->operand[0], (uint8_t)call->operand_bytes[0]));
    call->result_bytes = sizeof key;
    copy(call->result, (const uint8_t *)&key, sizeof key);
    secret_wipe(&key, sizeof key);
    return EXPLORE_DONE;
}

static enum explore_status run_AES_CRYPT(struct symmetric_call *call, aes_init *init, aes_crypt *crypt)
{
    struct aes key;
    const size_t bytes = call->operand_bytes[1];

    if (call->operands != 2 || !is_aes_key(call->operand_bytes[0]) || bytes % AES_BLOCK_BYTES != 0 ||
        bytes > call->result_bytes) {
        return EXPLORE_UNFIT;
    }
    init(&key, call->operand[0], (uint8_t)call->operand_bytes[0]);
    REPEAT(call, copy(call->result, call->operand[1], bytes), crypt(&key, call->result, bytes / AES_BLOCK_BYTES));
    call->result_bytes = bytes;
    secret_wipe(&key, sizeof key);
    return EXPLORE_DONE;
}

enum explore_status symmetric_run(struct symmetric_call *call)
{
    switch (call->operation) {
#define SYMMETRIC(name, kind, ...)                                                                           \
    case SYMMETRIC_##name:                                                                                   \
        return run_##kind(call, __VA_ARGS__);
#include "symmetric.def"
#undef SYMMETRIC
    default:
        return EXPLORE_UNKNOWN;
    }
}
