/*
 * Randomness is the caller's: a function that fills bytes. Nothing in this library has any of its own.
 */
#ifndef SELVEDGE_RANDOM_H
#define SELVEDGE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct random {
    /* Fills `bytes` with `count` independent, uniform bytes that nobody else knows. */
    void (*fill)(void *context, uint8_t *bytes, size_t count);
    void *context;
};

#endif
