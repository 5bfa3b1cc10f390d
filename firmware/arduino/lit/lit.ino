// An Arduino sketch whose lights shine while it computes: docs/weave.md says how the library `fletcher_lit` is made.
// Pin 8 is bit 0 of port B, to which the lights are connected.
#include <fletcher_lit.h>

// Bytes for the lights. Interrupts are off while they are sent, 160 cycles a byte; `millis` counts on as long as that is
// less than the 16384 cycles between two overflows of timer 0: up to 100 bytes.
#ifndef COLORS
#define COLORS 24
#endif

static uint8_t data[64], colors[COLORS];
volatile uint16_t sum;
volatile unsigned long now;

void setup()
{
    pinMode(8, OUTPUT);
    for (uint8_t i = 0; i < sizeof data; i++) {
        data[i] = 3 * i;
    }
}

void loop()
{
    sum = fletcher_lit(data, sizeof data, colors, sizeof colors);
    now = millis();
    delayMicroseconds(60); // the lights take the colors over
}
