//! The thread controller: which filter runs when a slot begins, and where the frames are meanwhile.
//!
//!     empty -> plain --seal--> sealed --transmit--> line -> empty
//!     empty -> line --receive--> heard --open--> opened -> empty
//!
//! Owns the four pipes, their frames, the array of filters and two tasks: `controller`, more urgent than all others,
//! which runs what the line takes part in at the slot's instant; and `security`, less urgent than all others, which
//! runs what cannot wait for a slot, so that a slot that begins meanwhile is not late. What is decided why is
//! policy.h's; what a slot is and when it begins is the MAC's. Paper: sections 3.3 and 4.4.
//!
//! Invariant: no frame waits for more slots than it may, but for room in the pipe behind, for those before it in its
//! own, and for one frame of the other pipe that was due as well.
//!
//! Invariant: a frame is in exactly one pipe, with one filter, with its owner, or empty. It has a place in one pipe all
//! the while: the one that it is in, or that it comes into next. So a pipe refuses what is new and nothing that it
//! accepted.
//! Owners: of a plain frame from controller_empty to controller_give, of an opened one from controller_take to
//! controller_give. Who owns a frame MAY read and write it, and nobody else does.
//!
//! Only tasks call what is declared here, but for controller_register and controller_start. The controller's state is
//! its own task's: everybody else sends it messages.
#ifndef NODE_CONTROLLER_H
#define NODE_CONTROLLER_H

#include <stdbool.h>
#include <stdint.h>

#include "avrx.h"
#include "filters.h"
#include "policy.h"

enum pipe {
    PIPE_PLAIN,
    PIPE_SEALED,
    PIPE_HEARD,
    PIPE_OPENED,
};
enum { PIPES = PIPE_OPENED + 1 };

/// A frame on its way. Its message's sender is the filter that it comes from, 0 for its owner.
struct frame {
    MessageControlBlock message;
    enum pipe pipe;  // where it has its place
    uint8_t slots;   // so many may begin before it is sealed or opened: 0 is at once, 1 lets it be woven
    uint8_t count;   // bytes with header and tag, whose room is there before it is sealed
    uint8_t *bytes;  // SENT_BYTES_MAX of what goes out, LINK_BYTES_MAX of what comes in
};

/// What the MAC says of a slot.
struct slot {
    uint32_t begins_ticks;
    enum line line;
    uint8_t count;         // bytes to receive, at most LINK_BYTES_MAX; 0: nobody knows, and nothing is woven with them
    uint8_t heard_slots;   // so many may begin before what is received is opened
    enum security first;   // SECURITY_SEALS or SECURITY_OPENS, when both are alike
    enum line next;        // what the line does in the slot after this one
};

/// What did not come to pass.
struct losses {
    uint16_t refused[PIPES]; // there was no room: for an owner's frame in PIPE_PLAIN, for the line's in PIPE_HEARD
    uint16_t unfit;          // heard, but nobody's here, or not authentic
    uint16_t unsent, unheard; // a transfer that was not over, or whose slot was late
};
extern volatile struct losses controller_losses;

/// The latest decision, for whoever watches stores, as phase.h has it. `reason` is stored last.
struct record {
    uint16_t slot;          // how many there were, the present one among them
    uint8_t waiting[PIPES]; // frames in each
    uint8_t standings;      // enum standing of sealing, and of opening in the high nibble
    uint8_t filter;         // that runs now; 0 when nothing is to be done
    uint8_t reason;         // enum reason
};
extern volatile struct record controller_record;

// --- before the first task runs ---

/// Makes `function`, the name of a filter, the one of `index` = FILTER(line, security). Woven ones MAY be missing.
#define controller_register(index, function)              \
    do {                                                  \
        CONTROLLER_SHOW(index, #function);                \
        controller_filters[index] = (function);           \
    } while (0)
extern filter *controller_filters[FILTERS];

/// The two tasks can run from now on. False, and they cannot, when one of the four discrete filters is missing.
bool controller_start(void);

// --- from tasks ---

/// An empty frame to fill: bytes from the header on, `count` and `slots`. NULL when the pipe is full, which is counted.
struct frame *controller_empty(void);
/// Gives back a frame: a plain one that is filled, or unused with a `count` of 0; or an opened one.
void controller_give(struct frame *frame);
/// Waits for an opened frame. It is authentic.
struct frame *controller_take(void);
/// A slot begins soon. Returns when it is over. Who calls this MUST be less urgent than the controller only.
void controller_slot(const struct slot *slot);

// --- what the program has to define; called from the controller's task ---

/// Everything of `sealing` but `is_authentic`, for a frame that is to be sealed (in PIPE_PLAIN) or opened (in
/// PIPE_HEARD). False when it is for nobody here: it is dropped, and counted.
bool program_sealing(const struct frame *frame, struct sealing *sealing);
/// Makes the line ready for a slot and waits for its instant. False when that is past or somebody else has the line.
/// MAY have `transfer` receive elsewhere than in its frame.
bool program_begin_line(const struct slot *slot, struct transfer *transfer);
/// Leaves the line to others again. What was received is in `frame` then; `transfer` is not over when that is for nobody
/// here.
void program_end_line(const struct slot *slot, const struct frame *frame, struct transfer *transfer);

/// Leaves a registered filter in the ELF, in a section that is not loaded: its index, and the name with a zero. It
/// costs no byte of flash and no cycle. With --gc-sections, link with -Wl,-T,weave.ld as well.
#ifdef __AVR__
#define CONTROLLER_SHOW(index, name)                                                                             \
    __asm__ volatile(".pushsection .filters,\"\",@progbits\n\t.byte %0\n\t.asciz \"" name "\"\n\t.popsection" \
                     :                                                                                          \
                     : "n"(index))
#else
#define CONTROLLER_SHOW(index, name)
#endif

#endif
