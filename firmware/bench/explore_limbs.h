/*
 * What the operations of limbs share: the room that they work in, and operands as vectors. Included by explore_mpn.c,
 * explore_modular.c and explore_primitives.c, which are compiled for both radices.
 */
#ifndef SELVEDGE_EXPLORE_LIMBS_H
#define SELVEDGE_EXPLORE_LIMBS_H

#include "../crypto/primitives/primitives.h"
#include "explore_call.h"

/* The function of an operation of public_key.def. */
#if LIMB_BITS == 16
#define EXPLORE(name) uint16_t explore_l16_##name(struct explore_call *call)
#else
#define EXPLORE(name) uint16_t explore_l32_##name(struct explore_call *call)
#endif

#define explore_room LIMB_NAME(explore_l, room)

/* Power tables of RSA of the greatest length, both halves or the whole, with two to spare. */
#define CACHE_SLOTS 4
#define ROOM_LIMBS                                                                                           \
    (RSA_PRIVATE_MEMORY(RSA_BITS_MAX) + RSA_SCRATCH(RSA_BITS_MAX) +                                          \
     CACHE_SLOTS * POWER_CACHE_SLOT(LIMBS(RSA_BITS_MAX), WINDOW_BITS_MAX) +                                  \
     2 * EXPLORE_REQUEST_BYTES_MAX / LIMB_BYTES)

/*
 * Where a caller's memory lies is no candidate's doing, but a direct-mapped cache makes cycles of it: what a product
 * works on may be in the lines that its stack is in, and each row of it then fetches both anew. On the bare machine the
 * stack ends where a cache's way does, so that the room begins where one does: what is worked on comes first, and tables,
 * of which a power is read now and then, lie behind all of it (explore_behind).
 */
#ifdef __riscv
#define EXPLORE_PLACED __attribute__((aligned(4096)))
#else
#define EXPLORE_PLACED
#endif

extern EXPLORE_STATE limb_t explore_room[ROOM_LIMBS];

/* All of the room. */
static inline struct scratch explore_all(void)
{
    return (struct scratch){explore_room, ROOM_LIMBS};
}

/* The last `limbs` of it. */
static inline limb_t *explore_behind(struct scratch *room, size_t limbs)
{
    if (limbs > room->limbs) {
        __builtin_trap();
    }
    room->limbs -= limbs;
    return room->next + room->limbs;
}

/* `limbs` of it, as an operation's scratch; what it takes of them is counted from here. */
static inline struct scratch explore_scratch(struct scratch *room, size_t limbs)
{
#ifdef SELVEDGE_COUNT
    const size_t kept = ROOM_LIMBS - room->limbs;
    limb_t *const taken = scratch_take(room, limbs);
    estimate_memory(kept * sizeof(limb_t), limbs * sizeof(limb_t));
    return (struct scratch){taken, limbs};
#else
    return (struct scratch){scratch_take(room, limbs), limbs};
#endif
}

/* A vector; n is 0 when the operand is not there or is not whole limbs. */
struct vector {
    limb_t *limbs;
    size_t n;
};

static inline struct vector explore_vector(const struct explore_call *call, size_t operand, struct scratch *room)
{
    struct vector vector = {NULL, 0};

    if (operand < call->operands && call->operand[operand].count % LIMB_BYTES == 0 &&
        call->operand[operand].count != 0) {
        vector.n = call->operand[operand].count / LIMB_BYTES;
        vector.limbs = scratch_take(room, vector.n);
        for (size_t i = 0; i < call->operand[operand].count; i++) {
            ((uint8_t *)vector.limbs)[i] = call->operand[operand].bytes[i];
        }
    }
    return vector;
}

static inline void explore_result_limbs(struct explore_call *call, const limb_t *limbs, size_t n)
{
    explore_result_bytes(call, limbs, n * LIMB_BYTES);
}

static inline void explore_result_limb(struct explore_call *call, limb_t limb)
{
    explore_result_bytes(call, &limb, LIMB_BYTES);
}

/* 1 when the operand is there and has `count` octets. */
static inline uint8_t explore_has(const struct explore_call *call, size_t operand, size_t count)
{
    return operand < call->operands && call->operand[operand].count == count;
}

#endif
