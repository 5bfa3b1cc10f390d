// Encrypts the 32 zeros of rc4_avr32_message, and sends the result as it is produced.
#include <avr/io.h>
#include "crypto.h"
#include "coupled.h"

static struct rc4 state __attribute__((section(".noinit"), aligned(256)));
static const uint8_t key[] = { KEY };

int main(void)
{
    DDRB = 0xFF;
    SPCR = 0x50; // on, master, f/4 and
    SPSR = 0x01; // twice as fast
    rc4_avr_init(&state, key, sizeof key);
    coupled((uint16_t)&state);
    __asm__ volatile("break");
    for (;;) {
    }
}
