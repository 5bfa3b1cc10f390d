/*
 * How Linux is called on SPARC: its numbers, through the function that has the trap, see sparc_call.S.
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

long system_call(long a, long b, long c, long number);

/* The answer; an error's number is negative. */
static inline long call(long number, long a, long b, long c)
{
    return system_call(a, b, c, number);
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
