//! Aims conversions at the grid and collects their codes; sampler.h has the terms, vectors.S starts them.
#include "sampler.h"

#include <avr/interrupt.h>
#include <stddef.h>
#include <util/atomic.h>

#include "chip.h"
#include "clock.h"
#include "limits.h"
#include "phase.h"

/// Ticks from the instant that compare A is set to, to the write that starts the conversion, the core asleep and nothing
/// else being served: the flag a tick after the match, 4 cycles to wake, 4 to enter, 3 for the vector's jump, and 24 of
/// the handler in vectors.S. Awake it is 1 to 4 less. A guest that looks every 65 cycles takes 3 to 68.
#define START_LATENCY_TICKS 36

/// A superframe that is being sampled or waits for it.
struct run {
    struct grid grid;
    uint8_t *codes;
    uint8_t *next_code;
    uint8_t channel;
};

volatile uint16_t sampler_matches_before; // vectors.S counts it down
volatile uint8_t sampler_start_bits;      // and starts a conversion with these

// For server_sampler.S: what compare A is set to next; and the code that it took then, if `sampler_fetched` is not 0.
volatile uint16_t sampler_following, sampler_code;
volatile uint8_t sampler_fetched;

static struct run running; // grid.left == 0: none
static struct run waiting; // grid.left == 0: none
const uint8_t *volatile sampler_filled_now; // the codes of the superframe that was finished last
static uint8_t adc_clock_log2;
/// From the instant that compare A is set to, to the hold of the input: in half ADC clocks, 2 until the conversion starts
/// at the first edge after the prescaler was let go, and 27 from there.
static uint16_t hold_ticks;

/// Sees what comes behind the next instant: nothing else is known of it when there is nobody to ask.
static void look_ahead(void)
{
    const struct grid *grid = &running.grid;
    uint16_t ticks = (uint16_t)grid->next_ticks;

    if (grid->left > 1) {
        ticks += (uint16_t)grid->step_ticks + ((uint16_t)(grid->part + grid->step_part) >= grid->parts);
    } else if (waiting.grid.left != 0) {
        ticks = (uint16_t)waiting.grid.next_ticks;
    }
    sampler_following = ticks - hold_ticks;
}

void sampler_goes_first(void)
{
    uint16_t match = OCR1A, alarm = OCR1B;

    if (sampler_alarm_is_in_the_way(alarm, match) && clock_alarm_is_set && clock_alarm_gives_way &&
        sampler_matches_before == clock_matches_before) {
        ATOMIC_BLOCK(ATOMIC_RESTORESTATE)
        {
            if (sampler_alarm_moves(TCNT1, alarm)) {
                OCR1B = match + ALARM_BEHIND_CYCLES;
                clock_alarm_gives_way = false;
            }
        }
    }
}

/// Sets compare A, whose interrupt is off, for the next instant of the running superframe.
static void aim(void)
{
    sampler_matches_before = clock_aim(&OCR1A, _BV(OCF1A), running.grid.next_ticks - hold_ticks);
    look_ahead();
    // Mostly the high bytes tell enough.
    if ((uint8_t)(OCR1AH - OCR1BH) <= (ALARM_AHEAD_CYCLES >> 8) + 1) {
        sampler_goes_first();
    }
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE)
    {
        CHIP_TIMER1_MASK |= _BV(OCIE1A);
    }
}

/// The code of the next instant, which is past.
static void take(uint16_t code)
{
    if (running.grid.left == 0) {
        return;
    }
    *running.next_code++ = (uint8_t)code;
    *running.next_code++ = (uint8_t)(code >> 8);
    if (!grid_step(&running.grid)) {
        sampler_filled_now = running.codes;
        running = waiting;
        waiting.grid.left = 0;
        ADMUX = running.channel; // and the reference at AREF
    }
}

// Behind its beginning in vectors.S; avr-gcc wants such a name. Lets other interrupts in at once: nothing here is urgent,
// and a byte may be coming in.
ISR(__vector_sampler, ISR_NOBLOCK)
{
    phase = PHASE_SAMPLING;
    uint16_t code = ADC;
    ADCSRA = 0;
    if (sampler_fetched) {
        sampler_fetched = 0;
        take(sampler_code);
    }
    take(code);
    if (running.grid.left != 0) {
        aim();
    }
    clock_alarm_resume();
}

void sampler_boot(uint32_t clock_hz)
{
    adc_clock_log2 = 1;
    while (clock_hz >> adc_clock_log2 > 200000) {
        adc_clock_log2++;
    }
    hold_ticks = START_LATENCY_TICKS + ((29U << adc_clock_log2) >> 1);
    sampler_start_bits = _BV(ADEN) | _BV(ADSC) | _BV(ADIE) | adc_clock_log2;
}

uint16_t sampler_interval_min_cycles(void)
{
    return (uint16_t)(25U << adc_clock_log2) + SAMPLE_GAP_CYCLES_MIN;
}

uint32_t sampler_filled_ticks(const struct grid *grid)
{
    uint8_t steps = grid->left - 1;
    uint32_t parts = (uint32_t)steps * grid->step_part + grid->part;
    // From the hold of the input to the end of the conversion (datasheets as above): 11.5 ADC clocks.
    return grid->next_ticks + steps * grid->step_ticks + parts / grid->parts + (12UL << adc_clock_log2);
}

bool sampler_arm(const struct grid *grid, uint8_t *codes, uint8_t channel)
{
    bool is_idle;
    uint32_t first = grid->next_ticks - hold_ticks - CLOCK_LEAD_CYCLES_MIN;

    if (waiting.grid.left != 0 || clock_is_past(clock_now(), first)) {
        return false;
    }
#if defined(DIDR0)
    DIDR0 |= (uint8_t)_BV(channel); // an analog level would only heat the pin's digital input
#endif
    // Nothing looks at what waits before `left` says that it does, so only that needs interrupts off.
    struct run run = {.grid = *grid, .codes = codes, .next_code = codes, .channel = channel};
    run.grid.left = 0;
    waiting = run;
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE)
    {
        if (sampler_filled_now == codes) {
            sampler_filled_now = NULL;
        }
        is_idle = running.grid.left == 0;
        if (!is_idle) {
            waiting.grid.left = grid->left;
        }
    }
    if (is_idle) {
        run.grid.left = grid->left;
        running = run;
        ADMUX = channel;
        aim();
    }
    // The interrupt may look ahead meanwhile.
    uint8_t left;
    do {
        left = *(volatile uint8_t *)&running.grid.left;
        look_ahead();
    } while (left != *(volatile uint8_t *)&running.grid.left);
    return true;
}

void sampler_settle(void)
{
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE)
    {
        // The next instant's interrupt makes up for it as well, but there may be none.
        if (sampler_fetched && !(ADCSRA & _BV(ADEN))) {
            sampler_fetched = 0;
            take(sampler_code);
            look_ahead();
            if (running.grid.left == 0) {
                CHIP_TIMER1_MASK &= (uint8_t)~_BV(OCIE1A);
            } else {
                sampler_goes_first();
            }
        }
    }
}

void sampler_stop(void)
{
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE)
    {
        CHIP_TIMER1_MASK &= (uint8_t)~_BV(OCIE1A);
        ADCSRA = _BV(ADIF); // off, which ends a conversion, and its request withdrawn
        sampler_fetched = 0;
        running.grid.left = 0;
        waiting.grid.left = 0;
    }
}
