//! Traffic without a controller; traffic.h has the terms.
#include "chip.h"
#if !CHIP_HAS_PIPES
#include <stddef.h>

#include "clock.h"
#include "downlink.h"
#include "frame.h"
#include "limits.h"
#include "link.h"
#include "phase.h"
#include "traffic.h"

/// A frame that is being filled by the sampler, then sealed and sent.
struct outgoing {
    uint8_t bytes[FRAME_BYTES_MAX];
    uint16_t sealed; // bytes to send; 0: not sealed
};

static struct provision *self;
static struct counter *counts;
static struct epoch_change *change;
static struct downlink downlink;
static struct outgoing outgoing[2]; // of even and of odd superframes
static struct outgoing *latest;     // that was sealed

void traffic_boot(struct provision *provision, struct counter *counter, struct epoch_change *epoch_change)
{
    self = provision;
    counts = counter;
    change = epoch_change;
    latest = &outgoing[0];
}

uint8_t *traffic_codes(uint32_t superframe, uint8_t count)
{
    (void)count; // there is room for any
    struct outgoing *frame = &outgoing[superframe & 1];
    frame->sealed = 0;
    return frame->bytes + FRAME_CODES_AT;
}

void traffic_set(uint32_t first, struct setting *setting)
{
    downlink_set(&downlink, first, setting);
}

void traffic_seal(uint32_t superframe, const struct samples *samples)
{
    uint32_t count;

    if (counter_take(counts, &count)) {
        phase = PHASE_SEALING;
        latest = &outgoing[superframe & 1];
        latest->sealed = frame_seal(latest->bytes, self, count, samples);
        phase = PHASE_WAITING;
    }
}

void traffic_forget(void)
{
    latest->sealed = 0;
}

void traffic_settle(void)
{
    if (epoch_turn(change, self)) {
        downlink_turn(&downlink);
    }
}

void traffic_send(uint32_t start_ticks, uint32_t last_start_ticks, bool hears_surely)
{
    (void)hears_surely;
    uint16_t bytes = latest->sealed;

    latest->sealed = 0;
    if (bytes == 0 || clock_is_past(clock_now(), last_start_ticks)) {
        return;
    }
    phase = PHASE_TRANSMITTING;
    clock_wait(start_ticks - SEND_LATENCY_CYCLES);
    if (link_take(self->spi_divider_log2)) {
        link_send(latest->bytes, bytes);
        link_release();
    }
    phase = PHASE_WAITING;
}

void traffic_hear(uint32_t start_ticks, uint32_t drift_ticks, uint32_t until_ticks, bool is_sure)
{
    uint32_t opens_ticks = start_ticks - drift_ticks - OPEN_LEAD_CYCLES;

    (void)is_sure; // bytes come by interrupts, whatever is known of them
    clock_alarm_listen(opens_ticks, until_ticks, until_ticks - opens_ticks);
    if (link_receive()) {
        phase = PHASE_VERIFYING;
        downlink_open(&downlink, link_buffer, link_received(), self, change);
        phase = PHASE_WAITING;
    }
}

#endif
