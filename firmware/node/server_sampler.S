// void server_sampler(void): takes the code of a conversion that is over, switches the ADC off, and sets compare A for the
// instant after: what the sampler's interrupt would have done, so far as it cannot wait. A polling guest for
// `selvedge weave --server`; sampler.h has the terms.
//
// Once until sampler_settle or the interrupt has made up for it: two instants of a frame are served, and one right before.
//
// WITHIN: cycles between two runs, at most, while the guest sends or receives: from the end of a conversion to the next
// instant.
#include "chip.h"

#if defined(__AVR_ATmega128__)
#define ADCSRA_NAME io.0x26
#define READ        in
#define WRITE       out
#define SFR         _SFR_IO_ADDR
#else
#define ADCSRA_NAME io.0x7a
#define READ        lds
#define WRITE       sts
#define SFR         _SFR_MEM_ADDR
#endif

        .section .text.server_sampler,"ax",@progbits
        .global server_sampler
        .type server_sampler, @function
server_sampler:
        ;@weave chip __AVR_DEVICE_NAME__
        ;@weave server sampler within=WITHIN
        ;@weave apart sampler_fetched host.pointers
        ;@weave apart sampler_code host.pointers
        ;@weave apart sampler_following host.pointers
        // The guest starts conversions there, and never the one that this finds over.
        ;@weave shared ADCSRA_NAME guest-first
        lds     r24, sampler_fetched
        tst     r24
        brne    1f
        READ    r24, SFR(ADCSRA)
        andi    r24, 1 << ADIF
        breq    1f
        READ    r24, SFR(ADCL)                  // the low byte first
        sts     sampler_code, r24
        READ    r24, SFR(ADCH)
        sts     sampler_code+1, r24
        lds     r24, sampler_following+1        // the high byte first
        sts     _SFR_MEM_ADDR(OCR1AH), r24
        lds     r24, sampler_following
        sts     _SFR_MEM_ADDR(OCR1AL), r24
        ldi     r24, 1 << ADIF
        WRITE   SFR(ADCSRA), r24                // off, and its request withdrawn
        sts     sampler_fetched, r24
1:
        ret
        .size server_sampler, .-server_sampler
