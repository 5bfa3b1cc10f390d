//! The filters of the line by itself, and the table of the image's suite.
#include <avr/io.h>
#include <stddef.h>

#include "filter_suites.h"
#include "limits.h"

// What guest_transfer_rx.S needs in none of its rounds.
struct transfer *line_transfer;
volatile uint8_t line_asks; // until it is negative
volatile uint8_t line_came; // bit 5: all bytes did

void line_transmit(struct sealing *sealing, struct transfer *transfer)
{
    const uint8_t *byte = transfer->bytes;
    uint8_t left = transfer->count;

    (void)sealing;
    (void)SPSR; // with the first write, clears what a frame before this one left of SPIF
    do {
        SPDR = *byte++;
        while (!(SPSR & _BV(SPIF))) {
        }
    } while (--left);
    transfer->is_over = 1;
}

void line_receive(struct sealing *sealing, struct transfer *transfer)
{
    uint8_t *byte = transfer->bytes;
    uint8_t left = transfer->count;

    (void)sealing;
    transfer->is_over = 0;
    (void)SPSR;
    (void)SPDR; // what came before is none of the frame
    do {
        uint16_t polls = LINE_BYTE_POLLS_MAX;
        while (!(SPSR & _BV(SPIF))) {
            if (--polls == 0) {
                return;
            }
        }
        *byte++ = SPDR;
    } while (--left);
    transfer->is_over = 1;
}

// The list of the suite says FILTERS_SUITE: ascon or ccm.
#define JOIN_(suite, does) suite##_##does
#define JOIN(suite, does)  JOIN_(suite, does)
#define SUITE(does)        JOIN(FILTERS_SUITE, does)

static void seal_alone(struct sealing *sealing, struct transfer *transfer)
{
    (void)transfer;
    SUITE(seal)(sealing);
}

static void open_alone(struct sealing *sealing, struct transfer *transfer)
{
    (void)transfer;
    SUITE(open)(sealing);
}

filter *const filters[FILTERS] = {
    [FILTER(LINE_IDLE, SECURITY_SEALS)] = seal_alone,
    [FILTER(LINE_IDLE, SECURITY_OPENS)] = open_alone,
    [FILTER(LINE_TRANSMITS, SECURITY_IDLE)] = line_transmit,
    [FILTER(LINE_TRANSMITS, SECURITY_SEALS)] = SUITE(seal_transmit),
    [FILTER(LINE_TRANSMITS, SECURITY_OPENS)] = SUITE(open_transmit),
    [FILTER(LINE_RECEIVES, SECURITY_IDLE)] = line_receive,
    [FILTER(LINE_RECEIVES, SECURITY_SEALS)] = SUITE(seal_receive),
    [FILTER(LINE_RECEIVES, SECURITY_OPENS)] = SUITE(open_receive),
};
