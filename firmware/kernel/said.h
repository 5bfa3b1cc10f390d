//! A log in RAM, so that whoever runs a program of this folder sees what happened in which order.
#ifndef KERNEL_SAID_H
#define KERNEL_SAID_H

#include <avr/interrupt.h>
#include <stdint.h>

#define SAID_MAX 96
extern volatile uint8_t said[SAID_MAX];
extern volatile uint8_t said_count;

/// Appends `what`. From tasks; a handler has no business in it, because it comes at any time.
static inline void say(uint8_t what)
{
    uint8_t sreg = SREG;
    cli();
    said[said_count] = what;
    said_count++;
    SREG = sreg;
}

#endif
