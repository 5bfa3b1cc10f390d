/*
 * Routines, what their cycles depend on, and who calls them. Owns the marks that a routine carries, and what a native
 * estimation run counts in: sums of features, and contexts. The routines themselves are listed in routines.def, and what
 * a count costs on a core is nobody's business here.
 *
 * A routine is a function that no compiler inlines, clones or specialises, so that it is one symbol with local cycles
 * of its own. Its first statement is COUNT(name, value, ..): one call, and the values of its further features in the
 * order of routines.def. What depends on data is added where it happens, by COUNT_TERM(name, feature, value). It is in a
 * context from COUNT on until it returns. One that calls no other may say COUNT_LEAF anywhere instead, which is a store,
 * where COUNT may be a call and has a leaf save registers.
 *
 * Without SELVEDGE_COUNT, as everything that ships is built, both are nothing.
 */
#ifndef SELVEDGE_ESTIMATE_H
#define SELVEDGE_ESTIMATE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__clang__)
#define ROUTINE __attribute__((noinline))
#else
#define ROUTINE __attribute__((noipa))
#endif

/* What is no routine is part of the one that calls it. */
#define INLINE static inline __attribute__((always_inline))

/* Keeps a compiler from making a call to memcpy or memset, which is no routine, out of the loop that it stands in. */
#define LOOP_STAYS() __asm__ volatile("")

#define ESTIMATE_FEATURES 6

#ifdef SELVEDGE_COUNT

/* The routines of routines.def in its order, of limbs first 16 bits and then 32; all are ESTIMATE_FEATURES numbers. */
struct estimate {
#define ROUTINE_ENTRY(name, layer, ...)                                                                      \
    union {                                                                                                  \
        uint64_t features[ESTIMATE_FEATURES];                                                                \
        struct {                                                                                             \
            uint64_t __VA_ARGS__;                                                                            \
        };                                                                                                   \
    } name;
#define LIMB_ROUTINE_ENTRY(prefix, name, layer, ...)                                                         \
    ROUTINE_ENTRY(prefix##16_##name, layer, __VA_ARGS__)                                                     \
    ROUTINE_ENTRY(prefix##32_##name, layer, __VA_ARGS__)
#include "routines.def"
#undef ROUTINE_ENTRY
#undef LIMB_ROUTINE_ENTRY
};

/* What is counted: sums over calls, the most that a call began with, and the most of the complements of what calls began
   with, which is the least: zeros are nothing yet. */
struct estimates {
    struct estimate sums, most, least;
};

#define ESTIMATE_ROUTINES      (sizeof(struct estimate) / (ESTIMATE_FEATURES * sizeof(uint64_t)))
#define ESTIMATE_ROUTINE(name) (offsetof(struct estimate, name) / (ESTIMATE_FEATURES * sizeof(uint64_t)))
#define ESTIMATE_CONTEXTS_MAX  4096
/* Whole words of marks. */
#define ESTIMATE_LEAVES        ((ESTIMATE_ROUTINES + 7) / 8 * 8)

/* A routine that was called in another context. */
struct estimate_context {
    uint16_t caller, routine;
};

/*
 * The tree of contexts (Ammons, Ball, Larus, "Exploiting hardware performance counters with flow and context sensitive
 * profiling", PLDI 1997): how deep the stack is in one follows from the way to it. Context 0 is whoever counts, and is
 * called in none.
 */
struct estimate_contexts {
    uint16_t at, last;
    struct estimate_context context[ESTIMATE_CONTEXTS_MAX];
    /* Of each context and routine the context of that when it is called there; 0 is none yet. */
    uint16_t callee[ESTIMATE_CONTEXTS_MAX][ESTIMATE_ROUTINES];
    /* The same of leaves, which are numbered at the end: 1 is that it was called. */
    uint8_t leaf[ESTIMATE_CONTEXTS_MAX][ESTIMATE_LEAVES];
};

/* This thread's counts. */
extern _Thread_local struct estimates estimate_counts __attribute__((tls_model("initial-exec")));
/* This thread's contexts; see estimate_contexts_in. */
extern _Thread_local struct estimate_contexts *estimate_contexts __attribute__((tls_model("initial-exec")));
/* The least number of bytes that scratch had left since this was set to what it has, see mp/scratch.h: the difference is
   what an operation needs. */
extern _Thread_local size_t estimate_scratch_left __attribute__((tls_model("initial-exec")));

INLINE void estimate_add(uint64_t *sums, uint64_t *most, uint64_t *least, const uint64_t *values, size_t count)
{
    sums[0] += values[0];
    for (size_t i = 1; i < count; i++) {
        sums[i] += values[i];
        most[i] = values[i] > most[i] ? values[i] : most[i];
        least[i] = ~values[i] > least[i] ? ~values[i] : least[i];
    }
}

/* A context that is not there yet. */
uint16_t estimate_context(uint16_t caller, uint16_t routine);

/* Enters the context of a routine that is called here, and returns the one that is left. */
INLINE uint16_t estimate_enter(uint16_t routine)
{
    struct estimate_contexts *const contexts = estimate_contexts;
    const uint16_t caller = contexts->at, known = contexts->callee[caller][routine];

    contexts->at = __builtin_expect(known != 0, 1) ? known : estimate_context(caller, routine);
    return caller;
}

INLINE void estimate_leave(const uint16_t *caller)
{
    estimate_contexts->at = *caller;
}

#define COUNT_CALL(name, ...)                                                                                \
    estimate_add(estimate_counts.sums.name.features, estimate_counts.most.name.features,                     \
                 estimate_counts.least.name.features, (const uint64_t[]){1, __VA_ARGS__},                    \
                 sizeof((const uint64_t[]){1, __VA_ARGS__}) / sizeof(uint64_t))
#define COUNT_(name, ...)                                                                                    \
    __attribute__((cleanup(estimate_leave))) const uint16_t estimate_caller =                                \
        estimate_enter(ESTIMATE_ROUTINE(name));                                                              \
    COUNT_CALL(name, __VA_ARGS__)
#define COUNT_LEAF_(name, ...)                                                                               \
    estimate_contexts->leaf[estimate_contexts->at][ESTIMATE_ROUTINE(name)] = 1;                              \
    COUNT_CALL(name, __VA_ARGS__)
#define COUNT_TERM_(name, feature, value) (estimate_counts.sums.name.feature += (value))
/* Twice, because the name may be a macro of limb.h's. */
#define COUNT(...)                        COUNT_(__VA_ARGS__)
#define COUNT_LEAF(...)                   COUNT_LEAF_(__VA_ARGS__)
#define COUNT_TERM(name, feature, value)  COUNT_TERM_(name, feature, value)

/*
 * For whoever runs an estimation: the list as text, and this thread's blocks, one behind the other as `struct estimates`
 * has them, of `estimate_routines()` rows of ESTIMATE_FEATURES numbers each. The names of features are as routines.def
 * has them, separated by ", ". In firmware/bench/estimate.c.
 */
size_t estimate_routines(void);
const char *estimate_routine_name(size_t routine);
const char *estimate_routine_layer(size_t routine);
const char *estimate_routine_features(size_t routine);
const uint64_t *estimate_block(void);
void estimate_clear(void);
/*
 * Contexts of this thread are in `memory` from now on, which has estimate_contexts_bytes() bytes of zeros, at a multiple
 * of eight: MUST be called before anything counts. Then those that were entered since the counts were cleared, once: how
 * many, the first of which is nobody's, and what they are.
 */
size_t estimate_contexts_bytes(void);
void estimate_contexts_in(void *memory);
size_t estimate_contexts_count(void);
const struct estimate_context *estimate_contexts_list(void);
/* Tells what an operation keeps and how much scratch it is given, before it takes any. */
void estimate_memory(size_t state_bytes, size_t scratch_bytes);
/* What it kept, and what it took of its scratch at most. */
size_t estimate_state_bytes(void);
size_t estimate_scratch_bytes(void);

#else

#define COUNT(...)                       ((void)0)
#define COUNT_LEAF(...)                  ((void)0)
#define COUNT_TERM(name, feature, value) ((void)0)

#endif
#endif
