//! Programs of the corpus on a board behind the chain: their own table of traps, their own handlers of windows and
//! system calls, all of it fetched through the cache; what they send over the serial line is what they print natively.

mod corpus;

use corpus::Run;
use isa::Cycles;
use isa::sparc::machine::Settings as Core;
use isa::sparc::{FaultKind, Files, Timing, Trap};
use pack::chain::run::{self, End};
use pack::chain::{Outcome, Protection, Settings, Work};
use pack::{Image, Program};

const MEMORY_BYTES: u32 = 64 << 20;
/// Where the corpus' start file finds its archive.
const DISK: u32 = 0x4200_0000;

/// An archive as that file reads it (cpio, `newc`): arguments, standard input, files.
fn archive(arguments: &[String], files: &Files) -> Vec<u8> {
    let told: Vec<u8> = arguments.iter().flat_map(|argument| argument.bytes().chain([0])).collect();
    let streams = [("arguments", &told), ("stdin", &files.input)];
    let named = files.named.iter().map(|(name, bytes)| (name.as_str(), bytes));
    let mut found = Vec::new();
    for (name, bytes) in streams.into_iter().chain(named).chain([("TRAILER!!!", &Vec::new())]) {
        let fields = [0, 0o100_644, 0, 0, 1, 0, bytes.len(), 0, 0, 0, 0, name.len() + 1, 0];
        found.extend(b"070701");
        fields.iter().for_each(|field| found.extend(format!("{field:08x}").bytes()));
        found.extend(name.bytes().chain([0]));
        found.resize(found.len().next_multiple_of(4), 0);
        found.extend(bytes);
        found.resize(found.len().next_multiple_of(4), 0);
    }
    found
}

fn on_board(run: &Run, image: &Image) -> Outcome {
    let (arguments, files) = run.prepare();
    let disk = archive(&arguments, &files);
    let protection = Protection::cost_of_code(image, Work::Block);
    let core = Core { timing: Timing::ideal(), ..Core::default() };
    let loaded: [(u32, &[u8]); 1] = [(DISK, &disk)];
    let started = run::on_board(image, &protection, &Settings::default(), core, MEMORY_BYTES, &loaded);
    run::finish_board(&mut started.expect("it fits"), Cycles::MAX, &mut ())
}

#[test]
fn programs_with_their_own_handlers_print_what_they_print_natively() {
    for run in corpus::sample("programs on a board behind the chain") {
        let program = run.image();
        let reset = program.symbol("reset").expect("it has a table of traps").address;
        let path = corpus::root("corpus/sparc").join(&run.program).with_extension("elf");
        let elf = std::fs::read(path).expect("the corpus has it");
        let read = Program::parse(&elf).unwrap_or_else(|error| panic!("{}: {error}", run.program));
        let settings =
            pack::Settings { assignment: pack::packing::Assignment::Greedy, ..pack::Settings::default() };
        let packed = pack::pack(&read, &[], &settings).expect("it can be packed").image;
        let mut cycles = Vec::new();
        for mut image in [run::unpacked(&program), packed] {
            // On a board a program begins at its table of traps, which stays where it is.
            image.entry = reset;
            let outcome = on_board(&run, &image);
            let End::Fault(fault) = outcome.end else { panic!("{:?}", outcome.end) };
            assert_eq!(fault.kind, FaultKind::ErrorMode { trap: Trap::software(0) }, "{}", run.program);
            assert!(run.is_expected(&outcome.output), "{} {}", run.program, run.name);
            let (spent, counts) = (outcome.spent, outcome.counts);
            let executed = spent.instructions + spent.annulled + spent.trap_cycles;
            assert_eq!(outcome.cycles, executed + 120 * counts.misses, "{} {}", run.program, run.name);
            assert!(spent.traps > 1, "{}: {} traps", run.program, spent.traps);
            cycles.push((outcome.cycles, counts.held));
        }
        println!("{} {}: {cycles:?}", run.program, run.name);
        assert!(cycles[0].1 == 0 && cycles[1].1 > 0);
    }
}
