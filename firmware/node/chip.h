//! What differs between the chips that a node can be: names of registers and bits, and where the bus is wired.
//!
//! ATmega128 (datasheet 2467) and ATmega328P (datasheet DS40002061). The rest of the sources is the same for both.
//!
//! Bus wiring: SCK, MOSI and SS go to the SPI's own pins. SS goes to the input capture pin of Timer1 as well, so that
//! the hardware notes the cycle at which a frame began, whatever the program is doing:
//!
//!     wire    ATmega128    ATmega328P
//!     SS      PB0, PD4     PB2, PB0
//!     SCK     PB1          PB5
//!     MOSI    PB2          PB3
//!
//! The analog input's reference is the voltage at the AREF pin. Fuses: brown-out detection on (a write to the EEPROM
//! below its voltage is not the torn byte that counter.h is proof against); ATmega128 not in its ATmega103 mode.
#ifndef NODE_CHIP_H
#define NODE_CHIP_H

#include <avr/io.h>

#if defined(__AVR_ATmega128__)

#define CHIP_SS PB0
#define CHIP_SCK PB1
#define CHIP_MOSI PB2
#define CHIP_CAPTURE PD4
#define CHIP_CAPTURE_PORT PORTD
#define CHIP_TIMER1_FLAGS TIFR
#define CHIP_TIMER1_MASK TIMSK
#define CHIP_CAPTURE_ENABLE TICIE1
#define CHIP_EEPROM_MASTER EEMWE
#define CHIP_EEPROM_WRITE EEWE
/// 4 KB of SRAM are enough for the controller's pipes and tasks, 2 KB are not.
#define CHIP_HAS_PIPES 1

#elif defined(__AVR_ATmega328P__)

#define CHIP_SS PB2
#define CHIP_SCK PB5
#define CHIP_MOSI PB3
#define CHIP_CAPTURE PB0
#define CHIP_CAPTURE_PORT PORTB
#define CHIP_TIMER1_FLAGS TIFR1
#define CHIP_TIMER1_MASK TIMSK1
#define CHIP_CAPTURE_ENABLE ICIE1
#define CHIP_EEPROM_MASTER EEMPE
#define CHIP_EEPROM_WRITE EEPE
#define CHIP_HAS_PIPES 0

#else
#error "chip.h knows the ATmega128 and the ATmega328P only"
#endif

/// The wires that whoever sends drives, in port B on both.
#define CHIP_BUS_OUTPUTS (_BV(CHIP_SS) | _BV(CHIP_SCK) | _BV(CHIP_MOSI))

#endif
