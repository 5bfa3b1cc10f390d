/*
 * The two things that a compiler must not be clever about: wiping, and comparing in constant time.
 * Included by the ciphers, not by their callers.
 */
#ifndef SELVEDGE_SECRET_H
#define SELVEDGE_SECRET_H

#include <stddef.h>
#include <stdint.h>

/*
 * SECRET_TAINT builds, which run under valgrind's memcheck on the host, treat secrets as uninitialised memory: a
 * branch or an address that depends on one is then an error (the idea is Adam Langley's ctgrind). What the
 * ciphers compute from secrets but do not keep secret is declared to be public here. SECRET_MARKS builds are the same
 * for a simulator that follows secrets.
 */
#ifdef SECRET_TAINT
#include <valgrind/memcheck.h>
#define SECRET_PUBLISH(object) VALGRIND_MAKE_MEM_DEFINED(&(object), sizeof(object))
#elif defined(SECRET_MARKS)
/* Tells whoever follows secrets through a run of the bare machine: bench/rv32/explore.c. */
void secret_publish(const void *object, size_t bytes);
#define SECRET_PUBLISH(object) secret_publish(&(object), sizeof(object))
#else
#define SECRET_PUBLISH(object) ((void)0)
#endif

/* Zeros that stay, though the memory is never read again: the empty asm makes the compiler think it is. */
static inline void secret_wipe(void *memory, size_t bytes)
{
    uint8_t *byte = memory;
    while (bytes--) {
        *byte++ = 0;
    }
    __asm__ volatile("" : : "r"(memory) : "memory");
}

/* 1 when the `bytes` bytes at `a` and `b` are equal, else 0; looks at all of them either way. The answer is
   public. */
static inline uint8_t secret_equal(const uint8_t *a, const uint8_t *b, uint8_t bytes)
{
    uint8_t difference = 0;
    while (bytes--) {
        difference |= (uint8_t)(*a++ ^ *b++);
        /* Keeps the loop from ending early once `difference` cannot change the answer any more. */
        __asm__ volatile("" : "+r"(difference));
    }
    difference = (uint8_t)(((uint16_t)difference - 1) >> 8) & 1;
    SECRET_PUBLISH(difference);
    return difference;
}

#endif
