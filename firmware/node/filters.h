//! The node's filters: what takes a frame from one of its four pipes and gives it to the next.
//!
//!     samples -> plain  --seal-->    sealed --transmit--> line
//!     reports <- opened <--open--    heard  <--receive--- line
//!
//! Owns the filters' type and their numbers. When one runs is controller.h's; what it does is suite.h's and link.h's, or
//! a function that `selvedge weave` made of two of those (filters_ascon.txt). Paper: sections 3.2 and 3.3.
//!
//! A filter does what the line has to do in a slot, what security has to do, or both at once. Both at once is woven:
//! interrupts are off while the line is served, and on again until the rest of the sealing is done. Or, for comparison, the
//! line's handlers interrupt what security does (filters_handler.c).
#ifndef NODE_FILTERS_H
#define NODE_FILTERS_H

#include <stdint.h>

#include "frame.h"

/// What the line does in a slot.
enum line {
    LINE_IDLE,
    LINE_TRANSMITS,
    LINE_RECEIVES,
};

/// What security does with a frame.
enum security {
    SECURITY_IDLE,
    SECURITY_SEALS,
    SECURITY_OPENS,
};

/// A filter's place in the controller's array, and the sender of what it puts into a pipe. 0 does nothing.
#define FILTER(line, security) (3 * (line) + (security))
enum { FILTERS = FILTER(LINE_RECEIVES, SECURITY_OPENS) + 1 };

/// A frame to seal or to open in place. It is the filter's from the call on until it returns.
struct sealing {
    uint8_t *text; // the tag is behind it
    uint8_t text_bytes;
    const uint8_t *ad; // FRAME_HEADER_BYTES
    const uint8_t *key;
    uint8_t nonce[FRAME_NONCE_BYTES];
    uint8_t is_authentic; // opened: 1, or 0 with zeros in `text`
};

/// A frame on the line. It is the filter's from the call on until it returns.
struct transfer {
    uint8_t *bytes;     // those of a woven filter MUST end where a multiple of 256 does
    uint8_t count;      // to send, or to expect; received, when a filter can tell
    uint8_t is_over;    // 1 when all of them went over the line
};

/// Where the page ends that `bytes` are in, or begin in.
static inline uint8_t *page_end(const uint8_t *bytes)
{
    return (uint8_t *)(((uintptr_t)bytes | 0xFF) + 1);
}

/// A filter. What it has nothing to do with may be NULL. The line MUST be ready: its SPI on, master or slave, and its slot begun.
typedef void filter(struct sealing *sealing, struct transfer *transfer);

#endif
