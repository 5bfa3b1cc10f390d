;! void sampler_stand_clear(void): interrupts off and SREG as it was in r0, when no conversion is due for as long as the
;! kernel then keeps them off. One that is due begins before.
;!
;! The beginning of each call of the kernel that may switch, which has registers for it (kernel.S). Where interrupts are
;! off already it cannot wait, and does not.

#include "stand_clear.h"

    .section .text.sampler_stand_clear,"ax",@progbits
    .global sampler_stand_clear
    .type sampler_stand_clear, @function
sampler_stand_clear:
    in   r0, _SFR_IO_ADDR(SREG)
1:  cli
    branch_unless_due 2f, r20, r21, r26, r27
    sbrs r0, SREG_I
2:  ret
    out  _SFR_IO_ADDR(SREG), r0
    rjmp 1b                                 ; an interrupt comes behind this one
    .size sampler_stand_clear, .-sampler_stand_clear
