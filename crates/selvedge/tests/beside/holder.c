// Somebody who takes the bus where it is not theirs: holds SS low, at microseconds of 8 MHz from the reset on.
#include <avr/io.h>

int main(void)
{
    __builtin_avr_delay_cycles(8UL * FROM_US);
    DDRB |= _BV(PB0);
    __builtin_avr_delay_cycles(8UL * HELD_US);
    DDRB &= (uint8_t)~_BV(PB0);
    for (;;) {
    }
}
