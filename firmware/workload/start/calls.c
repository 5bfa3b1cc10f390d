/*
 * The system calls that a C library asks of whoever has no system, for newlib and picolibc: files and the end of the
 * program are Linux's, by the number of each call; memory is an array; time stands still, so that every run is the
 * same.
 *
 * Owns what is the same on every processor. How a call is made is call_sparc.h's and call_rv32.h's.
 */
#include <errno.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/types.h>

#ifdef __sparc__
#include "call_sparc.h"
#else
#include "call_rv32.h"
#endif

#define HEAP_BYTES (8 << 20)
/* What a stream of the C library buffers. */
#define BUFFER_BYTES 1024

int chmod(const char *path, mode_t mode);
int fchmod(int file, mode_t mode);
int fchown(int file, uid_t user, gid_t group);
int getpid(void);
int isatty(int file);
int kill(int process, int signal);
int lstat(const char *path, struct stat *stat);
int rename(const char *from, const char *to);
int unlink(const char *path);
int utime(const char *path, const void *times);
void *sbrk(ptrdiff_t more);
void _exit(int status) __attribute__((noreturn));
void _fini(void);
void _init(void);

static char heap[HEAP_BYTES] __attribute__((aligned(16)));
static size_t heap_used;

static int refused(int error)
{
    errno = error;
    return -1;
}

/* An answer of the kernel's as C has it. */
static long checked(long answer)
{
    return answer < 0 ? refused((int)-answer) : answer;
}

void _exit(int status)
{
    for (;;) {
        call(CALL_EXIT, status, 0, 0);
    }
}

int open(const char *path, int flags, ...)
{
    return (int)checked(call_open(path, flags));
}

int close(int file)
{
    return (int)checked(call(CALL_CLOSE, file, 0, 0));
}

ssize_t read(int file, void *bytes, size_t count)
{
    return checked(call(CALL_READ, file, (long)bytes, (long)count));
}

ssize_t write(int file, const void *bytes, size_t count)
{
    return checked(call(CALL_WRITE, file, (long)bytes, (long)count));
}

off_t lseek(int file, off_t offset, int from)
{
    return checked(call_lseek(file, offset, from));
}

int unlink(const char *path)
{
    return (int)checked(call_unlink(path));
}

void *sbrk(ptrdiff_t more)
{
    char *before = heap + heap_used;
    if (more > 0 ? (size_t)more > HEAP_BYTES - heap_used : (size_t)-more > heap_used) {
        refused(ENOMEM);
        return (void *)-1;
    }
    heap_used += (size_t)more;
    return before;
}

/* Nothing is asked of a file but how it is buffered. */
int fstat(int file, struct stat *stat)
{
    stat->st_mode = file < 3 ? S_IFCHR : S_IFREG;
    stat->st_blksize = BUFFER_BYTES;
    return 0;
}

int stat(const char *path, struct stat *stat)
{
    (void)path;
    return fstat(3, stat);
}

int lstat(const char *path, struct stat *stat)
{
    (void)path;
    return fstat(3, stat);
}

int isatty(int file)
{
    (void)file;
    return 0;
}

int kill(int process, int signal)
{
    (void)process;
    _exit(128 + signal);
}

int getpid(void)
{
    return 1;
}

clock_t times(struct tms *times)
{
    times->tms_utime = times->tms_stime = times->tms_cutime = times->tms_cstime = 0;
    return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
    (void)zone;
    time->tv_sec = 1;
    time->tv_usec = 0;
    return 0;
}

/* bzip2 gives what it writes the mode and the times of what it read. */
int chmod(const char *path, mode_t mode)
{
    (void)path;
    (void)mode;
    return 0;
}

int fchmod(int file, mode_t mode)
{
    (void)file;
    (void)mode;
    return 0;
}

int fchown(int file, uid_t user, gid_t group)
{
    (void)file;
    (void)user;
    (void)group;
    return 0;
}

int utime(const char *path, const void *times)
{
    (void)path;
    (void)times;
    return 0;
}

int rename(const char *from, const char *to)
{
    (void)from;
    (void)to;
    return refused(EROFS);
}

/* There is nothing to construct. */
void _init(void)
{
}

void _fini(void)
{
}
