/* Divides: greatest common divisors, decimal digits, remainders that are signed, and 64 bits by 32 in software. */
#include "work.h"

static uint32_t divisor(uint32_t a, uint32_t b)
{
    while (b != 0) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static uint32_t digits(uint32_t value)
{
    uint32_t sum = 0;
    do {
        sum = sum * 16 + value % 10;
        value /= 10;
    } while (value != 0);
    return sum;
}

uint32_t work(void)
{
    uint32_t seed = 6, sum = 0;
    for (int round = 0; round < 40; round++) {
        uint32_t a = number(&seed), b = number(&seed);
        sum = sum * 5 + divisor(a, b);
        sum ^= digits(a);
        sum += (uint32_t)((int32_t)a / (int32_t)(b >> 20 | 1)) ^ (uint32_t)((int32_t)a % -7);
        sum ^= (uint32_t)(((uint64_t)a << 32 | b) / (a >> 7 | 1));
    }
    return sum;
}
