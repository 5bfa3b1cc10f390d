/*
 * Scratch: the caller's memory that functions compute in. It is passed by value, so what a function took is given back
 * when it returns. Nothing is allocated, and nothing is wiped here: the primitives wipe what they were given.
 */
#ifndef SELVEDGE_SCRATCH_H
#define SELVEDGE_SCRATCH_H

#include "limb.h"

struct scratch {
    limb_t *next;
    size_t limbs; /* from `next` on */
};

/* The next `limbs` limbs. Too little scratch is a caller's fault, and ends the program. */
INLINE limb_t *scratch_take(struct scratch *scratch, size_t limbs)
{
    limb_t *taken = scratch->next;
    if (limbs > scratch->limbs) {
        __builtin_trap();
    }
    scratch->next += limbs;
    scratch->limbs -= limbs;
#ifdef SELVEDGE_COUNT
    if (scratch->limbs * sizeof(limb_t) < estimate_scratch_left) {
        estimate_scratch_left = scratch->limbs * sizeof(limb_t);
    }
#endif
    return taken;
}

#endif
