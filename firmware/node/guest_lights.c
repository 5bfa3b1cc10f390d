//! void lights(const uint8_t *buffer, uint8_t count): what ws2812 does, as a guest for `selvedge weave` in C.
//!
//! The contract is that of guest_ws2812.S. It shows how a guest is written in C; the timed instructions are assembly all
//! the same, since each of them carries its directive.
#include <avr/io.h>
#include <stdint.h>

#include "weave.h"

// A timed store of the port, with what is said of it.
#define STORE(said, value) \
    __asm__ volatile(WEAVE_TEXT(said) "out %0, %1" : : "I"(_SFR_IO_ADDR(PORTB)), "r"(value))

// A timed store that happens unless a bit of a byte is set.
#define STORE_UNLESS(said, value, byte, bit) \
    __asm__ volatile("sbrs %2, %3\n\t" WEAVE_TEXT(said) "out %0, %1" \
                     : : "I"(_SFR_IO_ADDR(PORTB)), "r"(value), "r"(byte), "I"(bit))

void lights(const uint8_t *buffer, uint8_t count)
{
    WEAVE_C("f_cpu 16000000");
    WEAVE_C("clock led period=160");
    WEAVE_C("arguments 2 1");
    uint8_t low = PORTB & ~1, high = low | 1;
    if (count == 0)
        return;
    do {
        uint8_t byte = *buffer++;
        for (uint8_t bit = 8; bit; bit--) {
            STORE("event rise at=0 every=20 times=8", high);
            STORE_UNLESS("event zero at=6 every=20 times=8 maybe", low, byte, 7);
            STORE("event one at=13 every=20 times=8", low);
            byte <<= 1;
        }
    } while (--count);
    WEAVE_C("over led");
}
