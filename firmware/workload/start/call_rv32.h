/*
 * How Linux is called on RV32: `ecall`, number in a7, arguments in a0 on; an error's number comes back negative.
 */
#ifndef SELVEDGE_WORKLOAD_CALL_RV32_H
#define SELVEDGE_WORKLOAD_CALL_RV32_H

#include <fcntl.h>

#define CALL_UNLINKAT 35
#define CALL_OPENAT   56
#define CALL_CLOSE    57
#define CALL_LLSEEK   62
#define CALL_READ     63
#define CALL_WRITE    64
#define CALL_EXIT     93

/* Paths are from the working folder. */
#define FOLDER -100

/* Where Linux has other bits than picolibc. */
#define LINUX_CREAT  0x40
#define LINUX_EXCL   0x80
#define LINUX_TRUNC  0x200
#define LINUX_APPEND 0x400

static inline long call5(long number, long a, long b, long c, long d, long e)
{
    register long a7 __asm__("a7") = number;
    register long a0 __asm__("a0") = a;
    register long a1 __asm__("a1") = b;
    register long a2 __asm__("a2") = c;
    register long a3 __asm__("a3") = d;
    register long a4 __asm__("a4") = e;

    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4) : "memory");
    return a0;
}

static inline long call(long number, long a, long b, long c)
{
    return call5(number, a, b, c, 0, 0);
}

static inline long call_open(const char *path, int flags)
{
    long linux_flags = flags & 3;
    linux_flags |= flags & O_CREAT ? LINUX_CREAT : 0;
    linux_flags |= flags & O_EXCL ? LINUX_EXCL : 0;
    linux_flags |= flags & O_TRUNC ? LINUX_TRUNC : 0;
    linux_flags |= flags & O_APPEND ? LINUX_APPEND : 0;
    return call5(CALL_OPENAT, FOLDER, (long)path, linux_flags, 0666, 0);
}

static inline long call_unlink(const char *path)
{
    return call(CALL_UNLINKAT, FOLDER, (long)path, 0);
}

/* Offsets are 64 bits wide; a file here has fewer. */
static inline long call_lseek(int file, long offset, int from)
{
    long long place = 0;
    long answer = call5(CALL_LLSEEK, file, offset < 0 ? -1 : 0, offset, (long)&place, from);
    return answer < 0 ? answer : (long)place;
}

#endif
