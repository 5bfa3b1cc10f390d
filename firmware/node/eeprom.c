//! EEPROM access by its registers. avr-libc's functions wait for the write; a node has better things to do.
#include "eeprom.h"

#include <util/atomic.h>

#include "chip.h"

#define NOWHERE 0xFFFF

static uint16_t written_at = NOWHERE; // the latest byte that was written and not settled yet

static bool is_busy(void)
{
    return (EECR & _BV(CHIP_EEPROM_WRITE)) != 0;
}

uint8_t eeprom_read(uint16_t address)
{
    while (is_busy()) {
    }
    EEAR = address;
    EECR |= _BV(EERE);
    return EEDR;
}

static void start_write(uint16_t address, uint8_t value)
{
    EEAR = address;
    EEDR = value;
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE)
    {
        // The write bit counts only within four cycles of the master bit: SBI, SBI.
        EECR |= _BV(CHIP_EEPROM_MASTER);
        EECR |= _BV(CHIP_EEPROM_WRITE);
    }
}

bool eeprom_settle(uint16_t address, uint8_t value, uint8_t *held)
{
    if (is_busy()) {
        return false;
    }
    *held = eeprom_read(address);
    if (*held != value && written_at != address) {
        start_write(address, value);
        written_at = address;
        return false;
    }
    written_at = NOWHERE;
    return true;
}
