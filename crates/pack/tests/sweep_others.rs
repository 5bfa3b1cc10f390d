//! What a sweep says of compressed code and of RV32 is what the whole chain counts behind each cache.

mod corpus;
#[path = "rv32/mod.rs"]
mod made;

use isa::{Cycles, rv32};
use pack::chain::run::{self, End};
use pack::chain::{Counts, Protection, Settings, Work, onfill};
use pack::code::onfill::stored::compress;
use pack::code::{Code, dict};
use pack::packing::{Assignment, Nothing};
use pack::place::Order;
use pack::sweep::filled::{self, Blocks};
use pack::sweep::{self, Geometry, Input, OtherRuns, Penalty, Places, Ran, Subject, Sweep, Way};
use pack::tune::Effort;
use pack::{Image, Profile, Program, Target};

/// The real thing: an image behind one cache, its cycles and its counts.
fn chained(image: &Image, run: &corpus::Run, cache: Geometry) -> (Cycles, Counts) {
    let protection = Protection::cost_of_code(image, Work::Block);
    let settings = Settings { cache: cache.shape(), ..Settings::default() };
    let Input { arguments, files, .. } = run.input();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (cycles, counts, output) = match image.target {
        Target::Sparc => {
            let user = corpus::with_handlers(&run.image());
            let started = run::under_linux(image, &protection, &settings, &arguments, files, user);
            let outcome = run::finish(&mut started.expect("it fits"), Cycles::MAX, &mut ());
            assert_eq!(outcome.end, End::Exit(0));
            (outcome.cycles, outcome.counts, outcome.output)
        }
        Target::Rv32 => {
            let user = rv32::user::Settings::default();
            let started = run::rv32::under_linux(image, &protection, &settings, &arguments, files, user);
            let outcome = run::rv32::finish(&mut started.expect("it fits"), Cycles::MAX, &mut ());
            assert_eq!(outcome.end, End::Exit(0));
            (outcome.cycles, outcome.counts, outcome.output)
        }
    };
    assert!(run.is_expected(&output), "{} {}", run.program, run.name);
    (cycles, counts)
}

fn run_of(program: &str) -> Option<corpus::Run> {
    corpus::sample("other ways of sweeps").into_iter().find(|run| run.program == program)
}

/// Three caches that are little alike.
const CACHES: [Geometry; 3] =
    [Geometry::direct(512), Geometry { bytes: 2048, ways: 2 }, Geometry::full(1024)];

#[test]
fn one_run_of_plain_code_tells_what_decoders_bring_behind_every_cache() {
    let Some(run) = run_of("minigzip") else { return };
    let program = corpus::program("minigzip");
    let user = corpus::with_handlers(&run.image());
    let plain = Ran::of(&sweep::as_it_is(&program), &run.input(), &Settings::default(), &user);
    let plain = plain.expect("it runs");
    let settings = pack::Settings {
        order: Order::Seeded(3),
        assignment: Assignment::Words,
        ..pack::Settings::default()
    };
    let moved = pack::pack(&program, &[], &settings).expect("it can be moved").image;
    let places = Places::of(&program, &moved);
    for block_bytes in [16, 32, 64] {
        let codes = [Code::Codepack, Code::Fields];
        let images = codes.map(|code| compress(&moved, code, block_bytes).expect("it becomes smaller").0);
        let blocks = images.each_ref().map(|image| Blocks::of(image).expect("it is compressed"));
        let decoder = onfill::Settings::default();
        let told = filled::behind(&plain, &places, &CACHES, &blocks, &decoder).expect("they can be built");
        for (image, told) in images.iter().zip(&told) {
            let number = block_bytes.trailing_zeros() as usize % CACHES.len();
            let (cycles, counts) = chained(image, &run, CACHES[number]);
            let (fills, transfers) = (told.fills[number], counts.transfers);
            assert_eq!((fills.transfers, fills.lines), (transfers.fills, transfers.blocks.lines));
            let found = told.total_cycles(number, Penalty::default());
            assert!(cycles <= found && found as f64 <= 1.002 * cycles as f64, "{cycles} {found}");
        }
    }
}

#[test]
fn programs_of_rv32_are_swept_like_those_of_sparc() {
    let Some(run) = run_of("search") else { return };
    let program = Program::parse(&run.elf("rv32")).expect("it is a program");
    let subject = Subject {
        name: "search".into(),
        program: program.clone(),
        user: Default::default(),
        training: vec![run.input()],
        measured: vec![run.input()],
    };
    let settings = sweep::Settings {
        caches: CACHES.to_vec(),
        seeds: vec![1],
        effort: Effort { dynamic_percents: vec![50], left_out: 2, spaced: 2, exchanges: 99 },
        ..sweep::Settings::default()
    };
    let ways = [
        Way::Packets(dict::Choice::Static),
        Way::Packets(dict::Choice::Dynamic),
        Way::OnFill { code: Code::Fields, block_bytes: 32 },
    ];
    let mut steps = 0;
    let swept = sweep::compare(&subject, &settings, &ways, &mut |_| steps += 1);
    let (measured, others) = swept.expect("it can be swept");
    assert_eq!((steps, others.len(), measured.orders.len()), (5, ways.len(), 1));
    // Static packing with this seed is what the packer alone makes of it for the same run, behind each cache.
    let packing =
        pack::Settings { order: Order::Seeded(1), dictionary: dict::Choice::Static, ..settings.packing };
    let ran = Ran::of(&sweep::as_it_is(&program), &run.input(), &Settings::default(), &subject.user);
    let profile = Profile::of_stream(&ran.expect("it runs").stream);
    let packed = pack::pack(&program, &[profile], &packing).expect("it can be packed");
    assert_eq!(packed.report.nothing, None);
    let OtherRuns::Packets(runs) = &others[0].orders[0].runs else { panic!("{:?}", others[0]) };
    for (number, &cache) in CACHES.iter().enumerate() {
        let (cycles, counts) = chained(&packed.image, &run, cache);
        assert_eq!((runs[0].total_cycles(number, 120), runs[0].misses[number]), (cycles, counts.misses));
        let [fixed, dynamic, fields] =
            [0, 1, 2].map(|way| measured.other(&others[way], number, Penalty::default()));
        assert_eq!(fixed.packed.mean, fixed.packed.least);
        assert!(dynamic.packed.mean < fixed.packed.mean, "{dynamic:?} {fixed:?}");
        assert!(fields.lines_left.mean > 0.0 && fields.packed.mean > 0.0, "{fields:?}");
    }
    assert!(others[2].ratio() < others[0].ratio(), "{} {}", others[2].ratio(), others[0].ratio());
}

/// A subject of RV32 that is packed for the same runs that are measured.
fn subject(name: &str, program: Program, input: Input) -> Subject {
    let user = Default::default();
    Subject { name: name.into(), program, user, training: vec![input.clone()], measured: vec![input] }
}

#[test]
fn an_image_without_gain_is_the_plain_program_in_the_order_that_it_stands_beside() {
    let Some(run) = run_of("search") else { return };
    let program = Program::parse(&run.elf("rv32")).expect("it is a program");
    let subject = subject("search", program.clone(), run.input());
    let mut settings = sweep::Settings {
        caches: CACHES.to_vec(),
        seeds: vec![1, 2],
        effort: Effort { dynamic_percents: vec![50], left_out: 0, spaced: 0, exchanges: 99 },
        ..sweep::Settings::default()
    };
    // So much no function saves.
    settings.packing.least_saving_percent = 100;
    let swept = Sweep::new(&subject, &settings, std::slice::from_ref(&subject.user), &mut |_| {});
    let swept = swept.expect("it runs");
    for order in [Order::Seeded(1), Order::Hot] {
        let images = swept.images(order).expect("they can be made");
        assert_eq!(images.packed.report.nothing, Some(Nothing::NoGain));
        assert_eq!(images.packed.image, images.plain);
        assert_ne!(images.plain, sweep::as_it_is(&program));
    }
    let way = Way::Packets(dict::Choice::Static);
    let compared = sweep::compare(&subject, &settings, &[way], &mut |_| {});
    let (measured, others) = compared.expect("it can be swept");
    for (number, cache) in CACHES.iter().enumerate() {
        let (cell, other) = (
            measured.cell(number, Penalty::default()),
            measured.other(&others[0], number, Penalty::default()),
        );
        for beside in [cell.packed_to_aes, cell.lines_left, other.packed_to_aes, other.lines_left] {
            assert_eq!((beside.least, beside.most), (1.0, 1.0), "{cache:?}");
        }
        assert_eq!(cell.placed, cell.placed_aes);
    }
}

#[test]
fn a_program_that_no_code_makes_smaller_is_measured_as_it_is_and_it_is_said() {
    let words = ["addi a0, zero, 0", "addi a7, zero, 93", "ecall"].map(made::word_of);
    let input = Input {
        name: "none".into(),
        arguments: vec!["tiny".into()],
        files: Default::default(),
        limit: Cycles::MAX,
    };
    let subject = subject("tiny", made::linked(&words, &[0]), input);
    let settings = sweep::Settings { caches: CACHES.to_vec(), seeds: vec![1], ..sweep::Settings::default() };
    let ways = [Way::OnFill { code: Code::Fields, block_bytes: 64 }, Way::Packets(dict::Choice::Static)];
    let (measured, others) =
        sweep::compare(&subject, &settings, &ways, &mut |_| {}).expect("it can be swept");
    assert!(matches!(others[0].orders[0].runs, OtherRuns::AsItIs(_)), "{:?}", others[0]);
    assert_eq!((others[0].as_it_is(), others[0].ratio()), (1, 1.0));
    let cell = measured.other(&others[0], 0, Penalty::default());
    assert_eq!((cell.packed_to_aes.mean, cell.lines_left.mean), (1.0, 1.0));
}
