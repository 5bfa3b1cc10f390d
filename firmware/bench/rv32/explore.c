/*
 * Exploration's operations on the bare machine: requests lie in memory before the program begins, responses are
 * printed.
 *
 * Owns how requests lie: at `explore_requests`, which the linker is told, one behind the other, each behind its length
 * in a word and with zeros up to a multiple of 4; a length of 0 is behind the last. A response is printed as it is.
 * What is timed of each lies between the marks EXPLORE_BEGIN and EXPLORE_END (`crates/explore/src/measure.rs`). With
 * SECRET_MARKS, bytes that are made secret or public are told by three marks: which, where, how many; and what secrets
 * are followed through before anything is timed lies between two of its own (`crates/explore/src/constant.rs`).
 */
#include "bare.h"

#include "../explore.h"

enum { EXPLORE_BEGIN = 1, EXPLORE_END = 2, SECRET_PUBLIC = 3, SECRET_HIDDEN = 4, SECRET_BEGIN = 5, SECRET_END = 6 };

extern const uint8_t explore_requests[];

/* see explore.h */
__attribute__((noipa)) void explore_begin(void)
{
    bare_mark(EXPLORE_BEGIN);
}

/* see explore.h */
__attribute__((noipa)) void explore_end(void)
{
    bare_mark(EXPLORE_END);
}

#ifdef SECRET_MARKS
static void tell(uint32_t what, const void *bytes, size_t count)
{
    bare_mark(what);
    bare_mark((uint32_t)(uintptr_t)bytes);
    bare_mark((uint32_t)count);
}

void secret_publish(const void *bytes, size_t count);
void secret_hide(const void *bytes, size_t count);

__attribute__((noipa)) void secret_publish(const void *bytes, size_t count)
{
    tell(SECRET_PUBLIC, bytes, count);
}

__attribute__((noipa)) void secret_hide(const void *bytes, size_t count)
{
    tell(SECRET_HIDDEN, bytes, count);
}

void secret_begin(void);
void secret_end(void);

__attribute__((noipa)) void secret_begin(void)
{
    bare_mark(SECRET_BEGIN);
}

__attribute__((noipa)) void secret_end(void)
{
    bare_mark(SECRET_END);
}
#endif

int main(void)
{
    static uint8_t response[EXPLORE_RESPONSE_BYTES_MAX];
    const uint8_t *request = explore_requests;

    for (;;) {
        const uint32_t count = *(const uint32_t *)request;
        uint32_t answered;
        if (count == 0) {
            return 0;
        }
        answered = (uint32_t)explore_run(request + 4, count, response);
        for (uint32_t i = 0; i < answered; i++) {
            bare_put(response[i]);
        }
        request += 4 + ((count + 3) & ~3u);
    }
}
