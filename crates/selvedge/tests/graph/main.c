//! Registers the filters of an image's suite with the thread controller, and gives it nothing to do.
#include "controller.h"
#include "filter_suites.h"

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

bool program_begin_line(const struct slot *slot)
{
    (void)slot;
    return true;
}

void program_end_line(const struct slot *slot)
{
    (void)slot;
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
