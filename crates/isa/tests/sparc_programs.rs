//! Whole programs on SPARC: those of corpus/ end with the output that a native build has; under Linux they execute what
//! they execute under qemu-sparc; on a board, with their own handlers of traps, every register is as on QEMU's LEON3,
//! and they execute the same where words hold several instructions.

mod emulator;

use std::collections::BTreeMap;
use std::process::Command;

use emulator::{Records, Run, digest, root, sample, soak};
use isa::Cycles;
use isa::sparc::bare::MEMORY_BYTES;
use isa::sparc::table::Operand;
use isa::sparc::user::{self, Windows};
use isa::sparc::{
    Board, Bus, FaultKind, Fetched, Files, Image, Machine, Opcode, Refusal, Settings, Stop, Trap, User, Width,
};

fn elf(run: &Run) -> Vec<u8> {
    std::fs::read(root("corpus/sparc").join(&run.program).with_extension("elf")).expect("the corpus has it")
}

fn start(run: &Run, settings: user::Settings) -> User<isa::sparc::Memory> {
    let image = Image::parse(&elf(run)).expect("it is an image");
    let (arguments, files) = run.prepare(&called(run));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    User::new(&image, &arguments, files, settings).expect("it fits")
}

/// What a program is called where its inputs are, as scripts/corpus.sh calls it when it counts.
fn called(run: &Run) -> String {
    format!("../../corpus/sparc/{}.elf", run.program)
}

/// The table of traps that an image brings.
fn table(run: &Run) -> u32 {
    Image::parse(&elf(run)).expect("it is an image").symbol("reset").expect("it has a table of traps").address
}

#[test]
fn programs_print_what_they_print_natively_whoever_spills_their_windows() {
    for run in sample("SPARC programs") {
        let mut counts = Vec::new();
        for windows in [Windows::Environment, Windows::Image { table: table(&run) }] {
            let mut program = start(&run, user::Settings { windows, ..user::Settings::default() });
            let stop = program.run(Cycles::MAX, &mut ());
            assert_eq!(stop, user::Stop::Exit(0), "{} {}", run.program, run.name);
            assert_eq!(digest(&program.files.output), run.output(), "{} {}", run.program, run.name);
            let spent = program.machine.spent();
            if windows == Windows::Environment {
                // What is tried again once its window is there counts itself twice there, and the last call is not
                // come back from.
                let [theirs, _] = run.instructions();
                let ours = spent.instructions..=spent.instructions + spent.traps;
                assert!(ours.contains(&theirs), "{} {}: {ours:?}, {theirs}", run.program, run.name);
            }
            counts.push((spent.instructions, program.machine.cycle()));
        }
        println!("{} {}: instructions and cycles {counts:?}", run.program, run.name);
        assert!(counts[0].0 <= counts[1].0, "handlers are counted");
    }
}

#[test]
fn programs_execute_what_they_execute_under_qemu() {
    if !emulator::present("qemu-sparc", "places of SPARC programs against qemu-sparc") {
        return;
    }
    const COUNT: u64 = 200_000;
    /// What is asked of a long run, of all inputs of a program together.
    const COUNT_SOAK: u64 = 5_000_000;
    let mut by_program: BTreeMap<String, u64> = BTreeMap::new();
    for run in sample("places of SPARC programs") {
        let (mut child, places) = emulator::places("qemu-sparc", called(&run).as_ref(), &run);
        let mut ours = start(&run, user::Settings::default());
        let (mut executed, mut before, mut ended) = (0, 0, false);
        for their in places {
            assert_eq!(
                ours.machine.pc(),
                their,
                "{} {}: instruction {executed}, after {before:#x}",
                run.program,
                run.name
            );
            before = their;
            let done = ours.machine.spent().instructions;
            while ours.machine.spent().instructions == done || ours.machine.is_annulled() {
                let stop = ours.run(ours.machine.cycle() + 1, &mut ());
                if stop != user::Stop::Reached {
                    assert_eq!(stop, user::Stop::Exit(0), "{} {}", run.program, run.name);
                    ended = true;
                    break;
                }
            }
            executed += 1;
            if executed == COUNT && !soak() {
                break;
            }
        }
        let _ = child.kill();
        let _ = child.wait();
        println!("{} {}: {executed} instructions", run.program, run.name);
        // Theirs is shorter than asked for where it came to its end, and then ours did, too.
        assert!(if soak() { ended } else { executed == COUNT }, "{} {}: {executed}", run.program, run.name);
        *by_program.entry(run.program).or_default() += executed;
    }
    let least = if soak() { COUNT_SOAK } else { COUNT };
    assert!(by_program.values().all(|&count| count >= least), "{by_program:?}");
}

/// An archive as the corpus' start file for boards reads it (cpio, `newc`): arguments, standard input, files.
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

/// Where that file expects it.
const DISK: u32 = 0x4200_0000;

#[test]
fn programs_on_a_board_leave_every_register_as_qemus_leon3_does() {
    if !emulator::present("qemu-system-sparc", "registers of SPARC programs against QEMU's LEON3") {
        return;
    }
    let count = if soak() { 100_000 } else { 10_000 };
    for run in sample("registers of SPARC programs") {
        let (arguments, files) = run.prepare(&run.program);
        let disk = archive(&arguments, &files);
        let reset = table(&run);
        // On a board it begins at its table of traps, not where Linux begins it.
        let mut bytes = elf(&run);
        bytes[24..28].copy_from_slice(&reset.to_be_bytes());
        let program = emulator::write_program(&format!("board-{}-{}.elf", run.program, run.name), &bytes);
        let disk_path = emulator::write_program(&format!("board-{}-{}.cpio", run.program, run.name), &disk);
        let mut command = emulator::board(&program);
        command
            .arg("-device")
            .arg(format!("loader,file={},addr={DISK:#x},force-raw=on", disk_path.display()));
        let mut theirs = Records::start(command);
        let first = theirs.find(|record| record.pc == reset).expect("it comes to the program");
        let image = Image::parse(&bytes).expect("it is an image");
        let board = Board::new(&image, 64 << 20, &[(DISK, &disk)]).expect("it fits");
        let mut ours = board.start(Settings::default(), reset);
        ours.set_psr(first.psr).expect("a window that there is");
        ours.set_wim(first.wim);
        (0..32).for_each(|number| ours.set_register(number, first.registers[usize::from(number)]));
        let (mut before, mut compared) = (reset, 0);
        for their in theirs.take(count) {
            let done = ours.spent().instructions + ours.spent().traps;
            while ours.spent().instructions + ours.spent().traps == done || ours.is_annulled() {
                assert_eq!(
                    ours.run(ours.cycle() + 1, &mut ()),
                    Stop::Reached,
                    "{} {}",
                    run.program,
                    run.name
                );
            }
            let our = emulator::record(&ours);
            assert_eq!(our, their, "{} {}: after {before:#x}", run.program, run.name);
            before = their.pc;
            compared += 1;
        }
        assert_eq!(compared, count, "{} {}: the emulator ended early", run.program, run.name);
        println!(
            "{} {}: {} instructions, {} traps",
            run.program,
            run.name,
            ours.spent().instructions,
            ours.spent().traps
        );
        let stop = ours.run(Cycles::MAX, &mut ());
        assert!(matches!(stop, Stop::Fault(_)), "{stop:?}");
        assert_eq!(
            digest(&ours.bus.sent),
            run.output(),
            "{} {}: over the serial line",
            run.program,
            run.name
        );
    }
}

/// A board whose words hold up to four instructions each: their own, and in slots 1 to 3 those of the words behind. So
/// every word can still be gone to, and after slot 3 comes the fourth word.
struct Packed {
    board: Board,
    /// The first address behind the table of traps, which is a word an instruction.
    packed_from: u32,
}

impl Packed {
    /// Whether what is at this address may be in a slot of a word before it. What leaves an address in a register is
    /// not: a program returns to 8 behind it.
    fn slotted(&mut self, address: u32) -> bool {
        let Ok(Fetched { instruction, .. }) = self.board.fetch(address, 0, &mut 0) else { return false };
        let links = instruction.opcode == Opcode::Jmpl && instruction.rd != 0;
        !links && instruction.opcode != Opcode::Call
    }
}

impl Bus for Packed {
    const SLOTS: bool = true;

    fn fetch(&mut self, pc: u32, cycle: Cycles, wait: &mut u32) -> Result<Fetched, Refusal> {
        let (word, slot) = (pc & !3, pc & 3);
        let at = word + 4 * slot;
        let Fetched { mut instruction, mut next } = self.board.fetch(at, cycle, wait)?;
        if instruction.opcode.row().operands.contains(&Operand::Relative22) {
            // Distances are from the word.
            instruction.k += 4 * slot as i32;
        }
        if word >= self.packed_from && slot < 3 && self.slotted(next) {
            next = pc + 1;
        }
        Ok(Fetched { instruction, next })
    }

    fn load(&mut self, address: u32, width: Width, cycle: Cycles, wait: &mut u32) -> Result<u64, Refusal> {
        self.board.load(address, width, cycle, wait)
    }

    fn store(
        &mut self,
        address: u32,
        width: Width,
        value: u64,
        cycle: Cycles,
        wait: &mut u32,
    ) -> Result<(), Refusal> {
        self.board.store(address, width, value, cycle, wait)
    }
}

/// How many traps the image's table was gone to for, by type and by the slots of the PC and the nPC that they saved.
#[derive(Default)]
struct Taken(BTreeMap<Trap, [[u64; 4]; 2]>);

impl Taken {
    fn counts(&self) -> Vec<(Trap, u64)> {
        self.0.iter().map(|(&trap, saved)| (trap, saved[0].iter().sum())).collect()
    }
}

impl isa::Observer for Taken {}

impl isa::sparc::Observer for Taken {
    fn trap(&mut self, _cycle: Cycles, trap: Trap, pc: u32, npc: u32) {
        let saved = self.0.entry(trap).or_default();
        saved[0][pc as usize & 3] += 1;
        saved[1][npc as usize & 3] += 1;
    }
}

/// Runs until the program ends itself, with status 0.
fn finish<B: Bus>(mut machine: Machine<B>, name: &str) -> (Machine<B>, Taken) {
    const STATUS: u8 = 8;
    let mut taken = Taken::default();
    let stop = machine.run(Cycles::MAX, &mut taken);
    let Stop::Fault(fault) = stop else { panic!("{name}: {stop:?}") };
    assert_eq!(fault.kind, FaultKind::ErrorMode { trap: Trap::software(0) }, "{name}: {fault}");
    assert_eq!(machine.register(STATUS), 0, "{name}");
    (machine, taken)
}

/// The traps that every program takes on a board: windows, and a system call.
const TAKEN: [Trap; 3] = [Trap::WINDOW_OVERFLOW, Trap::WINDOW_UNDERFLOW, Trap::software(0x10)];

#[test]
fn programs_handle_their_own_traps_whatever_slots_instructions_are_in() {
    const TABLE_BYTES: u32 = 4096;
    let mut slots = TAKEN.map(|_| [[0; 4]; 2]);
    let mut runs = sample("traps of SPARC programs");
    // It leaves calls by longjmp(), many windows at a time.
    let leaves = |run: &Run| run.program == "lua" && run.name == "parse";
    if !runs.is_empty() && !runs.iter().any(leaves) {
        runs.extend(emulator::runs("traps of SPARC programs").into_iter().filter(leaves));
    }
    for run in &runs {
        let name = format!("{} {}", run.program, run.name);
        let (arguments, files) = run.prepare(&run.program);
        let image = Image::parse(&elf(run)).expect("it is an image");
        let disk = archive(&arguments, &files);
        let board = Board::new(&image, MEMORY_BYTES, &[(DISK, &disk)]).expect("it fits");
        let reset = table(run);
        let packed = Packed { board: board.clone(), packed_from: reset + TABLE_BYTES };
        let (plain, words) = finish(board.start(Settings::default(), reset), &name);
        let (packed, taken) = finish(Machine::new(packed, Settings::default(), reset), &name);
        assert_eq!(digest(&plain.bus.sent), run.output(), "{name}");
        assert_eq!(digest(&packed.bus.board.sent), run.output(), "{name}: with slots");
        assert_eq!((packed.spent(), packed.cycle()), (plain.spent(), plain.cycle()), "{name}: with slots");
        // Each of the three, and no other.
        let counts = words.counts();
        assert_eq!(counts.iter().map(|count| count.0).collect::<Vec<_>>(), TAKEN, "{name}");
        assert_eq!(taken.counts(), counts, "{name}: with slots");
        println!("{name}: {counts:?}, with slots {:?}", taken.0);
        for (sum, saved) in slots.iter_mut().zip(taken.0.values()) {
            std::iter::zip(sum.as_flattened_mut(), saved.as_flattened())
                .for_each(|(sum, count)| *sum += count);
        }
    }
    if !runs.is_empty() {
        let [overflow, underflow, call] = slots;
        // SAVE begins a function and so a word, RESTORE may be anywhere, `ta 0x10` is second in its function.
        assert!(overflow[0][0] > 0 && overflow[1][1] > 0, "{overflow:?}");
        assert!(underflow[0].iter().all(|&count| count > 0), "{underflow:?}");
        assert!(call[0][1] > 0 && call[1][2] > 0, "{call:?}");
    }
}

#[test]
fn the_corpus_is_what_its_script_builds() {
    if !soak() {
        return;
    }
    let script = root("scripts/corpus.sh");
    let output = Command::new(script).arg("check").output().expect("the script starts");
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{errors}");
}
