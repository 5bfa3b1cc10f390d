;! The three interrupts that may stand before a byte of the bus: overflow, compare A, and the SPI itself; and the way
;! into the sampler's.
;!
;! In assembly because a byte is lost when their cycles do not add up (link.h), and because the cycles from compare A's
;! match to the start of the conversion are a constant of the sampler: neither may change with the compiler.
;! Registers are reached by LDS/STS throughout, so that both chips take the same cycles.

#include "chip.h"
#include "limits.h"
#include "phase.h"

.text

; Leaves r24 free.
.macro enter
    push r24
    in   r24, _SFR_IO_ADDR(SREG)
    push r24
.endm

.macro leave
    pop  r24
    out  _SFR_IO_ADDR(SREG), r24
    pop  r24
    reti
.endm

; clock_turns++
.global TIMER1_OVF_vect
TIMER1_OVF_vect:
    enter
    lds  r24, clock_turns
    inc  r24
    sts  clock_turns, r24
    brne 1f
    lds  r24, clock_turns+1
    inc  r24
    sts  clock_turns+1, r24
1:  leave

; if (sampler_matches_before-- != 0) return; ADCSRA = sampler_start_bits. The next match is a turn from now, and the
; conversion is over long before: it ends this interrupt.
.global TIMER1_COMPA_vect
TIMER1_COMPA_vect:
    enter
    lds  r24, sampler_matches_before
    subi r24, 1
    brcc 1f
    lds  r24, sampler_matches_before+1
    subi r24, 1
    brcc 2f
    ; As late as a guest is in the middle (guest_sampler.h).
    rjmp 3f
3:  rjmp 4f
4:  rjmp 5f
5:  nop
    lds  r24, sampler_start_bits
    sts  _SFR_MEM_ADDR(ADCSRA), r24
    leave
2:  sts  sampler_matches_before+1, r24
    ldi  r24, 0xFF
1:  sts  sampler_matches_before, r24
    leave

; if (link_bytes_now <= LINK_BYTES_MAX) link_buffer[link_bytes_now++] = SPDR;
.global SPI_STC_vect
SPI_STC_vect:
    enter
    push r30
    push r31
    lds  r24, _SFR_MEM_ADDR(SPDR)
    lds  r30, link_bytes_now
    cpi  r30, LINK_BYTES_MAX + 1
    brcc 1f
    inc  r30
    sts  link_bytes_now, r30
    ldi  r31, 0
    subi r30, lo8(-(link_buffer - 1))
    sbci r31, hi8(-(link_buffer - 1))
    st   Z, r24
1:  ldi  r24, PHASE_RECEIVING
    sts  phase, r24
    pop  r31
    pop  r30
    leave

; No alarm from here to clock_alarm_resume: whom it wakes would keep the sampler waiting. And no match of compare A, which
; the sampler sets.
.global ADC_vect
ADC_vect:
    enter
    lds  r24, _SFR_MEM_ADDR(CHIP_TIMER1_MASK)
    andi r24, 0xFF ^ (_BV(OCIE1A) | _BV(OCIE1B))
    sts  _SFR_MEM_ADDR(CHIP_TIMER1_MASK), r24
    pop  r24
    out  _SFR_IO_ADDR(SREG), r24
    pop  r24
    jmp  __vector_sampler
