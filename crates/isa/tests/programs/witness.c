/* Arithmetic that a compiler turns into most of the instruction set, with a digest after each part. Compiled for the
   AVR, where the digests are read from memory, and for the host, where they are printed: both must agree. */
#include <stdint.h>
#include <string.h>

#ifdef __AVR__
#include <avr/pgmspace.h>
#define IN_FLASH PROGMEM
#define FROM_FLASH(p) pgm_read_byte(p)
#else
#include <stdio.h>
#define IN_FLASH
#define FROM_FLASH(p) (*(p))
#endif

#define DIGESTS 12
volatile uint32_t digests[DIGESTS];

static const uint8_t text[] IN_FLASH = "A selvedge keeps a woven edge from unravelling.";
static uint8_t buffer[256];
static uint32_t random_state = 0x12345678;

static uint32_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state;
}

/* CRC-32, bit by bit. */
static uint32_t checksum(const uint8_t *bytes, uint16_t count)
{
    uint32_t crc = 0xffffffff;
    while (count--) {
        crc ^= *bytes++;
        for (uint8_t bit = 0; bit < 8; bit++)
            crc = crc & 1 ? (crc >> 1) ^ 0xedb88320 : crc >> 1;
    }
    return ~crc;
}

static uint32_t divide(void)
{
    uint32_t sum = 0;
    for (uint8_t n = 0; n < 100; n++) {
        uint32_t a = next_random(), b = next_random() >> (n & 31) | 1;
        sum = sum * 31 + a / b + a % b;
        int32_t c = (int32_t)a, d = (int32_t)(b >> 1) + 1;
        sum = sum * 31 + (uint32_t)(c / -d) + (uint32_t)(c % d);
        uint16_t e = (uint16_t)a, f = (uint16_t)b | 1;
        sum = sum * 31 + e / f + e % f;
        uint8_t g = (uint8_t)a, h = (uint8_t)b | 1;
        sum = sum * 31 + g / h + g % h;
    }
    return sum;
}

static uint32_t multiply(void)
{
    uint32_t sum = 0;
    for (uint8_t n = 0; n < 100; n++) {
        uint32_t a = next_random(), b = next_random();
        uint64_t wide = (uint64_t)a * b;
        sum = sum * 31 + (uint32_t)(wide >> 32) + (uint32_t)wide;
        int16_t c = (int16_t)a, d = (int16_t)b;
        sum = sum * 31 + (uint32_t)((int32_t)c * d);
        int8_t e = (int8_t)a, f = (int8_t)b;
        sum = sum * 31 + (uint32_t)(int32_t)(int16_t)(e * f);
        sum = sum * 31 + (uint32_t)(uint8_t)a * (uint8_t)b;
    }
    return sum;
}

static uint32_t shift(void)
{
    uint32_t sum = 0;
    for (uint8_t n = 0; n < 64; n++) {
        uint32_t a = next_random();
        sum += a << (n & 31);
        sum ^= a >> (n & 31);
        sum += (uint32_t)((int32_t)a >> (n & 31));
        sum = sum << 7 | sum >> 25;
        sum += (uint32_t)((uint64_t)a * 0x100000001 >> n);
        uint16_t word = (uint16_t)a;
        sum += (uint16_t)((uint32_t)word << (n & 15));
        sum += (uint16_t)((int16_t)word >> (n & 15));
        uint8_t byte = (uint8_t)a;
        sum += (uint8_t)(byte << 4 | byte >> 4);
    }
    return sum;
}

static uint32_t compare(void)
{
    uint32_t sum = 0;
    for (uint8_t n = 0; n < 200; n++) {
        uint32_t a = next_random(), b = n & 1 ? a + n - 100 : next_random();
        sum = sum << 1 | sum >> 31;
        sum += a < b;
        sum += 2u * ((int32_t)a < (int32_t)b);
        sum += 4u * ((int16_t)a >= (int16_t)b);
        sum += 8u * ((int8_t)a > (int8_t)b);
        sum += 16u * ((uint16_t)a <= (uint16_t)b);
        sum += 32u * ((uint8_t)a == (uint8_t)b);
    }
    return sum;
}

static void sort(uint8_t *bytes, uint8_t first, uint8_t last)
{
    if (first >= last)
        return;
    uint8_t pivot = bytes[first], low = first, high = last;
    while (low < high) {
        while (low < high && bytes[high] >= pivot)
            high--;
        bytes[low] = bytes[high];
        while (low < high && bytes[low] <= pivot)
            low++;
        bytes[high] = bytes[low];
    }
    bytes[low] = pivot;
    if (low > first)
        sort(bytes, first, low - 1);
    sort(bytes, low + 1, last);
}

typedef uint32_t (*step)(uint32_t);
static uint32_t rotate(uint32_t x) { return x << 3 | x >> 29; }
static uint32_t invert(uint32_t x) { return ~x; }
static uint32_t negate(uint32_t x) { return 0 - x; }
static uint32_t swap(uint32_t x) { return (x & 0xff) << 24 | (x & 0xff00) << 8 | (x >> 8 & 0xff00) | x >> 24; }
static step const steps[] = {rotate, invert, negate, swap};

static uint32_t choose(uint8_t n)
{
    switch (n) {
    case 0: return 17;
    case 1: return 170;
    case 2: return 1700;
    case 3: return 17000;
    case 5: return 170000;
    case 6: return 1700000;
    case 7: return 17000000;
    default: return n;
    }
}

int main(void)
{
    digests[0] = checksum((const uint8_t *)"123456789", 9);
    for (uint16_t n = 0; n < sizeof buffer; n++)
        buffer[n] = (uint8_t)next_random();
    digests[1] = checksum(buffer, sizeof buffer);
    digests[2] = divide();
    digests[3] = multiply();
    digests[4] = shift();
    digests[5] = compare();
    sort(buffer, 0, 255);
    digests[6] = checksum(buffer, sizeof buffer);
    for (uint8_t n = 0; n < sizeof text; n++)
        buffer[255 - n] = FROM_FLASH(&text[n]);
    digests[7] = checksum(buffer, sizeof buffer);
    memmove(buffer + 3, buffer, 200);
    digests[8] = checksum(buffer, sizeof buffer);
    uint32_t x = 1;
    for (uint8_t n = 0; n < 100; n++)
        x = steps[next_random() & 3](x + n);
    digests[9] = x;
    for (uint8_t n = 0; n < 20; n++)
        x = x * 5 + choose(n & 7);
    digests[10] = x;
    digests[11] = next_random();
#ifdef __AVR__
    __asm__ volatile("break");
#else
    for (int n = 0; n < DIGESTS; n++)
        printf("%08lx\n", (unsigned long)digests[n]);
#endif
    return 0;
}
