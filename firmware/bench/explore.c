/*
 * Reads requests, finds their operation and writes responses: see explore.h. The operations are in explore_mpn.c,
 * explore_modular.c, explore_primitives.c and explore_symmetric.c.
 */
#include "explore_call.h"

/* All of them, unless a program is told to have those of one file. */
#ifndef EXPLORE_LIST
#define EXPLORE_LIST "operations.def"
#endif

typedef uint16_t operation_function(struct explore_call *call);

#define LIMB_OPERATION(name) operation_function explore_l16_##name, explore_l32_##name;
#define OPERATION(name)      operation_function explore_##name;
#include EXPLORE_LIST
#undef LIMB_OPERATION
#undef OPERATION

static const struct {
    const char *name;
    operation_function *limbs16, *limbs32, *plain;
} operations[] = {
#define LIMB_OPERATION(name) {#name, explore_l16_##name, explore_l32_##name, NULL},
#define OPERATION(name)      {#name, NULL, NULL, explore_##name},
#include EXPLORE_LIST
};

#define OPERATIONS (sizeof(operations) / sizeof(operations[0]))

enum { OPERATION_AT = 0, LIMB_BITS_AT = 2, CANDIDATE_AT = 3, CHOICE_AT = 10, REPEATS_AT = 11, OPERANDS_AT = 12 };
enum { HEAD_BYTES = 16, RESPONSE_HEAD_BYTES = 4 };

/* see explore.h */
size_t explore_operations(void)
{
    return OPERATIONS;
}

/* see explore.h */
const char *explore_operation_name(size_t operation)
{
    return operation < OPERATIONS ? operations[operation].name : NULL;
}

/* see explore.h */
uint8_t explore_operation_has_limbs(size_t operation)
{
    return operation < OPERATIONS && operations[operation].plain == NULL;
}

static uint32_t load(const uint8_t *bytes, size_t octets)
{
    uint32_t number = 0;

    while (octets-- != 0) {
        number = number << 8 | bytes[octets];
    }
    return number;
}

static size_t padded(size_t count)
{
    return (count + 3) & ~(size_t)3;
}

/* see explore_call.h */
uint8_t *explore_result(struct explore_call *call, size_t count)
{
    uint8_t *const at = call->response + call->response_bytes;
    size_t i;

    if (count > EXPLORE_RESPONSE_BYTES_MAX || call->response_bytes + 4 + padded(count) > EXPLORE_RESPONSE_BYTES_MAX) {
        __builtin_trap();
    }
    for (i = 0; i < 4; i++) {
        at[i] = (uint8_t)(count >> (8 * i));
    }
    for (i = count; i < padded(count); i++) {
        at[4 + i] = 0;
    }
    call->response_bytes += 4 + padded(count);
    call->results++;
    return at + 4;
}

/* see explore_call.h */
void explore_result_bytes(struct explore_call *call, const void *bytes, size_t count)
{
    uint8_t *const result = explore_result(call, count);

    for (size_t i = 0; i < count; i++) {
        result[i] = ((const uint8_t *)bytes)[i];
    }
}

/* see explore_call.h */
void explore_result_number(struct explore_call *call, uint32_t number, size_t octets)
{
    uint8_t *const result = explore_result(call, octets);

    for (size_t i = 0; i < octets; i++) {
        result[i] = (uint8_t)(number >> (8 * i));
    }
}

/* see explore_call.h */
uint32_t explore_number(const struct explore_call *call, size_t operand)
{
    const size_t count = call->operand[operand].count;

    return load(call->operand[operand].bytes, count < 4 ? count : 4);
}

static uint32_t next(struct explore_random *state)
{
    const uint32_t sum = state->a + state->b + state->counter++;

    state->a = state->b ^ state->b >> 9;
    state->b = state->c + (state->c << 3);
    state->c = (state->c << 21 | state->c >> 11) + sum;
    return sum;
}

static ROUTINE void explore_random_fill(void *context, uint8_t *bytes, size_t count)
{
    COUNT(explore_random_fill, count);
    do {
        *bytes++ = (uint8_t)(next(context) >> 24);
    } while (--count != 0);
}

/* see explore_call.h */
struct random explore_random_start(struct explore_random *state, const struct explore_call *call, size_t operand)
{
    size_t i;

    *state = (struct explore_random){0x243f6a88, 0x85a308d3, 0x13198a2e, 1};
    for (i = 0; i < call->operand[operand].count; i++) {
        state->a ^= call->operand[operand].bytes[i];
        (void)next(state);
    }
    for (i = 0; i < 12; i++) {
        (void)next(state);
    }
    return (struct random){explore_random_fill, state};
}

/* Takes a request apart; returns 0 when it is none. */
static uint8_t parse(struct explore_call *call, const uint8_t *request, size_t request_bytes)
{
    size_t at = HEAD_BYTES, i;

    if (request_bytes < HEAD_BYTES || request_bytes > EXPLORE_REQUEST_BYTES_MAX) {
        return 0;
    }
    call->limb_bits = request[LIMB_BITS_AT];
    call->candidate = (struct candidate){request[CANDIDATE_AT],     request[CANDIDATE_AT + 1],
                                         request[CANDIDATE_AT + 2], request[CANDIDATE_AT + 3],
                                         request[CANDIDATE_AT + 4], request[CANDIDATE_AT + 5],
                                         request[CANDIDATE_AT + 6]};
    call->choice = request[CHOICE_AT];
    call->repeats = request[REPEATS_AT];
    call->operands = load(request + OPERANDS_AT, 2);
    if (call->repeats == 0 || call->operands > EXPLORE_OPERANDS_MAX || load(request + OPERANDS_AT + 2, 2) != 0) {
        return 0;
    }
    for (i = 0; i < call->operands; i++) {
        size_t count;
        if (request_bytes - at < 4) {
            return 0;
        }
        count = load(request + at, 4);
        at += 4;
        if (count > request_bytes || padded(count) > request_bytes - at) {
            return 0;
        }
        call->operand[i].bytes = request + at;
        call->operand[i].count = count;
        at += padded(count);
    }
    return at == request_bytes;
}

static uint16_t perform(struct explore_call *call, size_t operation)
{
    operation_function *function;

    if (operation >= OPERATIONS) {
        return EXPLORE_UNKNOWN;
    }
    function = call->limb_bits == 0    ? operations[operation].plain
               : call->limb_bits == 16 ? operations[operation].limbs16
               : call->limb_bits == 32 ? operations[operation].limbs32
                                       : NULL;
    if (function == NULL || (call->limb_bits != 0 && !candidate_is_valid(&call->candidate))) {
        return EXPLORE_UNKNOWN;
    }
    return function(call);
}

/* see explore.h */
size_t explore_run(const uint8_t *request, size_t request_bytes, uint8_t *response)
{
    struct explore_call call;
    uint16_t status = EXPLORE_MALFORMED;

    call.response = response;
    call.response_bytes = RESPONSE_HEAD_BYTES;
    call.results = 0;
    if (parse(&call, request, request_bytes)) {
        status = perform(&call, load(request + OPERATION_AT, 2));
    }
    if (status != EXPLORE_DONE) {
        call.response_bytes = RESPONSE_HEAD_BYTES;
        call.results = 0;
    }
    response[0] = (uint8_t)status;
    response[1] = (uint8_t)(status >> 8);
    response[2] = (uint8_t)call.results;
    response[3] = 0;
    EXPLORE_PUBLIC(response, call.response_bytes);
    return call.response_bytes;
}
