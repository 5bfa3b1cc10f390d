// How a guest of the node starts conversions while interrupts are off: it looks for compare A's match itself, so often and
// at such cycles of its clock that none starts much later than by the interrupt of vectors.S. sampler.h has the terms.
//
// Two registers have what it needs: BITS those that start a conversion, MASK the match's flag. Both are zeros while the
// next match is not the one that is waited for; a turn of the timer is longer than a frame. No flag of SREG changes, and no
// register has to be one that takes constants.
#ifndef NODE_GUEST_SAMPLER_H
#define NODE_GUEST_SAMPLER_H

#include "chip.h"

#if _SFR_MEM_ADDR(ADCSRA) < 0x60
#define SAMPLER_START out _SFR_IO_ADDR(ADCSRA),
#define SAMPLER_START_CYCLES 2 // with the skip before it
#else
#define SAMPLER_START sts _SFR_MEM_ADDR(ADCSRA),
#define SAMPLER_START_CYCLES 3
#endif

// Of a look.
#define SAMPLER_LOOK_TAKES (SAMPLER_START_CYCLES + 3)

// Looks in a round: none further from the next than a byte from the next at f/8, 66 cycles, but by one or two.
#define SAMPLER_LOOKS (((PERIOD) + 64) / 66)
#define SAMPLER_LOOK_CYCLES ((PERIOD) / SAMPLER_LOOKS)

// All of a round of PERIOD cycles, the first one at cycle `at`.
.macro sampler_looks at, clock, bits, mask, scratch
        .irp    look,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
        .if     \look < SAMPLER_LOOKS
        sampler_look_at (\at)+\look*SAMPLER_LOOK_CYCLES, \clock, \bits, \mask, \scratch
        .endif
        .endr
.endm

// Once, before the guest's clock starts.
.macro sampler_take bits, mask, scratch
        ;@weave apart sampler_matches_before host.pointers
        ;@weave apart sampler_start_bits host.pointers
        lds     \bits, sampler_matches_before
        lds     \scratch, sampler_matches_before+1
        clr     \mask
        inc     \mask
        .rept OCF1A
        lsl     \mask
        .endr
        or      \scratch, \bits
        lds     \bits, sampler_start_bits
        breq    7710f
        clr     \bits
        clr     \mask
7710:
.endm

// Starts the conversion whose match has come.
.macro sampler_look bits, mask, scratch
        in      \scratch, _SFR_IO_ADDR(CHIP_TIMER1_FLAGS)
        sbrc    \scratch, OCF1A
        SAMPLER_START \bits
        sbrc    \scratch, OCF1A
        out     _SFR_IO_ADDR(CHIP_TIMER1_FLAGS), \mask
.endm

// The same at cycle `at` of a clock of the guest, `maybe` in some rounds only.
.macro sampler_look_at at, clock, bits, mask, scratch, maybe
        ;@weave event look at=\at clock=\clock \maybe
        in      \scratch, _SFR_IO_ADDR(CHIP_TIMER1_FLAGS)
        sbrc    \scratch, OCF1A
        ;@weave event start at=(\at)+SAMPLER_START_CYCLES clock=\clock maybe
        SAMPLER_START \bits
        sbrc    \scratch, OCF1A
        out     _SFR_IO_ADDR(CHIP_TIMER1_FLAGS), \mask
.endm

#endif
