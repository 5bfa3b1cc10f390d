//! Traffic through the controller's pipes; traffic.h has the terms, controller.h the pipes.
//!
//! Four discrete filters, with which a frame is sealed as soon as it is full; and, in an image that has them, four that are
//! two at once, woven or by handlers: then a frame waits for the next slot but one at most, and is sealed while the one before
//! it goes out, or while one comes in; what was heard is opened likewise. The line's filter that receives by itself waits for what
//! the link's interrupts bring; one that is woven asks for each byte, which needs to be known beforehand: how many come,
//! and when. What comes down is taken for an acknowledgement, a guard after its slot's begin. A longer frame is cut short by
//! that, and so not authentic: whatever was not, frames of any length are heard by the link's interrupts from then on, until
//! an acknowledgement was. So what has another length is missed once, and has to be told again.
#include "chip.h"
#if CHIP_HAS_PIPES
#include <stddef.h>
#include <string.h>

#include "clock.h"
#include "controller.h"
#include "downlink.h"
#include "frame.h"
#include "limits.h"
#include "link.h"
#include "phase.h"
#include "sampler.h"
#include "suite.h"
#include "traffic.h"

#if defined(FILTERS_SUITE)
#include "filter_suites.h"
#define BESIDE_OF FILTERS_SUITE
#elif defined(FILTERS_HANDLER)
#include "filters_handler.h"
#define BESIDE_OF handler
#endif

/// A filter that is two at once, by the name of the image's suite, or of handlers.
#define REGISTER_BESIDE(index, function) controller_register(index, function)
#define BESIDE_(of, does) of##_##does
#define BESIDE_NAMED(of, does) BESIDE_(of, does)
#define BESIDE(does) BESIDE_NAMED(BESIDE_OF, does)

static struct provision *self;
static struct counter *counts;
static struct epoch_change *change;
static struct downlink downlink;
static struct frame *filling[2]; // of even and of odd superframes
static uint32_t slot_last_ticks; // it begins then at the latest, or listens until then
static uint32_t slot_asks_ticks; // a woven filter asks for its first byte from then on
static uint8_t unfit_before; // frames that were, until the latest acknowledgement
static bool is_on_line;
static AVRX_MUTEX(line_over);

/// What comes down when nothing is told.
static uint8_t acknowledgement_bytes(void)
{
    return (uint8_t)(FRAME_HEADER_BYTES + ACKNOWLEDGE_BYTES + suite_tag_bytes(self->suite));
}

// --- filters ---

// Both end before a frame may come in, whose bytes do not wait for the kernel.

static void seal(struct sealing *sealing, struct transfer *transfer)
{
    (void)transfer;
    phase = PHASE_SEALING;
    suite_seal(self->suite, sealing->text, sealing->text_bytes, sealing->ad, FRAME_HEADER_BYTES, sealing->nonce,
               sealing->key);
    phase = PHASE_WAITING;
    link_wait();
}

static void open(struct sealing *sealing, struct transfer *transfer)
{
    (void)transfer;
    phase = PHASE_VERIFYING;
    sealing->is_authentic = suite_open(self->suite, sealing->text, sealing->text_bytes, sealing->ad, FRAME_HEADER_BYTES,
                                       sealing->nonce, sealing->key);
    phase = PHASE_WAITING;
    link_wait();
}

static void transmit(struct sealing *sealing, struct transfer *transfer)
{
    (void)sealing;
    link_send(transfer->bytes, transfer->count);
    transfer->is_over = 1;
}

static void receive(struct sealing *sealing, struct transfer *transfer)
{
    (void)sealing;
    transfer->is_over = link_receive();
    transfer->count = link_received();
}

// --- what the controller asks for ---

bool program_sealing(const struct frame *frame, struct sealing *sealing)
{
    uint8_t *bytes = frame->bytes;
    uint32_t count;

    if (frame->pipe == PIPE_HEARD) {
        if (!downlink_is_fresh(&downlink, bytes, frame->count, self)) {
            return false;
        }
    } else if (counter_take(counts, &count)) {
        frame_head(bytes, self, count);
    } else {
        return false;
    }
    sealing->text = bytes + FRAME_TEXT_AT;
    sealing->text_bytes = frame->count - FRAME_HEADER_BYTES - suite_tag_bytes(self->suite);
    sealing->ad = bytes;
    sealing->key = self->key;
    frame_nonce(sealing->nonce, self->iv, bytes);
    return true;
}

/// Whether the filter that runs now does more than the line, with interrupts off.
static bool is_woven(const struct slot *slot)
{
#ifdef FILTERS_SUITE
    return controller_record.filter != FILTER(slot->line, SECURITY_IDLE);
#else
    (void)slot;
    return false;
#endif
}

bool program_begin_line(const struct slot *slot, struct transfer *transfer)
{
    if (slot->line == LINE_RECEIVES && is_woven(slot)) {
        transfer->bytes = page_end(link_buffer) - slot->count;
        phase = PHASE_RECEIVING;
        if (!clock_is_past(clock_now(), slot_asks_ticks)) {
            clock_wait(slot_asks_ticks);
            is_on_line = link_follow();
        }
    } else if (slot->line == LINE_RECEIVES) {
        transfer->bytes = link_buffer;
        clock_alarm_listen(slot->begins_ticks, slot_last_ticks, slot_last_ticks - slot->begins_ticks);
        is_on_line = true;
    } else if (!clock_is_past(clock_now(), slot_last_ticks)) {
        phase = is_woven(slot) ? PHASE_WEAVING : PHASE_TRANSMITTING;
        clock_wait(slot->begins_ticks - SEND_LATENCY_CYCLES);
        is_on_line = link_take(self->spi_divider_log2);
    }
    return is_on_line;
}

void program_end_line(const struct slot *slot, const struct frame *frame, struct transfer *transfer)
{
    if (slot->line == LINE_TRANSMITS) {
        link_release();
    } else {
        link_close();
        // What is for another node comes into no pipe, where it would cost a decision.
        transfer->is_over = transfer->is_over && downlink_is_fresh(&downlink, transfer->bytes, transfer->count, self);
        memcpy(frame->bytes, transfer->bytes, transfer->count);
    }
    sampler_settle();
    phase = PHASE_WAITING;
    is_on_line = false;
    AvrXSetSemaphore(&line_over);
}

AVRX_TASKDEF(answers, ANSWERS_STACK_BYTES, ANSWERS_PRIORITY)
{
    for (;;) {
        struct frame *frame = controller_take();
        downlink_take(&downlink, frame->bytes, frame->count, self, change);
        if (frame->count == acknowledgement_bytes()) {
            unfit_before = (uint8_t)controller_losses.unfit;
        }
        link_wait();
        controller_give(frame);
    }
}

// --- what the MAC asks for ---

void traffic_boot(struct provision *provision, struct counter *counter, struct epoch_change *epoch_change)
{
    self = provision;
    counts = counter;
    change = epoch_change;
    controller_register(FILTER(LINE_IDLE, SECURITY_SEALS), seal);
    controller_register(FILTER(LINE_IDLE, SECURITY_OPENS), open);
    controller_register(FILTER(LINE_TRANSMITS, SECURITY_IDLE), transmit);
    controller_register(FILTER(LINE_RECEIVES, SECURITY_IDLE), receive);
#ifdef BESIDE_OF
    REGISTER_BESIDE(FILTER(LINE_TRANSMITS, SECURITY_SEALS), BESIDE(seal_transmit));
    REGISTER_BESIDE(FILTER(LINE_TRANSMITS, SECURITY_OPENS), BESIDE(open_transmit));
    REGISTER_BESIDE(FILTER(LINE_RECEIVES, SECURITY_SEALS), BESIDE(seal_receive));
    REGISTER_BESIDE(FILTER(LINE_RECEIVES, SECURITY_OPENS), BESIDE(open_receive));
#endif
    controller_start();
    AvrXRunTask(TCB(answers));
}

uint8_t *traffic_codes(uint32_t superframe, uint8_t count)
{
    struct frame **place = &filling[superframe & 1];
    struct frame *frame = *place ? *place : controller_empty(); // what was not filled the last time is empty still

    *place = frame;
    if (!frame) {
        return NULL;
    }
#ifdef BESIDE_OF
    frame->bytes = page_end(frame->bytes) - (FRAME_CODES_AT + 2 * count + suite_tag_bytes(self->suite));
#else
    (void)count; // there is room for any
#endif
    return frame->bytes + FRAME_CODES_AT;
}

void traffic_set(uint32_t first, struct setting *setting)
{
    downlink_set(&downlink, first, setting);
}

void traffic_seal(uint32_t superframe, const struct samples *samples)
{
    struct frame *frame = filling[superframe & 1];

    filling[superframe & 1] = NULL;
    // What can be sealed beside the line waits for that: a superframe has two slots.
    frame->slots = controller_filters[FILTER(LINE_TRANSMITS, SECURITY_SEALS)] ? 2 : 0;
    frame->count = (uint8_t)frame_describe(frame->bytes, self, samples);
    controller_give(frame);
}

void traffic_forget(void)
{
    for (uint8_t i = 0; i < 2; i++) {
        if (filling[i]) {
            filling[i]->count = 0;
            controller_give(filling[i]);
            filling[i] = NULL;
        }
    }
}

void traffic_settle(void)
{
    // Less urgent than security until that has nothing to do.
    AvrXChangePriority(AvrXSelf(), SECURITY_PRIORITY + 1);
    AvrXChangePriority(AvrXSelf(), MAC_PRIORITY);
    if (epoch_turn(change, self)) {
        downlink_turn(&downlink);
    }
}

/// A slot, until it is over: the controller waits in the one in which it receives.
static void slot(const struct slot *slot)
{
    controller_slot(slot);
    if (is_on_line) {
        AvrXWaitSemaphore(&line_over);
    }
    AvrXResetSemaphore(&line_over);
}

void traffic_send(uint32_t start_ticks, uint32_t last_start_ticks, bool hears_surely)
{
    slot_last_ticks = last_start_ticks;
    slot(&(struct slot){
        .begins_ticks = start_ticks,
        .line = LINE_TRANSMITS,
        // What was full is sealed in the next slot, and goes out when it would otherwise.
        .first = hears_surely ? SECURITY_OPENS : SECURITY_SEALS,
        .next = hears_surely ? LINE_RECEIVES : LINE_IDLE,
    });
}

void traffic_hear(uint32_t start_ticks, uint32_t drift_ticks, uint32_t until_ticks, bool is_sure)
{
    uint32_t asks_cycles = ASK_LEAD_CYCLES + 2 * drift_ticks + FIRST_BYTE_CYCLES_MAX;
    bool is_known = is_sure && asks_cycles <= ASK_CYCLES_MAX && (uint8_t)controller_losses.unfit == unfit_before;

    slot_last_ticks = until_ticks;
    slot_asks_ticks = start_ticks - drift_ticks - ASK_LEAD_CYCLES;
    slot(&(struct slot){
        .begins_ticks = start_ticks - drift_ticks - OPEN_LEAD_CYCLES,
        .line = LINE_RECEIVES,
        .count = is_known ? acknowledgement_bytes() : 0,
        .heard_slots = controller_filters[FILTER(LINE_RECEIVES, SECURITY_OPENS)] ? 2 : 0,
        .first = SECURITY_OPENS,
        .next = LINE_TRANSMITS,
    });
}

#endif
