/*
 * What a system call does on a LEON without a system: files are read from an archive that the loader left in memory,
 * and standard output and errors go to the serial line.
 *
 * The archive has the form of Linux's initramfs (cpio, `newc`) and stands at DISK. Its entry `arguments` has argv[0]
 * and what follows, each ended by a zero; `stdin` is standard input; every other one is a file by its name. There is
 * nothing to write to but the serial line. Numbers are those of Linux on SPARC, so that an image does the same with
 * it and with us.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DISK ((const char *)0x42000000)

#define UART_DATA    (*(volatile uint32_t *)0x80000100)
#define UART_STATUS  (*(volatile uint32_t *)0x80000104)
#define UART_IS_FREE 4

#define ARGUMENTS_MAX 32
#define FILES_MAX     8
/* 0, 1 and 2 are open from the beginning. */
#define FILE_FIRST 3

enum { EXIT = 1, READ = 3, WRITE = 4, OPEN = 5, CLOSE = 6, LSEEK = 19 };
enum { NOT_THERE = 2, BAD_FILE = 9, BAD_ARGUMENT = 22, TOO_MANY = 24, READ_ONLY = 30, NO_CALL = 90 };

struct file {
    const char *bytes;
    long length, at;
};

extern void halt(long status) __attribute__((noreturn));
int find_arguments(char ***where);
long serve(long a, long b, long c, long call);

static struct file files[FILES_MAX];
static char *arguments[ARGUMENTS_MAX + 1];

/* Eight hexadecimal digits of an entry's header. */
static unsigned long field(const char *entry, int index)
{
    const char *at = entry + 6 + 8 * index;
    unsigned long value = 0;
    int i;
    for (i = 0; i < 8; i++) {
        int digit = at[i] <= '9' ? at[i] - '0' : (at[i] | 32) - 'a' + 10;
        value = value << 4 | (unsigned long)digit;
    }
    return value;
}

/* The entry of that name; `bytes` is NULL when there is none. Sizes are fields 6 and 11, name and bytes padded to 4. */
static struct file entry_of(const char *name)
{
    struct file file = { NULL, 0, 0 };
    const char *entry = DISK;

    while (memcmp(entry, "070701", 6) == 0) {
        unsigned long length = field(entry, 6);
        const char *bytes = entry + ((110 + field(entry, 11) + 3) & ~3ul);
        if (strcmp(entry + 110, name) == 0) {
            file.bytes = bytes;
            file.length = (long)length;
            break;
        }
        if (strcmp(entry + 110, "TRAILER!!!") == 0) {
            break;
        }
        entry = bytes + ((length + 3) & ~3ul);
    }
    return file;
}

/* Called before anything else: the number of arguments, and where they are. */
int find_arguments(char ***where)
{
    struct file file = entry_of("arguments");
    int count = 0;
    long at;

    for (at = 0; at < file.length && count < ARGUMENTS_MAX; at += (long)strlen(file.bytes + at) + 1) {
        arguments[count++] = (char *)(uintptr_t)(file.bytes + at);
    }
    *where = arguments;
    files[0] = entry_of("stdin");
    return count;
}

static long open_entry(const char *name, long flags)
{
    long number;

    if ((flags & 3) != 0) {
        return -READ_ONLY;
    }
    for (number = FILE_FIRST; number < FILES_MAX; number++) {
        if (files[number].bytes == NULL) {
            files[number] = entry_of(name);
            return files[number].bytes == NULL ? -NOT_THERE : number;
        }
    }
    return -TOO_MANY;
}

static long read_entry(struct file *file, char *to, long count)
{
    long rest = file->length - file->at;
    if (rest < 0) {
        rest = 0;
    }
    if (count > rest) {
        count = rest;
    }
    memcpy(to, file->bytes + file->at, (size_t)count);
    file->at += count;
    return count;
}

static long seek_entry(struct file *file, long offset, long from)
{
    long base = from == 0 ? 0 : from == 1 ? file->at : file->length;
    if (from < 0 || from > 2 || base + offset < 0) {
        return -BAD_ARGUMENT;
    }
    file->at = base + offset;
    return file->at;
}

static long send(const char *bytes, long count)
{
    long i;
    for (i = 0; i < count; i++) {
        while ((UART_STATUS & UART_IS_FREE) == 0) {
        }
        UART_DATA = (unsigned char)bytes[i];
    }
    return count;
}

/* Whether `number` is something to read from. */
static int is_entry(long number)
{
    return number >= 0 && number < FILES_MAX && files[number].bytes != NULL;
}

/* What a trap of `system_call` becomes, by sparc_bare.S: its answer, and a negative number is an error's. */
long serve(long a, long b, long c, long call)
{
    if (call == EXIT) {
        halt(a);
    }
    if (call == OPEN) {
        return open_entry((const char *)a, b);
    }
    if (call == WRITE) {
        return a == 1 || a == 2 ? send((const char *)b, c) : -BAD_FILE;
    }
    if (call != READ && call != CLOSE && call != LSEEK) {
        return -NO_CALL;
    }
    if (a >= 0 && a < FILE_FIRST && (call == CLOSE || !is_entry(a))) {
        /* The line stays open whoever closes it; standard input that the archive lacks is empty. */
        return call == CLOSE || (call == READ && a == 0) ? 0 : -BAD_FILE;
    }
    if (!is_entry(a)) {
        return -BAD_FILE;
    }
    if (call == READ) {
        return read_entry(&files[a], (char *)b, c);
    }
    if (call == LSEEK) {
        return seek_entry(&files[a], b, c);
    }
    files[a].bytes = NULL;
    return 0;
}
