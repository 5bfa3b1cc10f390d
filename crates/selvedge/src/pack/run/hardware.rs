//! What a program runs behind, as flags say it: caches, memory, decipher, checks, decoder, and the core's cycles.
//!
//! Owns the flags. What each costs is `pack::chain`'s and `isa`'s.

use ::pack::Target;
use ::pack::chain::{Data, DataTiming, MemoryTiming, Replacement, Settings, Shape, decipher};
use ::pack::chain::{integrity, onfill};
use clap::ValueEnum;
use isa::rv32;
use isa::sparc::{Timing, machine};

/// What a program runs behind.
#[derive(clap::Args)]
#[command(next_help_heading = "Hardware")]
pub struct Hardware {
    /// The instruction cache: its bytes, ways (`full` for all) and bytes of a line
    #[arg(long, value_name = "BYTES[xWAYS[xLINE]]", default_value = "1024x1x16", value_parser = shape)]
    cache: Shape,
    /// Which line of a set makes room: lru, lrr (LEON's: the one brought least recently), or random=SEED
    #[arg(long, value_name = "WAY", default_value = "lru", value_parser = replacement)]
    replacement: Replacement,
    /// Cycles from asking memory to the first 16 bytes, and to each 16 behind them
    #[arg(long, value_name = "CYCLES[+CYCLES]", default_value = "80+4", value_parser = memory)]
    memory: MemoryTiming,
    /// Cycles of a block in the cipher, and from the beginning of one to that of the next
    #[arg(long, value_name = "CYCLES[/CYCLES]", default_value = "40", value_parser = cipher)]
    cipher: decipher::Timing,
    /// Whose cycles the core has [default: leon2, and ibex for RV32IM]
    #[arg(long, value_enum)]
    timing: Option<Core>,
    /// Data is loaded through a cache of this shape, or from memory without one (`none`) [default: at no time]
    #[arg(long, value_name = "SHAPE", value_parser = optional)]
    data_cache: Option<Optional>,
    /// Cycles of a store, where data takes time: 0 with a buffer
    #[arg(long, value_name = "CYCLES", default_value_t = 0, requires = "data_cache")]
    store: u32,
    /// Cycles from lines and tag to knowing whether they fit
    #[arg(long, value_name = "CYCLES", default_value_t = integrity::Settings::default().latency_cycles)]
    integrity_latency: u32,
    /// Go on while lines are checked; what leaves the core waits, stores too
    #[arg(long)]
    speculative: bool,
    /// Keep tags in a cache of this shape
    #[arg(long, value_name = "SHAPE", value_parser = shape)]
    mac_cache: Option<Shape>,
    /// Let stores leave the core before what they were computed with is checked: memory may then hold what
    /// depends on a line that fails
    #[arg(long, requires = "speculative")]
    unchecked_stores: bool,
    /// Cycles to decode an instruction, where code is decoded on fill
    #[arg(long, value_name = "CYCLES", default_value_t = onfill::Settings::default().decode_cycles)]
    decode: u32,
    /// Keep records of where compressed blocks are in a cache of this shape, or in none (`none`)
    #[arg(long, value_name = "SHAPE", default_value = "256x1x16", value_parser = optional)]
    table_cache: Optional,
    /// Decode a block again for each line of it, instead of keeping the last one
    #[arg(long)]
    no_buffer: bool,
}

/// Whose cycles a core has.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Core {
    /// LEON2's, as in the AT697E
    Leon2,
    /// LEON3's
    Leon3,
    /// Ibex', of RV32IM
    Ibex,
    /// One for each instruction
    Ideal,
}

/// A cache that may be left out.
#[derive(Clone, Copy)]
enum Optional {
    None,
    Of(Shape),
}

impl Hardware {
    /// It as the tool takes it.
    pub fn settings(&self) -> Settings {
        let timing = DataTiming {
            first_cycles: self.memory.first_cycles,
            next_cycles: self.memory.next_cycles,
            store_cycles: self.store,
        };
        let replaced = |shape: Shape| Shape { replacement: self.replacement, ..shape };
        Settings {
            cache: replaced(self.cache),
            memory: self.memory,
            cipher: self.cipher,
            integrity: integrity::Settings {
                latency_cycles: self.integrity_latency,
                speculative: self.speculative,
                mac_cache: self.mac_cache.map(replaced),
            },
            data: match self.data_cache {
                None => Data::Ideal,
                Some(Optional::None) => Data::Uncached(timing),
                Some(Optional::Of(shape)) => Data::Cached(replaced(shape), timing),
            },
            holds_stores: !self.unchecked_stores,
            onfill: onfill::Settings {
                decode_cycles: self.decode,
                table_cache: match self.table_cache {
                    Optional::None => None,
                    Optional::Of(shape) => Some(replaced(shape)),
                },
                has_buffer: !self.no_buffer,
            },
        }
    }

    /// The timing that no core of an instruction set has, if it was asked for; and which one it is of.
    pub fn other_timing(&self, target: Target) -> Option<(&'static str, Target)> {
        let (name, of) = match self.timing? {
            Core::Leon2 => ("`--timing leon2`", Target::Sparc),
            Core::Leon3 => ("`--timing leon3`", Target::Sparc),
            Core::Ibex => ("`--timing ibex`", Target::Rv32),
            Core::Ideal => return None,
        };
        (of != target).then_some((name, of))
    }

    /// A core of SPARC V8.
    pub fn core(&self) -> machine::Settings {
        let timing = match self.timing {
            None | Some(Core::Leon2) => Timing::leon2(),
            Some(Core::Leon3) => Timing::leon3(),
            Some(Core::Ideal) => Timing::ideal(),
            Some(Core::Ibex) => unreachable!("it is refused before"),
        };
        machine::Settings { timing, ..machine::Settings::default() }
    }

    /// The cycles of a core of RV32IM.
    pub fn timing_rv32(&self) -> rv32::Timing {
        match self.timing {
            None | Some(Core::Ibex) => rv32::Timing::ibex(),
            Some(Core::Ideal) => rv32::Timing::ideal(),
            Some(Core::Leon2 | Core::Leon3) => unreachable!("they are refused before"),
        }
    }
}

fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("found `{text}`, expected a number"))
}

fn shape(text: &str) -> Result<Shape, String> {
    let mut parts = text.split('x');
    let bytes = number(parts.next().unwrap_or_default())?;
    let ways = parts.next().unwrap_or("1");
    let line_bytes = parts.next().map_or(Ok(Shape::direct(bytes).line_bytes), number)?;
    if parts.next().is_some() {
        return Err(format!("found `{text}`, expected BYTES, BYTESxWAYS or BYTESxWAYSxLINE"));
    }
    let ways = if ways == "full" { bytes.checked_div(line_bytes).unwrap_or(0) } else { number(ways)? };
    Ok(Shape { ways, line_bytes, ..Shape::direct(bytes) })
}

fn optional(text: &str) -> Result<Optional, String> {
    if text == "none" { Ok(Optional::None) } else { shape(text).map(Optional::Of) }
}

fn replacement(text: &str) -> Result<Replacement, String> {
    let wrong = || format!("found `{text}`, expected lru, lrr or random=SEED");
    match text.split_once('=') {
        None if text == "lru" => Ok(Replacement::LeastRecentlyUsed),
        None if text == "lrr" => Ok(Replacement::LeastRecentlyReplaced),
        Some(("random", seed)) => Ok(Replacement::Random { seed: seed.parse().map_err(|_| wrong())? }),
        _ => Err(wrong()),
    }
}

fn memory(text: &str) -> Result<MemoryTiming, String> {
    let (first, next) = text.split_once('+').map_or((text, None), |(first, next)| (first, Some(next)));
    let next_cycles = next.map_or(Ok(MemoryTiming::default().next_cycles), number)?;
    Ok(MemoryTiming { first_cycles: number(first)?, next_cycles })
}

fn cipher(text: &str) -> Result<decipher::Timing, String> {
    let (latency, interval) = text.split_once('/').unwrap_or((text, text));
    let (latency_cycles, interval_cycles) = (number(latency)?, number(interval)?);
    Ok(decipher::Timing { latency_cycles, interval_cycles, ..decipher::Timing::default() })
}
