//! Short sequences whose cycles are counted by hand from the tables of LEON2 and LEON3: what instructions take,
//! and what the core waits for, by cause.

use isa::Cycles;
use isa::sparc::machine::Spent;
use isa::sparc::{
    Bus, FaultKind, Fetched, Machine, Memory, Refusal, Region, Settings, Stop, Timing, Trap, Width, text,
};

const CODE: u32 = 0x4000_0000;
const DATA: u32 = 0x4100_0000;
/// Where `ta 0` goes, with the table of traps at the first instruction.
const HANDLER: usize = 0x800;
/// What the bus takes until nothing is left to be checked.
const SETTLE_CYCLES: u32 = 13;

/// Memory that is late by so many cycles.
struct Slow {
    memory: Memory,
    fetch_cycles: u32,
    load_cycles: u32,
    store_cycles: u32,
    /// When each access began, and how often it was settled.
    begun: Vec<Cycles>,
    settled: Vec<Cycles>,
}

impl Bus for Slow {
    const SLOTS: bool = false;

    fn fetch(&mut self, pc: u32, cycle: Cycles, wait: &mut u32) -> Result<Fetched, Refusal> {
        self.begun.push(cycle);
        *wait += self.fetch_cycles;
        self.memory.fetch(pc, cycle, wait)
    }

    fn load(&mut self, address: u32, width: Width, cycle: Cycles, wait: &mut u32) -> Result<u64, Refusal> {
        self.begun.push(cycle);
        *wait += self.load_cycles;
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
        self.begun.push(cycle);
        *wait += self.store_cycles;
        self.memory.store(address, width, value, cycle, wait)
    }

    fn settle(&mut self, cycle: Cycles, wait: &mut u32) -> Result<(), FaultKind> {
        self.settled.push(cycle);
        *wait += SETTLE_CYCLES;
        Ok(())
    }
}

/// A core at the first line. Behind the lines and in the handler of `ta 0` are `nop`s; %g1 is where data is.
fn core(
    lines: &[&str],
    timing: Timing,
    [fetch_cycles, load_cycles, store_cycles]: [u32; 3],
) -> Machine<Slow> {
    let word = |line: &str| text::parse(line).expect(line).encode().expect(line);
    let mut bytes: Vec<u8> = lines.iter().flat_map(|line| word(line).to_be_bytes()).collect();
    while bytes.len() < HANDLER + 16 {
        bytes.extend(word("nop").to_be_bytes());
    }
    let code_bytes = bytes.len() as u32;
    let data = Region { first: DATA, bytes: vec![0; 4096], writable: true };
    let code = Region { first: CODE, bytes, writable: false };
    let memory = Memory::new(vec![data, code], CODE, code_bytes);
    let (begun, settled) = (Vec::new(), Vec::new());
    let bus = Slow { memory, fetch_cycles, load_cycles, store_cycles, begun, settled };
    let mut machine = Machine::new(bus, Settings { timing, ..Settings::default() }, CODE);
    machine.set_psr(0xe0).expect("window 0");
    machine.set_tbr(CODE);
    machine.set_register(1, DATA);
    machine
}

/// Executes, annuls or traps as many times as there are lines, from the first line on: the cycles of all, and what they
/// were for.
fn spent(lines: &[&str], timing: Timing, late: [u32; 3]) -> (Cycles, Spent) {
    let mut machine = core(lines, timing, late);
    for line in lines {
        assert_eq!(machine.step(&mut ()), Stop::Reached, "{line}");
    }
    (machine.cycle(), machine.spent())
}

/// What LEON2 and LEON3 take for these lines.
fn both(lines: &[&str]) -> [Cycles; 2] {
    [Timing::leon2(), Timing::leon3()].map(|timing| spent(lines, timing, [0; 3]).0)
}

/// The cycles of waiting for a load and for condition codes, which are the same on both.
fn waits(lines: &[&str]) -> (Cycles, Cycles) {
    let [one, other] = [Timing::leon2(), Timing::leon3()].map(|timing| {
        let (_, spent) = spent(lines, timing, [0; 3]);
        (spent.load_use_cycles, spent.icc_branch_cycles)
    });
    assert_eq!(one, other);
    one
}

#[test]
fn instructions_take_what_their_class_takes() {
    for (lines, expected) in [
        (&["nop", "add %g1, 1, %g2"][..], [2, 2]),
        (&["ld [%g1], %o0", "ldd [%g1], %o2"], [1 + 2, 1 + 2]),
        (&["st %g0, [%g1]", "std %g2, [%g1]"], [2 + 3, 4 + 5]),
        (&["swap [%g1], %o0", "ldstub [%g1], %o1"], [3 + 3, 3 + 3]),
        (&["umul %g1, 3, %g2", "smul %g1, 3, %g2", "udiv %g1, 3, %g2"], [5 + 5 + 35, 4 + 1 + 35]),
        // A call and its return, each with what is behind it; the third line is what returns.
        (&["call .+8", "nop", "retl", "nop"], [1 + 1 + 2 + 1, 1 + 1 + 3 + 1]),
        (&["ba .+8", "nop"], [1 + 1, 1 + 1]),
    ] {
        assert_eq!(both(lines), expected, "{lines:?}");
        assert_eq!(waits(lines), (0, 0), "{lines:?}");
    }
}

#[test]
fn what_uses_what_was_just_loaded_waits() {
    for (lines, expected, load_use_cycles) in [
        (&["ld [%g1], %o0", "add %o0, 1, %o1"][..], [1 + 1 + 1, 1 + 1 + 1], 1),
        (&["ld [%g1], %o0", "add %g1, %o0, %o1"], [3, 3], 1),
        (&["ld [%g1], %o0", "st %o0, [%g1]"], [1 + 1 + 2, 1 + 1 + 4], 1),
        (&["ldd [%g1], %o0", "add %o1, 1, %o2"], [2 + 1 + 1, 2 + 1 + 1], 1),
        (&["swap [%g1], %o0", "add %o0, 1, %o1"], [3 + 1 + 1, 3 + 1 + 1], 1),
        // Both registers of a pair are stored.
        (&["ld [%g1], %o0", "std %o0, [%g1]"], [1 + 1 + 3, 1 + 1 + 5], 1),
        (&["ld [%g1], %o1", "std %o0, [%g1]"], [1 + 1 + 3, 1 + 1 + 5], 1),
        (&["ld [%g1], %o1", "stda %o0, [%g1] 11"], [1 + 1 + 3, 1 + 1 + 5], 1),
        // One instruction later it is there, and r0 is never waited for.
        (&["ld [%g1], %o0", "nop", "add %o0, 1, %o1"], [3, 3], 0),
        (&["ld [%g1], %o0", "add %o1, 1, %o0"], [2, 2], 0),
        (&["ld [%g1], %o2", "std %o0, [%g1]"], [1 + 3, 1 + 5], 0),
        (&["ld [%g1], %g0", "add %g0, 1, %o1"], [2, 2], 0),
    ] {
        assert_eq!(both(lines), expected, "{lines:?}");
        assert_eq!(waits(lines), (load_use_cycles, 0), "{lines:?}");
    }
}

#[test]
fn a_condition_that_was_just_set_is_waited_for() {
    for (lines, expected, icc_branch_cycles) in [
        (&["subcc %g0, 0, %g0", "be .+8", "nop"][..], 1 + 1 + 1 + 1, 1),
        // Never taken, and waited for alike.
        (&["subcc %g0, 0, %g0", "bne .+8", "nop"], 4, 1),
        (&["subcc %g0, 0, %g0", "tne 0"], 1 + 1 + 1, 1),
        (&["subcc %g0, 0, %g0", "nop", "be .+8", "nop"], 4, 0),
        (&["subcc %g0, 0, %g0", "ba .+8", "nop"], 3, 0),
        (&["sub %g0, 0, %g0", "be .+8", "nop"], 3, 0),
    ] {
        assert_eq!(both(lines), [expected; 2], "{lines:?}");
        assert_eq!(waits(lines), (0, icc_branch_cycles), "{lines:?}");
    }
}

#[test]
fn an_annulled_instruction_takes_a_cycle_and_is_none() {
    for lines in [&["ba,a .+8", "add %g2, 1, %g2", "nop"][..], &["be,a .+8", "add %g2, 1, %g2", "nop"]] {
        assert_eq!(both(lines), [1 + 1 + 1; 2], "{lines:?}");
        let (_, spent) = spent(lines, Timing::leon2(), [0; 3]);
        assert_eq!((spent.annulled, spent.annulled_cycles, spent.instructions), (1, 1, 2), "{lines:?}");
    }
    // What a branch that is taken does not annul is an instruction.
    let lines = ["bne,a .+8", "umul %g1, 3, %g2"];
    assert_eq!(both(&lines), [1 + 5, 1 + 4]);
    // An annulled instruction uses nothing, and behind it nothing is late.
    let lines = ["ba,a .+8", "ld [%g1], %o0", "add %o0, 1, %o0"];
    assert_eq!((both(&lines), waits(&lines)), ([3; 2], (0, 0)));
}

#[test]
fn a_trap_takes_its_cycles_and_not_its_instructions() {
    let lines = ["ta 0", "nop", "nop"];
    assert_eq!(both(&lines), [4 + 1 + 1, 5 + 1 + 1]);
    let (_, spent) = spent(&lines, Timing::leon3(), [0; 3]);
    assert_eq!((spent.traps, spent.trap_cycles, spent.instructions), (1, 5, 2));
    // A unit that there is not.
    assert_eq!(both(&["ldd [%g1], %f2", "nop"]), [4 + 1, 5 + 1]);
}

#[test]
fn the_bus_is_waited_for_at_every_access() {
    let lines = ["ld [%g1], %o0", "st %o0, [%g1]"];
    let late = [3, 7, 11];
    let (cycles, by_cause) = spent(&lines, Timing::leon2(), late);
    // Two fetches; a load; a wait for what it brings; a store.
    assert_eq!(cycles, 2 * 3 + (1 + 7) + 1 + (2 + 11));
    assert_eq!((by_cause.fetch_cycles, by_cause.data_cycles, by_cause.load_use_cycles), (6, 18, 1));
    assert_eq!(spent(&lines, Timing::leon3(), late).0, 2 * 3 + (1 + 7) + 1 + (4 + 11));
    let (cycles, by_cause) = spent(&["swap [%g1], %o0"], Timing::leon2(), late);
    assert_eq!((cycles, by_cause.data_cycles), (3 + 3 + 7 + 11, 18));
    // What is annulled and what traps is fetched, too.
    let (cycles, by_cause) = spent(&["ba,a .+8", "nop"], Timing::leon2(), late);
    assert_eq!((cycles, by_cause.fetch_cycles), (3 + 1 + 3 + 1, 6));
    let (cycles, by_cause) = spent(&["ta 0"], Timing::leon2(), late);
    assert_eq!((cycles, by_cause.fetch_cycles, by_cause.trap_cycles), (3 + 4, 3, 4));
}

#[test]
fn the_bus_is_told_when_each_access_begins() {
    let lines = ["ld [%g1], %o0", "st %o0, [%g1]", "swap [%g1], %o0"];
    let [fetch, load, store] = [3, 7, 11];
    let mut machine = core(&lines, Timing::leon2(), [fetch, load, store].map(|late| late as u32));
    lines.iter().for_each(|line| assert_eq!(machine.step(&mut ()), Stop::Reached, "{line}"));
    // The load takes a cycle, and what uses it waits for one more; the store takes two.
    let second = fetch + load + 1;
    let third = second + fetch + 1 + store + 2;
    let swapped = third + fetch;
    let expected = [0, fetch, second, second + fetch + 1, third, swapped, swapped + load];
    assert_eq!(machine.bus.begun, expected);
}

#[test]
fn what_leaves_the_core_waits_for_checks() {
    let lines = ["ta 0x10", "save %g0, %g0, %g0", "nop"];
    let mut machine = core(&lines, Timing::ideal(), [0; 3]);
    machine.answer(Trap::software(0x10));
    machine.answer(Trap::WINDOW_OVERFLOW);
    assert_eq!(machine.run(100, &mut ()), Stop::Trap(Trap::software(0x10)));
    machine.skip();
    // A window that is short is nothing that anybody sees.
    machine.set_wim(u32::MAX);
    assert_eq!(machine.run(100, &mut ()), Stop::Trap(Trap::WINDOW_OVERFLOW));
    let before_end = machine.cycle();
    machine.fail(FaultKind::Unanswered { trap: Trap::WINDOW_OVERFLOW });
    assert_eq!(machine.bus.settled, [0, before_end]);
    assert_eq!(machine.spent().settle_cycles, 2 * Cycles::from(SETTLE_CYCLES));
}
