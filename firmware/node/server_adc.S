// void server_adc(void): takes the result of the ADC, if there is one, and starts the next conversion. A polling guest for
// `selvedge weave --server`.
//
// WITHIN: cycles between two runs, at most, while the guest sends or receives: the conversions are this far apart, or as long as
// one takes. The ADC MUST be on, with its channel chosen. The last result is in server_adc_value; server_adc_count
// counts results, modulo 256. The first run only starts a conversion when none is under way; its result is the one before.
#include <avr/io.h>

#ifndef WITHIN
#define WITHIN 2000
#endif

        .comm   server_adc_value, 2
        .comm   server_adc_count, 1

        .section .text.server_adc,"ax",@progbits
        .global server_adc
        .type server_adc, @function
server_adc:
        ;@weave chip __AVR_DEVICE_NAME__
        ;@weave server adc within=WITHIN
        ;@weave apart server_adc_value host.pointers
        ;@weave apart server_adc_count host.pointers
        lds     r24, _SFR_MEM_ADDR(ADCSRA)
        lsl     r24
        lsl     r24             // ADSC is bit 6: under way
        brcs    1f
        lds     r24, _SFR_MEM_ADDR(ADCL)        // the low byte first
        sts     server_adc_value, r24
        lds     r24, _SFR_MEM_ADDR(ADCH)
        sts     server_adc_value+1, r24
        lds     r24, server_adc_count
        inc     r24
        sts     server_adc_count, r24
        lds     r24, _SFR_MEM_ADDR(ADCSRA)
        ori     r24, 1 << ADSC
        sts     _SFR_MEM_ADDR(ADCSRA), r24
1:
        ret
        .size server_adc, .-server_adc
