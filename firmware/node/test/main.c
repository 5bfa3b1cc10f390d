//! Runs the host tests of the node's pure parts: all, or those whose names are given.
//! Exit status 0 when all passed. Built by test/run.sh.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "test.h"

static const struct {
    const char *name;
    void (*run)(void);
} tests[] = {
#define TEST_ROW(name) {#name, name},
    TESTS(TEST_ROW)
#undef TEST_ROW
};

static jmp_buf failed;
static uint64_t stream;

void test_fail(const char *file, int line, const char *condition, const char *words, ...)
{
    va_list list;
    va_start(list, words);
    printf("%s:%d: `%s` is false: ", file, line, condition);
    vprintf(words, list);
    printf("\n");
    va_end(list);
    longjmp(failed, 1);
}

uint32_t test_random(void)
{
    uint64_t z = stream += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (uint32_t)((z ^ z >> 31) >> 32);
}

uint32_t test_below(uint32_t bound)
{
    return test_random() % bound;
}

static bool passes(void (*run)(void))
{
    if (setjmp(failed) != 0) {
        return false;
    }
    run();
    return true;
}

int main(int argc, char **argv)
{
    const char *given = getenv("SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    unsigned ran = 0, bad = 0;

    printf("seed: SEED=%llu\n", (unsigned long long)seed);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        bool wanted = argc == 1;
        for (int a = 1; a < argc; a++) {
            wanted |= strcmp(argv[a], tests[i].name) == 0;
        }
        if (!wanted) {
            continue;
        }
        // Each test has the whole stream for itself, so that one alone replays as it ran among all.
        stream = seed;
        ran++;
        bool passed = passes(tests[i].run);
        bad += !passed;
        printf("%s  %s\n", passed ? "ok    " : "FAILED", tests[i].name);
        fflush(stdout);
    }
    printf("%u passed, %u failed\n", ran - bad, bad);
    return bad != 0 || ran == 0;
}
