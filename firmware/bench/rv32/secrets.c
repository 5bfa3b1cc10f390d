/*
 * Functions whose time tells of a secret, and functions whose time does not, for who looks for such: each `leaks_*` is
 * found by what it decides, and no `keeps_*` is (`crates/isa/tests/rv32_taint.rs`).
 *
 * The secret is 16 bytes at `secret`, which is filled in before the program begins, and `guess` is none.
 */
#include "bare.h"

#define BYTES 16

/* Not zero: it would be no part of the image. */
uint8_t secret[BYTES] = {1};
uint8_t guess[BYTES] = {1};
static uint8_t table[256];

/* A comparison that ends where it differs. */
__attribute__((noinline)) int leaks_branch(const uint8_t *a, const uint8_t *b)
{
    for (int at = 0; at < BYTES; at++)
        if (a[at] != b[at])
            return 1;
    return 0;
}

/* A table that is looked into. */
__attribute__((noinline)) uint32_t leaks_address(const uint8_t *a)
{
    uint32_t sum = 0;
    for (int at = 0; at < BYTES; at++)
        sum += table[a[at]];
    return sum;
}

/* A division. */
__attribute__((noinline)) uint32_t leaks_operand(const uint8_t *a, uint32_t by)
{
    return (a[0] << 8 | a[1]) / by;
}

/* A comparison that looks at everything. */
__attribute__((noinline)) int keeps_compare(const uint8_t *a, const uint8_t *b)
{
    uint32_t differ = 0;
    for (int at = 0; at < BYTES; at++)
        differ |= a[at] ^ b[at];
    return (differ - 1) >> 31;
}

/* A table of which every entry is read. */
__attribute__((noinline)) uint32_t keeps_look_up(uint32_t index)
{
    uint32_t found = 0;
    for (uint32_t at = 0; at < 256; at++)
        found |= table[at] & -(((at ^ index) - 1) >> 31);
    return found;
}

/* One of two words, by a mask; and products and shifts, which take the same on these cores. */
__attribute__((noinline)) uint32_t keeps_select(uint32_t which, uint32_t a, uint32_t b)
{
    uint32_t mask = -(which & 1);
    return ((a & mask) | (b & ~mask)) * (which | 1) << (which & 7);
}

static volatile uint32_t sink;

int main(void)
{
    for (uint32_t at = 0; at < 256; at++)
        table[at] = at * 7;
    sink = leaks_branch(secret, guess);
    sink = leaks_address(secret);
    sink = leaks_operand(secret, 3);
    sink = keeps_compare(secret, guess);
    sink = keeps_look_up(secret[3]);
    sink = keeps_select(secret[4], 5, 6);
    return 0;
}
