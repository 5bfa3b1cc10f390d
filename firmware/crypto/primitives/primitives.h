/*
 * The security primitives in one place. Each header owns its contracts; all of them have these rules:
 *  - The caller owns all memory: keys, scratch and randomness. Nothing is allocated or kept between calls.
 *  - What holds secrets is wiped before a function returns, but for what is the result.
 *  - A pointer MUST NOT be NULL, except where it is said.
 *  - Sizes that are not allowed are refused with 0, never cut.
 */
#ifndef SELVEDGE_PRIMITIVES_H
#define SELVEDGE_PRIMITIVES_H

#include "ecc.h"
#include "elgamal.h"
#include "rsa.h"

#endif
