//! The library on processors' hardware: the requests of `identity/list.txt` take on PicoRV32 and VexRiscv, as Verilator
//! makes them of their authors' Verilog, the cycles that they take on `isa::rv32`'s cores of these names.
//!
//! Equality is of every mark, two around what is timed of each request, and of the whole run. What is answered is what the
//! library answers natively.

mod compiled;
#[path = "../../isa/tests/cores/mod.rs"]
mod cores;
mod identity;

use std::collections::BTreeSet;
use std::sync::Arc;

use cores::{Bench, Core, End};
use explore::Request;
use explore::image::{Choice, Image, Leaves, REQUESTS};
use explore::{measure, native};
use identity::{Part, requests, soak};
use isa::rv32::Profile;
use isa::rv32::bare::{self, Mark, Program};
use isa::{Cycles, Observer};

/// What may run on the hardware of each core: 200 million cycles in a short run and 2,000 million in a long one.
const CYCLES_MAX: [[Cycles; 2]; 2] = [[95_000_000, 105_000_000], [1_200_000_000, 800_000_000]];
/// How the compiler may optimise.
const LEVELS: [&str; 3] = ["-O2", "-O3", "-Os"];
/// Which layouts a short run has.
const SEED: u64 = 0o35;
/// In how many layouts images are linked.
const LAYOUTS: u64 = 8;

/// The image with requests in its memory.
fn program(image: &Image, requests: &[Request]) -> Program {
    let (bytes, taken) = measure::lay(requests.iter().map(Request::bytes));
    assert_eq!(taken, requests.len(), "the list does not fit");
    let mut program = image.program.clone();
    program.place(REQUESTS, &bytes).expect("there is room");
    program
}

/// What the library answers natively.
fn answers(requests: &[Request]) -> Vec<explore::Response> {
    let run = |request: &Request| native::run(request).unwrap_or_else(|error| panic!("{request:?}: {error}"));
    requests.iter().map(|request| run(request).response).collect()
}

/// Asserts that these are the same on hardware, here, and natively. Cycles that they took.
fn assert_identical(bench: &Bench, image: &Image, requests: &[Request]) -> Cycles {
    let program = program(image, requests);
    let theirs = bench.run(&program, Cycles::MAX >> 1);
    let what = format!("{:?}, {} to {}", image.choice, name(requests.first()), name(requests.last()));
    bench.same(&theirs, &program, &Arc::default(), &what);
    assert_eq!(theirs.end, End::Exit(0), "{what}");
    let times: usize = requests.iter().map(|request| usize::from(request.repeats)).sum();
    assert_eq!(theirs.marks.len(), 2 * times, "{what}");
    let mut console = &theirs.console[..];
    for (request, expected) in requests.iter().zip(answers(requests)) {
        let (answered, rest) = explore::Response::take(request.operation, console).expect("it is done");
        assert_eq!(answered, expected, "{what}: {request:?}");
        console = rest;
    }
    println!("{what}: {} requests, {} cycles, every mark at the same one", requests.len(), theirs.cycle);
    theirs.cycle
}

/// An operation, and its limbs.
fn name(request: Option<&Request>) -> String {
    let request = request.expect("something is asked");
    format!("{} {}", request.operation, request.radix.map_or(0, |radix| radix.limb_bits()))
}

/// The images that a core is compared with, and what of the list each is asked.
fn images(core: &'static str) -> Vec<(Choice, Vec<Request>)> {
    let all = if soak() { Part::Long(core) } else { Part::Short(core) };
    let part = |leaves| if leaves == Leaves::Assembly { all } else { Part::Limbs };
    Leaves::ALL.map(|leaves| (Choice::of(leaves), requests(part(leaves)))).to_vec()
}

/// Compares a core with its hardware.
fn compare(core: Core, images: &[(Choice, Vec<Request>)]) {
    let Some(bench) = Bench::new(core, None) else { return };
    let mut cycles = 0;
    for (choice, requests) in images {
        let Some(image) = compiled::image_of(choice) else { return };
        cycles += assert_identical(&bench, &image, requests);
    }
    println!("{core:?}: {cycles} cycles in all");
    assert!(cycles <= CYCLES_MAX[usize::from(soak())][core as usize], "{cycles} cycles");
}

#[test]
fn the_list_takes_the_cycles_of_picorv32s_hardware() {
    compare(Core::Pico, &images("pico"));
}

/// What takes little is compared at every level in every layout in a long run. Of what takes long each of these images is
/// asked for one line alone, in turn; all of its lines are compared at one level in one layout, with leaves in assembly.
#[test]
fn the_list_takes_the_cycles_of_vexriscvs_hardware_at_every_level_and_in_every_layout() {
    let mut images = images("vex5");
    if soak() {
        let little = requests(Part::Little);
        let mut longer = requests(Part::Short("vex5"));
        longer.retain(|request| !little.contains(request));
        let layouts = LEVELS.into_iter().flat_map(|level| (0..LAYOUTS).map(move |layout| (level, layout)));
        let choice =
            |(level, layout)| Choice { level: str::to_owned(level), layout, ..Choice::of(Leaves::Unrolled) };
        let asked =
            longer.iter().cycle().map(|request| [&little[..], std::slice::from_ref(request)].concat());
        images.extend(layouts.map(choice).zip(asked));
    } else {
        // Some of them.
        (images[0].0.level, images[0].0.layout) = ("-Os".to_owned(), SEED % LAYOUTS);
        (images[1].0.level, images[1].0.layout) = ("-O3".to_owned(), SEED / LAYOUTS % LAYOUTS);
    }
    compare(Core::Vex5, &images);
}

/// Which words of memory were executed.
struct Executed(Vec<bool>);

impl Observer for Executed {
    fn fetch(&mut self, _cycle: Cycles, address: u32) {
        self.0[address as usize / 4] = true;
    }
}

/// Routines that no image executes for its part of the list; `None`, and said, where there is no compiler.
fn missed(core: &'static str) -> Option<BTreeSet<&'static str>> {
    let mut reached = BTreeSet::new();
    for (choice, requests) in images(core) {
        let image = compiled::image_of(&choice)?;
        let mut executed = Executed(vec![false; bare::MEMORY_BYTES as usize / 4]);
        let program = program(&image, &requests);
        let outcome = bare::run(&program, Profile::Vex5Tcm, &Arc::default(), Cycles::MAX, &mut executed);
        assert_eq!(outcome.end, bare::End::Exit(0));
        let functions = image.functions.into_iter().filter(|symbol| executed.0[symbol.address as usize / 4]);
        reached.extend(functions.map(|symbol| symbol.name));
    }
    let routines = native::ROUTINES.iter().map(|routine| &*routine.name);
    Some(routines.filter(|routine| !reached.contains(*routine)).collect())
}

#[test]
fn the_list_reaches_every_routine() {
    let (Some(on_pico), Some(on_vex5)) = (missed("pico"), missed("vex5")) else { return };
    if soak() {
        assert_eq!((on_pico, on_vex5), (BTreeSet::new(), BTreeSet::new()));
        return;
    }
    // What short runs leave to long ones is the same source in limbs of 16 bits; why, the next test says.
    let missed: BTreeSet<&str> = on_pico.intersection(&on_vex5).copied().collect();
    println!("left to long runs: {missed:?}");
    for routine in &missed {
        assert!(routine.contains("16"), "{routine}");
        assert!(!missed.contains(&*routine.replace("16", "32")), "{routine}");
    }
    let layers = ["mpn", "mpz", "modmul", "modexp", "power_cache", "crt"];
    assert!(
        missed.iter().all(|routine| !layers.iter().any(|layer| routine.starts_with(layer))),
        "{missed:?}"
    );
}

/// Cycles of a request on the simulator, each time that it is done.
fn simulated(bench: &measure::Bench, request: &Request) -> Cycles {
    let measured = bench.measure(std::slice::from_ref(request)).expect("it is done").remove(0);
    measured.turns.iter().map(|turn| turn.cycles).sum()
}

#[test]
fn what_short_runs_leave_out_on_pico_has_no_room_there() {
    let mut rest = CYCLES_MAX[0][Core::Pico as usize];
    for leaves in Leaves::ALL {
        let Some(image) = compiled::image(leaves) else { return };
        let part = if leaves == Leaves::Assembly { Part::Short("pico") } else { Part::Limbs };
        let program = program(&image, &requests(part));
        let outcome = bare::run(&program, Profile::Pico, &Arc::default(), Cycles::MAX, &mut ());
        assert_eq!(outcome.end, bare::End::Exit(0));
        rest = rest.checked_sub(outcome.cycle).expect("it is a short run");
    }
    println!("{rest} cycles are left");
    let image = compiled::image(Leaves::Assembly).expect("it was there before");
    let bench = measure::Bench::new(&image, Profile::Pico);
    let short = requests(Part::Short("pico"));
    for request in requests(Part::Long("pico")).iter().filter(|request| !short.contains(request)) {
        let (cycles, bits) = (simulated(&bench, request), request.radix.map_or(0, |radix| radix.limb_bits()));
        println!("{} in limbs of {bits} bits takes {cycles}", request.operation);
        assert!(
            cycles > rest,
            "{request:?} takes {cycles} cycles, and {rest} are left: let short runs do it"
        );
    }
}

/// How often requests are done where it is to be warm.
const TIMES: u8 = 3;

/// Cycles between the two marks of each request, the last time that it is done.
fn timed(program: &Program, profile: Profile) -> Vec<Cycles> {
    let outcome = bare::run(program, profile, &Arc::default(), Cycles::MAX, &mut ());
    assert_eq!(outcome.end, bare::End::Exit(0));
    let last = |marks: &[Mark]| marks[marks.len() - 1].cycle - marks[marks.len() - 2].cycle;
    outcome.marks.chunks_exact(2 * usize::from(TIMES)).map(last).collect()
}

#[test]
fn caches_only_ever_cost_and_cost_nothing_where_all_is_in_them() {
    let Some(image) = compiled::image(Leaves::Assembly) else { return };
    let mut requests = requests(Part::Little);
    requests.iter_mut().for_each(|request| request.repeats = TIMES);
    let program = program(&image, &requests);
    let [cached, tightly] = [Profile::Vex5, Profile::Vex5Tcm].map(|profile| timed(&program, profile));
    let pairs = cached.iter().zip(&tightly);
    assert!(pairs.clone().all(|(cached, tightly)| cached >= tightly));
    let same = pairs.filter(|(cached, tightly)| cached == tightly).count();
    println!("{same} of {} take the same, when they are done for the third time", requests.len());
    assert!(same > 10);
}
