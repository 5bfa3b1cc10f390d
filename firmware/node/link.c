//! Frames over the shared bus; link.h has the rules, vectors.S the interrupt of a received byte.
#include "link.h"

#include <avr/interrupt.h>
#include <util/atomic.h>

#include "clock.h"
#include "limits.h"
#include "phase.h"
#include "power.h"

volatile uint8_t link_state_now;
volatile uint8_t link_bytes_now;
uint8_t link_buffer[LINK_ROOM_BYTES] __attribute__((aligned(LINK_ALIGNED_BYTES)));
static volatile uint16_t arrival_low, arrival_turns;
static volatile bool arrival_overflow_waits;

static inline void close_now(void)
{
    clock_alarm_is_set = false;
    CHIP_TIMER1_MASK &= (uint8_t)~(_BV(CHIP_CAPTURE_ENABLE) | _BV(OCIE1B));
    SPCR = 0;
}

AVRX_SIGINT(TIMER1_CAPT_vect)
{
    phase = PHASE_RECEIVING;
    if (link_state_now == LINK_LISTENING) {
        uint16_t low = ICR1;
        arrival_low = low;
        arrival_turns = clock_turns;
        arrival_overflow_waits = CHIP_TIMER1_FLAGS & _BV(TOV1);
        TCCR1B = _BV(CS10) | _BV(ICES1); // the rising edge ends the frame
        // The alarm's next match is a turn from now.
        OCR1B = low;
        clock_matches_before = clock_frame_turns;
        CHIP_TIMER1_FLAGS = _BV(ICF1) | _BV(OCF1B); // changing the edge may raise the flag, too
        link_bytes_now = 0;
        link_state_now = LINK_RECEIVING;
        return;
    }
    // This handler goes before the SPI's: the last byte may still wait there.
    if (SPSR & _BV(SPIF)) {
        uint8_t byte = SPDR;
        if (link_bytes_now <= LINK_BYTES_MAX) {
            link_buffer[link_bytes_now++] = byte;
        }
    }
    bool is_held = clock_alarm_is_held();
    close_now();
    link_state_now = LINK_RECEIVED;
    if (is_held) {
        clock_alarm_soon();
        return;
    }
    AvrXEnterKernel();
    AvrXIntSetSemaphore(&clock_signal);
    AvrXLeaveKernel();
}

void link_boot(void)
{
    // The capture pin hangs on the same wire as SS; one pull-up is enough.
    DDRB &= (uint8_t)~CHIP_BUS_OUTPUTS;
    PORTB = (PORTB & (uint8_t)~CHIP_BUS_OUTPUTS) | _BV(CHIP_SS);
    CHIP_CAPTURE_PORT &= (uint8_t)~_BV(CHIP_CAPTURE);
}

void link_close(void)
{
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE)
    {
        close_now();
        link_state_now = LINK_CLOSED;
    }
}

void link_wait(void)
{
    for (;;) {
        cli();
        uint8_t state = link_state_now;
        if (state != LINK_LISTENING && state != LINK_RECEIVING) {
            sei();
            return;
        }
        power_sleep();
    }
}

bool link_receive(void)
{
    clock_alarm_wait();
    bool is_whole = link_state() == LINK_RECEIVED;
    link_close();
    return is_whole;
}

uint32_t link_arrival(void)
{
    return clock_extend(arrival_low, arrival_turns, arrival_overflow_waits);
}

uint8_t link_received(void)
{
    uint8_t bytes = link_bytes_now;
    return bytes <= LINK_BYTES_MAX ? bytes : 0;
}

bool link_follow(void)
{
    link_close();
    if (!(PINB & _BV(CHIP_SS))) {
        return false;
    }
    SPCR = _BV(SPE);
    return true;
}

/// Odd powers of two are the doubled speed of the next; f/128 has no doubled form.
static void master(uint8_t divider_log2)
{
    uint8_t rate = divider_log2 == 7 ? 3 : (divider_log2 - 1) >> 1;
    SPSR = (divider_log2 & 1) && divider_log2 != 7 ? _BV(SPI2X) : 0;
    SPCR = _BV(SPE) | _BV(MSTR) | rate;
}

bool link_take(uint8_t divider_log2)
{
    link_close();
    if (!(PINB & _BV(CHIP_SS))) {
        return false;
    }
    // SS goes from pull-up to driven high without a glitch. It MUST be an output before MSTR is set: as an input a low
    // level on it would throw the SPI back to slave.
    DDRB |= CHIP_BUS_OUTPUTS;
    master(divider_log2);
    PORTB &= (uint8_t)~_BV(CHIP_SS);
    return true;
}

void link_send(const uint8_t *bytes, uint16_t count)
{
    do {
        SPDR = *bytes++;
        while (!(SPSR & _BV(SPIF))) {
        }
    } while (--count);
    (void)SPDR; // with SPSR read above, clears SPIF
}

uint32_t link_send_cycles(uint16_t bytes, uint8_t divider_log2)
{
    return bytes * ((8UL << divider_log2) + LINK_BYTE_OVERHEAD_CYCLES);
}
