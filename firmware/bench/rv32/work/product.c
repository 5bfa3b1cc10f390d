/* Products of numbers of 24 words, and a Montgomery multiplication by their like: long loops of mul, mulhu and carries. */
#include "work.h"

#define LIMBS 24

static uint32_t a[LIMBS], b[LIMBS], n[LIMBS], product[2 * LIMBS], t[LIMBS + 2];

/* out += in * factor; what is left over. */
static uint32_t add_product(uint32_t *out, const uint32_t *in, uint32_t factor)
{
    uint64_t carry = 0;
    for (int at = 0; at < LIMBS; at++) {
        carry += (uint64_t)in[at] * factor + out[at];
        out[at] = carry;
        carry >>= 32;
    }
    return carry;
}

static void multiply(void)
{
    for (int at = 0; at < 2 * LIMBS; at++)
        product[at] = 0;
    for (int at = 0; at < LIMBS; at++)
        product[at + LIMBS] = add_product(product + at, a, b[at]);
}

static void montgomery(uint32_t inverse)
{
    for (int at = 0; at < LIMBS + 2; at++)
        t[at] = 0;
    for (int round = 0; round < LIMBS; round++) {
        uint32_t high = add_product(t, a, b[round]);
        t[LIMBS] += high;
        t[LIMBS + 1] = t[LIMBS] < high;
        high = add_product(t, n, t[0] * inverse);
        t[LIMBS] += high;
        t[LIMBS + 1] += t[LIMBS] < high;
        for (int at = 0; at <= LIMBS; at++)
            t[at] = t[at + 1];
        t[LIMBS + 1] = 0;
    }
}

uint32_t work(void)
{
    uint32_t seed = 5, sum = 0;
    for (int at = 0; at < LIMBS; at++) {
        a[at] = number(&seed);
        b[at] = number(&seed);
        n[at] = number(&seed);
    }
    n[0] |= 1;
    uint32_t inverse = n[0];
    for (int round = 0; round < 4; round++)
        inverse *= 2 - n[0] * inverse;
    multiply();
    montgomery(-inverse);
    for (int at = 0; at < 2 * LIMBS; at++)
        sum = sum * 33 + product[at];
    for (int at = 0; at < LIMBS; at++)
        sum = sum * 33 + t[at];
    return sum;
}
