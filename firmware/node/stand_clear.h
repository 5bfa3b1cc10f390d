;! `sampler_is_due` (sampler.h) for assembly: for the calls of the kernel (stand_clear.S) and for the alarm (vectors.S).

#include "chip.h"
#include "limits.h"

; Goes to `target`, less than 64 words ahead, unless compare A's interrupt is on and its match comes within
; KERNEL_CYCLES_MAX. Interrupts MUST be off. Leaves nothing in the four registers; all above r15.
.macro branch_unless_due target, low, high, match_low, match_high
    lds  \low, _SFR_MEM_ADDR(CHIP_TIMER1_MASK)
    sbrs \low, OCIE1A
    rjmp \target
    lds  \low, _SFR_MEM_ADDR(TCNT1L)        ; the low byte first
    lds  \high, _SFR_MEM_ADDR(TCNT1H)
    lds  \match_low, _SFR_MEM_ADDR(OCR1AL)
    lds  \match_high, _SFR_MEM_ADDR(OCR1AH)
    sub  \match_low, \low
    sbc  \match_high, \high
    subi \match_low, lo8(-MATCH_AGE_CYCLES_MAX)
    sbci \match_high, hi8(-MATCH_AGE_CYCLES_MAX)
    subi \match_low, lo8(KERNEL_CYCLES_MAX + MATCH_AGE_CYCLES_MAX)
    sbci \match_high, hi8(KERNEL_CYCLES_MAX + MATCH_AGE_CYCLES_MAX)
    brsh \target
.endm
