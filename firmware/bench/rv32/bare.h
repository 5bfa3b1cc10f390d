/*
 * What a program finds on the bare machine besides memory (`crates/isa/src/rv32/bare.rs`): registers to store to. A
 * program ends by returning from main(): the status goes to BARE_EXIT.
 *
 * Owns the addresses, for C and assembly. start.S and bare.ld are how a program begins and where it lies.
 */
#ifndef SELVEDGE_BENCH_RV32_BARE_H
#define SELVEDGE_BENCH_RV32_BARE_H

#define BARE_EXIT    0x80000000
#define BARE_CONSOLE 0x80000004
#define BARE_MARK    0x80000008
#define BARE_CORE    0x8000000c

#ifndef __ASSEMBLER__
#include <stdint.h>

/* The cycle of this store is noted with the number. What is timed stays between two of them. */
static inline void bare_mark(uint32_t number)
{
    __asm__ volatile("" ::: "memory");
    *(volatile uint32_t *)BARE_MARK = number;
    __asm__ volatile("" ::: "memory");
}

static inline void bare_put(uint8_t byte)
{
    *(volatile uint32_t *)BARE_CONSOLE = byte;
}

static inline void bare_put_word(uint32_t word)
{
    for (int digit = 28; digit >= 0; digit -= 4)
        bare_put("0123456789abcdef"[word >> digit & 15]);
    bare_put('\n');
}
#endif

#endif
