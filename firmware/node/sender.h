//! Sends a frame by interrupts: each byte when the one before it is over, while its caller does something else.
//!
//! For comparison with what is woven: an image has its handler as avr-gcc compiles it (sender.c), or by hand (vectors.S). The way
//! into it is vectors.S's, because received bytes have the same vector.
#ifndef NODE_SENDER_H
#define NODE_SENDER_H

#include "chip.h"

#ifndef __ASSEMBLER__
#include <stdint.h>

/// Begins with the bytes of the frame that link_take began, 3 at least. They MUST end where a multiple of 256 does. Behind
/// the last one the handler leaves the line to others.
void sender_start(const uint8_t *bytes, uint8_t count);

/// Waits, asleep, until the last byte is over.
void sender_wait(void);
#endif

// What the handler by hand keeps, and where it puts the registers that it needs: in registers of units that the node does
// not use, which take one cycle to reach where RAM and the stack take two. Timers 0 and 2 have no clock, USART 0 is off.
#define SENDER_BYTE    UBRR0L // the next one to send
#define SENDER_NEXT    OCR0   // where the one behind it is: the low byte, 0 at the end of its page
#define SENDER_PAGE    TCNT0  // and the high byte
#define SENDER_R0      OCR2
#define SENDER_R30     TCNT2
#define SENDER_STATE   UCSR0A
#define SENDER_GOES_ON MPCM0  // there is one behind the next

#endif
