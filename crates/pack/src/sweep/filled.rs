//! What compressed code takes behind many caches, from the words that a run of the plain program asked for.
//!
//! Owns: what a decoder on fill does for each line that a cache lacks ([`Filled`]). Its image has the plain program's
//! addresses, so that its caches lack the plain program's lines; what bringing one takes follows from what the decoder
//! holds. The rules are `chain::onfill`'s; here they are counted and not done, for all caches and codes of one run
//! together.
//!
//! Transfers and lines are those that the chain counts. Waiting for the decoder depends on how long the core takes from
//! one line to the next: a cycle for each word is taken, which is the least, so that a sum here is never less than the
//! chain's. A test compares both.

use isa::Cycles;

use super::cells::Penalty;
use super::runs::{Places, Ran};
use super::stacks::{Geometry, Stacks};
use crate::chain::cache::{LINE_BYTES_MAX, LINE_BYTES_MIN, Tags};
use crate::chain::{MemoryTiming, onfill};
use crate::code::onfill::stored::{RECORD_BYTES, Stored};
use crate::error::RunError;
use crate::image::{Image, Kind};

/// Where compressed code is, as the bus sees it.
#[derive(Clone)]
pub struct Blocks {
    stored: Stored,
    /// By block, in how many lines of 16 bytes it lies.
    lines: Vec<u8>,
}

impl Blocks {
    /// Of an image.
    ///
    /// # Errors
    /// An image whose code is not compressed, or not so that it can be decoded.
    pub fn of(image: &Image) -> Result<Blocks, RunError> {
        let stored = Stored::of(image)?.ok_or(RunError::ModelAlone { models: 0, blocks: 0 })?;
        let section = image.sections.iter().find(|section| section.kind == Kind::Blocks);
        let section = section.expect("what is stored has blocks");
        let lines = |block: u32| {
            let at = (stored.record(block) - section.first) as usize;
            let place = stored.place(block, &section.bytes[at..at + RECORD_BYTES as usize]);
            let place = place.ok_or(RunError::Block { address: stored.plain(block).start })?;
            Ok(((place.end - 1) / LINE_BYTES_MIN - place.start / LINE_BYTES_MIN + 1) as u8)
        };
        let count = stored.block(stored.code().end - 1) + 1;
        let lines = (0..count).map(lines).collect::<Result<_, RunError>>()?;
        Ok(Blocks { stored, lines })
    }
}

/// What bringing all lines took that a cache lacked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fills {
    /// Times that memory was asked.
    pub transfers: u64,
    /// Lines of 16 bytes that came, each through the cipher.
    pub lines: u64,
    /// Waiting for the decoder.
    pub decode_cycles: Cycles,
}

impl Fills {
    fn transfer(&mut self, lines: u32) {
        self.transfers += 1;
        self.lines += u64::from(lines);
    }

    /// All cycles of waiting for instructions.
    pub fn cycles(&self, penalty: Penalty) -> Cycles {
        // Lines of one transfer come at this distance, and go through the cipher one after the other.
        let next_cycles = Cycles::from(MemoryTiming::default().next_cycles);
        let beside = (self.lines - self.transfers) * next_cycles.saturating_sub(penalty.cipher_cycles);
        self.transfers * penalty.memory_cycles
            + self.lines * penalty.cipher_cycles
            + beside
            + self.decode_cycles
    }
}

/// A run of a compressed program behind many caches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filled {
    /// Cycles but for waiting for instructions.
    pub cycles: Cycles,
    /// By cache.
    pub fills: Vec<Fills>,
}

impl Filled {
    /// All cycles behind one of the caches.
    pub fn total_cycles(&self, cache: usize, penalty: Penalty) -> Cycles {
        self.cycles + self.fills[cache].cycles(penalty)
    }
}

/// The decoder of one code behind one cache.
struct Decoder<'a> {
    blocks: &'a Blocks,
    decode_cycles: Cycles,
    has_buffer: bool,
    records: Option<Tags>,
    /// The block that was decoded last, and when it was there.
    last: Option<(u32, Cycles)>,
    fills: Fills,
}

impl<'a> Decoder<'a> {
    fn new(blocks: &'a Blocks, settings: &onfill::Settings) -> Result<Decoder<'a>, RunError> {
        Ok(Decoder {
            blocks,
            decode_cycles: settings.decode_cycles.into(),
            has_buffer: settings.has_buffer,
            records: settings.table_cache.map(Tags::new).transpose()?,
            last: None,
            fills: Fills::default(),
        })
    }

    /// Brings a line, when so many words were asked for before.
    fn bring(&mut self, line: u32, words: u64) {
        let code = self.blocks.stored.code();
        let last = line + (LINE_BYTES_MIN - 1);
        if line < code.start || last >= code.end {
            self.fills.transfer(1);
        }
        if last < code.start || line >= code.end {
            return;
        }
        let number = self.blocks.stored.block(line.max(code.start));
        let plain = self.blocks.stored.plain(number);
        let decoded_cycles =
            Cycles::from(((plain.end - 1).min(last) + 1 - plain.start) / 4) * self.decode_cycles;
        let now = words + self.fills.decode_cycles;
        let there = match self.last.filter(|held| held.0 == number) {
            Some((_, there)) => there,
            None => {
                self.bring_block(number);
                self.last = self.has_buffer.then_some((number, now));
                now
            }
        };
        self.fills.decode_cycles += (there + decoded_cycles).saturating_sub(now);
    }

    fn bring_block(&mut self, number: u32) {
        let record = self.blocks.stored.record(number);
        match &mut self.records {
            None => self.fills.transfer(1),
            Some(records) => {
                if records.find(record).is_none() {
                    records.replace(record);
                    self.fills.transfer(records.shape().line_bytes / LINE_BYTES_MIN);
                }
            }
        }
        let mut lines = u32::from(self.blocks.lines[number as usize]);
        while lines > 0 {
            let together = lines.min(LINE_BYTES_MAX / LINE_BYTES_MIN);
            self.fills.transfer(together);
            lines -= together;
        }
    }
}

/// What caches make of a run of the plain program with its functions in another order, by the codes that its code is
/// compressed with there.
///
/// # Errors
/// A cache that cannot be built.
pub fn behind(
    ran: &Ran,
    places: &Places,
    caches: &[Geometry],
    codes: &[Blocks],
    settings: &onfill::Settings,
) -> Result<Vec<Filled>, RunError> {
    let mut stacks = Stacks::new(caches)?;
    // By the numbers that the stacks give them: caches with as many sets, with their ways.
    let mut alike: Vec<Vec<(usize, usize)>> = Vec::new();
    for (number, &cache) in caches.iter().enumerate() {
        let sets = stacks.sets_of(cache);
        alike.resize(alike.len().max(sets + 1), Vec::new());
        alike[sets].push((cache.ways as usize, number));
    }
    let mut decoders: Vec<Vec<Decoder<'_>>> = Vec::new();
    for _ in caches {
        let of_cache = codes.iter().map(|code| Decoder::new(code, settings));
        decoders.push(of_cache.collect::<Result<_, RunError>>()?);
    }
    for (first, words) in ran.stream.runs() {
        places.runs(first, words, |first, words| {
            let before = stacks.words();
            stacks.ask_telling(first, words, |sets, depth, line| {
                let at = before + u64::from(line.saturating_sub(first) / 4);
                for &(_, cache) in alike[sets].iter().filter(|&&(ways, _)| ways <= depth) {
                    decoders[cache].iter_mut().for_each(|decoder| decoder.bring(line, at));
                }
            });
        });
    }
    let of_code = |code: usize| Filled {
        cycles: ran.cycles,
        fills: decoders.iter().map(|decoders| decoders[code].fills).collect(),
    };
    Ok((0..codes.len()).map(of_code).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_one_transfer_wait_for_the_bus_or_for_the_cipher() {
        let fills = Fills { transfers: 2, lines: 5, decode_cycles: 7 };
        let penalty = |memory_cycles, cipher_cycles| Penalty { memory_cycles, cipher_cycles };
        assert_eq!(fills.cycles(penalty(80, 40)), 2 * 80 + 5 * 40 + 7);
        // Without a cipher three lines come behind others, 4 cycles each.
        assert_eq!(fills.cycles(penalty(80, 0)), 2 * 80 + 3 * 4 + 7);
    }
}
