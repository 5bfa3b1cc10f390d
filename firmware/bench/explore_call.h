/*
 * A request as it is taken apart, and the response as it is put together, for the files of operations: see explore.h.
 * Included by explore*.c alone.
 */
#ifndef SELVEDGE_EXPLORE_CALL_H
#define SELVEDGE_EXPLORE_CALL_H

#include "../crypto/candidate.h"
#include "../crypto/estimate.h"
#include "../crypto/random.h"
#include "explore.h"

struct explore_call {
    struct candidate candidate;
    uint8_t limb_bits, choice, repeats;
    size_t operands;
    struct {
        const uint8_t *bytes;
        size_t count;
    } operand[EXPLORE_OPERANDS_MAX];
    uint8_t *response;
    size_t response_bytes, results;
};

/* What is kept between calls belongs to the thread, where there are any. */
#ifdef __riscv
#define EXPLORE_STATE
#else
#define EXPLORE_STATE _Thread_local
#endif

/*
 * `prepare` and then `timed`, as often as the call says, each time between the marks of what counts. Only the functions
 * of operations use it.
 */
#define TIMED(prepare, timed)                                                                                \
    do {                                                                                                     \
        unsigned turn = call->repeats;                                                                       \
        do {                                                                                                 \
            prepare;                                                                                         \
            explore_begin();                                                                                 \
            timed;                                                                                           \
            explore_end();                                                                                   \
        } while (--turn != 0);                                                                               \
    } while (0)

/* Tells that an operation keeps a state of so many bytes, and takes no scratch of its caller's. */
#ifdef SELVEDGE_COUNT
#define EXPLORE_KEEPS(bytes) estimate_memory(bytes, 0)
#else
#define EXPLORE_KEEPS(bytes) ((void)0)
#endif

/* Room for an operand of the response; a response that has none left ends the program. */
uint8_t *explore_result(struct explore_call *call, size_t count);

/* A response of `count` bytes at `bytes`, and one of a number of up to four octets, least significant first. */
void explore_result_bytes(struct explore_call *call, const void *bytes, size_t count);
void explore_result_number(struct explore_call *call, uint32_t number, size_t octets);

/* An operand as a number of up to four octets, least significant first. */
uint32_t explore_number(const struct explore_call *call, size_t operand);

/* Makes an operand, or what was copied from one, a secret to SECRET_TAINT and SECRET_MARKS builds (crypto/secret.h). */
#ifdef SECRET_TAINT
#include <valgrind/memcheck.h>
#define EXPLORE_SECRET(bytes, count) VALGRIND_MAKE_MEM_UNDEFINED(bytes, count)
#define EXPLORE_PUBLIC(bytes, count) VALGRIND_MAKE_MEM_DEFINED(bytes, count)
#elif defined(SECRET_MARKS)
void secret_hide(const void *bytes, size_t count);
void secret_publish(const void *bytes, size_t count);
#define EXPLORE_SECRET(bytes, count) secret_hide(bytes, count)
#define EXPLORE_PUBLIC(bytes, count) secret_publish(bytes, count)
#else
#define EXPLORE_SECRET(bytes, count) ((void)(bytes), (void)(count))
#define EXPLORE_PUBLIC(bytes, count) ((void)(bytes), (void)(count))
#endif

/* What secrets are followed through though nobody times it: `prepare`, which is done once, before all that is timed. */
#ifdef SECRET_MARKS
void secret_begin(void);
void secret_end(void);
#define FOLLOWED(prepare) (secret_begin(), (prepare), secret_end())
#else
#define FOLLOWED(prepare) (prepare)
#endif

/* A generator that gives the same bytes for the same seed everywhere (sfc32). No secret may come from it. */
struct explore_random {
    uint32_t a, b, c, counter;
};

/* Starts it from an operand; returns what the library takes. */
struct random explore_random_start(struct explore_random *state, const struct explore_call *call, size_t operand);

#endif
