//! Sleep: idle between events, power-down for ever when the node must be silent.
//!
//! Idle and no deeper while the node lives, because the timer that holds the grid and the SPI both run from the I/O
//! clock, which every deeper mode stops.
#ifndef NODE_POWER_H
#define NODE_POWER_H

/// Stops what the node never uses and lets the core sleep in idle mode from now on.
void power_boot(void);

/// Sleeps until an interrupt was served. MUST be called with interrupts off, so that no event falls between the
/// caller's check and the sleep; returns with interrupts on, waiting.
void power_sleep(void);

/// Releases the bus, stops everything, and sleeps until the next reset.
__attribute__((noreturn)) void power_silence(void);

#endif
