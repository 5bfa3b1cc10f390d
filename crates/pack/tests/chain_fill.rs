//! Something else than memory as it is may stand behind the cache: lines that are made when they are wanted, found by a
//! table with a cache of its own, all of it sealed; and a line that comes wrong breaks the program.

mod packets;

use std::cell::Cell;
use std::sync::Arc;

use isa::Cycles;
use isa::sparc::machine::Settings as Core;
use isa::sparc::{FaultKind, Machine, Memory, Region, Stop, Timing, Trap};
use pack::chain::cache::Cache;
use pack::chain::decipher::{self, LineCipher};
use pack::chain::rom::Rom;
use pack::chain::{
    Fill, MemoryTiming, Protection, Settings, Shape, Straight, Transfers, Unsealed, Unsound, Work, run,
};
use pack::code::packet::Format;
use pack::image::Image;
use packets::{CODE, DATA, Word, packet, plain};

const TABLE: u32 = 0x4000_4000;
const LINES: u32 = 0x4000_5000;
/// What a made line takes beside its bytes.
const MAKE_CYCLES: Cycles = 4;

/// Makes lines of the words of a list, each of which is a byte in memory.
struct Made {
    straight: Straight,
    table: Cache,
    words: Vec<u32>,
    /// Lookups in the table that were made at no time are none.
    examined: Cell<u64>,
}

impl Made {
    fn expand(&self, packed: &[u8], line: &mut [u8]) {
        for (word, &number) in line.chunks_exact_mut(4).zip(packed) {
            word.copy_from_slice(&self.words[usize::from(number)].to_be_bytes());
        }
    }

    fn entry(address: u32) -> u32 {
        TABLE + (address - CODE) / 16 * 4
    }
}

impl Fill for Made {
    fn fill(&mut self, address: u32, line: &mut [u8], cycle: Cycles) -> Result<Cycles, Unsound> {
        let (entry, mut now) = (Made::entry(address), cycle);
        let at = if let Some(at) = self.table.find(entry) {
            at
        } else {
            let straight = &mut self.straight;
            self.table.bring(entry, |first, line| {
                now = straight.fill(first, line, cycle)?;
                Ok(())
            })?
        };
        let place = u32::from_be_bytes(self.table.word(at));
        let mut packed = [0; 16];
        let come = self.straight.fill(place & !15, &mut packed, now)?;
        self.expand(&packed[place as usize % 16..], line);
        Ok(come + MAKE_CYCLES)
    }

    fn examine(&self, _address: u32, _line: &mut [u8]) -> Result<(), Unsound> {
        self.examined.set(self.examined.get() + 1);
        Ok(())
    }

    fn settle(&mut self, cycle: Cycles) -> Result<Cycles, Unsound> {
        self.straight.settle(cycle)
    }

    fn unsound_at(&self) -> Cycles {
        self.straight.unsound_at()
    }

    fn transfers(&self) -> Transfers {
        self.straight.transfers()
    }
}

/// A loop over three lines.
fn program() -> Vec<Word> {
    let mut words = vec![plain("mov 50, %g1")];
    words.extend(vec![plain("add %g2, 1, %g2"); 8]);
    words.extend([plain("subcc %g1, 1, %g1"), plain("bne .-36"), plain("add %g3, 1, %g3"), plain("ta 0")]);
    words
}

fn data() -> Memory {
    Memory::new(vec![Region { first: DATA, bytes: vec![0; 16], writable: true }], 0, 0)
}

fn core() -> Core {
    Core { timing: Timing::ideal(), ..Core::default() }
}

#[test]
fn lines_that_are_made_when_they_are_wanted_run_like_others() {
    let image = packets::image(&program());
    let mut bytes = image.sections[0].bytes.clone();
    bytes.resize(bytes.len().next_multiple_of(16), 0);
    let mut words = Vec::new();
    let mut packed = Vec::new();
    for word in bytes.chunks_exact(4).map(|word| u32::from_be_bytes(word.try_into().expect("four bytes"))) {
        let number = words.iter().position(|&other| other == word).unwrap_or_else(|| {
            words.push(word);
            words.len() - 1
        });
        packed.push(number as u8);
    }
    let lines = bytes.len() as u32 / 16;
    let table: Vec<u8> = (0..lines).flat_map(|line| (LINES + line * 4).to_be_bytes()).collect();
    let mut rom = Rom::new([(TABLE, table), (LINES, packed)]).expect("nothing overlaps");
    rom.seal(TABLE..TABLE + 16).expect("it is there");
    rom.seal(LINES..LINES + 16).expect("it is there");
    let straight = Straight::new(rom, MemoryTiming::default())
        .deciphered(Arc::new(Unsealed(Work::Block)), decipher::Timing::default());
    let table = Cache::new(Shape::direct(16)).expect("it can be built");
    let fill = Made { straight, table, words, examined: Cell::new(0) };
    // The loop is longer than the cache.
    let settings = Settings { cache: Shape::direct(32), ..Settings::default() };
    let chain = run::chain(&image, fill, data(), &settings).expect("it can be built");
    let mut machine = Machine::new(chain, core(), CODE);
    let Stop::Fault(fault) = machine.run(1_000_000, &mut ()) else { panic!("it ends") };
    assert_eq!(fault.kind, FaultKind::ErrorMode { trap: Trap::software(0) });
    assert_eq!([1, 2, 3].map(|number| machine.register(number)), [0, 400, 50]);
    let (counts, executed) = (machine.bus.counts(), machine.spent().instructions);
    // One line of the table, and one of packed lines for each that was made.
    assert_eq!(counts.transfers.fills, counts.misses + 1);
    assert_eq!(counts.transfers.blocks.aes_blocks, counts.misses + 1);
    assert!(counts.misses > 100, "{counts:?}");
    let fills = counts.transfers.fills * (80 + 40) + counts.misses * MAKE_CYCLES;
    assert_eq!(machine.cycle(), executed + fills);
    assert_eq!(machine.bus.fill.examined.get(), 0);
}

/// Opens one line wrong.
struct WrongAt {
    address: u32,
    byte: usize,
}

impl LineCipher for WrongAt {
    fn open(&self, address: u32, line: &mut [u8; 16]) {
        if address == self.address {
            line[self.byte] ^= 0x01;
        }
    }

    fn work(&self) -> Work {
        Work::Block
    }
}

fn globals(image: &Image, cipher: Arc<dyn LineCipher>) -> Option<[u32; 3]> {
    let protection = Protection::of_code(image, cipher);
    let settings = Settings::default();
    let fill = run::straight(image, &protection, &settings).expect("it is whole lines");
    let chain = run::chain(image, fill, data(), &settings).expect("it can be built");
    let mut machine = Machine::new(chain, core(), CODE);
    let Stop::Fault(fault) = machine.run(100_000, &mut ()) else { return None };
    let ended = fault.kind == FaultKind::ErrorMode { trap: Trap::software(0) };
    ended.then(|| [1, 2, 3].map(|number| machine.register(number)))
}

#[test]
fn a_line_that_comes_wrong_breaks_the_program_and_a_wrong_packet_does() {
    let packed = [
        packet(Format::Three, &["mov 50, %g1", "mov 3, %g3"]),
        packet(Format::Four, &["add %g2, 1, %g2", "add %g2, 2, %g2", "add %g2, 3, %g2"]),
        packet(Format::ThreeBranch, &["subcc %g1, 1, %g1", "bne .-4", "add %g3, 1, %g3"]),
        plain("ta 0"),
    ];
    let packed = packets::image(&packed);
    let words = packets::image(&program());
    for (image, expected) in [(packed, [0, 300, 53]), (words, [0, 400, 50])] {
        assert_eq!(globals(&image, Arc::new(Unsealed(Work::Block))), Some(expected));
        let bytes = image.sections[0].bytes.len() as u32;
        // The lowest bit of each word but the last: a distance, a constant, or an index.
        for word in 0..bytes / 4 - 1 {
            let cipher = WrongAt { address: CODE + word / 4 * 16, byte: (word % 4 * 4 + 3) as usize };
            assert_ne!(globals(&image, Arc::new(cipher)), Some(expected), "word {word}");
        }
    }
}
