//! RV32's traps and transfers at every slot of every format: what the environment answers is gone on from behind the
//! slot, a fault names word and slot, branches and calls go where they say, and calls are come back from.

mod rv32;

use std::collections::BTreeMap;

use isa::rv32::{Fault, FaultKind, Files, Machine, Stop, Trap, User, user};
use pack::chain::{Chain, Lines, Protection, Rv32, Settings, Shape, Work, run};
use pack::code::packet::Format;
use pack::image::Image;
use rv32::{CODE, Word, image, packet, plain};

type Running = Machine<Chain<Lines, Rv32>>;

/// A core about to begin behind a small cache and a cipher.
fn machine(image: &Image) -> Running {
    let settings = Settings { cache: Shape::direct(256), ..Settings::default() };
    let protection = Protection::cost_of_code(image, Work::Block);
    let files = Files::new(BTreeMap::new(), Vec::new());
    let user = user::Settings::default();
    let started: User<_> =
        run::rv32::under_linux(image, &protection, &settings, &[], files, user).expect("it fits");
    started.machine
}

/// Where the packet of a case is, and where its branch goes.
const PLACE: u32 = CODE + 8;
const TARGET: u32 = PLACE + 12;

/// A program around a packet. Everything is counted somewhere, so that nothing may be executed twice or not at all.
fn program(packet: Word) -> Vec<Word> {
    let mut words = vec![plain("lui t0, 0x10"), plain("addi t1, zero, 1")];
    words.push(packet);
    words.extend(["addi s5, s5, 1", "addi s6, s6, 1", "addi s7, s7, 1", "ebreak"].map(plain));
    words
}

/// What an environment does that is called.
fn answer(machine: &mut Running) {
    machine.set_register(10, machine.register(10) + 7);
    machine.skip();
}

/// Runs to the EBREAK; the registers then, and where ECALL trapped.
fn run_to_end(image: &Image) -> (Vec<u32>, Vec<u32>) {
    let mut machine = machine(image);
    let mut traps = Vec::new();
    for _ in 0..100 {
        match machine.run(1_000_000, &mut ()) {
            Stop::Trap(Trap::EnvironmentCall) => {
                traps.push(machine.pc());
                answer(&mut machine);
            }
            Stop::Trap(Trap::Breakpoint) => {
                return ((0..32).map(|number| machine.register(number)).collect(), traps);
            }
            stop => panic!("{stop:?} at {:#x}", machine.pc()),
        }
    }
    panic!("it does not end: at {:#x}", machine.pc());
}

const FORMATS: [Format; 5] =
    [Format::Four, Format::Three, Format::ThreeBranch, Format::TwoBranch, Format::FarBranch];

/// Taken, not taken, and a jump.
const BRANCHES: [(&str, bool); 3] =
    [("bne t1, zero, .+12", true), ("beq t1, zero, .+12", false), ("jal zero, .+12", true)];

/// Every packet of a format with this line in each of its slots but the branch's, if it has one: the packet's lines,
/// the slot, and whether control comes to it.
fn cases(format: Format, line: &'static str) -> Vec<(Vec<&'static str>, usize, bool)> {
    const FILLERS: [&str; 4] = ["addi s1, s1, 1", "addi s2, s2, 1", "addi s3, s3, 1", "addi s4, s4, 1"];
    let most = usize::from(format.slots_max());
    let has_branch = format.reach_words().is_some();
    let mut found = Vec::new();
    for slots in (if has_branch { most } else { 1 })..=most {
        for slot in 0..slots {
            let mut lines = FILLERS[..slots].to_vec();
            lines[slot] = line;
            if !has_branch {
                found.push((lines, slot, true));
                continue;
            }
            for branch_slot in (0..slots).filter(|&other| other != slot) {
                for (branch, taken) in BRANCHES {
                    let mut lines = lines.clone();
                    lines[branch_slot] = branch;
                    found.push((lines, slot, !taken || slot < branch_slot));
                }
            }
        }
    }
    found
}

#[test]
fn a_call_of_the_environment_in_any_slot_is_gone_on_from_behind_it() {
    for format in FORMATS {
        let cases = cases(format, "ecall");
        assert!(cases.len() >= 6, "{format:?}");
        for (lines, slot, reached) in cases {
            let (registers, traps) = run_to_end(&image(&program(packet(format, &lines))));
            let place = PLACE + slot as u32;
            assert_eq!(traps, if reached { vec![place] } else { Vec::new() }, "{format:?} {lines:?}");
            let mut other = lines.clone();
            other[slot] = "addi a0, a0, 7";
            let (expected, none) = run_to_end(&image(&program(packet(format, &other))));
            assert_eq!(none, Vec::<u32>::new());
            assert_eq!(registers, expected, "{format:?} {lines:?}");
        }
    }
}

/// How a run ends that nothing answers.
fn end(lines: &[&str], format: Format) -> (Fault, String) {
    let image = image(&program(packet(format, lines)));
    let protection = Protection::cost_of_code(&image, Work::Block);
    let files = Files::new(BTreeMap::new(), Vec::new());
    let (settings, user) = (Settings::default(), user::Settings::default());
    let started = run::rv32::under_linux(&image, &protection, &settings, &[], files, user);
    let outcome = run::rv32::finish(&mut started.expect("it fits"), 1_000_000, &mut ());
    let run::End::Fault(fault) = outcome.end else { panic!("{:?}", outcome.end) };
    (fault, fault.to_string())
}

#[test]
fn a_fault_in_any_slot_names_word_and_slot_and_what_was_wrong() {
    let at = CODE + 8;
    let unanswered = |trap| FaultKind::Unanswered { trap };
    let faults = [
        // Where a packet is, which no program can mean.
        ("lw a1, 8(t0)", FaultKind::PackedText { address: at }),
        ("sw a1, 0(t0)", FaultKind::StoredToCode { address: CODE }),
        ("lw a1, 1(t0)", unanswered(Trap::LoadMisaligned)),
        ("lw a1, 0(zero)", unanswered(Trap::LoadAccess)),
        ("sb a1, 0(zero)", unanswered(Trap::StoreAccess)),
        ("csrrw zero, cycle, a1", unanswered(Trap::IllegalInstruction)),
        // A dictionary's entry that is no instruction.
        (".word 0", unanswered(Trap::IllegalInstruction)),
    ];
    for (line, kind) in faults {
        for format in FORMATS {
            for (lines, slot, reached) in cases(format, line) {
                let (fault, words) = end(&lines, format);
                if !reached {
                    assert_eq!(fault.kind, unanswered(Trap::Breakpoint), "{lines:?}");
                    continue;
                }
                assert_eq!(fault, Fault { pc: PLACE + slot as u32, kind }, "{lines:?}");
                let named = if slot == 0 { String::new() } else { format!("slot {slot}: ") };
                assert!(words.starts_with(&format!("fault at {PLACE:#010x}: {named}")), "{words}");
                assert_eq!(words.contains("slot "), slot != 0, "{words}");
            }
        }
    }
}

#[test]
fn a_call_in_any_slot_leaves_the_place_behind_it_and_is_come_back_from() {
    for format in [Format::ThreeBranch, Format::TwoBranch, Format::FarBranch] {
        let most = usize::from(format.slots_max());
        for slot in 0..most {
            for call in ["jal ra, .+12", "jal t0, .+12"] {
                let mut lines = ["addi s1, s1, 1", "addi s2, s2, 1", "addi s3, s3, 1"][..most].to_vec();
                lines[slot] = call;
                let back = if call.contains("ra") { "jalr zero, 0(ra)" } else { "jalr zero, 0(t0)" };
                let mut words = program(packet(format, &lines));
                // Its target counts and comes back; what is behind the packet ends.
                words[4] = plain("ebreak");
                words.truncate(6);
                words.push(plain(back));
                let (registers, _) = run_to_end(&image(&words));
                let behind = if slot + 1 < most { PLACE + slot as u32 + 1 } else { PLACE + 4 };
                let link = if call.contains("ra") { registers[1] } else { registers[5] };
                assert_eq!(link, behind, "{lines:?}");
                let counted: u32 = [9, 18, 19].iter().map(|&number: &usize| registers[number]).sum();
                assert_eq!((counted, registers[21], registers[23]), (most as u32 - 1, 1, 1), "{lines:?}");
            }
        }
    }
    assert_eq!(TARGET, PLACE + 12);
}

#[test]
fn a_call_through_a_register_comes_back_to_any_slot() {
    let target = format!("addi t2, t0, {}", TARGET - CODE);
    for slot in 0..4 {
        let mut lines = ["addi s1, s1, 1", "addi s2, s2, 1", "addi s3, s3, 1", "addi s4, s4, 1"];
        lines[slot] = "jalr ra, 0(t2)";
        let mut words = program(packet(Format::Four, &lines));
        words[1] = plain(&target);
        words[4] = plain("ebreak");
        words.truncate(6);
        words.push(plain("ret"));
        let (registers, _) = run_to_end(&image(&words));
        assert_eq!(registers[1], if slot < 3 { PLACE + slot as u32 + 1 } else { PLACE + 4 });
        let counted: u32 = [9, 18, 19, 20].iter().map(|&number: &usize| registers[number]).sum();
        assert_eq!((counted, registers[21], registers[23]), (3, 1, 1));
    }
}

#[test]
fn places_without_an_instruction_are_told_apart() {
    let ends = |words: &[Word]| machine(&image(words)).run(1_000_000, &mut ());
    // Half a word of a compressed instruction, a packet that the dictionary does not have, nothing at all, no slot.
    let fault = |pc, kind| Stop::Fault(Fault { pc, kind });
    assert_eq!(ends(&[Word::Number(0x4501)]), fault(CODE, FaultKind::Compressed { half: 0x4501 }));
    assert_eq!(ends(&[Word::Number(0x0700_0002)]), Stop::Trap(Trap::IllegalInstruction));
    assert_eq!(ends(&[plain("nop")]), Stop::Trap(Trap::InstructionAccess));
    let past = [plain("lui t0, 0x10"), plain("jalr zero, 9(t0)"), plain("nop")];
    assert_eq!(ends(&past), Stop::Trap(Trap::IllegalInstruction));
}
