// Hosts that call libgcc and the C library: what a user brings whose C is not written for weaving. Each takes the objects,
// a message and its bytes, or what a CRC goes on from in place of the objects. Compiled as `selvedge weave` does, so that
// calls at the end are jumps.
#include <stdint.h>
#include <string.h>

#define APART __attribute__((noinline, noclone))

// Multiplies two 32-bit numbers for each byte: __mulsi3, which calls on.
void library_multiply(uint32_t *state, uint8_t *message, uint16_t count)
{
    uint32_t product = state[0];
    while (count--) {
        product = product * state[1] + *message;
        *message++ = product >> 24;
    }
    state[0] = product;
}

// Copies 24 bytes for each: memcpy, whose loop is counted by its parameter.
void library_copy(uint8_t *state, uint8_t *message, uint16_t count)
{
    while (count--) {
        memcpy(state + (*message & 31), state + 64, 24);
        *message++ ^= state[count & 15];
    }
}

static APART uint16_t folded(uint16_t sum, uint8_t by)
{
    return sum % (by | 1);
}

// Divides with and without a sign, which keeps the flag T, and ends with a jump into another function that divides.
uint16_t library_divide(uint16_t sum, uint8_t *message, uint16_t count)
{
    uint8_t last = 0;
    while (count--) {
        last = *message;
        sum += (int16_t)(sum ^ 0x8421) / (int16_t)(last + 3) + (sum ^ last) / 10;
        *message++ = sum;
    }
    return folded(sum, last);
}
