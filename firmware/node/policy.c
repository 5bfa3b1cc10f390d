//! The controller's policy as rows; policy.h has the terms.
#include "policy.h"

#ifdef __AVR__
#include <avr/pgmspace.h>
#else
#define PROGMEM
#define pgm_read_byte *
#define pgm_read_word *
#endif

#define ONE(value) (1 << (value))
#define YES ONE(true)
#define NO ONE(false)
#define IDLE ONE(LINE_IDLE)
#define BUSY (ONE(LINE_TRANSMITS) | ONE(LINE_RECEIVES))
#define ANY_LINE (IDLE | BUSY)
#define ANY_STANDING (ONE(STANDINGS) - 1)
#define ANY (YES | NO)
#define SOMETHING (ONE(STANDS_WAITING) | ONE(STANDS_FULL) | ONE(STANDS_DUE))

const struct policy_row policy_rows[POLICY_ROWS] PROGMEM = {
    //           line      standing             now  next   done    reason
    {POLICY_SETS(ANY_LINE, ONE(STANDS_DUE),     YES, ANY),  true,   REASON_DUE},
    {POLICY_SETS(ANY_LINE, ONE(STANDS_FULL),    YES, ANY),  true,   REASON_FULL},
    {POLICY_SETS(BUSY,     ONE(STANDS_WAITING), YES, ANY),  true,   REASON_WOVEN},
    {POLICY_SETS(IDLE,     ONE(STANDS_WAITING), YES, NO),   true,   REASON_ALONE},
    {POLICY_SETS(IDLE,     ONE(STANDS_WAITING), YES, YES),  false,  REASON_POSTPONED},
    // A filter that is missing falls back to its two halves: the line's now, and security's when the line is idle.
    {POLICY_SETS(ANY_LINE, SOMETHING,           NO,  ANY),  false,  REASON_NOT_WOVEN},
    {POLICY_SETS(ANY_LINE, ONE(STANDS_BLOCKED), ANY, ANY),  false,  REASON_BLOCKED},
    {POLICY_SETS(ANY_LINE, ANY_STANDING,        ANY, ANY),  false,  REASON_NOTHING},
};

/// A job as sets that have it alone.
static uint16_t sets_of(enum line line, const struct job *job)
{
    return POLICY_SETS(ONE(line), ONE(job->standing), job->is_now ? YES : NO, job->is_next ? YES : NO);
}

struct decision policy_decide(const struct hints *hints)
{
    bool seals_first = hints->first == SECURITY_SEALS;
    uint16_t seals = sets_of(hints->line, &hints->seals), opens = sets_of(hints->line, &hints->opens);
    uint16_t first = seals_first ? seals : opens, second = seals_first ? opens : seals;
    const struct policy_row *row = policy_rows;
    bool is_first;

    for (;; row++) {
        uint16_t others = ~pgm_read_word(&row->sets);
        is_first = !(first & others);
        if (is_first || !(second & others)) {
            break;
        }
    }
    enum security security = is_first == seals_first ? SECURITY_SEALS : SECURITY_OPENS;
    return (struct decision){pgm_read_byte(&row->is_done) ? security : SECURITY_IDLE,
                             (enum reason)pgm_read_byte(&row->reason), (uint8_t)(row - policy_rows)};
}
