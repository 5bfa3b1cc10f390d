//! Little-endian integers in byte strings: every format of the node is little-endian.
//! Unaligned and total; the callers own the bounds.
#ifndef NODE_LE_H
#define NODE_LE_H

#include <stdint.h>

static inline uint16_t le16_get(const uint8_t *at)
{
    return (uint16_t)(at[0] | (uint16_t)at[1] << 8);
}

static inline uint32_t le32_get(const uint8_t *at)
{
    return le16_get(at) | (uint32_t)le16_get(at + 2) << 16;
}

static inline void le16_put(uint8_t *at, uint16_t value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}

static inline void le32_put(uint8_t *at, uint32_t value)
{
    le16_put(at, (uint16_t)value);
    le16_put(at + 2, (uint16_t)(value >> 16));
}

#endif
