//! The thread controller at work: slots by a timer, frames from a source, an SPI line, and the node's filters under Ascon.
//!
//! Who runs it fills `plan` before main, interrupts by INT0 for each frame that the source is to make and by INT1 for
//! nothing at all, is master of the line in the slots in which the node receives, and watches `controller_record`,
//! `said` and the line.
#include <avr/interrupt.h>
#include <avr/sleep.h>
#include <string.h>
#include <util/atomic.h>

#include "chip.h"
#include "controller.h"
#include "filter_suites.h"
#include "frame.h"
#include "le.h"
#include "limits.h"
#include "link.h"

enum { FRAME_BYTES = FRAME_HEADER_BYTES + TEXT_BYTES + ASCON_AEAD128_TAG_BYTES };

/// What the line does in each slot, SLOT_CYCLES long, and TAKEN when somebody else has it.
#define TAKEN 0x80
volatile uint8_t plan[PLAN_SLOTS + 1] __attribute__((section(".noinit")));
/// The frames that were accepted from the source, that were refused, and that were opened: their counters' lowest byte.
volatile uint8_t accepted, refused, reported;
volatile uint8_t interruptions;
static bool is_taken;

static const uint8_t key[SUITE_KEY_BYTES] = {KEY_BYTES};
static const uint8_t iv[FRAME_NONCE_BYTES] = {KEY_BYTES};

// --- the line ---

/// From the alarm to the slot's instant, and how long before that nobody may come between any more.
#define LEAD_CYCLES 6000
#define QUIET_CYCLES 700

/// What comes in ends it.
static uint8_t room[256] __attribute__((aligned(256)));
// The sampler's (guest_sampler.h): a match of compare A starts nothing here.
volatile uint16_t sampler_matches_before, sampler_following, sampler_code;
volatile uint8_t sampler_start_bits, sampler_fetched;

static AVRX_MUTEX(alarm);
static volatile uint8_t arrivals;
static AVRX_MUTEX(arrival);

AVRX_SIGINT(TIMER1_COMPB_vect)
{
    AvrXEnterKernel();
    OCR1B += SLOT_CYCLES;
    AvrXIntSetSemaphore(&alarm);
    AvrXLeaveKernel();
}

AVRX_SIGINT(INT0_vect)
{
    AvrXEnterKernel();
    arrivals++;
    AvrXIntSetSemaphore(&arrival);
    AvrXLeaveKernel();
}

AVRX_SIGINT(INT1_vect)
{
    AvrXEnterKernel();
    interruptions++;
    AvrXLeaveKernel();
}

static bool wait_until(uint16_t ticks)
{
    uint16_t now;
    do {
        ATOMIC_BLOCK(ATOMIC_RESTORESTATE)
        {
            now = TCNT1;
        }
    } while ((int16_t)(now - ticks) < 0);
    return (int16_t)(now - ticks) < QUIET_CYCLES;
}

bool program_begin_line(const struct slot *slot, struct transfer *transfer)
{
    uint16_t begins = (uint16_t)slot->begins_ticks;

    if (is_taken) {
        return false;
    }
    if (slot->line == LINE_TRANSMITS) {
        DDRB |= CHIP_BUS_OUTPUTS; // before MSTR is set: see link.c
        SPSR = _BV(SPI2X);
        SPCR = _BV(SPE) | _BV(MSTR) | _BV(SPR1); // f/32
    } else {
        transfer->bytes = page_end(room) - slot->count;
        SPCR = _BV(SPE);
    }
    bool is_in_time = wait_until(begins - QUIET_CYCLES);
    if (is_in_time) {
        cli();
        wait_until(begins);
        if (slot->line == LINE_TRANSMITS) {
            PORTB &= (uint8_t)~_BV(CHIP_SS);
        }
        sei();
    } else {
        link_release();
    }
    return is_in_time;
}

void program_end_line(const struct slot *slot, const struct frame *frame, struct transfer *transfer)
{
    link_release();
    if (slot->line == LINE_RECEIVES) {
        memcpy(frame->bytes, transfer->bytes, transfer->count);
    }
}

// --- security ---

bool program_sealing(const struct frame *frame, struct sealing *sealing)
{
    uint8_t *bytes = frame->bytes;
    bool is_down = le32_get(bytes + FRAME_COUNTER_AT) & FRAME_DIRECTION_DOWN;

    if (bytes[FRAME_VERSION_SUITE_AT] != (FRAME_VERSION << 4 | SUITE_ASCON_AEAD128) ||
        le32_get(bytes + FRAME_NODE_AT) != NODE || is_down != (frame->pipe == PIPE_HEARD)) {
        return false;
    }
    sealing->text = bytes + FRAME_TEXT_AT;
    sealing->text_bytes = TEXT_BYTES;
    sealing->ad = bytes;
    sealing->key = key;
    frame_nonce(sealing->nonce, iv, bytes);
    return true;
}

// --- tasks ---

AVRX_TASKDEF(mac, 40, 1)
{
    uint32_t begins_ticks = OCR1B + LEAD_CYCLES;

    for (uint16_t number = 0; number < PLAN_SLOTS; number++) {
        struct slot slot = {
            .begins_ticks = begins_ticks,
            .line = (enum line)(plan[number] & ~TAKEN),
            .count = FRAME_BYTES,
            .heard_slots = HEARD_SLOTS,
            .first = number & 1 ? SECURITY_OPENS : SECURITY_SEALS,
            .next = (enum line)(plan[number + 1] & ~TAKEN),
        };
        AvrXWaitSemaphore(&alarm);
        is_taken = plan[number] & TAKEN;
        controller_slot(&slot);
        begins_ticks += SLOT_CYCLES;
    }
    AvrXWaitSemaphore(&alarm);
    __asm__ volatile("break");
}

AVRX_TASKDEF(source, 40, 10)
{
    uint32_t counter = 0;

    for (;;) {
        AvrXWaitSemaphore(&arrival);
        while (arrivals) {
            ATOMIC_BLOCK(ATOMIC_RESTORESTATE)
            {
                arrivals--;
            }
            counter++;
            struct frame *frame = controller_empty();
            if (!frame) {
                refused = (uint8_t)counter;
                continue;
            }
            frame->bytes = page_end(frame->bytes) - FRAME_BYTES;
            frame->bytes[FRAME_VERSION_SUITE_AT] = FRAME_VERSION << 4 | SUITE_ASCON_AEAD128;
            le32_put(frame->bytes + FRAME_NODE_AT, NODE);
            frame->bytes[FRAME_EPOCH_AT] = 1;
            le32_put(frame->bytes + FRAME_COUNTER_AT, counter);
            memset(frame->bytes + FRAME_TEXT_AT, (uint8_t)counter, TEXT_BYTES);
            frame->count = FRAME_BYTES;
            frame->slots = PLAIN_SLOTS;
            ATOMIC_BLOCK(ATOMIC_RESTORESTATE) // no slot begins between the two
            {
                accepted = (uint8_t)counter;
                controller_give(frame);
            }
        }
    }
}

AVRX_TASKDEF(report, 40, 20)
{
    for (;;) {
        struct frame *frame = controller_take();
        for (uint8_t at = 0; at < TEXT_BYTES; at++) {
            if (frame->bytes[FRAME_TEXT_AT + at] != frame->bytes[FRAME_COUNTER_AT]) {
                __asm__ volatile("break");
            }
        }
        reported = frame->bytes[FRAME_COUNTER_AT];
        controller_give(frame);
    }
}

/// A filter of the image's table, under the name that reports have for it.
#define REGISTER(line, security, name)                        \
    do {                                                      \
        filter *const name = filters[FILTER(line, security)]; \
        controller_register(FILTER(line, security), name);    \
    } while (0)

int main(void)
{
    EICRA = 1 << ISC01 | 1 << ISC11; // falling edges
    EIMSK = 1 << INT0 | 1 << INT1;
    PORTB = _BV(CHIP_SS);
    OCR1B = SLOT_CYCLES - LEAD_CYCLES;
    CHIP_TIMER1_MASK = 1 << OCIE1B;
    TCCR1B = 1 << CS10;
    AvrXSetKernelStack(0);
    set_sleep_mode(SLEEP_MODE_IDLE);
    sleep_enable();
    REGISTER(LINE_IDLE, SECURITY_SEALS, seal);
    REGISTER(LINE_IDLE, SECURITY_OPENS, open);
    REGISTER(LINE_TRANSMITS, SECURITY_IDLE, transmit);
    REGISTER(LINE_RECEIVES, SECURITY_IDLE, receive);
    if (WOVEN) {
        REGISTER(LINE_TRANSMITS, SECURITY_SEALS, seal_transmit);
        REGISTER(LINE_TRANSMITS, SECURITY_OPENS, open_transmit);
        REGISTER(LINE_RECEIVES, SECURITY_SEALS, seal_receive);
        REGISTER(LINE_RECEIVES, SECURITY_OPENS, open_receive);
    }
    controller_start();
    AvrXRunTask(TCB(mac));
    AvrXRunTask(TCB(source));
    AvrXRunTask(TCB(report));
    AvrXLeaveKernel();
    for (;;) {
    }
}
