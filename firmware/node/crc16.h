//! CRC-16/CCITT-FALSE (polynomial 0x1021, start 0xFFFF, no reflection): the check of everything in the EEPROM.
//! Its check value over "123456789" is 0x29B1.
#ifndef NODE_CRC16_H
#define NODE_CRC16_H

#include <stdint.h>

/// The CRC of `bytes[0..count]`. The time it takes depends on `count` alone: keys are among what it runs over, and a
/// node's first cycles must not tell of them. A byte at a time: the polynomial has four terms, so that the eight steps of
/// the definition fold into shifts of the byte that leaves the register.
static inline uint16_t crc16(const uint8_t *bytes, uint8_t count)
{
    uint16_t crc = 0xFFFF;
    while (count--) {
        uint8_t leaving = (uint8_t)(crc >> 8) ^ *bytes++;
        leaving ^= leaving >> 4;
        crc = (uint16_t)(crc << 8) ^ (uint16_t)((uint16_t)leaving << 12) ^ (uint16_t)((uint16_t)leaving << 5) ^ leaving;
    }
    return crc;
}

#endif
