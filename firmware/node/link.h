//! The bus: one frame out as SPI master, one frame in as SPI slave.
//!
//! Owns the SPI, the pins SS, SCK and MOSI, and Timer1's input capture, which hangs on SS (chip.h).
//! SPI mode 0, most significant bit first. SS low delimits a frame; whoever sends drives all three wires, and nobody
//! else does. A node drives them during `link_send` only.
//!
//! Reception is by interrupt, so that sealing goes on meanwhile. The SPI holds one byte while the next comes in: a byte
//! is lost when its interrupt is served later than one byte after it was raised, 130 cycles at f/16. Before it stand, at
//! worst, compare A, the overflow, and one stretch with interrupts off; test/run.sh adds up their cycles and fails when
//! they do not fit. (The alarm goes off when the frame should be over, and the ADC's handler lets others in at once.)
//!
//! Invariant: while the link is open no task calls the kernel, whose switch takes longer than a byte. So whoever is
//! about to waits for `link_wait` first, and the link is opened OPEN_LEAD_CYCLES before a frame may begin.
#ifndef NODE_LINK_H
#define NODE_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "chip.h"
#include "limits.h"

enum link_state {
    LINK_CLOSED,
    LINK_LISTENING, // nothing has begun
    LINK_RECEIVING, // SS has fallen
    LINK_RECEIVED,  // SS has risen again: the frame is in link_buffer, the link is closed
};

/// link.c's; interrupts elsewhere need them for `link_listen_now`.
extern volatile uint8_t link_state_now;
extern volatile uint8_t link_bytes_now;

/// The last frame received, link_received() bytes; or room for a woven filter, whose bytes end it.
extern uint8_t link_buffer[LINK_ROOM_BYTES];

/// Pins as inputs, SS with its pull-up.
void link_boot(void);

/// Opens the link for one frame whose SS falls from now on. Its end sets clock_signal. Interrupts MUST be off.
static inline void link_listen_now(void)
{
    link_bytes_now = 0;
    link_state_now = LINK_LISTENING;
    TCCR1B = _BV(CS10); // capture the falling edge
    CHIP_TIMER1_FLAGS = _BV(ICF1);
    CHIP_TIMER1_MASK |= _BV(CHIP_CAPTURE_ENABLE);
    SPCR = _BV(SPE) | _BV(SPIE);
}

/// Stops listening, and the alarm; a frame that is half in is forgotten.
void link_close(void);

/// Sleeps until the link is not open any more; see above. For tasks.
void link_wait(void);

/// Waits for the frame that the link was opened for, or is about to be. True when it is whole in link_buffer.
bool link_receive(void);

/// What the link is doing.
static inline enum link_state link_state(void)
{
    return (enum link_state)link_state_now;
}

/// The tick at which the SS of the last frame fell. Meaningful once RECEIVED, until the link is opened again.
uint32_t link_arrival(void);

/// The bytes of the last frame, 0 when it was longer than LINK_BYTES_MAX. Meaningful once RECEIVED,
/// until the link is opened again.
uint8_t link_received(void);

/// Takes the bytes of a frame that is about to begin, for a woven filter, which asks for each. Until link_close.
/// False when one has begun.
bool link_follow(void);

/// Begins a frame: drives the wires, SS low. `divider_log2` is 1 (f/2) to 7 (f/128).
/// False, and nothing was driven, when SS is low: somebody else has the bus.
bool link_take(uint8_t divider_log2);

/// Sends bytes of the frame that was begun, 1 at least, waiting for each; sampling goes on.
void link_send(const uint8_t *bytes, uint16_t count);

/// Ends the frame. For handlers, too.
static inline void link_release(void)
{
    PORTB |= _BV(CHIP_SS);
    SPCR = 0;
    DDRB &= (uint8_t)~CHIP_BUS_OUTPUTS;
}

/// About how long `link_send` takes, in cycles; never less than it does between sampling interrupts.
uint32_t link_send_cycles(uint16_t bytes, uint8_t divider_log2);

#endif
