//! The thread controller; controller.h has the terms.
#include "controller.h"

#include <avr/interrupt.h>

#include "limits.h"
#include "sampler.h"

/// Not a filter's number, but that of the filter that does nothing.
enum { SENDER_OWNER = FILTER(LINE_IDLE, SECURITY_IDLE) };
enum { SENT_FRAMES = PLAIN_FRAMES_MAX + SEALED_FRAMES_MAX, FRAMES_HEARD = HEARD_FRAMES_MAX + OPENED_FRAMES_MAX };

const uint8_t controller_places_max[PIPES] PROGMEM = {PLAIN_FRAMES_MAX, SEALED_FRAMES_MAX, HEARD_FRAMES_MAX,
                                                       OPENED_FRAMES_MAX};

static uint8_t places_max(enum pipe pipe)
{
    return pgm_read_byte(&controller_places_max[pipe]);
}

filter *controller_filters[FILTERS];
volatile struct losses controller_losses;
volatile struct record controller_record;

static uint8_t sent_bytes[SENT_FRAMES][SENT_ROOM_BYTES] __attribute__((aligned(SENT_ALIGNED_BYTES)));
static uint8_t heard_bytes[FRAMES_HEARD][LINK_BYTES_MAX];
struct frame controller_frames[SENT_FRAMES + FRAMES_HEARD];
MessageQueue controller_pipes[PIPES];
MessageQueue controller_empties[2]; // of those that go out, and of those that come in
volatile uint8_t controller_places[PIPES];

static MessageQueue events;       // a slot, a frame from its owner, or one from the security task
static MessageQueue security_job; // one at a time
static MessageControlBlock slot_begins;
static struct slot slot;
static struct frame *discrete; // with the security task
static struct sealing discrete_sealing;
static enum security owed; // was due when the other was done; goes first the next time

AVRX_TASKDEF(security, SECURITY_STACK_BYTES, SECURITY_PRIORITY)
{
    for (;;) {
        struct frame *frame = (struct frame *)AvrXWaitMessage(&security_job);
        controller_filters[frame->message.sender](&discrete_sealing, NULL);
        AvrXSendMessage(&events, &frame->message);
    }
}

// --- pipes ---

/// Moves a frame's place.
static void place(struct frame *frame, enum pipe pipe)
{
    controller_places[frame->pipe]--;
    controller_places[pipe]++;
    frame->pipe = pipe;
}

static void put(struct frame *frame, enum pipe pipe, uint8_t sender)
{
    frame->message.sender = sender;
    if (frame->pipe != pipe) {
        place(frame, pipe);
    }
    AvrXSendMessage(&controller_pipes[pipe], &frame->message);
}

/// In front of all others, where it was.
static void put_back(struct frame *frame, enum pipe pipe)
{
    pMessageQueue queue = &controller_pipes[pipe];
    if (frame->pipe != pipe) {
        place(frame, pipe);
    }
    frame->message.SObj.next = (pSystemObject)queue->message;
    queue->message = &frame->message;
}

static void make_empty(struct frame *frame)
{
    controller_places[frame->pipe]--;
    AvrXSendMessage(&controller_empties[frame->pipe >= PIPE_HEARD], &frame->message);
}

static struct frame *first(enum pipe pipe)
{
    return (struct frame *)controller_pipes[pipe].message;
}

static struct frame *after(const struct frame *frame)
{
    return (struct frame *)frame->message.SObj.next;
}

static uint8_t waiting(enum pipe pipe)
{
    uint8_t frames = 0;
    for (const struct frame *frame = first(pipe); frame; frame = after(frame)) {
        frames++;
    }
    return frames;
}

/// A frame for a pipe that frames come into from outside, or NULL after counting it. Interrupts MUST be on.
static struct frame *accept(enum pipe pipe)
{
    struct frame *frame = NULL;
    sampler_stand_clear();
    // Whoever is more urgent moves places meanwhile.
    if (controller_places[pipe] < places_max(pipe)) {
        frame = (struct frame *)AvrXRecvMessage(&controller_empties[pipe >= PIPE_HEARD]);
    }
    if (frame) {
        frame->pipe = pipe;
        controller_places[pipe]++;
    } else {
        controller_losses.refused[pipe]++;
    }
    sei();
    return frame;
}

// --- hints ---

static enum pipe source_of(enum security security)
{
    return security == SECURITY_SEALS ? PIPE_PLAIN : PIPE_HEARD;
}

/// `leaves` is 1 when the line is about to take a frame out of the pipe behind.
static enum standing standing(enum security security, uint8_t leaves)
{
    enum pipe pipe = source_of(security), behind = (enum pipe)(pipe + 1);

    if (!first(pipe)) {
        return STANDS_EMPTY;
    }
    // Frames stay in order: the first one waits for the one that the security task has.
    if (controller_places[behind] - leaves >= places_max(behind) || (discrete && discrete->pipe == behind)) {
        return STANDS_BLOCKED;
    }
    for (const struct frame *frame = first(pipe); frame; frame = after(frame)) {
        if (frame->slots == 0) {
            return STANDS_DUE;
        }
    }
    return waiting(pipe) < places_max(pipe) ? STANDS_WAITING : STANDS_FULL;
}

static bool is_woven(enum line line, enum security security)
{
    return line != LINE_IDLE && controller_filters[FILTER(line, security)];
}

/// Whether security has a filter for what the line does now: none receives it knows not what.
static bool is_now(enum line line, enum security security)
{
    return line == LINE_IDLE || (is_woven(line, security) && (line == LINE_TRANSMITS || slot.count));
}

static struct job job(enum line line, enum security security)
{
    uint8_t leaves = line == LINE_TRANSMITS && security == SECURITY_SEALS;
    return (struct job){standing(security, leaves), is_now(line, security), is_woven(slot.next, security)};
}

/// Decides, and leaves a record.
static enum security decide(enum line line)
{
    struct hints hints = {line, owed != SECURITY_IDLE ? owed : slot.first, job(line, SECURITY_SEALS),
                          job(line, SECURITY_OPENS)};
    struct decision decision = policy_decide(&hints);

    if (decision.security != SECURITY_IDLE) {
        owed = SECURITY_IDLE;
    }
    if (decision.security == SECURITY_SEALS && hints.opens.standing == STANDS_DUE) {
        owed = SECURITY_OPENS;
    } else if (decision.security == SECURITY_OPENS && hints.seals.standing == STANDS_DUE) {
        owed = SECURITY_SEALS;
    }
    for (uint8_t pipe = 0; pipe < PIPES; pipe++) {
        controller_record.waiting[pipe] = waiting((enum pipe)pipe);
    }
    controller_record.standings = (uint8_t)(hints.seals.standing | hints.opens.standing << 4);
    controller_record.filter = FILTER(line, decision.security);
    controller_record.reason = decision.reason;
    return decision.security;
}

// --- filters ---

/// The first frame of what security is to do, ready to be worked on, in `sealing`. NULL when it was for nobody here.
static struct frame *begin(enum security security, struct sealing *sealing)
{
    enum pipe pipe = source_of(security);
    struct frame *frame = (struct frame *)AvrXRecvMessage(&controller_pipes[pipe]);

    if (!program_sealing(frame, sealing)) {
        controller_losses.unfit++;
        make_empty(frame);
        return NULL;
    }
    place(frame, (enum pipe)(pipe + 1));
    return frame;
}

/// Security is done with a frame; it was with a filter.
static void secured(struct frame *frame, const struct sealing *sealing, uint8_t filter)
{
    if (frame->pipe == PIPE_OPENED && !sealing->is_authentic) {
        controller_losses.unfit++;
        make_empty(frame);
    } else {
        put(frame, frame->pipe, filter);
    }
}

/// Something waits longer by a slot.
static void age(enum pipe pipe)
{
    for (struct frame *frame = first(pipe); frame; frame = after(frame)) {
        if (frame->slots) {
            frame->slots--;
        }
    }
}

/// What the line has, or has room for, in this slot; NULL for an idle one.
static struct frame *frame_of_line(void)
{
    struct frame *frame = NULL;
    if (slot.line == LINE_TRANSMITS) {
        frame = (struct frame *)AvrXRecvMessage(&controller_pipes[PIPE_SEALED]);
    } else if (slot.line == LINE_RECEIVES) {
        frame = accept(PIPE_HEARD);
    }
    return frame;
}

/// Where a frame that was on the line goes.
static void move_on(struct frame *frame, bool is_over)
{
    if (slot.line == LINE_TRANSMITS) {
        if (is_over) {
            make_empty(frame);
        } else {
            controller_losses.unsent++;
            put_back(frame, PIPE_SEALED);
        }
    } else if (is_over) {
        frame->slots = slot.heard_slots;
        put(frame, PIPE_HEARD, FILTER(LINE_RECEIVES, SECURITY_IDLE));
    } else {
        controller_losses.unheard++;
        make_empty(frame);
    }
}

/// The pre-filter control block, and the filter that it chose. A line with nothing to do is the post-filter's.
static void pre_filter(void)
{
    struct frame *on_line = frame_of_line(), *secures = NULL;
    struct sealing sealing;
    enum security security = SECURITY_IDLE;

    controller_record.slot++;
    age(PIPE_PLAIN);
    age(PIPE_HEARD);
    if (!on_line) {
        return;
    }
    struct transfer transfer = {on_line->bytes, slot.line == LINE_TRANSMITS ? on_line->count : slot.count, 0};
    do {
        security = decide(slot.line);
    } while (security != SECURITY_IDLE && !(secures = begin(security, &sealing)));
    uint8_t index = FILTER(slot.line, security);
    if (program_begin_line(&slot, &transfer)) {
        controller_filters[index](secures ? &sealing : NULL, &transfer);
        program_end_line(&slot, on_line, &transfer);
        on_line->count = transfer.count;
        move_on(on_line, transfer.is_over);
        if (secures) {
            secured(secures, &sealing, index);
        }
    } else {
        move_on(on_line, false);
        if (secures) {
            put_back(secures, source_of(security));
        }
    }
}

/// The post-filter control block: what cannot wait for the next slot goes to the security task, the rest is postponed.
static void post_filter(void)
{
    enum security security;

    if (discrete) {
        return; // decides when that is done
    }
    do {
        security = decide(LINE_IDLE);
    } while (security != SECURITY_IDLE && !(discrete = begin(security, &discrete_sealing)));
    if (discrete) {
        discrete->message.sender = FILTER(LINE_IDLE, security);
        AvrXSendMessage(&security_job, &discrete->message);
    }
}

/// A frame that came as a message: done by the security task, or from its owner.
static void settle(struct frame *frame)
{
    if (frame == discrete) {
        discrete = NULL;
        secured(frame, &discrete_sealing, frame->message.sender);
    } else if (frame->pipe == PIPE_PLAIN && frame->count) {
        put(frame, PIPE_PLAIN, SENDER_OWNER);
    } else {
        make_empty(frame);
    }
}

AVRX_TASKDEF(controller, CONTROLLER_STACK_BYTES, CONTROLLER_PRIORITY)
{
    for (;;) {
        pMessageControlBlock message = AvrXWaitMessage(&events);
        if (message == &slot_begins) {
            pre_filter();
        } else {
            settle((struct frame *)message);
        }
        post_filter();
    }
}

// --- for everybody ---

bool controller_start(void)
{
    static const uint8_t discretes[] PROGMEM = {
        FILTER(LINE_IDLE, SECURITY_SEALS),
        FILTER(LINE_IDLE, SECURITY_OPENS),
        FILTER(LINE_TRANSMITS, SECURITY_IDLE),
        FILTER(LINE_RECEIVES, SECURITY_IDLE),
    };

    for (uint8_t i = 0; i < sizeof discretes; i++) {
        if (!controller_filters[pgm_read_byte(&discretes[i])]) {
            return false;
        }
    }
    slot.first = SECURITY_SEALS;
    for (uint8_t i = 0; i < SENT_FRAMES + FRAMES_HEARD; i++) {
        struct frame *frame = &controller_frames[i];
        bool is_sent = i < SENT_FRAMES;
        frame->bytes = is_sent ? sent_bytes[i] : heard_bytes[i - SENT_FRAMES];
        AvrXSendMessage(&controller_empties[!is_sent], &frame->message);
    }
    AvrXRunTask(TCB(controller));
    AvrXRunTask(TCB(security));
    return true;
}

struct frame *controller_empty(void)
{
    return accept(PIPE_PLAIN);
}

void controller_give(struct frame *frame)
{
    AvrXSendMessage(&events, &frame->message);
}

struct frame *controller_take(void)
{
    return (struct frame *)AvrXWaitMessage(&controller_pipes[PIPE_OPENED]);
}

void controller_slot(const struct slot *begins)
{
    slot = *begins;
    AvrXSendMessage(&events, &slot_begins);
}
