/*
 * The block that routines count in, and their list as text, for native estimation: see crypto/estimate.h. Is nothing
 * without SELVEDGE_COUNT.
 */
#include "../crypto/estimate.h"

#ifdef SELVEDGE_COUNT

_Thread_local struct estimates estimate_counts;
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

void estimate_clear(void)
{
    estimate_counts = (struct estimates){0};
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
