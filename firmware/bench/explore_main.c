/*
 * Exploration's operations as a program: requests on standard input, each behind its length in 4 octets (least
 * significant first), and responses on standard output in the same form. Under Linux, natively or as an RV32 program;
 * needs nothing of a C library but read, write and exit. Nothing is counted here.
 */
#include "../crypto/estimate.h"
#include "explore.h"

#include <unistd.h>

void explore_begin(void)
{
    LOOP_STAYS();
}

void explore_end(void)
{
    LOOP_STAYS();
}

/* 0 at the end of the input, and for less than was asked for. */
static int get(uint8_t *bytes, size_t count)
{
    while (count != 0) {
        const ssize_t got = read(0, bytes, count);
        if (got <= 0) {
            return 0;
        }
        bytes += got;
        count -= (size_t)got;
    }
    return 1;
}

static int put(const uint8_t *bytes, size_t count)
{
    while (count != 0) {
        const ssize_t put = write(1, bytes, count);
        if (put <= 0) {
            return 0;
        }
        bytes += put;
        count -= (size_t)put;
    }
    return 1;
}

int main(void)
{
    static uint8_t request[EXPLORE_REQUEST_BYTES_MAX], response[4 + EXPLORE_RESPONSE_BYTES_MAX];

    while (get(request, 4)) {
        const size_t count = (size_t)request[0] | (size_t)request[1] << 8 | (size_t)request[2] << 16;
        size_t answered, i;
        if (count > sizeof(request) || !get(request, count)) {
            return 2;
        }
        answered = explore_run(request, count, response + 4);
        for (i = 0; i < 4; i++) {
            response[i] = (uint8_t)(answered >> (8 * i));
        }
        if (!put(response, 4 + answered)) {
            return 3;
        }
    }
    return 0;
}
