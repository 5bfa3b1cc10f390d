//! The controller's policy as rows; policy.h has the terms.
#include "policy.h"

#include <string.h>

#ifdef __AVR__
#include <avr/pgmspace.h>
#else
#define PROGMEM
#define memcpy_P memcpy
#endif

#define ONE(value) (1 << (value))
#define ANY 0xFF
#define YES ONE(true)
#define NO ONE(false)
#define IDLE ONE(LINE_IDLE)
#define BUSY (ONE(LINE_TRANSMITS) | ONE(LINE_RECEIVES))

const struct policy_row policy_rows[POLICY_ROWS] PROGMEM = {
    // line  standing               now  next  done    reason
    {ANY,  ONE(STANDS_DUE),         YES, ANY,  true,   REASON_DUE},
    {ANY,  ONE(STANDS_FULL),        YES, ANY,  true,   REASON_FULL},
    {BUSY, ONE(STANDS_WAITING),     YES, ANY,  true,   REASON_WOVEN},
    {IDLE, ONE(STANDS_WAITING),     YES, NO,   true,   REASON_ALONE},
    {IDLE, ONE(STANDS_WAITING),     YES, YES,  false,  REASON_POSTPONED},
    // A filter that is missing falls back to its two halves: the line's now, and security's when the line is idle.
    {ANY,  ONE(STANDS_WAITING) | ONE(STANDS_FULL) | ONE(STANDS_DUE), NO, ANY, false, REASON_NOT_WOVEN},
    {ANY,  ONE(STANDS_BLOCKED),     ANY, ANY,  false,  REASON_BLOCKED},
    {ANY,  ANY,                     ANY, ANY,  false,  REASON_NOTHING},
};

/// A job as the sets that have it alone: shifting by a variable takes a loop on the chip, and there are many rows.
struct place {
    uint8_t standings, now, next;
};

static struct place place_of(const struct job *job)
{
    return (struct place){ONE(job->standing), ONE(job->is_now), ONE(job->is_next)};
}

static bool matches(const struct policy_row *row, const struct place *place)
{
    return (row->standings & place->standings) && (row->now & place->now) && (row->next & place->next);
}

struct decision policy_decide(const struct hints *hints)
{
    bool seals_first = hints->first == SECURITY_SEALS;
    struct place first = place_of(seals_first ? &hints->seals : &hints->opens);
    struct place second = place_of(seals_first ? &hints->opens : &hints->seals);
    uint8_t line = ONE(hints->line);
    struct policy_row row;
    bool is_first;
    uint8_t number = 0;

    for (;; number++) {
        memcpy_P(&row, &policy_rows[number], sizeof row);
        is_first = matches(&row, &first);
        if ((row.lines & line) && (is_first || matches(&row, &second))) {
            break;
        }
    }
    enum security security = is_first == seals_first ? SECURITY_SEALS : SECURITY_OPENS;
    return (struct decision){row.is_done ? security : SECURITY_IDLE, row.reason, number};
}
