//! The controller's policy over every value of its hints, and over every way in which work can wait for slots.
#include "../policy.h"

#include <string.h>

#include "test.h"

/// Every value of the hints that can be: an idle line is in nobody's way.
static bool next_hints(struct hints *hints, unsigned *number)
{
    do {
        unsigned rest = (*number)++;
        hints->line = (enum line)(rest % 3), rest /= 3;
        hints->first = rest % 2 ? SECURITY_SEALS : SECURITY_OPENS, rest /= 2;
        for (int i = 0; i < 2; i++) {
            struct job *job = i ? &hints->seals : &hints->opens;
            job->standing = (enum standing)(rest % STANDINGS), rest /= STANDINGS;
            job->is_now = rest % 2, rest /= 2;
            job->is_next = rest % 2, rest /= 2;
        }
        if (rest) {
            return false;
        }
    } while (hints->line == LINE_IDLE && !(hints->seals.is_now && hints->opens.is_now));
    return true;
}

static const struct job *job_of(const struct hints *hints, enum security security)
{
    return security == SECURITY_SEALS ? &hints->seals : &hints->opens;
}

static bool is_doable(const struct job *job, enum standing standing)
{
    return job->standing == standing && job->is_now;
}

void every_hint_has_a_row_and_every_row_a_hint(void)
{
    bool decided[POLICY_ROWS] = {false};
    struct hints hints;
    unsigned combinations = 0;

    for (unsigned number = 0; next_hints(&hints, &number); combinations++) {
        struct decision decision = policy_decide(&hints);
        CHECK(decision.row < POLICY_ROWS && decision.reason < REASONS, "row %u", decision.row);
        decided[decision.row] = true;
    }
    // 2 preferences, 5 standings a job; now and next each yes or no, but for an idle line.
    CHECK(combinations == 2 * 25 * (2 * 16 + 4), "%u combinations", combinations);
    for (int row = 0; row < POLICY_ROWS; row++) {
        CHECK(decided[row], "row %d never decides", row);
    }
}

void what_is_decided_can_be_done(void)
{
    struct hints hints;

    for (unsigned number = 0; next_hints(&hints, &number);) {
        struct decision decision = policy_decide(&hints);
        const struct job *job = job_of(&hints, decision.security);
        CHECK(decision.security == SECURITY_IDLE || (job->is_now && job->standing >= STANDS_WAITING), "row %u",
              decision.row);
        // The line never waits for security, and nothing waits for a slot that cannot take it along.
        CHECK(hints.line == LINE_IDLE || decision.reason != REASON_ALONE, "row %u", decision.row);
        CHECK(decision.reason != REASON_POSTPONED || hints.line == LINE_IDLE, "row %u", decision.row);
    }
}

void what_is_due_goes_before_all_else(void)
{
    struct hints hints;

    for (unsigned number = 0; next_hints(&hints, &number);) {
        struct decision decision = policy_decide(&hints);
        for (enum standing standing = STANDS_DUE; standing >= STANDS_FULL; standing--) {
            bool seals = is_doable(&hints.seals, standing), opens = is_doable(&hints.opens, standing);
            if (!seals && !opens) {
                continue;
            }
            enum security expected = seals && opens ? hints.first : seals ? SECURITY_SEALS : SECURITY_OPENS;
            CHECK(decision.security == expected, "row %u", decision.row);
            break;
        }
    }
}

enum { SLOTS_MAX = 3, WAITING_MAX = 3 };

/// A pipe: how many more slots may begin before each of its frames is done, the first one's first; 0xFF: none.
struct pipe_state {
    uint8_t slots[WAITING_MAX];
};

static struct job job_now(const struct pipe_state *pipe, bool is_now, bool is_next)
{
    bool is_full = pipe->slots[WAITING_MAX - 1] != 0xFF;
    enum standing standing = pipe->slots[0] == 0xFF ? STANDS_EMPTY
                             : pipe->slots[0] == 0  ? STANDS_DUE
                             : is_full              ? STANDS_FULL
                                                    : STANDS_WAITING;
    return (struct job){standing, is_now, is_next};
}

static void take_first(struct pipe_state *pipe)
{
    memmove(pipe->slots, pipe->slots + 1, WAITING_MAX - 1);
    pipe->slots[WAITING_MAX - 1] = 0xFF;
}

/// One slot: it begins, one job is done beside the line, and what cannot wait is done after it.
/// `now` and `next`: bit 0 for sealing, bit 1 for opening.
static void slot(struct pipe_state pipes[2], enum line line, unsigned now, unsigned next, enum security first)
{
    for (int i = 0; i < 2 * WAITING_MAX; i++) {
        uint8_t *slots = &pipes[i / WAITING_MAX].slots[i % WAITING_MAX];
        CHECK(*slots != 0, "a slot begins before what was due");
        *slots -= *slots != 0xFF;
    }
    if (line == LINE_IDLE) {
        now = 3;
    }
    for (;;) {
        struct hints hints = {line, first, job_now(&pipes[0], now & 1, next & 1),
                              job_now(&pipes[1], now >> 1, next >> 1)};
        struct decision decision = policy_decide(&hints);
        if (decision.security != SECURITY_IDLE) {
            take_first(&pipes[decision.security == SECURITY_OPENS]);
        } else if (line == LINE_IDLE) {
            return;
        }
        line = LINE_IDLE;
        now = 3;
    }
}

/// A frame comes, or is refused. It is done behind those before it, and they with it when it may wait less than they.
static void give(struct pipe_state *pipe, uint8_t slots)
{
    for (int i = 0; i < WAITING_MAX; i++) {
        if (pipe->slots[i] == 0xFF) {
            pipe->slots[i] = slots;
            return;
        }
        if (pipe->slots[i] > slots) {
            pipe->slots[i] = slots;
        }
    }
}

void no_frame_waits_for_more_slots_than_it_may(void)
{
    // Breadth first over all states of both pipes: each is reached from every one before it in every way.
    enum { PIPE_STATES = 5 * 5 * 5 };
    static bool is_reached[PIPE_STATES * PIPE_STATES];
    static unsigned queue[PIPE_STATES * PIPE_STATES];
    unsigned begin = 0, end = 0;
    memset(is_reached, 0, sizeof is_reached);
    queue[end++] = 0;
    is_reached[0] = true;
    while (begin < end) {
        unsigned state = queue[begin++];
        for (unsigned way = 0; way < 3 * 4 * 4 * 2 * 10 * 10; way++) {
            unsigned rest = state, step = way;
            struct pipe_state pipes[2];
            for (int i = 0; i < 2 * WAITING_MAX; i++, rest /= 5) {
                pipes[i / WAITING_MAX].slots[i % WAITING_MAX] = (uint8_t)(rest % 5 - 1);
            }
            enum line line = (enum line)(step % 3);
            unsigned now = step / 3 % 4, next = step / 12 % 4;
            enum security first = step / 48 % 2 ? SECURITY_SEALS : SECURITY_OPENS;
            step /= 96;
            // Up to three frames come between two slots, each of which may wait for one slot at least.
            for (int i = 0; i < 2; i++, step /= 10) {
                for (unsigned frames = (step % 10 + 2) / 3; frames > 0; frames--) {
                    give(&pipes[i], (uint8_t)(1 + step % 10 % SLOTS_MAX));
                }
            }
            slot(pipes, line, now, next, first);
            unsigned to = 0;
            for (int i = 2 * WAITING_MAX; i-- > 0;) {
                to = to * 5 + (uint8_t)(pipes[i / WAITING_MAX].slots[i % WAITING_MAX] + 1);
            }
            if (!is_reached[to]) {
                is_reached[to] = true;
                queue[end++] = to;
            }
        }
    }
    CHECK(end > 4 * 4, "%u states: no two frames ever wait", end);
}
