/*
 * How Linux is called on SPARC: `ta 0x10`, number in %g1, arguments in %o0 to %o2, an error's number with carry set.
 *
 * A call may change what a function may: without a system `ta 0x10` becomes one, see sparc_bare.S.
 */
#ifndef SELVEDGE_WORKLOAD_CALL_SPARC_H
#define SELVEDGE_WORKLOAD_CALL_SPARC_H

#define CALL_EXIT   1
#define CALL_READ   3
#define CALL_WRITE  4
#define CALL_OPEN   5
#define CALL_CLOSE  6
#define CALL_UNLINK 10
#define CALL_LSEEK  19

/* The answer; an error's number is negative. */
static inline long call(long number, long a, long b, long c)
{
    register long g1 __asm__("g1") = number;
    register long o0 __asm__("o0") = a;
    register long o1 __asm__("o1") = b;
    register long o2 __asm__("o2") = c;

    __asm__ volatile("ta 0x10\n\tbcs,a 1f\n\tsub %%g0, %%o0, %%o0\n1:"
                     : "+r"(o0), "+r"(o1), "+r"(o2), "+r"(g1)
                     :
                     : "g2", "g3", "g4", "o3", "o4", "o5", "o7", "memory", "cc");
    return o0;
}

/* newlib's flags are Linux's on SPARC. */
static inline long call_open(const char *path, int flags)
{
    return call(CALL_OPEN, (long)path, flags, 0666);
}

static inline long call_unlink(const char *path)
{
    return call(CALL_UNLINK, (long)path, 0, 0);
}

static inline long call_lseek(int file, long offset, int from)
{
    return call(CALL_LSEEK, file, offset, from);
}

#endif
