//! CRC-16/CCITT-FALSE (polynomial 0x1021, start 0xFFFF, no reflection): the check of everything in the EEPROM.
//! Its check value over "123456789" is 0x29B1.
#ifndef NODE_CRC16_H
#define NODE_CRC16_H

#include <stdint.h>

/// The CRC of `bytes[0..count]`.
static inline uint16_t crc16(const uint8_t *bytes, uint8_t count)
{
    uint16_t crc = 0xFFFF;
    while (count--) {
        crc ^= (uint16_t)*bytes++ << 8;
        for (uint8_t bit = 0; bit < 8; bit++) {
            crc = crc & 0x8000 ? (uint16_t)(crc << 1) ^ 0x1021 : (uint16_t)(crc << 1);
        }
    }
    return crc;
}

#endif
