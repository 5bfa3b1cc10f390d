/* A ring buffer: bytes, words, a table in flash, calls and a switch. Ours, for the fixtures. */
#include <stdint.h>

#define FLASH __attribute__((section(".progmem.data")))
#define PORT (*(volatile uint8_t *)0x38)

static volatile uint8_t ring[32];
static uint8_t head, tail;
uint16_t dropped;
const uint8_t weights[8] FLASH = {1, 2, 4, 8, 16, 32, 64, 128};
void (*watcher)(uint8_t);
extern uint8_t outside(uint8_t value);

uint8_t ring_put(uint8_t value)
{
    uint8_t next = (uint8_t)((head + 1) & 31);
    if (next == tail) {
        dropped++;
        return 0;
    }
    ring[head] = value;
    head = next;
    if (watcher)
        watcher(value);
    return 1;
}

int16_t ring_get(void)
{
    if (head == tail)
        return -1;
    uint8_t value = ring[tail];
    tail = (uint8_t)((tail + 1) & 31);
    return value;
}

uint32_t rotate(uint32_t word, uint8_t by)
{
    return word << (by & 31) | word >> (32 - (by & 31));
}

uint16_t weigh(const uint8_t *bytes, uint16_t count)
{
    uint16_t sum = 0;
    while (count--) {
        uint8_t byte = *bytes++;
        uint8_t weight;
        __asm__("lpm %0, Z" : "=r"(weight) : "z"(&weights[byte & 7]));
        sum += (uint16_t)(byte * weight);
    }
    return sum % 251;
}

void drain(void)
{
    uint8_t room[12];
    for (uint8_t i = 0; i < sizeof room; i++)
        room[i] = outside(i);
    int16_t value;
    while ((value = ring_get()) >= 0)
        PORT = (uint8_t)(value ^ room[value & 7]);
    __asm__ volatile("nop\n\t1: dec %0 ; a comment\n\tbrne 1b" : "+r"(room[0]));
}

uint8_t named(uint8_t which)
{
    return outside((uint8_t)(which + 1));
}

int main(void)
{
    for (;;) {
        ring_put(named((uint8_t)weigh((const uint8_t *)ring, 32)));
        drain();
    }
}
