//! What a program runs behind, as flags say it: caches, memory, decipher, checks, and the core's cycles.
//!
//! Owns the flags. What each costs is `pack::chain`'s and `isa`'s.

use ::pack::chain::integrity;
use ::pack::chain::{Data, DataTiming, MemoryTiming, Replacement, Settings, Shape, decipher};
use clap::ValueEnum;
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
    /// Whose cycles the core has
    #[arg(long, value_enum, default_value_t = Core::Leon2)]
    timing: Core,
    /// Data is loaded through a cache of this shape, or from memory without one (`none`) [default: at no time]
    #[arg(long, value_name = "SHAPE", value_parser = data_cache)]
    data_cache: Option<DataCache>,
    /// Cycles of a store, where data takes time: 0 with a buffer
    #[arg(long, value_name = "CYCLES", default_value_t = 0, requires = "data_cache")]
    store: u32,
    /// Cycles from lines and tag to knowing whether they fit
    #[arg(long, value_name = "CYCLES", default_value_t = integrity::Settings::default().latency_cycles)]
    integrity_latency: u32,
    /// Go on while lines are checked; what leaves the core waits
    #[arg(long)]
    speculative: bool,
    /// Keep tags in a cache of this shape
    #[arg(long, value_name = "SHAPE", value_parser = shape)]
    mac_cache: Option<Shape>,
    /// Stores leave the core, too, and wait for checks
    #[arg(long)]
    hold_stores: bool,
}

/// Whose cycles a core has.
#[derive(Clone, Copy, ValueEnum)]
enum Core {
    /// LEON2's, as in the AT697E
    Leon2,
    /// LEON3's
    Leon3,
    /// One for each instruction
    Ideal,
}

#[derive(Clone, Copy)]
enum DataCache {
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
                Some(DataCache::None) => Data::Uncached(timing),
                Some(DataCache::Of(shape)) => Data::Cached(replaced(shape), timing),
            },
            holds_stores: self.hold_stores,
            ..Settings::default()
        }
    }

    /// The core.
    pub fn core(&self) -> machine::Settings {
        let timing = match self.timing {
            Core::Leon2 => Timing::leon2(),
            Core::Leon3 => Timing::leon3(),
            Core::Ideal => Timing::ideal(),
        };
        machine::Settings { timing, ..machine::Settings::default() }
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

fn data_cache(text: &str) -> Result<DataCache, String> {
    if text == "none" { Ok(DataCache::None) } else { shape(text).map(DataCache::Of) }
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
