/* What the simulator's speed is measured on: a block cipher in 32-bit words, a byte-wise stream cipher over a
   table in RAM, and a checksum over flash. Runs for ever. */
#include <avr/pgmspace.h>
#include <stdint.h>

static const uint32_t key[4] = {0x01234567, 0x89abcdef, 0xfedcba98, 0x76543210};
static const uint8_t text[64] PROGMEM = "what encryption costs, in cycles, on an eight-bit processor";
static uint32_t block[2];
static uint8_t state[256];
volatile uint16_t sum;

/* XTEA, 32 rounds of two. */
static void encrypt_block(uint32_t v[2])
{
    uint32_t a = v[0], b = v[1], s = 0;
    for (uint8_t i = 0; i < 32; i++) {
        a += (((b << 4) ^ (b >> 5)) + b) ^ (s + key[s & 3]);
        s += 0x9e3779b9;
        b += (((a << 4) ^ (a >> 5)) + a) ^ (s + key[(s >> 11) & 3]);
    }
    v[0] = a;
    v[1] = b;
}

/* RC4's permutation, without its key. */
static uint8_t next_byte(uint8_t *i, uint8_t *j)
{
    uint8_t x = state[++*i];
    uint8_t y = state[*j += x];
    state[*i] = y;
    state[*j] = x;
    return state[(uint8_t)(x + y)];
}

int main(void)
{
    uint8_t i = 0, j = 0;
    for (uint16_t n = 0; n < 256; n++)
        state[n] = n;
    for (;;) {
        encrypt_block(block);
        for (uint8_t n = 0; n < 64; n++)
            sum += next_byte(&i, &j) ^ pgm_read_byte(&text[n]);
    }
}
