//! Filters that are both at once by interrupts, beside which what is woven can be seen: what security does by itself, in
//! the controller's task, and meanwhile the line's handlers. Under any suite.
#include <stddef.h>

#include "controller.h"
#include "filters_handler.h"
#include "sender.h"

static void secure(enum security security, struct sealing *sealing)
{
    controller_filters[FILTER(LINE_IDLE, security)](sealing, NULL);
}

static void transmit_beside(enum security security, struct sealing *sealing, struct transfer *transfer)
{
    sender_start(transfer->bytes, transfer->count);
    secure(security, sealing);
    sender_wait();
    transfer->is_over = 1;
}

/// The link is about to be opened, or it is open.
static void receive_beside(enum security security, struct sealing *sealing, struct transfer *transfer)
{
    secure(security, sealing);
    controller_filters[FILTER(LINE_RECEIVES, SECURITY_IDLE)](NULL, transfer);
}

void handler_seal_transmit(struct sealing *sealing, struct transfer *transfer)
{
    transmit_beside(SECURITY_SEALS, sealing, transfer);
}

void handler_open_transmit(struct sealing *sealing, struct transfer *transfer)
{
    transmit_beside(SECURITY_OPENS, sealing, transfer);
}

void handler_seal_receive(struct sealing *sealing, struct transfer *transfer)
{
    receive_beside(SECURITY_SEALS, sealing, transfer);
}

void handler_open_receive(struct sealing *sealing, struct transfer *transfer)
{
    receive_beside(SECURITY_OPENS, sealing, transfer);
}
