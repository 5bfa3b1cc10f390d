//! Sleep modes and unused units; power.h has the rules.
#include "power.h"

#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/power.h>
#include <avr/sleep.h>

#include "chip.h"
#include "phase.h"

volatile uint8_t phase;

void power_boot(void)
{
    ACSR = _BV(ACD);
#if defined(__AVR_ATmega328P__)
    PRR = _BV(PRTWI) | _BV(PRTIM2) | _BV(PRTIM0) | _BV(PRUSART0);
#else
    // JTAG owns PF4..PF7 with pull-ups on until JTD is written twice within four cycles (2467, "JTD").
    uint8_t without_jtag = MCUCSR | _BV(JTD);
    MCUCSR = without_jtag;
    MCUCSR = without_jtag;
#endif
    set_sleep_mode(SLEEP_MODE_IDLE);
}

void power_sleep(void)
{
    phase = PHASE_ASLEEP;
    sleep_enable();
    // The instruction after SEI runs before any interrupt: an event that is pending wakes the core at once.
    sei();
    sleep_cpu();
    sleep_disable();
    phase = PHASE_WAITING;
}

void power_silence(void)
{
    cli();
    phase = PHASE_SILENT;
    SPCR = 0;
    DDRB &= (uint8_t)~CHIP_BUS_OUTPUTS;
    ADCSRA = 0;
    TCCR1B = 0;
    set_sleep_mode(SLEEP_MODE_PWR_DOWN);
    for (;;) {
        sleep_mode();
    }
}
