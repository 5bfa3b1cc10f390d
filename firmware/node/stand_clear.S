;! void sampler_stand_clear(void): interrupts off and SREG as it was in r0, when no conversion is due for
;! as long as the kernel then keeps them off. One that is due begins before.
;!
;! The beginning of each call of the kernel that may switch, which has registers for it (kernel.S). Where interrupts are
;! off already it cannot wait, and does not.

#include "chip.h"
#include "limits.h"

    .section .text.sampler_stand_clear,"ax",@progbits
    .global sampler_stand_clear
    .type sampler_stand_clear, @function
sampler_stand_clear:
    in   r0, _SFR_IO_ADDR(SREG)
    ; Where nothing is sampled this may wait for a match that means nothing.
1:  cli
    lds  r20, _SFR_MEM_ADDR(TCNT1L)         ; the low byte first
    lds  r21, _SFR_MEM_ADDR(TCNT1H)
    lds  r26, _SFR_MEM_ADDR(OCR1AL)
    lds  r27, _SFR_MEM_ADDR(OCR1AH)
    sub  r26, r20
    sbc  r27, r21
    adiw r26, MATCH_AGE_CYCLES_MAX
    subi r26, lo8(KERNEL_CYCLES_MAX + MATCH_AGE_CYCLES_MAX)
    sbci r27, hi8(KERNEL_CYCLES_MAX + MATCH_AGE_CYCLES_MAX)
    brsh 2f
    sbrs r0, SREG_I
2:  ret
    out  _SFR_IO_ADDR(SREG), r0
    rjmp 1b                                 ; an interrupt comes behind this one
    .size sampler_stand_clear, .-sampler_stand_clear
