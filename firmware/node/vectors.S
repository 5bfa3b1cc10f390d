;! The three interrupts that may stand before a byte of the bus: overflow, compare A, and the SPI itself; and the ways
;! into the sampler's and the alarm's.
;!
;! In assembly because a byte is lost when their cycles do not add up (link.h), and because the cycles from compare A's
;! match to the start of the conversion are a constant of the sampler: neither may change with the compiler.
;! Registers are reached by LDS/STS throughout, so that both chips take the same cycles.

#include "chip.h"
#include "limits.h"
#include "phase.h"
#include "sender.h"

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

; if (clock_matches_before-- != 0) return; the alarm's own match goes on in clock.c. Most only count a turn, and a sample
; that is due just then must not wait for all that a C function saves.
.global TIMER1_COMPB_vect
TIMER1_COMPB_vect:
    enter
    lds  r24, clock_matches_before
    subi r24, 1
    brcc 1f
    lds  r24, clock_matches_before+1
    subi r24, 1
    brcc 2f
    pop  r24
    out  _SFR_IO_ADDR(SREG), r24
    pop  r24
    jmp  __vector_alarm
2:  sts  clock_matches_before+1, r24
    ldi  r24, 0xFF
1:  sts  clock_matches_before, r24
    leave

; if (link_bytes_now <= LINK_BYTES_MAX) link_buffer[link_bytes_now++] = SPDR;
; A byte that is received may come three cycles later to be read in an image that sends by interrupts (sender.h).
.global SPI_STC_vect
SPI_STC_vect:
#if defined(FILTERS_HANDLER_BY_HAND)
    sbis _SFR_IO_ADDR(SENDER_STATE), SENDER_GOES_ON
    rjmp 2f
    ; No instruction here changes a flag. No register is reserved for it: the kernel would keep a copy with each task.
    out  _SFR_IO_ADDR(SENDER_R0), r0
    in   r0, _SFR_IO_ADDR(SENDER_BYTE)
    out  _SFR_IO_ADDR(SPDR), r0
    out  _SFR_IO_ADDR(SENDER_R30), r30
    push r31
    in   r30, _SFR_IO_ADDR(SENDER_NEXT)
    in   r31, _SFR_IO_ADDR(SENDER_PAGE)
    ld   r0, Z+
    out  _SFR_IO_ADDR(SENDER_BYTE), r0
    out  _SFR_IO_ADDR(SENDER_NEXT), r30
    in   r0, _SFR_IO_ADDR(SENDER_PAGE)
    cpse r0, r31
    cbi  _SFR_IO_ADDR(SENDER_STATE), SENDER_GOES_ON
    pop  r31
    in   r30, _SFR_IO_ADDR(SENDER_R30)
    in   r0, _SFR_IO_ADDR(SENDER_R0)
    reti
2:
#elif defined(FILTERS_HANDLER)
    sbis _SFR_IO_ADDR(SPCR), MSTR
    rjmp 2f
    jmp  __vector_sender
2:
#endif
    enter
    push r30
    push r31
    lds  r24, _SFR_MEM_ADDR(SPDR)
#if defined(FILTERS_HANDLER_BY_HAND)
    sbic _SFR_IO_ADDR(SPCR), MSTR
    rjmp 3f
#endif
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
2:  pop  r31
    pop  r30
    leave

#if defined(FILTERS_HANDLER_BY_HAND)
; The last byte of a frame that is sent, and behind it the end: what link_release does.
3:  in   r24, _SFR_IO_ADDR(SENDER_NEXT)
    cpi  r24, 0
    brne 4f
    inc  r24
    out  _SFR_IO_ADDR(SENDER_NEXT), r24
    in   r24, _SFR_IO_ADDR(SENDER_BYTE)
    out  _SFR_IO_ADDR(SPDR), r24
    rjmp 2b
4:  sbi  _SFR_IO_ADDR(PORTB), CHIP_SS
    ldi  r24, 0
    out  _SFR_IO_ADDR(SPCR), r24
    in   r24, _SFR_IO_ADDR(DDRB)
    andi r24, 0xFF ^ CHIP_BUS_OUTPUTS
    out  _SFR_IO_ADDR(DDRB), r24
    rjmp 2b
#endif

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
