//! Chips by name, with whose cycles they count.
//!
//! Owns: which names a `chip` directive may have. A chip is here when the instruction table has the column of its
//! core: AVRe+ (ATmega), AVRxm with a program counter of two bytes (XMEGA with less than 128 KiB of flash), AVRxt
//! (megaAVR 0, AVR Dx). Source: the device tables of avr-libc ("Using the avr-gcc compiler", supported devices)
//! and the cores named in each datasheet.

use isa::avr::CoreType;

use crate::directive::Directive;
use crate::error::Error;
use crate::program::Program;

use CoreType::{AvrePc2, AvrePc3, Avrxm, Avrxt};

/// The chips that are known, in the order of their cores.
#[rustfmt::skip]
pub const CHIPS: &[(CoreType, &[&str])] = &[
    (AvrePc2, &[
        "atmega8", "atmega8a", "atmega16", "atmega16a", "atmega32", "atmega32a", "atmega64", "atmega64a",
        "atmega128", "atmega128a", "atmega48", "atmega48p", "atmega48pa", "atmega88", "atmega88p", "atmega88pa",
        "atmega168", "atmega168p", "atmega168pa", "atmega328", "atmega328p", "atmega328pb", "atmega164p",
        "atmega324p", "atmega324pa", "atmega644", "atmega644p", "atmega644pa", "atmega1284", "atmega1284p",
        "atmega640", "atmega1280", "atmega1281", "atmega16u4", "atmega32u4", "at90usb646", "at90usb1286",
    ]),
    (AvrePc3, &["atmega2560", "atmega2561"]),
    (Avrxm, &[
        "atxmega8e5", "atxmega16e5", "atxmega32e5", "atxmega16a4", "atxmega16a4u", "atxmega16d4", "atxmega32a4",
        "atxmega32a4u", "atxmega32d4", "atxmega64a3", "atxmega64a3u", "atxmega64a4u", "atxmega64d3", "atxmega64d4",
        "atxmega64b1", "atxmega64b3",
    ]),
    (Avrxt, &[
        "atmega808", "atmega809", "atmega1608", "atmega1609", "atmega3208", "atmega3209", "atmega4808",
        "atmega4809", "avr32da28", "avr32da32", "avr32da48", "avr64da28", "avr64da32", "avr64da48", "avr64da64",
        "avr128da28", "avr128da32", "avr128da48", "avr128da64", "avr32db28", "avr32db32", "avr32db48",
        "avr64db28", "avr64db32", "avr64db48", "avr64db64", "avr128db28", "avr128db32", "avr128db48",
        "avr128db64",
    ]),
];

/// Whose cycles a chip counts.
pub fn core(name: &str) -> Option<CoreType> {
    CHIPS.iter().find(|(_, names)| names.contains(&name)).map(|(core, _)| *core)
}

/// Whose cycles a program counts: what all its `chip` directives say, or else `default`.
///
/// # Errors
/// A chip that is not known, two chips that count differently, or none and no default.
pub fn core_of(program: &Program, default: Option<CoreType>) -> Result<CoreType, Error> {
    let mut found: Option<(&str, CoreType)> = None;
    for function in &program.functions {
        for written in &function.directives {
            let Directive::Chip(name) = &written.directive else { continue };
            let Some(core) = core(name) else {
                return Err(Error::Chip {
                    found: name.clone(),
                    function: function.name.clone(),
                    at: written.origin,
                });
            };
            if let Some((first, its)) = found
                && its != core
            {
                return Err(Error::TwoChips {
                    found: name.clone(),
                    expected: first.to_owned(),
                    at: written.origin,
                });
            }
            found = Some((name, core));
        }
    }
    found.map(|(_, core)| core).or(default).ok_or(Error::NoChip)
}
