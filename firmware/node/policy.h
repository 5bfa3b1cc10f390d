//! What the thread controller decides by: a table, and a pure function over it.
//!
//! Owns the hints, the rows and the reasons. Where the hints come from and what follows from a decision is
//! controller.h's. Paper: section 3.3. The hints are its: what the line does, what waits, how much, how long it may be
//! postponed, and which pipe goes first.
//!
//! A decision is made when a slot begins, and whenever the line is idle and something has changed: after a slot, after
//! a filter, when a frame was given. The first row that matches wins, and of the two jobs the one that goes first.
#ifndef NODE_POLICY_H
#define NODE_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "filters.h"

/// How the frames that wait for sealing, or for opening, stand.
enum standing {
    STANDS_EMPTY,
    STANDS_BLOCKED, // there is no room behind them, or one before them is under way
    STANDS_WAITING, // another slot may begin before
    STANDS_FULL,    // the same, but their pipe would refuse the next one
    STANDS_DUE,     // no other slot may begin before
};
enum { STANDINGS = STANDS_DUE + 1 };

/// A job for security, and when it can be done.
struct job {
    enum standing standing;
    bool is_now;  // the line is idle, or there is a woven filter for this job and what the line does
    bool is_next; // there will be one in the next slot
};

struct hints {
    enum line line; // what it does now
    enum security first; // SECURITY_SEALS or SECURITY_OPENS, when both are alike
    struct job seals, opens;
};

/// Reasons by their numbers, with what reports call them. The same names stand in the simulator's record of
/// decisions; a test compares them.
#define POLICY_REASONS(X)                 \
    X(REASON_NOTHING, "nothing waits")    \
    X(REASON_DUE, "due")                  \
    X(REASON_FULL, "pipe full")           \
    X(REASON_WOVEN, "woven")              \
    X(REASON_ALONE, "nothing to weave")   \
    X(REASON_POSTPONED, "postponed")      \
    X(REASON_NOT_WOVEN, "not woven")      \
    X(REASON_BLOCKED, "blocked")

#define POLICY_REASON(reason, name) reason,
enum reason { POLICY_REASONS(POLICY_REASON) REASONS };
#undef POLICY_REASON

/// A row. Its sets have bit n for value n: enum line from bit 0 on, enum standing from 3, now from 8, next from 10.
struct policy_row {
    uint16_t sets;
    bool is_done; // now; otherwise it is left for later
    enum reason reason;
};
#define POLICY_SETS(lines, standings, now, next) ((lines) | (standings) << 3 | (now) << 8 | (next) << 10)

/// The table, in flash. Its last row matches everything.
enum { POLICY_ROWS = 8 };
extern const struct policy_row policy_rows[POLICY_ROWS];

struct decision {
    enum security security; // what is done now
    enum reason reason;
    uint8_t row;
};

/// What is to be done, and why. A function of `hints` alone.
struct decision policy_decide(const struct hints *hints);

#endif
