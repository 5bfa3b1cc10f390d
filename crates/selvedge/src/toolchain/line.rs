//! What an image has besides the list of sources, and what woven filters depend on: what they seal by, and how fast the line
//! is.
//!
//! Owns which list of sources they come from.

use cipher::Suite;

use super::Fault;
use crate::error::Error;
use crate::limits::{ASK_CYCLES_MAX, FIRST_BYTE_CYCLES_MAX};

/// What an image has besides the list of sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Besides {
    /// Nothing.
    Nothing,
    /// What another list says, from the root of the source tree.
    List(&'static str),
    /// Filters that are woven for a line.
    Woven(Line),
}

impl Besides {
    /// Its list, from the root of the source tree.
    pub(super) fn list(self) -> Option<&'static str> {
        match self {
            Besides::Nothing => None,
            Besides::List(list) => Some(list),
            Besides::Woven(line) => Some(line.sealer.list()),
        }
    }
}

/// What a node's woven filters seal and open by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sealer {
    /// Ascon-AEAD128.
    Ascon,
    /// AES-128-CCM.
    Ccm,
    /// LEGACY: RC5 with a MAC.
    Rc5,
    /// LEGACY: RC4 with a MAC.
    Rc4,
}

impl Sealer {
    /// That of a suite of the node link.
    ///
    /// # Errors
    /// [`Fault::NoFilters`] for another one.
    pub fn of(suite: Suite) -> Result<Sealer, Error> {
        match suite {
            Suite::AsconAead128 => Ok(Sealer::Ascon),
            Suite::Aes128Ccm => Ok(Sealer::Ccm),
            Suite::Aes256Gcm | Suite::Aes128Cbc => Err(Fault::NoFilters { suite }.into()),
        }
    }

    /// What an image has besides, from the root of the source tree.
    pub(super) fn list(self) -> &'static str {
        match self {
            Sealer::Ascon => "firmware/node/filters_ascon.txt",
            Sealer::Ccm => "firmware/node/filters_ccm.txt",
            Sealer::Rc5 => "firmware/node/filters_rc5.txt",
            Sealer::Rc4 => "firmware/node/filters_rc4.txt",
        }
    }
}

/// The line of a node, as far as its woven filters depend on it: they are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Line {
    /// What its frames are sealed by.
    pub sealer: Sealer,
    /// Of the divider of its SPI's clock when it sends, 1 to 7.
    pub divider_log2: u8,
    /// Bytes of the frames that it sends.
    pub sent_bytes: u16,
    /// Bytes of the frames that it hears and that are for it.
    pub heard_bytes: u16,
    /// Cycles of the node from a byte that it hears to the next.
    pub heard_byte_cycles: u32,
    /// Cycles from the end of a conversion to the next sample's start, at the least; no more than interrupts may be off.
    pub next_sample_cycles: u32,
}

impl Line {
    /// Cycles from a byte that it sends to the next: as soon as its SPI takes one.
    pub fn sent_byte_cycles(self) -> u32 {
        (8 << self.divider_log2) + 2
    }

    /// Cycles in which it sends a frame.
    pub fn sent_cycles(self) -> u32 {
        u32::from(self.sent_bytes) * self.sent_byte_cycles()
    }

    /// Cycles in which it hears a frame at most, from when it asks for the first byte on.
    pub fn heard_cycles(self) -> u32 {
        ASK_CYCLES_MAX + (u32::from(self.heard_bytes) + 1) * self.heard_byte_cycles
    }

    /// Whether it asks for long enough: SS leads the first byte by two bits of eight.
    pub fn hears_first_byte(self) -> bool {
        self.heard_byte_cycles * 10 <= FIRST_BYTE_CYCLES_MAX * 8
    }
}
