//! The EEPROM among tasks: one access at a time, and who has to wait for a write sleeps.
//!
//! Owns the EEPROM's registers and its interrupt, so that a program has either this file or eeprom.c, which knows no
//! tasks. It is linked by whoever calls it, and costs nobody else anything.
//!
//! Invariant: EEAR and EEDR are those of the task that was the last to get `access`.
#include <avr/io.h>
#include <util/atomic.h>

#include "avrx.h"
#include "chip.h"

static AVRX_MUTEX(access); // set while nobody is at the registers
static AVRX_MUTEX(ready);  // the write that somebody waits for is over

/// Comes again and again while nothing is written, so that it is on only while somebody waits.
AVRX_SIGINT(EE_READY_vect)
{
    AvrXEnterKernel();
    EECR &= ~_BV(EERIE);
    AvrXIntSetSemaphore(&ready);
    AvrXLeaveKernel();
}

void AvrXEEPromInit(void)
{
    AvrXSetSemaphore(&access);
}

/// Gets the registers, with no write under way and `address` in EEAR, which does not change while one is.
static void enter(uint16_t address)
{
    AvrXWaitSemaphore(&access);
    if ((EECR & _BV(CHIP_EEPROM_WRITE)) != 0) {
        EECR |= _BV(EERIE);
        AvrXWaitSemaphore(&ready);
    }
    EEAR = address;
}

static uint8_t read_and_leave(void)
{
    EECR |= _BV(EERE);
    uint8_t value = EEDR;
    AvrXSetSemaphore(&access);
    return value;
}

uint8_t AvrXReadEEProm(const uint8_t *address)
{
    enter((uint16_t)address);
    return read_and_leave();
}

uint16_t AvrXReadEEPromWord(const uint16_t *address)
{
    enter((uint16_t)address);
    EECR |= _BV(EERE);
    uint8_t low = EEDR;
    EEAR = (uint16_t)address + 1;
    return (uint16_t)read_and_leave() << 8 | low;
}

void AvrXWriteEEProm(uint8_t *address, uint8_t value)
{
    enter((uint16_t)address);
    EEDR = value;
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE)
    {
        // The write bit counts only within four cycles of the master bit: SBI, SBI.
        EECR |= _BV(CHIP_EEPROM_MASTER);
        EECR |= _BV(CHIP_EEPROM_WRITE);
    }
    AvrXSetSemaphore(&access);
}
