//! What the node is doing, as one byte in SRAM at the symbol `phase`: a simulator that watches its stores draws the
//! processor's timeline. Nothing in the node reads it.
//!
//! What a task says is the task's until it says something else, however often it is interrupted; what an interrupt says
//! ends with it. The simulator knows which of them runs.
#ifndef NODE_PHASE_H
#define NODE_PHASE_H

/// For vectors.S, too.
#define PHASE_RECEIVING 3

#ifndef __ASSEMBLER__
#include <stdint.h>

enum {
    PHASE_BOOTING = 0,
    PHASE_ASLEEP = 1,
    PHASE_WAITING = 2, // awake between two sleeps, nothing to do but the EEPROM
    PHASE_VERIFYING = 4,
    PHASE_SAMPLING = 5,
    PHASE_SEALING = 6,
    PHASE_TRANSMITTING = 7,
    PHASE_SILENT = 8,
    PHASE_WEAVING = 9, // transmitting, and sealing or opening meanwhile and until that is done
};

extern volatile uint8_t phase;
#endif

#endif
