/*
 * A file of input, read whole: what the workloads of this folder begin with.
 *
 * Owns the reading and how a program of this folder refuses. Leaves to each program what is in the file.
 */
#ifndef SELVEDGE_WORKLOAD_WHOLE_H
#define SELVEDGE_WORKLOAD_WHOLE_H

#include <stdio.h>
#include <stdlib.h>

/* Says `what` of `where` and ends the program with status 1. */
static inline void refuse(const char *where, const char *what)
{
    fprintf(stderr, "error: %s: %s\n", where, what);
    exit(1);
}

/* All bytes of the file at `path` and a zero behind them, from malloc; `*length` without that zero. */
static inline unsigned char *whole(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    unsigned char *bytes = NULL;
    size_t room = 0, used = 0, got;

    if (file == NULL) {
        refuse(path, "cannot be opened");
    }
    do {
        if (room - used < 2) {
            room = room == 0 ? 4096 : room * 2;
            bytes = realloc(bytes, room);
            if (bytes == NULL) {
                refuse(path, "does not fit into memory");
            }
        }
        got = fread(bytes + used, 1, room - used - 1, file);
        used += got;
    } while (got != 0);
    if (ferror(file)) {
        refuse(path, "cannot be read");
    }
    fclose(file);
    bytes[used] = 0;
    *length = used;
    return bytes;
}

#endif
