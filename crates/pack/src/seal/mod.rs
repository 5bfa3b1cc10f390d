//! Seals: what makes a line of 16 bytes unreadable to who watches the bus, and readable to the decipher behind it.
//!
//! Owns: which seals there are ([`SEALS`], a line each), and sealing and opening lines, one or many, by their addresses
//! ([`LineCipher`]). Each seal, and each layout of the counters of CTR, is a file of its own; its head spells out
//! every bit and byte, with the source. All are AES with 128 bits. None of them authenticates: `integrity` does. Which
//! lines are sealed is `lines`', keys are `keys`'.
//!
//! Invariant: a line depends on its address, its key and its nonce, and on no other line, so that any of them can be
//! opened alone.

pub mod ecb;
pub mod mcuboot;
pub mod otfad;
pub mod otfdec;
pub mod xts;

use std::fmt;
use std::io;

use aes::Aes128Enc;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use cipher::Randomness;
use zeroize::Zeroizing;

use crate::error::SealError;
use ecb::Ecb;
use mcuboot::McubootXip;
use otfad::Otfad;
use otfdec::Otfdec;
use xts::Xts;

/// The length of a line: a block of AES, and the paper's cache line.
pub const LINE_BYTES: usize = 16;
/// The bytes of a line.
pub type Line = [u8; LINE_BYTES];

/// The most that a nonce takes, with what else a counter is made of.
pub const START_BYTES: usize = 12;
/// How many lines are worked on at once: enough to keep AES' instructions busy.
const BATCH_LINES: usize = 32;

/// What is fixed about a seal.
#[derive(Debug, PartialEq, Eq)]
pub struct Row {
    /// Its name.
    pub seal: &'static str,
    /// How its counters are laid out, for seals with counters.
    pub layout: Option<&'static str>,
    /// Its number in a container.
    pub number: u8,
    /// The length of its key, in bytes.
    pub key_bytes: usize,
    /// How much of a container's start it uses.
    pub start_bytes: usize,
    /// How much of that is the nonce, from its first byte on.
    pub nonce_bytes: usize,
    /// What its decipher is turned on for: multiples of so much memory, no less.
    pub granule_bytes: u32,
    /// Whether it must be asked for twice.
    pub is_legacy: bool,
    /// What says how it works.
    pub reference: &'static str,
}

/// Every seal there is. Their columns: name, layout, number; bytes of the key, of the start and of the nonce in it;
/// bytes of a granule; whether it is legacy; reference. Granules: regions of OTFDEC are defined in steps of 4096 bytes
/// (RM0438 section 31.2), contexts of OTFAD by bits 31:10 of addresses (`spsdk`, `KeyBlob`); the other seals have
/// no regions, and a line is what is opened.
#[rustfmt::skip]
pub const SEALS: [Row; 6] = [
    row("ecb", None,                  0, 16, 0,  0,  16,   true,  "SP 800-38A section 6.1, as in the paper"),
    row("xts", None,                  1, 32, 0,  0,  16,   false, "IEEE 1619, the data unit a line"),
    row("ctr", Some("otfdec"),        2, 16, 11, 8,  4096, false, "ST RM0456 section 52.3.4; also RM0438, RM0455"),
    row("ctr", Some("otfad"),         3, 16, 8,  8,  1024, false, "NXP spsdk, spsdk/image/otfad"),
    row("ctr", Some("otfad-swapped"), 4, 16, 8,  8,  1024, false, "NXP spsdk, spsdk/image/otfad, byte_swap"),
    row("ctr", Some("mcuboot-xip"),   5, 16, 12, 12, 16,   false, "MCUboot pull request 2685, edgeprotecttools"),
];

#[allow(clippy::too_many_arguments)] // one for each column
const fn row(
    seal: &'static str,
    layout: Option<&'static str>,
    number: u8,
    key_bytes: usize,
    start_bytes: usize,
    nonce_bytes: usize,
    granule_bytes: u32,
    is_legacy: bool,
    reference: &'static str,
) -> Row {
    Row { seal, layout, number, key_bytes, start_bytes, nonce_bytes, granule_bytes, is_legacy, reference }
}

const _: () = {
    let mut number = 0;
    while number < SEALS.len() {
        assert!(SEALS[number].number as usize == number, "the table is in the order of its numbers");
        assert!(SEALS[number].nonce_bytes <= SEALS[number].start_bytes);
        assert!(SEALS[number].start_bytes <= START_BYTES);
        assert!(SEALS[number].granule_bytes.is_power_of_two());
        assert!(SEALS[number].granule_bytes as usize >= LINE_BYTES);
        number += 1;
    }
};

/// How the counters of CTR are made of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// ST's decipher.
    Otfdec(Otfdec),
    /// NXP's decipher.
    Otfad(Otfad),
    /// MCUboot's proposal for Infineon's decipher.
    McubootXip(McubootXip),
}

/// A seal, with its nonce. It holds no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seal {
    /// Equal lines stay equal.
    Ecb,
    /// Lines are tweaked by their addresses.
    Xts,
    /// Lines are added to what is made of their addresses.
    Ctr(Layout),
}

impl Row {
    /// The seal of that name.
    ///
    /// # Errors
    /// [`SealError::UnknownSeal`], [`SealError::UnknownLayout`], and [`SealError::Legacy`] unless that is allowed.
    pub fn named(seal: &str, layout: Option<&str>, allow_legacy: bool) -> Result<&'static Row, SealError> {
        let known = SEALS.iter().find(|row| row.seal == seal);
        let known = known.ok_or_else(|| SealError::UnknownSeal { found: seal.into() })?;
        let row = SEALS
            .iter()
            .find(|row| row.seal == seal && row.layout == layout)
            .ok_or_else(|| SealError::UnknownLayout { seal: known.seal, found: layout.map(str::to_owned) })?;
        if row.is_legacy && !allow_legacy {
            return Err(SealError::Legacy { seal: row.seal });
        }
        Ok(row)
    }

    /// This seal with a fresh nonce, for an image of that version. OTFDEC's region is the first, and its firmware's
    /// version the low 16 bits of the image's.
    ///
    /// # Errors
    /// What the source of randomness says.
    pub fn fresh(&self, image_version: u32, randomness: &mut impl Randomness) -> io::Result<Seal> {
        let mut start = [0; START_BYTES];
        randomness.fill(&mut start[..self.nonce_bytes])?;
        let mut seal = Seal::from_start(self.number, &start).expect("the nonces of all seals are free");
        if let Seal::Ctr(Layout::Otfdec(otfdec)) = &mut seal {
            otfdec.version = image_version as u16;
        }
        Ok(seal)
    }
}

impl Seal {
    /// What is fixed about it.
    pub fn row(&self) -> &'static Row {
        &SEALS[match self {
            Seal::Ecb => 0,
            Seal::Xts => 1,
            Seal::Ctr(Layout::Otfdec(_)) => 2,
            Seal::Ctr(Layout::Otfad(Otfad { swaps: false, .. })) => 3,
            Seal::Ctr(Layout::Otfad(Otfad { swaps: true, .. })) => 4,
            Seal::Ctr(Layout::McubootXip(_)) => 5,
        }]
    }

    /// What its counters are made of besides addresses, as a container holds it; zeros behind it.
    pub fn start(&self) -> [u8; START_BYTES] {
        let mut start = [0; START_BYTES];
        match self {
            Seal::Ecb | Seal::Xts => {}
            Seal::Ctr(Layout::Otfdec(otfdec)) => {
                start[..8].copy_from_slice(&otfdec.nonce);
                start[8..10].copy_from_slice(&otfdec.version.to_le_bytes());
                start[10] = otfdec.region();
            }
            Seal::Ctr(Layout::Otfad(otfad)) => start[..8].copy_from_slice(&otfad.counter),
            Seal::Ctr(Layout::McubootXip(xip)) => start.copy_from_slice(&xip.nonce),
        }
        start
    }

    /// The seal of that number with that start; `None` when there is no such number, or the start is not one of its.
    pub fn from_start(number: u8, start: &[u8; START_BYTES]) -> Option<Seal> {
        let first: [u8; 8] = start[..8].try_into().expect("eight of twelve");
        let seal = match number {
            0 => Seal::Ecb,
            1 => Seal::Xts,
            2 => {
                let version = u16::from_le_bytes([start[8], start[9]]);
                let region = start[10].checked_add(1)?;
                Seal::Ctr(Layout::Otfdec(Otfdec::new(first, version, region).ok()?))
            }
            3 | 4 => Seal::Ctr(Layout::Otfad(Otfad { counter: first, swaps: number == 4 })),
            5 => Seal::Ctr(Layout::McubootXip(McubootXip { nonce: *start })),
            _ => return None,
        };
        (seal.start() == *start).then_some(seal)
    }
}

impl fmt::Display for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = self.row();
        match row.layout {
            Some(layout) => write!(f, "{} {layout}", row.seal),
            None => f.write_str(row.seal),
        }
    }
}

impl Layout {
    /// The block that is enciphered for the line at an address.
    fn counter(&self, address: u32) -> Line {
        match self {
            Layout::Otfdec(otfdec) => otfdec.counter(address),
            Layout::Otfad(otfad) => otfad.counter(address),
            Layout::McubootXip(xip) => xip.counter(address),
        }
    }

    /// What AES gave, as it is added to the bytes of memory.
    fn arrange(&self, block: &mut Line) {
        match self {
            Layout::Otfdec(_) => block.reverse(),
            Layout::Otfad(Otfad { swaps: true, .. }) => {
                block[..8].reverse();
                block[8..].reverse();
            }
            Layout::Otfad(_) | Layout::McubootXip(_) => {}
        }
    }
}

/// Seals and opens lines under one key. The key is expanded once, and wiped when this is dropped.
pub struct LineCipher(Engine);

enum Engine {
    Ecb(Ecb),
    Xts(Xts),
    Ctr(Box<Aes128Enc>, Layout),
}

impl LineCipher {
    /// Of a seal and its key.
    ///
    /// # Panics
    /// When the key has not the seal's length.
    pub fn new(seal: Seal, key: &[u8]) -> LineCipher {
        let expected = seal.row().key_bytes;
        assert!(key.len() == expected, "a key of {} bytes for {seal}, not {expected}", key.len());
        LineCipher(match seal {
            Seal::Ecb => Engine::Ecb(Ecb::new(expanded(key))),
            Seal::Xts => {
                let (data, tweak) = key.split_at(LINE_BYTES);
                Engine::Xts(Xts::new(expanded(data), expanded(tweak)))
            }
            Seal::Ctr(layout) => Engine::Ctr(expanded(key), layout),
        })
    }

    /// What a line is added to, for seals whose lines are added to something: it can be made before the line is there.
    ///
    /// # Panics
    /// When no line begins at the address.
    pub fn keystream(&self, address: u32) -> Option<Line> {
        check_begins(address);
        match &self.0 {
            Engine::Ecb(_) | Engine::Xts(_) => None,
            Engine::Ctr(aes, layout) => Some(keystream(aes, layout, address)),
        }
    }

    /// Seals the line at an address, in place.
    ///
    /// # Panics
    /// When no line begins at the address.
    pub fn seal(&self, address: u32, line: &mut Line) {
        check_begins(address);
        match &self.0 {
            Engine::Ecb(ecb) => ecb.seal(line),
            Engine::Xts(xts) => xts.seal(address, line),
            Engine::Ctr(aes, layout) => add(line, &keystream(aes, layout, address)),
        }
    }

    /// Opens the line at an address, in place.
    ///
    /// # Panics
    /// When no line begins at the address.
    pub fn open(&self, address: u32, line: &mut Line) {
        check_begins(address);
        match &self.0 {
            Engine::Ecb(ecb) => ecb.open(line),
            Engine::Xts(xts) => xts.open(address, line),
            Engine::Ctr(aes, layout) => add(line, &keystream(aes, layout, address)),
        }
    }

    /// Seals all lines from an address on, in place, many at once.
    ///
    /// # Panics
    /// When the bytes are no whole lines, or end behind the last address.
    pub fn seal_all(&self, first: u32, bytes: &mut [u8]) {
        for (address, lines) in batches(first, bytes) {
            match &self.0 {
                Engine::Ecb(ecb) => ecb.seal_all(lines),
                Engine::Xts(xts) => xts.seal_all(address, lines),
                Engine::Ctr(aes, layout) => add_all(aes, layout, address, lines),
            }
        }
    }

    /// Opens all lines from an address on, in place, many at once.
    ///
    /// # Panics
    /// When the bytes are no whole lines, or end behind the last address.
    pub fn open_all(&self, first: u32, bytes: &mut [u8]) {
        for (address, lines) in batches(first, bytes) {
            match &self.0 {
                Engine::Ecb(ecb) => ecb.open_all(lines),
                Engine::Xts(xts) => xts.open_all(address, lines),
                Engine::Ctr(aes, layout) => add_all(aes, layout, address, lines),
            }
        }
    }
}

impl fmt::Debug for LineCipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LineCipher(..)")
    }
}

fn expanded<C: KeyInit>(key: &[u8]) -> Box<C> {
    Box::new(C::new_from_slice(key).expect("16 bytes are a key"))
}

fn check_begins(address: u32) {
    assert!(address.is_multiple_of(LINE_BYTES as u32), "no line begins at {address:#010x}");
}

/// Pieces of at most [`BATCH_LINES`] lines with their addresses.
fn batches(first: u32, bytes: &mut [u8]) -> impl Iterator<Item = (u32, &mut [Line])> {
    check_begins(first);
    let end = u64::from(first) + bytes.len() as u64;
    assert!(end <= 1 << 32, "lines from {first:#010x} end behind the last address");
    let (lines, rest) = bytes.as_chunks_mut::<LINE_BYTES>();
    assert!(rest.is_empty(), "a piece of a line from {first:#010x} on");
    let address = move |batch: usize| first + (batch * BATCH_LINES * LINE_BYTES) as u32;
    lines.chunks_mut(BATCH_LINES).enumerate().map(move |(batch, lines)| (address(batch), lines))
}

/// The addresses of lines.
fn addresses(first: u32) -> impl Iterator<Item = u32> {
    (0..).map(move |number: u32| first + number * LINE_BYTES as u32)
}

fn keystream(aes: &Aes128Enc, layout: &Layout, address: u32) -> Line {
    let mut block = layout.counter(address);
    aes.encrypt_block((&mut block).into());
    layout.arrange(&mut block);
    block
}

fn add(line: &mut Line, other: &Line) {
    *line = (u128::from_ne_bytes(*line) ^ u128::from_ne_bytes(*other)).to_ne_bytes();
}

fn add_all(aes: &Aes128Enc, layout: &Layout, first: u32, lines: &mut [Line]) {
    let mut blocks = Zeroizing::new([[0; LINE_BYTES]; BATCH_LINES]);
    let blocks = &mut blocks[..lines.len()];
    for (block, address) in blocks.iter_mut().zip(addresses(first)) {
        *block = layout.counter(address);
    }
    aes.encrypt_blocks(Array::cast_slice_from_core_mut(blocks));
    for (line, block) in lines.iter_mut().zip(blocks) {
        layout.arrange(block);
        add(line, block);
    }
}
