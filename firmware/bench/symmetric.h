/*
 * The operations of symmetric ciphers and hashes for exploration (explore.h). Owns what each does with its operands;
 * the bytes of requests and responses are explore.c's.
 */
#ifndef SELVEDGE_SYMMETRIC_H
#define SELVEDGE_SYMMETRIC_H

#include <stddef.h>
#include <stdint.h>

#include "explore.h"

/* Each operation of symmetric.def, by its place there. */
enum symmetric_operation {
#define SYMMETRIC(name, kind, ...) SYMMETRIC_##name,
#include "symmetric.def"
#undef SYMMETRIC
    SYMMETRIC_OPERATIONS
};

/* One call. There is one operand of the response, at `result`: at a multiple of eight, and with room for
   `result_bytes`, which the call replaces by what it is long. */
struct symmetric_call {
    size_t operation;
    uint8_t choice;
    uint8_t repeats;
    size_t operands;
    const uint8_t *operand[EXPLORE_OPERANDS_MAX];
    size_t operand_bytes[EXPLORE_OPERANDS_MAX];
    uint8_t *result;
    size_t result_bytes;
};

enum explore_status symmetric_run(struct symmetric_call *call);

#endif
