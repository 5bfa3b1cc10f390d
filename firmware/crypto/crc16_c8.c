/*
 * CRC-16 bit by bit, see crypto.h.
 *
 * For the weaver: avr-gcc -S -O2. The inner loop turns eight times.
 */
#include "crypto.h"

/* see crypto.h */
uint16_t crc16_c8_update(uint16_t crc, const uint8_t *buffer, uint16_t length)
{
    while (length--) {
        uint8_t bit;
        crc ^= (uint16_t)((uint16_t)*buffer++ << 8);
        for (bit = 0; bit < 8; bit++) {
            crc = crc & 0x8000 ? (uint16_t)(crc << 1 ^ 0x1021) : (uint16_t)(crc << 1);
        }
    }
    return crc;
}
