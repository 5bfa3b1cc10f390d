//! The EEPROM's registers: reading a byte, and bringing a byte to a value without waiting for it.
//! What the bytes mean is provision.h's, counter.h's and epoch.h's.
#ifndef NODE_EEPROM_H
#define NODE_EEPROM_H

#include <stdbool.h>
#include <stdint.h>

/// The byte at `address`; waits for a write that is in progress (3.4 ms on the ATmega328P, 8.5 ms on the ATmega128).
uint8_t eeprom_read(uint16_t address);

/// Works on bringing the byte at `address` to `value` and returns at once. To be called again with the same arguments
/// until true: then `held` is what the cell holds after at most one write, `value` unless the cell is worn out.
/// A byte that has the value already is not written. Another byte may be settled in between.
bool eeprom_settle(uint16_t address, uint8_t value, uint8_t *held);

#endif
