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

static bool matches(const struct policy_row *row, enum line line, const struct job *job)
{
    return (row->lines & ONE(line)) && (row->standings & ONE(job->standing)) && (row->now & ONE(job->is_now)) &&
           (row->next & ONE(job->is_next));
}

struct decision policy_decide(const struct hints *hints)
{
    enum security first = hints->first;
    enum security second = first == SECURITY_SEALS ? SECURITY_OPENS : SECURITY_SEALS;
    const struct job *first_job = first == SECURITY_SEALS ? &hints->seals : &hints->opens;
    const struct job *second_job = first == SECURITY_SEALS ? &hints->opens : &hints->seals;
    struct policy_row row;
    uint8_t number = 0;

    for (;; number++) {
        memcpy_P(&row, &policy_rows[number], sizeof row);
        if (matches(&row, hints->line, first_job)) {
            break;
        }
        if (matches(&row, hints->line, second_job)) {
            first = second;
            break;
        }
    }
    return (struct decision){row.is_done ? first : SECURITY_IDLE, row.reason, number};
}
