/*
 * What the programs of this folder share: each file is one piece of work, which main.c does twice.
 */
#ifndef SELVEDGE_BENCH_RV32_WORK_H
#define SELVEDGE_BENCH_RV32_WORK_H

#include <stdint.h>

/* Does it, from the same input each time; what it returns depends on all of its output. */
uint32_t work(void);

/* The next of some numbers, which a seed begins. */
static inline uint32_t number(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8 ^ *seed << 13;
}

#endif
