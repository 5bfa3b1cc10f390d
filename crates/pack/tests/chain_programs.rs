//! Programs of the corpus behind the chain, of which nothing is packed: they print what they print natively, and take
//! the cycles that the paper's formula says.

mod corpus;

use std::collections::BTreeMap;
use std::sync::Arc;

use corpus::Run;
use isa::Cycles;
use isa::sparc::user::{self, Windows};
use isa::sparc::{Image, Timing, User, machine};
use pack::chain::profile::{self, Counted};
use pack::chain::run::{self, End};
use pack::chain::stream::Replayed;
use pack::chain::{LineCipher, Outcome, Protection, Replacement, Settings, Shape, Stream, Work};
use pack::image::Kind;

/// A pad from the address, so that a line that is opened under another one's is wrong.
struct Pads(Work);

impl LineCipher for Pads {
    fn open(&self, address: u32, line: &mut [u8; 16]) {
        line.iter_mut().zip(pad(address)).for_each(|(byte, pad)| *byte ^= pad);
    }

    fn work(&self) -> Work {
        self.0
    }
}

fn pad(address: u32) -> [u8; 16] {
    let word =
        |number: u32| (address + number).wrapping_mul(0x9e37_79b1).rotate_left(address >> 4).to_be_bytes();
    std::array::from_fn(|byte| word(byte as u32 / 4)[byte % 4])
}

/// What of an image is only read, as it stands outside: lines with code under those pads, others as they are.
fn padded(image: &pack::Image, work: Work) -> Protection {
    let mut lines: BTreeMap<u32, [u8; 16]> = BTreeMap::new();
    for section in image.sections.iter().filter(|section| section.kind != Kind::Data) {
        for (&byte, address) in section.bytes.iter().zip(section.first..) {
            lines.entry(address & !15).or_default()[address as usize % 16] = byte;
        }
    }
    let mut protection = Protection::of_code(image, Arc::new(Pads(work)));
    for (&address, line) in &mut lines {
        if protection.sealed.iter().any(|range| range.contains(&address)) {
            line.iter_mut().zip(pad(address)).for_each(|(byte, pad)| *byte ^= pad);
        }
    }
    protection.memory = Some(lines.into_iter().map(|(address, line)| (address, line.to_vec())).collect());
    protection
}

/// A core on which everything takes a cycle.
fn ideal(program: &Image) -> user::Settings {
    let table = program.symbol("reset").expect("it has a table of traps").address;
    user::Settings {
        machine: machine::Settings { timing: Timing::ideal(), ..machine::Settings::default() },
        windows: Windows::Image { table },
        ..user::Settings::default()
    }
}

fn chained(run: &Run, image: &pack::Image, protection: &Protection, settings: Settings) -> Outcome {
    let (arguments, files) = run.prepare();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let started = run::under_linux(image, protection, &settings, &arguments, files, ideal(&run.image()));
    run::finish(&mut started.expect("it fits"), Cycles::MAX, &mut ())
}

/// Cycles in plain memory.
fn plain(run: &Run) -> Cycles {
    let (arguments, files) = run.prepare();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let image = run.image();
    let mut program = User::new(&image, &arguments, files, ideal(&image)).expect("it fits");
    assert_eq!(program.run(Cycles::MAX, &mut ()), user::Stop::Exit(0));
    program.machine.cycle()
}

#[test]
fn cycles_are_instructions_and_120_for_each_line_that_was_not_there() {
    for run in corpus::sample("programs behind a cache") {
        let image = run::unpacked(&run.image());
        let without = plain(&run);
        for (protection, miss_cycles) in [(Protection::default(), 80), (padded(&image, Work::Block), 80 + 40)]
        {
            let outcome = chained(&run, &image, &protection, Settings::default());
            assert_eq!(outcome.end, End::Exit(0), "{} {}", run.program, run.name);
            assert!(run.is_expected(&outcome.output), "{} {}", run.program, run.name);
            let counts = outcome.counts;
            assert_eq!(outcome.cycles, without + miss_cycles * counts.misses, "{} {}", run.program, run.name);
            // Nothing is packed: every instruction asks the cache, the annulled and the interrupted ones too.
            let spent = outcome.spent;
            let executed = spent.instructions + spent.annulled;
            assert!((executed..=executed + spent.traps).contains(&counts.accesses), "{counts:?} {spent:?}");
            assert_eq!((counts.held, spent.fetch_cycles), (0, miss_cycles * counts.misses));
            let transfers = counts.transfers;
            assert_eq!((transfers.fills, transfers.bus_bytes), (counts.misses, 16 * counts.misses));
            let blocks = if miss_cycles == 120 { counts.misses } else { 0 };
            assert_eq!((transfers.blocks.aes_blocks, transfers.memory_cycles), (blocks, 80 * counts.misses));
        }
    }
}

#[test]
fn pads_and_tweaks_take_what_their_overlap_leaves() {
    let Some(run) = corpus::sample("modes of ciphers").into_iter().find(|run| run.program == "minigzip")
    else {
        return;
    };
    let without = plain(&run);
    let image = run::unpacked(&run.image());
    for (work, miss_cycles, blocks) in [(Work::Block, 120, 1), (Work::Pad, 81, 1), (Work::Tweak, 122, 2)] {
        let outcome = chained(&run, &image, &padded(&image, work), Settings::default());
        assert!(run.is_expected(&outcome.output));
        let misses = outcome.counts.misses;
        assert_eq!(outcome.cycles, without + miss_cycles * misses, "{work:?}");
        assert_eq!(outcome.counts.transfers.blocks.aes_blocks, blocks * misses, "{work:?}");
    }
}

#[test]
fn one_stream_tells_what_real_runs_with_other_caches_count() {
    let shape = |bytes, ways, line_bytes, replacement| Shape { bytes, ways, line_bytes, replacement };
    let shapes = [
        Shape::direct(256),
        Shape::direct(4096),
        shape(1024, 2, 16, Replacement::LeastRecentlyUsed),
        shape(1024, 64, 16, Replacement::LeastRecentlyReplaced),
        shape(1024, 4, 32, Replacement::Random { seed: 11 }),
        shape(3072, 3, 64, Replacement::LeastRecentlyUsed),
    ];
    for run in corpus::sample("streams of fetches").into_iter().filter(|run| run.program == "search") {
        let image = run::unpacked(&run.image());
        let (arguments, files) = run.prepare();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let (none, settings) = (Protection::default(), Settings::default());
        let core = ideal(&run.image());
        let started = run::under_linux(&image, &none, &settings, &arguments, files, core);
        let mut program = started.expect("it fits");
        program.machine.bus.stream = Some(Box::new(Stream::default()));
        let outcome = run::finish(&mut program, Cycles::MAX, &mut ());
        let stream = program.machine.bus.stream.take().expect("it was given");
        assert_eq!(stream.words(), outcome.counts.accesses);
        // A fifth of what the addresses themselves would take, and less.
        assert!((stream.bytes() as u64) < stream.words() * 4 / 5, "{} bytes", stream.bytes());
        let replayed = stream.replay(&shapes).expect("they can be built");
        for (shape, replayed) in shapes.into_iter().zip(replayed) {
            let real = chained(&run, &image, &none, Settings { cache: shape, ..settings }).counts;
            let expected = Replayed { accesses: real.accesses, misses: real.misses };
            assert_eq!(replayed, expected, "{shape:?}");
        }
    }
}

#[test]
fn a_profile_counts_every_instruction_that_is_fetched() {
    for run in corpus::sample("profiles").into_iter().filter(|run| run.program == "minigzip") {
        let image = run.image();
        let (arguments, files) = run.prepare();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut counted = Counted::of(&image);
        let stop = profile::count(&image, &arguments, files, user::Settings::default(), &mut counted);
        assert_eq!(stop, Ok(user::Stop::Exit(0)));
        let once: u64 = counted.by_address().map(|(_, count)| count).sum();
        assert!(once >= corpus::instructions(&run));
        let (arguments, files) = run.prepare();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let again = profile::count(&image, &arguments, files, user::Settings::default(), &mut counted);
        assert_eq!(again, Ok(user::Stop::Exit(0)));
        // A second input is added.
        assert_eq!(counted.by_address().map(|(_, count)| count).sum::<u64>(), 2 * once);
    }
}
