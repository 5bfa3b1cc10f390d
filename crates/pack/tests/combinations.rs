//! Programs of the corpus in combinations that a seed draws: instruction set, code and how it packs, seal, tags, checks,
//! caches of any size, ways, line and replacement, memory, cipher, data, and the core's table of cycles. Whatever they
//! are, a program prints what a native build prints. What is concluded of cycles holds under both tables of LEON.

mod corpus;
mod made;

use corpus::Run;
use isa::sparc::Timing;
use isa::{Cycles, rv32};
use made::{IMAGE, Seeded, device, seals};
use pack::chain::run::{self, End};
use pack::chain::{
    Data, DataTiming, MemoryTiming, Outcome, Protection, Replacement, Settings, Shape, Work, decipher,
    integrity, onfill, sealed,
};
use pack::code::onfill::stored::{BLOCK_BYTES, compress};
use pack::code::{Code, dict};
use pack::flow::Choice as Pieces;
use pack::integrity::Integrity;
use pack::lines::Choice;
use pack::packing::Assignment;
use pack::place::Order;
use pack::seal::SEALS;
use pack::sealed::{Settings as Sealing, Unsealed, seal_under_given_nonce};
use pack::{Container, Error, Image, Profile, Program, Target};

/// What draws.
struct Dice(Seeded);

impl Dice {
    fn below(&mut self, count: usize) -> usize {
        let bytes = self.0.bytes(4).try_into().expect("four bytes");
        u32::from_le_bytes(bytes) as usize % count
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    fn shape(&mut self) -> Shape {
        let (ways, line_bytes) = (self.one(&[1, 2, 3, 4, 8, 64]), self.one(&[16, 32, 64]));
        let sets = 1 << self.below(if ways > 4 { 3 } else { 7 });
        let seed = self.below(1000) as u64;
        let kept = [
            Replacement::LeastRecentlyUsed,
            Replacement::LeastRecentlyReplaced,
            Replacement::Random { seed },
        ];
        Shape { bytes: sets * ways * line_bytes, ways, line_bytes, replacement: self.one(&kept) }
    }

    fn maybe(&mut self) -> Option<Shape> {
        let shape = self.shape();
        self.one(&[None, Some(shape)])
    }

    fn cycles(&mut self, most: usize) -> u32 {
        self.below(most + 1) as u32
    }

    /// How everything below the core is built.
    fn chain(&mut self) -> Settings {
        let timing = DataTiming {
            first_cycles: self.cycles(90),
            next_cycles: self.cycles(5),
            store_cycles: self.cycles(3),
        };
        let shape = self.shape();
        let interval_cycles = self.cycles(40);
        Settings {
            cache: self.shape(),
            memory: MemoryTiming { first_cycles: 1 + self.cycles(90), next_cycles: self.cycles(5) },
            cipher: decipher::Timing {
                latency_cycles: interval_cycles + self.cycles(20),
                interval_cycles,
                sum_cycles: self.cycles(2),
            },
            integrity: integrity::Settings {
                latency_cycles: self.cycles(100),
                speculative: self.one(&[false, true]),
                mac_cache: self.maybe(),
            },
            onfill: onfill::Settings {
                table_cache: self.maybe(),
                decode_cycles: self.cycles(3),
                has_buffer: self.one(&[false, true]),
            },
            data: self.one(&[Data::Ideal, Data::Uncached(timing), Data::Cached(shape, timing)]),
            holds_stores: self.one(&[false, true]),
        }
    }

    /// Every switch of packing that needs no run.
    fn packing(&mut self, target: Target) -> pack::Settings {
        let percent = self.below(101) as u8;
        let (seed, fewer) = (self.below(1000) as u64, 1 + self.below(256));
        let entries = self.one(&[256, fewer]);
        let dictionaries = [
            dict::Choice::Static,
            dict::Choice::Dynamic,
            dict::Choice::Blend { dynamic_percent: percent },
            dict::Choice::Multi { dynamic_entries: self.below(entries + 1) as u16 },
        ];
        let choice = Pieces {
            // No SPARC is simulated here that would return into the middle of a word.
            link_slots: self.one(&[false, target == Target::Rv32]),
            split: self.one(&[false, true]),
            ..Pieces::default()
        };
        pack::Settings {
            dictionary: self.one(&dictionaries),
            entries,
            assignment: self.one(&[Assignment::Greedy, Assignment::Optimal, Assignment::Scheduled]),
            canonical: self.one(&[false, true]),
            far_branches: self.one(&[false, true]),
            order: self.one(&[Order::Given, Order::Hot, Order::Seeded(seed)]),
            choice,
            least_saving_percent: self.one(&[0, 0, 5]),
        }
    }
}

/// A profile without a run: what is packed must print the same for any.
fn drawn(program: &Program, seed: u64) -> Profile {
    let code = program.code().filter(|section| section.name == ".text");
    let words = code.flat_map(|section| (section.first..).step_by(4).take(section.bytes.len() / 4));
    Profile::new(words.map(|at| (at, u64::from(at).wrapping_mul(seed | 1) >> 7 & 0xff)))
}

/// What becomes of a program's code.
#[derive(Clone, Copy, Debug)]
enum Made {
    Plain,
    Packed,
    Compressed(Code, u32),
}

/// What was drawn, in words.
fn image(program: &Program, dice: &mut Dice) -> (Image, String) {
    let codes: Vec<Code> = Code::on_fill().collect();
    let compressed = Made::Compressed(dice.one(&codes), dice.one(&BLOCK_BYTES));
    match dice.one(&[Made::Plain, Made::Packed, Made::Packed, compressed]) {
        Made::Plain => (Image::from(program), "plain".to_owned()),
        Made::Packed => {
            let mut settings = dice.packing(program.target);
            let profiles = [drawn(program, dice.below(1 << 20) as u64)];
            let packed = pack::pack(program, &profiles, &settings).or_else(|error| {
                // A branch of RV32 may not reach from one part of a function to another: its parts stay together.
                let named = matches!(error, Error::TooFar { .. }) && program.target == Target::Rv32;
                assert!(named && settings.choice.split, "{settings:?}: {error}");
                settings.choice.split = false;
                pack::pack(program, &profiles, &settings)
            });
            let mut packed = packed.unwrap_or_else(|error| panic!("{settings:?}: {error}"));
            if packed.report.nothing.is_some() {
                // For size alone every program gains.
                settings = pack::Settings { entries: 256, least_saving_percent: 0, ..settings };
                settings.dictionary = dict::Choice::Static;
                packed = pack::pack(program, &profiles, &settings).expect("it could be packed before");
            }
            assert!(!packed.image.map.is_empty(), "{settings:?}: nothing is packed");
            (packed.image, format!("{settings:?}"))
        }
        Made::Compressed(code, block_bytes) => {
            let (name, plain) = (code.name(), Image::from(program));
            match compress(&plain, code, block_bytes) {
                Ok((image, _)) => (image, format!("{name} {block_bytes}")),
                // It stays as it is, as it would for who builds it.
                Err(Error::NotSmaller { .. }) => (plain, format!("{name} {block_bytes}: plain is smaller")),
                Err(error) => panic!("{name} {block_bytes}: {error}"),
            }
        }
    }
}

/// The image in a container, read back from its bytes, and what was drawn for it.
fn container(image: &Image, tables_first: u32, dice: &mut Dice) -> (Container, String) {
    let (seal, key) = seals(&mut dice.0).swap_remove(dice.below(SEALS.len()));
    let lines = dice.one(&[1, 4, 8]);
    let tag_bytes = dice.one(&[8, 16]);
    let integrity = dice.one(&[None, Integrity::new(lines, tag_bytes).ok()]);
    let settings = Sealing {
        seal: seal.row(),
        allow_legacy: true,
        choice: Choice::default(),
        integrity,
        image: IMAGE,
        tables_first: Some(tables_first),
    };
    let made = seal_under_given_nonce(&Unsealed::from(image.clone()), &settings, seal, &key, &device(1));
    let made = made.unwrap_or_else(|error| panic!("{seal}: {error}"));
    let read = Container::parse(&made.to_bytes()).expect("it was written so");
    (read, format!("{seal} {integrity:?}"))
}

/// How a run ended and what it printed, on either core.
fn ran(
    run: &Run,
    target: Target,
    container: &Container,
    settings: &Settings,
    dice: &mut Dice,
) -> (bool, Vec<u8>) {
    let (image, protection) = sealed::boot(made::unlock(container, 1)).expect("nothing was changed");
    let (told, files) = run.prepare();
    let told: Vec<&str> = told.iter().map(String::as_str).collect();
    match target {
        Target::Sparc => {
            let mut user = corpus::with_handlers(&run.image());
            user.machine.timing = if dice.below(2) == 0 { Timing::leon2() } else { Timing::leon3() };
            let started = run::under_linux(&image, &protection, settings, &told, files, user);
            let outcome = run::finish(&mut started.expect("it fits"), Cycles::MAX, &mut ());
            (outcome.end == End::Exit(0), outcome.output)
        }
        Target::Rv32 => {
            let user = rv32::user::Settings::default();
            let started = run::rv32::under_linux(&image, &protection, settings, &told, files, user);
            let outcome = run::rv32::finish(&mut started.expect("it fits"), Cycles::MAX, &mut ());
            (outcome.end == End::Exit(0), outcome.output)
        }
    }
}

/// How many are drawn, and how many instructions a run of theirs has at most.
fn draws() -> (usize, u64) {
    if corpus::soak() { (100, u64::MAX) } else { (12, 3_500_000) }
}

#[test]
fn whatever_a_seed_draws_prints_what_a_native_build_prints() {
    let (draws, most) = draws();
    let mut runs = corpus::runs("combinations of everything");
    runs.retain(|run| corpus::instructions(run) <= most);
    let mut dice = Dice(Seeded::new());
    for number in 0..if runs.is_empty() { 0 } else { draws } {
        let run = &runs[dice.below(runs.len())];
        let (target, folder, tables) =
            dice.one(&[(Target::Sparc, "sparc", 0x3000_0000), (Target::Rv32, "rv32", 0x2000_0000)]);
        let program = Program::parse(&run.elf(folder)).expect("it is a program");
        let (image, how) = image(&program, &mut dice);
        let (container, sealing) = container(&image, tables, &mut dice);
        let settings = dice.chain();
        let what = format!("{number}: {folder} {} {}: {how}; {sealing}; {settings:?}", run.program, run.name);
        println!("{what}");
        let (exits, output) = ran(run, target, &container, &settings, &mut dice);
        assert!(exits && run.is_expected(&output), "{what}");
    }
}

/// A run's cycles behind a chain as the paper has it.
fn behind(run: &Run, image: &Image, protection: &Protection, timing: Timing) -> Outcome {
    let (told, files) = run.prepare();
    let told: Vec<&str> = told.iter().map(String::as_str).collect();
    let mut user = corpus::with_handlers(&run.image());
    user.machine.timing = timing;
    let started = run::under_linux(image, protection, &Settings::default(), &told, files, user);
    run::finish(&mut started.expect("it fits"), Cycles::MAX, &mut ())
}

/// The paper's six in a long run, else two.
#[test]
fn the_cipher_costs_and_packing_gives_back_under_both_tables_of_leon() {
    let chosen = if corpus::soak() { &corpus::PROGRAMS[..6] } else { &["search", "djpeg"][..] };
    for run in corpus::sample("both tables of LEON") {
        if !chosen.contains(&run.program.as_str()) {
            continue;
        }
        let program = corpus::program(&run.program);
        let plain = Image::from(&program);
        let settings = pack::Settings {
            dictionary: dict::Choice::Blend { dynamic_percent: 50 },
            order: Order::Hot,
            assignment: Assignment::Greedy,
            ..pack::Settings::default()
        };
        let packed = pack::pack(&program, &[run.profile()], &settings).expect("it can be packed").image;
        assert!(!packed.map.is_empty(), "{}: nothing is packed", run.program);
        let mut instructions = Vec::new();
        for timing in [Timing::leon2(), Timing::leon3()] {
            let outcome = |image: &Image, protection: &Protection| {
                let outcome = behind(&run, image, protection, timing.clone());
                assert_eq!(outcome.end, End::Exit(0), "{}", run.program);
                assert!(run.is_expected(&outcome.output), "{}", run.program);
                outcome
            };
            let bare = outcome(&plain, &Protection::default());
            let aes = outcome(&plain, &Protection::cost_of_code(&plain, Work::Block));
            let both = outcome(&packed, &Protection::cost_of_code(&packed, Work::Block));
            assert!(bare.cycles < aes.cycles, "{}: {} {}", run.program, bare.cycles, aes.cycles);
            assert!(both.cycles < aes.cycles, "{}: {} {}", run.program, both.cycles, aes.cycles);
            // What is fetched and deciphered does not depend on the table.
            let of = |outcome: &Outcome| (outcome.spent.instructions, outcome.counts.misses);
            instructions.push([of(&bare), of(&aes), of(&both)]);
        }
        assert_eq!(instructions[0], instructions[1], "{}", run.program);
    }
}
