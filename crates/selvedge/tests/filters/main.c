// Calls one of the filters once, with interrupts on, for a test that prepares the memory itself and finds it at the `break`.
#include <avr/interrupt.h>
#include <avr/io.h>

#include "filter_suites.h"

// Not cleared at start.
#define KEPT __attribute__((section(".noinit")))

KEPT uint8_t text[255 + SUITE_TAG_BYTES_MAX], ad[FRAME_HEADER_BYTES], key[SUITE_KEY_BYTES];
// What goes over the line ends with it.
KEPT uint8_t bytes[256] __attribute__((aligned(256)));
KEPT struct sealing sealing;
KEPT struct transfer transfer;
#ifdef LEGACY_STATE
KEPT struct legacy_key legacy;
KEPT struct rc4 state __attribute__((aligned(256)));
#endif
KEPT uint8_t which, spi_control, spi_status;
KEPT volatile uint8_t stage;
// The sampler's (guest_sampler.h): a match starts nothing here.
volatile uint16_t sampler_matches_before, sampler_following, sampler_code;
volatile uint8_t sampler_start_bits, sampler_fetched;

int main(void)
{
    sealing.text = text;
    sealing.ad = ad;
    sealing.key = key;
#ifdef LEGACY_STATE
    legacy_expand(&legacy, key, LEGACY_STATE);
    sealing.key = (const uint8_t *)&legacy;
#endif
    transfer.bytes = bytes + (uint8_t)-transfer.count;
    // A master's MOSI, SCK and SS are outputs; a slave drives nothing.
    DDRB = spi_control & _BV(MSTR) ? 0xFF : 0;
    SPSR = spi_status;
    SPCR = spi_control;
    sei();
    stage = 1;
#ifdef ONLY // one of them, and no room for others
    ONLY(&sealing, &transfer);
#else
    filters[which](&sealing, &transfer);
#endif
    stage = 2;
    __asm__ volatile("break");
    for (;;) {
    }
}
