//! What brings the lines that a cache lacks.
//!
//! Owns: the seam below a cache ([`Fill`]), memory's time, and what brings lines as they are, opened and checked
//! ([`Straight`]). A code that is decompressed on fill is another [`Fill`] (`onfill`): it finds where its line is by a
//! table and a cache of that, and has the bytes brought by a [`Straight`].

use std::sync::Arc;

use isa::Cycles;

use super::decipher::{self, Blocks, Decipher, LINES_MAX, LineCipher};
use super::integrity::{Checks, Integrity};
use super::remembered::Remembered;
use super::rom::{LINE_BYTES, Rom};

/// How long memory takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryTiming {
    /// From asking to the first 16 bytes.
    pub first_cycles: u32,
    /// To each 16 bytes behind them.
    pub next_cycles: u32,
}

impl Default for MemoryTiming {
    /// The paper's 80 cycles; and what is behind comes a word in a cycle.
    fn default() -> MemoryTiming {
        MemoryTiming { first_cycles: 80, next_cycles: 4 }
    }
}

/// What was brought, and what it took. Cycles are those that the core waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfers {
    /// Times that something was asked for.
    pub fills: u64,
    /// Bytes over the bus, for checks too.
    pub bus_bytes: u64,
    /// What was deciphered.
    pub blocks: Blocks,
    /// What was checked.
    pub checks: Checks,
    /// Waiting for memory.
    pub memory_cycles: Cycles,
    /// Waiting for the cipher, when memory had answered.
    pub cipher_cycles: Cycles,
    /// Waiting for checks, when lines were open; before something left the core included.
    pub check_cycles: Cycles,
    /// What was decoded.
    pub decoding: Decoding,
}

/// What decoding on fill took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decoding {
    /// Blocks brought and decoded.
    pub blocks: u64,
    /// Lines that were cut from the block that was decoded last.
    pub buffer_hits: u64,
    /// Records of the line address table that its cache had.
    pub record_hits: u64,
    /// Records that came over the bus.
    pub record_fills: u64,
    /// Bytes of lines that blocks were brought in, of what went over the bus.
    pub block_bytes: u64,
    /// Waiting for the decoder, when a block's bytes were there.
    pub decode_cycles: Cycles,
}

/// What was brought is not what was sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsound {
    /// The first line of those that are checked together.
    pub line: u32,
}

/// Brings lines.
pub trait Fill {
    /// Brings the line at an address, asked for at a cycle: when it can be used. It begins at a multiple of its
    /// length, and its length is a multiple of 16.
    ///
    /// # Errors
    /// A line that is not sound.
    fn fill(&mut self, address: u32, line: &mut [u8], cycle: Cycles) -> Result<Cycles, Unsound>;

    /// The same at no time, and nothing counts it.
    ///
    /// # Errors
    /// A line that is not sound.
    fn examine(&self, address: u32, line: &mut [u8]) -> Result<(), Unsound>;

    /// When all that was brought is known to be sound.
    ///
    /// # Errors
    /// A line that is not.
    fn settle(&mut self, cycle: Cycles) -> Result<Cycles, Unsound>;

    /// The cycle from which it is known that something brought before is not sound; the last one there is, where all
    /// is.
    fn unsound_at(&self) -> Cycles;

    /// What was brought until now.
    fn transfers(&self) -> Transfers;
}

/// Brings lines as they stand in memory, opens those that are sealed, and checks those that have MACs.
#[derive(Clone)]
pub struct Straight {
    rom: Rom,
    memory: MemoryTiming,
    decipher: Option<Decipher>,
    integrity: Option<Integrity>,
    /// Open lines, by what they are sealed.
    opened: Remembered<[u8; LINE_BYTES as usize]>,
    /// When the bus is free.
    free_at: Cycles,
    transfers: Transfers,
}

impl Straight {
    /// Brings what is in this memory; nothing of it is opened before a cipher is given.
    pub fn new(rom: Rom, memory: MemoryTiming) -> Straight {
        let (opened, transfers) = (Remembered::new(LINE_BYTES as usize), Transfers::default());
        Straight { rom, memory, decipher: None, integrity: None, opened, free_at: 0, transfers }
    }

    /// The same with a cipher for the lines that are sealed.
    #[must_use]
    pub fn deciphered(self, cipher: Arc<dyn LineCipher>, timing: decipher::Timing) -> Straight {
        Straight { decipher: Some(Decipher::new(cipher, timing)), ..self }
    }

    /// The same with checks.
    #[must_use]
    pub fn checked(self, integrity: Integrity) -> Straight {
        Straight { integrity: Some(integrity), ..self }
    }

    /// Has memory bring so many lines of 16 bytes in one go, from a cycle on: when the first one comes.
    fn transfer(&mut self, lines: u32, from: Cycles) -> Cycles {
        let first = from.max(self.free_at) + Cycles::from(self.memory.first_cycles);
        self.free_at = first + Cycles::from(self.memory.next_cycles) * Cycles::from(lines - 1);
        self.transfers.bus_bytes += u64::from(lines * LINE_BYTES);
        first
    }

    /// Copies lines as they stand outside, and says which are sealed. Outside of memory is nothing.
    fn copy(&self, address: u32, line: &mut [u8]) -> [bool; LINES_MAX] {
        let mut sealed = [false; LINES_MAX];
        match self.rom.lines(address, line.len() as u32) {
            Some((bytes, flags)) => {
                line.copy_from_slice(bytes);
                sealed[..flags.len()].copy_from_slice(flags);
            }
            None => line.fill(0),
        }
        sealed
    }

    /// Opens the lines that are sealed.
    fn open(&self, address: u32, line: &mut [u8], sealed: [bool; LINES_MAX]) {
        let Some(decipher) = &self.decipher else { return };
        let lines = line.chunks_exact_mut(LINE_BYTES as usize).zip(sealed).enumerate();
        for (index, (line, _)) in lines.filter(|(_, (_, sealed))| *sealed) {
            decipher.open(address + index as u32 * LINE_BYTES, line);
        }
    }

    /// The same, by what is known of lines that came before.
    fn open_again(&mut self, address: u32, line: &mut [u8], sealed: [bool; LINES_MAX]) {
        let Some(decipher) = &self.decipher else { return };
        let lines =
            line.as_chunks_mut().0.iter_mut().zip(sealed).zip((address..).step_by(LINE_BYTES as usize));
        for ((line, _), address) in lines.filter(|((_, sealed), _)| *sealed) {
            *line = self.opened.answer(address / LINE_BYTES, [&*line, &[]], || {
                let mut open = *line;
                decipher.open(address, &mut open);
                open
            });
        }
    }

    /// Checks what shares MACs with a line whose first bytes come at a cycle: when that is known.
    fn check(&mut self, address: u32, bytes: u32, asked: Cycles) -> Result<Cycles, Unsound> {
        let Some(mut integrity) = self.integrity.take() else { return Ok(0) };
        let (mut end, mut unsound) = (0, None);
        let mut at = address;
        while at < address + bytes {
            let Some(group) = integrity.group(at) else {
                at += LINE_BYTES;
                continue;
            };
            at = group.first + group.bytes;
            // The rest of the group comes behind the line, and its MAC behind that.
            let inside =
                (group.first + group.bytes).min(address + bytes).saturating_sub(group.first.max(address));
            let lines_beside = (group.bytes - inside) / LINE_BYTES;
            integrity.checks.lines_beside += u64::from(lines_beside);
            self.transfers.bus_bytes += u64::from(lines_beside * LINE_BYTES);
            self.free_at += Cycles::from(self.memory.next_cycles) * Cycles::from(lines_beside);
            let mac = integrity.mac(group, |first, line| {
                self.transfer(line.len() as u32 / LINE_BYTES, asked);
                self.copy(first, line);
            });
            let lines = self.rom.bytes(group.first, group.bytes);
            let (known, sound) = integrity.check(group, lines, &mac, self.free_at);
            end = end.max(known);
            if !sound && unsound.is_none() {
                unsound = Some(group.first);
            }
        }
        let speculative = integrity.is_speculative();
        self.integrity = Some(integrity);
        match unsound {
            Some(line) if !speculative => Err(Unsound { line }),
            _ if speculative => Ok(0),
            _ => Ok(end),
        }
    }
}

impl Fill for Straight {
    fn fill(&mut self, address: u32, line: &mut [u8], cycle: Cycles) -> Result<Cycles, Unsound> {
        let lines = line.len() / LINE_BYTES as usize;
        let first = self.transfer(lines as u32, cycle);
        let come = self.free_at;
        let sealed = self.copy(address, line);
        self.open_again(address, line, sealed);
        let mut open = come;
        if let Some(decipher) = &mut self.decipher {
            let (mut sealed_come, mut count) = ([0; LINES_MAX], 0);
            for index in (0..lines).filter(|&index| sealed[index]) {
                sealed_come[count] = first + Cycles::from(self.memory.next_cycles) * index as Cycles;
                count += 1;
            }
            if count > 0 {
                open = open.max(decipher.opened_at(cycle, &sealed_come[..count]));
            }
        }
        let known = self.check(address, line.len() as u32, cycle)?;
        let end = open.max(known);
        self.transfers.fills += 1;
        self.transfers.memory_cycles += come - cycle;
        self.transfers.cipher_cycles += open - come;
        self.transfers.check_cycles += end - open;
        Ok(end)
    }

    fn examine(&self, address: u32, line: &mut [u8]) -> Result<(), Unsound> {
        let sealed = self.copy(address, line);
        self.open(address, line, sealed);
        let Some(integrity) = &self.integrity else { return Ok(()) };
        for at in (address..address + line.len() as u32).step_by(LINE_BYTES as usize) {
            let Some(group) = integrity.group(at) else { continue };
            let lines = self.rom.bytes(group.first, group.bytes);
            let mut mac = [0; 16];
            if let Some(found) = self.rom.bytes(group.mac, integrity.mac_bytes()) {
                mac[..found.len()].copy_from_slice(found);
            }
            if !integrity.is_sound(group, lines, &mac) {
                return Err(Unsound { line: group.first });
            }
        }
        Ok(())
    }

    fn settle(&mut self, cycle: Cycles) -> Result<Cycles, Unsound> {
        let Some(integrity) = &self.integrity else { return Ok(cycle) };
        if let Some((_, line)) = integrity.unsound() {
            return Err(Unsound { line });
        }
        let end = cycle.max(integrity.ends_at());
        self.transfers.check_cycles += end - cycle;
        Ok(end)
    }

    fn unsound_at(&self) -> Cycles {
        let unsound = self.integrity.as_ref().and_then(Integrity::unsound);
        unsound.map_or(Cycles::MAX, |(known, _)| known)
    }

    fn transfers(&self) -> Transfers {
        let blocks = self.decipher.as_ref().map_or(Blocks::default(), |decipher| decipher.blocks);
        let checks = self.integrity.as_ref().map_or(Checks::default(), |integrity| integrity.checks);
        Transfers { blocks, checks, ..self.transfers }
    }
}
