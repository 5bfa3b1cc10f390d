//! Traps at every slot of every format, with real handlers behind the cache: an overflow, an underflow and an interrupt
//! save the place that they came at and the one behind it, go back there, and change nothing but time.

mod packets;

use isa::sparc::machine::Settings as Core;
use isa::sparc::{Board, Machine, Stop, Trap};
use isa::{Cycles, sparc};
use pack::chain::{Chain, Protection, Settings, Shape, Work, run};
use pack::code::packet::Format;
use pack::image::{Image, Kind, Section, Zeros};
use pack::target::Target;
use packets::{CODE, DATA, DATA_BYTES, Packer, Word, packet, plain};

/// The table of traps, a page.
const TABLE: u32 = 0x4000_0000;
/// Handlers, behind the program.
const HANDLERS: u32 = CODE + 0x400;
const MEMORY_BYTES: u32 = 0x2_0000;

/// Spills the oldest window, which is the one inside the window of the trap: its locals and ins where its stack pointer
/// says. Written for eight windows.
const OVERFLOW: &[&str] = &[
    "rd %wim, %l4",
    "srl %l4, 1, %l5",
    "sll %l4, 7, %l6",
    "or %l5, %l6, %l5",
    // Nothing is invalid while the handler goes through the windows.
    "wr %g0, 0, %wim",
    "save %g0, %g0, %g0",
    "std %l0, [%sp]",
    "std %l2, [%sp + 8]",
    "std %l4, [%sp + 16]",
    "std %l6, [%sp + 24]",
    "std %i0, [%sp + 32]",
    "std %i2, [%sp + 40]",
    "std %i4, [%sp + 48]",
    "std %i6, [%sp + 56]",
    "restore %g0, %g0, %g0",
    "wr %l5, 0, %wim",
    "jmp %l1",
    "rett %l2",
];

/// Fills the window that the program returns to, two outside the window of the trap.
const UNDERFLOW: &[&str] = &[
    "rd %wim, %l4",
    "sll %l4, 1, %l5",
    "srl %l4, 7, %l6",
    "or %l5, %l6, %l5",
    "wr %g0, 0, %wim",
    "restore %g0, %g0, %g0",
    "restore %g0, %g0, %g0",
    "ldd [%sp], %l0",
    "ldd [%sp + 8], %l2",
    "ldd [%sp + 16], %l4",
    "ldd [%sp + 24], %l6",
    "ldd [%sp + 32], %i0",
    "ldd [%sp + 40], %i2",
    "ldd [%sp + 48], %i4",
    "ldd [%sp + 56], %i6",
    "save %g0, %g0, %g0",
    "save %g0, %g0, %g0",
    "wr %l5, 0, %wim",
    "jmp %l1",
    "rett %l2",
];

/// Counts in memory, and changes nothing.
const INTERRUPT: &[&str] = &[
    "sethi %hi(0x40011000), %l4",
    "ld [%l4], %l5",
    "add %l5, 1, %l5",
    "st %l5, [%l4]",
    "jmp %l1",
    "rett %l2",
];
/// Where it counts.
const INTERRUPTS: u32 = 0x4001_1000;

/// Lines as packets of three, or as words.
fn handler(lines: &[&str], packed: bool) -> Vec<Word> {
    if packed {
        lines.chunks(3).map(|lines| packet(Format::Three, lines)).collect()
    } else {
        lines.iter().map(|line| plain(line)).collect()
    }
}

/// A board's image: the table, the program, the handlers.
fn image(program: &[Word], packed_handlers: bool) -> Image {
    let mut packer = Packer::default();
    let mut text = packer.bytes(program);
    text.resize((HANDLERS - CODE) as usize, 0);
    let mut entrances = Vec::new();
    for lines in [OVERFLOW, UNDERFLOW, INTERRUPT] {
        entrances.push(CODE + text.len() as u32);
        text.extend(packer.bytes(&handler(lines, packed_handlers)));
    }
    let mut table = Vec::new();
    for trap in 0..256_u32 {
        let to = match trap {
            5 => entrances[0],
            6 => entrances[1],
            0x11..=0x1f => entrances[2],
            // What nobody expects traps again, while traps are off.
            _ => 0,
        };
        let go = [format!("sethi %hi({to:#x}), %l3"), format!("jmp %l3 + {}", to & 0x3ff), "nop".to_owned()];
        let lines = if to == 0 { ["ta 0".to_owned(), "nop".to_owned(), "nop".to_owned()] } else { go };
        table.extend(packer.bytes(&lines.map(|line| plain(&line))));
        table.extend(packer.bytes(&[plain("nop")]));
    }
    let section =
        |name: &str, first, bytes| Section { name: name.to_owned(), kind: Kind::Code, first, bytes };
    Image {
        target: Target::Sparc,
        entry: CODE,
        sections: vec![section(".traps", TABLE, table), section(".text", CODE, text)],
        zeros: vec![Zeros { first: DATA, bytes: DATA_BYTES }],
        dictionary: packer.dictionary(),
        packed_text: Vec::new(),
        map: Vec::new(),
    }
}

type OnBoard = Machine<Board<Chain>>;

/// A machine about to run the program, in window 4 with this window invalid, every window with a stack of its own.
fn machine(image: &Image, wim: u32) -> OnBoard {
    let settings = Settings { cache: Shape::direct(256), ..Settings::default() };
    let protection = Protection::cost_of_code(image, Work::Block);
    let started = run::on_board(image, &protection, &settings, Core::default(), MEMORY_BYTES, &[]);
    let mut machine = started.expect("it fits");
    machine.set_tbr(TABLE);
    for window in 0..8 {
        // Supervisor, traps on.
        machine.set_psr(0xe0 | window).expect("a window that there is");
        machine.set_register(14, DATA + 0x100 + window * 0x80);
        (16..24).for_each(|number| machine.set_register(number, window * 0x100 + u32::from(number)));
    }
    machine.set_psr(0xe4).expect("window 4");
    machine.set_wim(wim);
    machine
}

#[derive(Default)]
struct Seen {
    retired: Vec<u32>,
    /// The same, and what a branch annulled.
    fetched: Vec<u32>,
    traps: Vec<(Trap, u32, u32)>,
}

impl isa::Observer for Seen {
    fn retire(&mut self, _cycle: Cycles, pc: u32) {
        self.retired.push(pc);
        self.fetched.push(pc);
    }
}

impl sparc::Observer for Seen {
    fn annulled(&mut self, _cycle: Cycles, pc: u32) {
        self.fetched.push(pc);
    }

    fn trap(&mut self, _cycle: Cycles, trap: Trap, pc: u32, npc: u32) {
        // The last one ends the program.
        if trap != Trap::software(0) {
            self.traps.push((trap, pc, npc));
        }
    }
}

/// Everything that a program computes: all registers but the locals of the window that traps of its first window enter,
/// its condition codes and which window it is in.
fn state(machine: &OnBoard) -> (Vec<u32>, u32, u32) {
    let globals = (0..8).map(|number| machine.register(number));
    let windows = (0..8).flat_map(|window| (8..24).map(move |number| (window, number)));
    let windows = windows.filter(|&(window, number)| window != 3 || number < 16);
    let registers = windows.map(|(window, number)| machine.window_register(window, number));
    (globals.chain(registers).collect(), machine.psr() & 0xf0_001f, machine.y())
}

/// Runs to the `ta 0` at the end, with an interrupt asked for at a place.
fn run_to_end(mut machine: OnBoard, interrupt_at: Option<u32>) -> (OnBoard, Seen) {
    let mut seen = Seen::default();
    let mut interrupted = false;
    for _ in 0..1000 {
        if interrupt_at == Some(machine.pc()) && !interrupted {
            machine.set_interrupt(3);
            interrupted = true;
        }
        match machine.step(&mut seen) {
            Stop::Reached => {}
            Stop::Fault(_) => return (machine, seen),
            stop => panic!("{stop:?}"),
        }
        if seen.traps.iter().any(|trap| trap.0.interrupt_level().is_some()) {
            machine.set_interrupt(0);
        }
    }
    panic!("it does not end: at {:#x}", machine.pc());
}

/// A case: a packet, in it the slot that traps, and where the program goes on behind that slot.
struct Case {
    packet: Word,
    slot: u32,
    behind: u32,
}

/// The packet's place: behind the three words that every program begins with.
const PLACE: u32 = CODE + 12;
/// Where its branch goes.
const TARGET: u32 = PLACE + 12;

/// The program of a case. Everything is counted somewhere, so that nothing may be executed twice or not at all.
fn program(case: &Case) -> Vec<Word> {
    let mut words: Vec<Word> =
        ["mov 0, %g1", "subcc %g0, 0, %g0", "mov 7, %g7"].into_iter().map(plain).collect();
    words.push(case.packet.clone());
    // The first of these may be behind a branch; the third is its target.
    words.extend(["add %g5, 1, %g5", "add %g6, 1, %g6", "add %g7, 1, %g7", "ta 0"].map(plain));
    words
}

/// Every packet of a format with this instruction in each of its slots but the branch's, if it has one, and that
/// taken and not, with its delay slot annulled and not.
fn cases(format: Format, trapping: &str) -> Vec<Case> {
    let fillers = ["add %g1, 1, %g1", "add %g2, 1, %g2", "add %g3, 1, %g3", "add %g4, 1, %g4"];
    let with_branch = format.reach_words().is_some();
    // A branch that is alone has no other slot to trap in.
    let least = if with_branch { format.slots_max().into() } else { 1 };
    let mut found = Vec::new();
    for slots in least..=usize::from(format.slots_max()) {
        for slot in 0..slots {
            let at = |place: usize| {
                if place < slots { PLACE + place as u32 } else { PLACE + 4 }
            };
            if !with_branch {
                let mut lines = fillers;
                lines[slot] = trapping;
                let packet = packet(format, &lines[..slots]);
                found.push(Case { packet, slot: slot as u32, behind: at(slot + 1) });
                continue;
            }
            // Z is set. What a branch annuls: a conditional one its delay slot when it is not taken, an unconditional
            // one always (V8 manual, B.21).
            let branches = [
                ("be .+12", true, false),
                ("be,a .+12", true, false),
                ("bne .+12", false, false),
                ("bne,a .+12", false, true),
                ("ba,a .+12", true, true),
            ];
            for (branch_slot, (branch, taken, annuls)) in
                (0..slots).flat_map(|slot| branches.map(|branch| (slot, branch)))
            {
                let delayed = slot == branch_slot + 1;
                let executed = if delayed { !annuls } else { slot < branch_slot || !taken };
                if branch_slot == slot || !executed {
                    continue;
                }
                let mut lines = fillers;
                lines[slot] = trapping;
                lines[branch_slot] = branch;
                let behind = if delayed && taken { TARGET } else { at(slot + 1) };
                found.push(Case { packet: packet(format, &lines[..slots]), slot: slot as u32, behind });
            }
        }
    }
    found
}

const FORMATS: [Format; 5] =
    [Format::Four, Format::Three, Format::ThreeBranch, Format::TwoBranch, Format::FarBranch];

/// How many cases a format has that trap in a slot of theirs, without those of a branch.
fn expected_cases(format: Format) -> usize {
    match format {
        Format::Four => 1 + 2 + 3 + 4,
        Format::Three => 1 + 2 + 3,
        // By the distance to the branch: before it all five; in its delay slot the three that do not annul it; two
        // behind it the two that are not taken.
        Format::ThreeBranch => 2 * (5 + 3) + (5 + 2),
        Format::TwoBranch | Format::FarBranch => 5 + 3,
    }
}

/// Runs a case with a window that is short and without; both end alike.
fn check_window(case: &Case, trap: Trap, short: u32, packed_handlers: bool) {
    let image = image(&program(case), packed_handlers);
    let place = PLACE + case.slot;
    let (plain, unseen) = run_to_end(machine(&image, 0), None);
    assert_eq!(unseen.traps, [], "{:?}", case.packet);
    let (trapped, seen) = run_to_end(machine(&image, short), None);
    assert_eq!(seen.traps, [(trap, place, case.behind)], "{:?}", case.packet);
    assert_eq!(seen.retired.iter().filter(|&&pc| pc == place).count(), 1, "{:?}", case.packet);
    assert_eq!(trapped.pc(), plain.pc(), "{:?}", case.packet);
    assert_eq!(state(&trapped), state(&plain), "{:?}", case.packet);
    // Handlers are fetched through the cache, and counted.
    let (with, without) = (trapped.bus.memory.counts(), plain.bus.memory.counts());
    let (accesses, handled) = (with.accesses - without.accesses, seen.retired.len() - unseen.retired.len());
    assert!(accesses > 0 && with.misses > without.misses, "{with:?}");
    assert_eq!(accesses as usize == handled + 1, !packed_handlers, "{accesses} {handled}");
}

#[test]
fn an_overflow_in_any_slot_is_spilled_and_tried_again() {
    for format in FORMATS {
        let cases = cases(format, "save %sp, -96, %sp");
        assert_eq!(cases.len(), expected_cases(format), "{format:?}");
        for (case, packed) in cases.iter().flat_map(|case| [(case, false), (case, true)]) {
            // Window 3 is invalid, and the program is in window 4.
            check_window(case, Trap::WINDOW_OVERFLOW, 1 << 3, packed);
        }
    }
}

#[test]
fn an_underflow_in_any_slot_is_filled_and_tried_again() {
    for format in FORMATS {
        let cases = cases(format, "restore %g1, 5, %o3");
        assert_eq!(cases.len(), expected_cases(format), "{format:?}");
        for (case, packed) in cases.iter().flat_map(|case| [(case, false), (case, true)]) {
            let image = image(&program(case), packed);
            // What is filled is what was in the window before.
            let place = PLACE + case.slot;
            let (plain, _) = run_to_end(machine(&image, 0), None);
            let mut short = machine(&image, 1 << 5);
            let pointer = short.window_register(5, 14);
            for number in 16..32_u8 {
                let value = short.window_register(5, number);
                let address = pointer + 4 * (u32::from(number) - 16);
                sparc::Bus::deposit(&mut short.bus, address, sparc::Width::Word, value.into())
                    .expect("there is memory");
            }
            let (filled, seen) = run_to_end(short, None);
            assert_eq!(seen.traps, [(Trap::WINDOW_UNDERFLOW, place, case.behind)], "{:?}", case.packet);
            assert_eq!(state(&filled), state(&plain), "{:?}", case.packet);
        }
    }
}

#[test]
fn an_interrupt_before_any_slot_changes_nothing_but_time() {
    for format in FORMATS {
        let mut interrupted_at = std::collections::BTreeSet::new();
        for (case, packed) in
            cases(format, "add %g3, 2, %g3").iter().flat_map(|case| [(case, false), (case, true)])
        {
            let image = image(&program(case), packed);
            let (plain, seen) = run_to_end(machine(&image, 0), None);
            let places: Vec<u32> = seen.retired.clone();
            for place in places {
                let (interrupted, with) = run_to_end(machine(&image, 0), Some(place));
                assert_eq!(with.traps.len(), 1, "{:?}", case.packet);
                assert_eq!((with.traps[0].0, with.traps[0].1), (Trap::interrupt(3), place));
                let behind = seen.fetched.iter().position(|&pc| pc == place).expect("it is one of them") + 1;
                // The last one here is `ta`.
                let next = seen.fetched.get(behind).copied().unwrap_or(TARGET + 4);
                assert_eq!(with.traps[0].2, next, "{:?} at {place:#x}", case.packet);
                assert_eq!(state(&interrupted), state(&plain), "{:?} at {place:#x}", case.packet);
                let counted = interrupted.bus.memory.ram().read(INTERRUPTS, 4).expect("there is memory");
                assert_eq!(counted, [0, 0, 0, 1]);
                interrupted_at.extend((place & !3 == PLACE).then_some(place & 3));
            }
        }
        let all: Vec<u32> = (0..format.slots_max().into()).collect();
        assert_eq!(interrupted_at.into_iter().collect::<Vec<_>>(), all, "{format:?}");
    }
}

/// What a program of these words leaves in %g1 to %g7.
fn globals(words: &[Word]) -> [u32; 7] {
    let (machine, _) = run_to_end(machine(&image(words, false), 0), None);
    [1, 2, 3, 4, 5, 6, 7].map(|number| machine.register(number))
}

#[test]
fn branches_go_where_they_say_from_any_slot_with_what_is_behind_them() {
    // Each program as words, and as packets; the lines of each are executed alike, with another distance.
    let begin = ["mov 0, %g1", "mov 0, %g2", "subcc %g0, 0, %g0"];
    let words = |branch: &str| {
        let lines =
            [branch, "add %g1, 1, %g1", "add %g2, 1, %g2", "add %g3, 1, %g3", "add %g4, 1, %g4", "ta 0"];
        begin.iter().chain(&lines).map(|line| plain(line)).collect::<Vec<_>>()
    };
    for mnemonic in ["be", "be,a", "bne", "bne,a", "ba", "ba,a", "bn", "bn,a"] {
        let expected = globals(&words(&format!("{mnemonic} .+16")));
        let branch = |distance: u32| format!("{mnemonic} .+{distance}");
        // The delay instruction in the next slot; and in slot 0 of the next word.
        let (near, far) = (branch(8), branch(12));
        let programs = [
            vec![
                packet(Format::Three, &begin),
                packet(Format::TwoBranch, &[&near, "add %g1, 1, %g1"]),
                packet(Format::Three, &["add %g2, 1, %g2", "add %g3, 1, %g3"]),
                packet(Format::Four, &["add %g4, 1, %g4", "ta 0"]),
            ],
            vec![
                plain(begin[0]),
                packet(Format::ThreeBranch, &[begin[1], begin[2], &far]),
                plain("add %g1, 1, %g1"),
                packet(Format::Four, &["add %g2, 1, %g2", "add %g3, 1, %g3"]),
                packet(Format::Three, &["add %g4, 1, %g4", "ta 0"]),
            ],
            vec![
                packet(Format::Three, &begin[..2]),
                packet(Format::TwoBranch, &[begin[2], &far]),
                packet(Format::Three, &["add %g1, 1, %g1", "add %g2, 1, %g2", "add %g3, 1, %g3"]),
                plain("nop"),
                packet(Format::Three, &["add %g4, 1, %g4", "ta 0"]),
            ],
            vec![
                packet(Format::Three, &begin),
                packet(Format::TwoBranch, &[&branch(16)]),
                plain("add %g1, 1, %g1"),
                plain("add %g2, 1, %g2"),
                plain("add %g3, 1, %g3"),
                packet(Format::Four, &["add %g4, 1, %g4", "ta 0"]),
            ],
            vec![
                packet(Format::Three, &begin[..2]),
                packet(Format::ThreeBranch, &[begin[2], &near, "add %g1, 1, %g1"]),
                packet(Format::Three, &["add %g2, 1, %g2", "add %g3, 1, %g3"]),
                packet(Format::Four, &["add %g4, 1, %g4", "ta 0"]),
            ],
        ];
        for words in programs {
            assert_eq!(globals(&words), expected, "{words:?}");
        }
    }
}

#[test]
fn a_loop_in_one_packet_asks_the_cache_once_a_round() {
    let words = [
        plain("mov 100, %g1"),
        packet(Format::ThreeBranch, &["subcc %g1, 1, %g1", "bne .+0", "add %g2, 1, %g2"]),
        plain("ta 0"),
    ];
    let (machine, seen) = run_to_end_of(&words);
    assert_eq!((machine.register(1), machine.register(2)), (0, 100));
    let counts = machine.bus.memory.counts();
    assert_eq!(seen, 1 + 3 * 100);
    // The trap at the end goes nowhere: its table is fetched, and stops.
    assert_eq!((counts.accesses, counts.held), (1 + 100 + 1 + 1, 200));
}

fn run_to_end_of(words: &[Word]) -> (OnBoard, usize) {
    let mut machine = machine(&image(words, false), 0);
    let mut seen = Seen::default();
    let stop = machine.run(100_000, &mut seen);
    assert!(matches!(stop, Stop::Fault(_)), "{stop:?}");
    (machine, seen.retired.len())
}

#[test]
fn calls_come_back_behind_their_delay_instruction_and_returns_may_be_packed() {
    let words = [
        packet(Format::Three, &["mov 3, %g1", "mov 0, %g2"]),
        // The place that CALL leaves is a word's, and so is what is behind its delay instruction.
        plain("call .+24"),
        plain("add %g1, 1, %g1"),
        packet(Format::Four, &["add %g2, %g1, %g2", "mov 1, %g3", "ta 0"]),
        plain("nop"),
        plain("nop"),
        plain("nop"),
        // The leaf: its return and what is behind it are slots of one word.
        packet(Format::Three, &["add %g1, %g1, %g1", "retl", "add %g1, 1, %g1"]),
    ];
    assert_eq!(globals(&words)[..3], [9, 9, 1]);
}
