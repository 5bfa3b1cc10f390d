//! Registers the filters of an image's suite with the thread controller, and gives it nothing to do.
#include "controller.h"
#include "filter_suites.h"

// The sampler's, which a guest asks (guest_sampler.h).
volatile uint16_t sampler_matches_before, sampler_following, sampler_code;
volatile uint8_t sampler_start_bits, sampler_fetched;

#ifndef FILTERS_SUITE
// An image without woven filters has no filters.c.
void line_transmit(struct sealing *sealing, struct transfer *transfer)
{
    (void)sealing;
    (void)transfer;
}

void line_receive(struct sealing *sealing, struct transfer *transfer)
{
    (void)sealing;
    (void)transfer;
}

void ascon_seal(struct sealing *sealing)
{
    (void)sealing;
}

void ascon_open(struct sealing *sealing)
{
    (void)sealing;
}
#endif

static void seal(struct sealing *sealing, struct transfer *transfer)
{
    (void)transfer;
    ascon_seal(sealing);
}

static void open(struct sealing *sealing, struct transfer *transfer)
{
    (void)transfer;
    ascon_open(sealing);
}

bool program_sealing(const struct frame *frame, struct sealing *sealing)
{
    (void)frame;
    (void)sealing;
    return false;
}

bool program_begin_line(const struct slot *slot, struct transfer *transfer)
{
    (void)slot;
    (void)transfer;
    return true;
}

void program_end_line(const struct slot *slot, const struct frame *frame, struct transfer *transfer)
{
    (void)slot;
    (void)frame;
    (void)transfer;
}

AVRX_TASKDEF(mac, 20, 1)
{
    for (;;) {
        static const struct slot slot = {.line = LINE_TRANSMITS};
        controller_slot(&slot);
    }
}

int main(void)
{
    AvrXSetKernelStack(0);
    controller_register(FILTER(LINE_IDLE, SECURITY_SEALS), seal);
    controller_register(FILTER(LINE_IDLE, SECURITY_OPENS), open);
    controller_register(FILTER(LINE_TRANSMITS, SECURITY_IDLE), line_transmit);
    controller_register(FILTER(LINE_RECEIVES, SECURITY_IDLE), line_receive);
    controller_register(FILTER(LINE_TRANSMITS, SECURITY_SEALS), ascon_seal_transmit);
    controller_register(FILTER(LINE_TRANSMITS, SECURITY_OPENS), ascon_open_transmit);
    controller_register(FILTER(LINE_RECEIVES, SECURITY_SEALS), ascon_seal_receive);
    controller_register(FILTER(LINE_RECEIVES, SECURITY_OPENS), ascon_open_receive);
    controller_start();
    AvrXRunTask(TCB(mac));
    AvrXLeaveKernel();
    for (;;) {
    }
}
