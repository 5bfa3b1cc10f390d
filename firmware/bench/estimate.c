/*
 * What routines count in, their contexts, and their list as text, for native estimation: see crypto/estimate.h. Is nothing
 * without SELVEDGE_COUNT.
 */
#include <string.h>

#include "../crypto/estimate.h"

#ifdef SELVEDGE_COUNT

_Thread_local struct estimates estimate_counts;
_Thread_local struct estimate_contexts *estimate_contexts;
_Thread_local size_t estimate_scratch_left;

#define TEXT_(...)           #__VA_ARGS__
#define LIMB_ROUTINE_ENTRY(prefix, name, layer, ...)                                                         \
    ROUTINE_ENTRY(prefix##16_##name, layer, __VA_ARGS__)                                                     \
    ROUTINE_ENTRY(prefix##32_##name, layer, __VA_ARGS__)

static const struct {
    const char *name, *layer, *features;
} routines[] = {
#define ROUTINE_ENTRY(name, layer, ...) {#name, #layer, TEXT_(__VA_ARGS__)},
#include "../crypto/routines.def"
#undef ROUTINE_ENTRY
};

#define ROUTINES (sizeof(routines) / sizeof(routines[0]))
_Static_assert(sizeof(struct estimate) == ROUTINES * ESTIMATE_FEATURES * sizeof(uint64_t),
               "a routine has at most ESTIMATE_FEATURES features");

size_t estimate_routines(void)
{
    return ROUTINES;
}

const char *estimate_routine_name(size_t routine)
{
    return routine < ROUTINES ? routines[routine].name : NULL;
}

const char *estimate_routine_layer(size_t routine)
{
    return routine < ROUTINES ? routines[routine].layer : NULL;
}

const char *estimate_routine_features(size_t routine)
{
    return routine < ROUTINES ? routines[routine].features : NULL;
}

const uint64_t *estimate_block(void)
{
    return (const uint64_t *)&estimate_counts;
}

/* Writes a context to the list; its number. */
static size_t enlist(struct estimate_contexts *contexts, size_t context, size_t caller, size_t routine)
{
    /* They follow from the library's call graph, whatever it is asked. */
    if (context == ESTIMATE_CONTEXTS_MAX) {
        __builtin_trap();
    }
    contexts->context[context] = (struct estimate_context){(uint16_t)caller, (uint16_t)routine};
    return context;
}

/* see estimate.h */
uint16_t estimate_context(uint16_t caller, uint16_t routine)
{
    struct estimate_contexts *const contexts = estimate_contexts;
    const size_t context = enlist(contexts, (size_t)contexts->last + 1, caller, routine);

    contexts->callee[caller][routine] = (uint16_t)context;
    contexts->last = (uint16_t)context;
    return contexts->last;
}

/* see estimate.h */
size_t estimate_contexts_bytes(void)
{
    return sizeof(struct estimate_contexts);
}

/* see estimate.h */
void estimate_contexts_in(void *memory)
{
    estimate_contexts = memory;
}

/* see estimate.h */
size_t estimate_contexts_count(void)
{
    struct estimate_contexts *const contexts = estimate_contexts;
    size_t last = contexts->last;

    for (size_t context = 0; context <= contexts->last; context++) {
        for (size_t first = 0; first < ESTIMATE_LEAVES; first += 8) {
            uint64_t marks;
            memcpy(&marks, contexts->leaf[context] + first, sizeof marks);
            for (size_t at = first; marks != 0 && at < first + 8; at++) {
                if (contexts->leaf[context][at] != 0) {
                    last = enlist(contexts, last + 1, context, at);
                }
            }
        }
    }
    return last + 1;
}

/* see estimate.h */
const struct estimate_context *estimate_contexts_list(void)
{
    return estimate_contexts->context;
}

/* see estimate.h */
void estimate_clear(void)
{
    struct estimate_contexts *const contexts = estimate_contexts;

    estimate_counts = (struct estimates){0};
    memset(contexts->callee, 0, ((size_t)contexts->last + 1) * sizeof contexts->callee[0]);
    memset(contexts->leaf, 0, ((size_t)contexts->last + 1) * sizeof contexts->leaf[0]);
    contexts->at = contexts->last = 0;
}

static _Thread_local size_t state_bytes, scratch_bytes;

void estimate_memory(size_t state, size_t scratch)
{
    state_bytes = state;
    estimate_scratch_left = scratch_bytes = scratch;
}

size_t estimate_state_bytes(void)
{
    return state_bytes;
}

size_t estimate_scratch_bytes(void)
{
    return scratch_bytes - estimate_scratch_left;
}

#endif
