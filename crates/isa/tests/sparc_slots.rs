//! Places of instructions on a bus whose words hold several: delay slots cross words, a trap at any slot saves where it
//! was and RETT goes back there, and an interrupt changes nothing but time.

use isa::Cycles;
use isa::sparc::{
    Bus, FaultKind, Fetched, Instruction, Machine, Memory, Observer, Refusal, Region, Settings, Stop, Trap,
    Width, text,
};

const CODE: u32 = 0x4000_0000;
const TABLE: u32 = 0x4000_1000;
const DATA: u32 = 0x4100_0000;

/// Words of one to four instructions from `CODE` on, and everything else in plain memory.
struct Packed {
    memory: Memory,
    words: Vec<Vec<Instruction>>,
    /// Cycles that each word takes to bring, when another one was brought before it.
    wait: u32,
    last: u32,
    /// A place where nothing is fetched, and why.
    refused: Option<(u32, Refusal)>,
}

impl Bus for Packed {
    const SLOTS: bool = true;

    fn fetch(&mut self, pc: u32, cycle: Cycles, wait: &mut u32) -> Result<Fetched, Refusal> {
        if let Some((_, refusal)) = self.refused.filter(|&(place, _)| place == pc) {
            return Err(refusal);
        }
        let (word, slot) = (pc & !3, pc & 3);
        if std::mem::replace(&mut self.last, word) != word {
            *wait += self.wait;
        }
        let Some(packet) = self.words.get(((word - CODE) / 4) as usize) else {
            return self.memory.fetch(pc, cycle, wait);
        };
        let instruction = *packet.get(slot as usize).ok_or(Trap::ILLEGAL_INSTRUCTION)?;
        let next = if slot as usize + 1 < packet.len() { pc + 1 } else { word + 4 };
        Ok(Fetched { instruction, next })
    }

    fn load(&mut self, address: u32, width: Width, cycle: Cycles, wait: &mut u32) -> Result<u64, Refusal> {
        self.memory.load(address, width, cycle, wait)
    }

    fn store(
        &mut self,
        address: u32,
        width: Width,
        value: u64,
        cycle: Cycles,
        wait: &mut u32,
    ) -> Result<(), Refusal> {
        self.memory.store(address, width, value, cycle, wait)
    }
}

/// A program in packets. Branches go to the first slot of a word, so distances are of words.
const PROGRAM: &[&[&str]] = &[
    &["sethi %hi(0x41000000), %g6", "or %g6, 1024, %sp", "mov 9, %g1"],
    &["mov 0, %g2", "add %g2, %g1, %g2", "save %sp, -96, %sp", "mov 5, %l0"],
    &["restore %l0, 1, %g3"],
    &["add %g2, %g3, %g2", "st %g2, [%g6]", "subcc %g1, 1, %g1"],
    // Its delay instruction is in the next word.
    &["xor %g2, %g1, %g4", "bne .-12"],
    &["add %g4, 1, %g4", "ba,a .+8", "mov 99, %g5"],
    &["mov 98, %g5", "mov 97, %g5"],
    &["bn,a .+4", "mov 96, %g5", "ta 7", "mov 3, %g7"],
    &["wr %g0, 0xfc0, %psr", "ta 0"],
];

/// A table of traps in which each goes on behind what trapped, but windows are never short, and an interrupt goes back.
fn table() -> Vec<u8> {
    let mut bytes = Vec::new();
    for trap in 0..256_u32 {
        let lines = match trap {
            0x11..=0x1f => ["add %i0, 1, %i0", "jmp %l1", "rett %l2", "nop"],
            // nPC is where it goes on, and what is behind that the bus knows: so it is a place of its own.
            _ => ["jmp %l2", "rett %l6", "nop", "nop"],
        };
        let words = lines.iter().map(|line| text::parse(line).expect(line).encode().expect(line));
        bytes.extend(words.flat_map(u32::to_be_bytes));
    }
    bytes
}

fn machine(wait: u32) -> Machine<Packed> {
    let decode = |line: &&str| text::parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    let words = PROGRAM.iter().map(|packet| packet.iter().map(decode).collect()).collect();
    let bytes = table();
    let code_bytes = bytes.len() as u32;
    let data = Region { first: DATA, bytes: vec![0; 8192], writable: true };
    let code = Region { first: TABLE, bytes, writable: false };
    let memory = Memory::new(vec![data, code], TABLE, code_bytes);
    let bus = Packed { memory, words, wait, last: 0, refused: None };
    let mut machine = Machine::new(bus, Settings::default(), CODE);
    machine.set_tbr(TABLE);
    machine.set_psr(0xe0).expect("window 0");
    machine
}

/// Where each instruction was, and what interrupted or trapped.
#[derive(Default)]
struct Seen {
    retired: Vec<u32>,
    annulled: Vec<u32>,
    traps: Vec<(Trap, u32, u32)>,
}

impl isa::Observer for Seen {
    fn retire(&mut self, _cycle: isa::Cycles, pc: u32) {
        self.retired.push(pc);
    }
}

impl Observer for Seen {
    fn annulled(&mut self, _cycle: isa::Cycles, pc: u32) {
        self.annulled.push(pc);
    }
    fn trap(&mut self, _cycle: isa::Cycles, trap: Trap, pc: u32, npc: u32) {
        self.traps.push((trap, pc, npc));
    }
}

/// The globals that the program computes.
fn results(machine: &Machine<Packed>) -> [u32; 7] {
    [1, 2, 3, 4, 5, 6, 7].map(|number| machine.register(number))
}

/// Runs to the end with an interrupt asked for before one instruction, and says whether it was taken.
fn run(wait: u32, interrupt_at: Option<u64>) -> (Machine<Packed>, Seen) {
    let mut machine = machine(wait);
    let mut seen = Seen::default();
    loop {
        if interrupt_at == Some(machine.spent().instructions) {
            machine.set_interrupt(3);
        }
        let traps = seen.traps.len();
        match machine.step(&mut seen) {
            Stop::Reached => {}
            Stop::Fault(_) => return (machine, seen),
            stop => panic!("{stop:?}"),
        }
        if seen.traps.len() != traps {
            machine.set_interrupt(0);
            // The handler of `ta` returns behind it: to the next slot, and then to what is behind that.
            machine.set_register(22, CODE + 7 * 4 + 3 + 1);
        }
    }
}

#[test]
fn a_delay_instruction_may_be_in_the_next_word() {
    let (machine, seen) = run(0, None);
    let branch = CODE + 4 * 4 + 1;
    let behind: Vec<u32> =
        seen.retired.windows(2).filter(|pair| pair[0] == branch).map(|pair| pair[1]).collect();
    assert_eq!(behind, [CODE + 5 * 4; 9]);
    assert_eq!(seen.annulled, [CODE + 5 * 4 + 2, CODE + 7 * 4 + 1]);
    assert_eq!((machine.register(5), machine.register(3)), (0, 6));
}

#[test]
fn a_trap_saves_its_slot_and_the_next_one() {
    let (_, seen) = run(0, None);
    let at = CODE + 7 * 4;
    assert_eq!(seen.traps, [(Trap::software(7), at + 2, at + 3)]);
    assert!(seen.retired.contains(&(at + 3)), "it goes on in the last slot");
}

#[test]
fn an_interrupt_before_any_instruction_changes_nothing_but_time() {
    let (plain, seen) = run(0, None);
    let expected = results(&plain);
    let mut slots = std::collections::BTreeSet::new();
    for at in 0..seen.retired.len() as u64 - 4 {
        let (interrupted, with) = run(0, Some(at));
        assert_eq!(results(&interrupted), expected, "before instruction {at}");
        let (trap, pc, _) = with.traps[0];
        if trap == Trap::interrupt(3) {
            slots.insert(pc & 3);
            let ours: Vec<u32> = with.retired.iter().copied().filter(|&pc| pc < TABLE).collect();
            let all: Vec<u32> = seen.retired.iter().copied().filter(|&pc| pc < TABLE).collect();
            assert_eq!(ours, all, "before instruction {at}");
        }
    }
    assert_eq!(slots.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
}

#[test]
fn what_the_bus_waits_is_told_by_cause() {
    let ((fast, seen), (slow, _)) = (run(0, None), run(80, None));
    let mut words: Vec<u32> = seen.retired.iter().map(|pc| pc & !3).collect();
    words.dedup();
    assert_eq!(fast.spent().fetch_cycles, 0);
    assert_eq!(slow.spent().fetch_cycles, slow.cycle() - fast.cycle());
    assert!(slow.spent().fetch_cycles >= 80 * words.len() as u64);
}

/// Runs to the end with a refusal at a place.
fn run_refused(place: u32, refusal: Refusal) -> (Machine<Packed>, Seen) {
    let mut machine = machine(0);
    machine.bus.refused = Some((place, refusal));
    let mut seen = Seen::default();
    while machine.fault().is_none() {
        let traps = seen.traps.len();
        machine.step(&mut seen);
        if seen.traps.len() != traps {
            // As in `run`.
            machine.set_register(22, CODE + 7 * 4 + 3 + 1);
        }
    }
    (machine, seen)
}

#[test]
fn a_fetch_that_traps_before_npc_is_known_ends_the_run() {
    let mut machine = machine(0);
    // Behind a branch nPC is known, and the trap is one.
    machine.jump(CODE + 2 * 4 + 1, Some(CODE + 2 * 4));
    let mut seen = Seen::default();
    assert_eq!(machine.step(&mut seen), Stop::Reached);
    assert_eq!(seen.traps, [(Trap::ILLEGAL_INSTRUCTION, CODE + 9, CODE + 8)]);
    machine.jump(CODE + 2 * 4 + 1, None);
    let Stop::Fault(fault) = machine.step(&mut seen) else { panic!("it ends") };
    let words = "fault at 0x40000008: slot 1: trap illegal_instruction (0x02) in a word of several instructions, and \
                 nothing tells what is behind it";
    assert_eq!(fault.to_string(), words);
}

#[test]
fn an_annulled_instruction_is_passed_only_if_what_is_behind_it_is_known() {
    let unsound = Refusal::Trap(Trap::INSTRUCTION_ACCESS_ERROR);
    // `ba,a` says where it goes on.
    let (branch, at) = (CODE + 5 * 4 + 1, CODE + 5 * 4 + 2);
    let (machine, seen) = run_refused(at, unsound);
    assert!(seen.annulled.contains(&at) && machine.register(5) == 0, "{:x?}", seen.annulled);
    assert!(machine.pc() > at + 4, "{:#x}", machine.pc());
    // `bn,a` does not: behind slot 1 may come slot 2 or another word.
    let at = CODE + 7 * 4 + 1;
    let (machine, seen) = run_refused(at, unsound);
    assert_eq!((machine.pc(), seen.retired.last()), (at, Some(&(at - 1))));
    let kind = machine.fault().expect("it ended").kind;
    assert_eq!(kind, FaultKind::Unfetched { trap: Trap::INSTRUCTION_ACCESS_ERROR });
    // And what ends a run ends it though the instruction is annulled.
    let kind = FaultKind::LineCheck { line: CODE };
    let (machine, seen) = run_refused(branch + 1, Refusal::Fault(kind));
    let fault = machine.fault().expect("it ended");
    assert_eq!((fault.pc, fault.kind, seen.annulled.len()), (branch + 1, kind, 0));
    let words = "fault at 0x40000014: slot 2: the tag of the lines from 0x40000000 on does not match: \
         memory is not as it was sealed";
    assert_eq!(fault.to_string(), words);
}
