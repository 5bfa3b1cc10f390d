//! Short sequences whose cycles are counted by hand from Ibex' table and from one made up: what instructions take, what
//! the core waits for, by cause, and what it is told of time.

use isa::rv32::machine::Spent;
use isa::rv32::{Bus, FaultKind, Fetched, Machine, Memory, Refusal, Region, Stop, Timing, Trap, Width, text};
use isa::{Cycles, Observer};

const CODE: u32 = 0x1_0000;
const DATA: u32 = 0x100_0000;

/// Memory that is late by so many cycles, and remembers when it was asked.
struct Slow {
    memory: Memory,
    fetch_cycles: u32,
    load_cycles: u32,
    store_cycles: u32,
    /// What is waited for before anything leaves the core, and what is found then.
    settle_cycles: u32,
    unsound: Option<FaultKind>,
    /// The cycle of every access.
    asked: Vec<Cycles>,
}

impl Bus for Slow {
    const SLOTS: bool = false;

    fn fetch(&mut self, pc: u32, cycle: Cycles, wait: &mut u32) -> Result<Fetched, Refusal> {
        self.asked.push(cycle);
        *wait += self.fetch_cycles;
        self.memory.fetch(pc, cycle, wait)
    }

    fn load(&mut self, address: u32, width: Width, cycle: Cycles, wait: &mut u32) -> Result<u32, Refusal> {
        self.asked.push(cycle);
        *wait += self.load_cycles;
        self.memory.load(address, width, cycle, wait)
    }

    fn store(
        &mut self,
        address: u32,
        width: Width,
        value: u32,
        cycle: Cycles,
        wait: &mut u32,
    ) -> Result<(), Refusal> {
        self.asked.push(cycle);
        *wait += self.store_cycles;
        self.memory.store(address, width, value, cycle, wait)
    }

    fn settle(&mut self, cycle: Cycles, wait: &mut u32) -> Result<(), FaultKind> {
        self.asked.push(cycle);
        *wait += self.settle_cycles;
        self.unsound.map_or(Ok(()), Err)
    }
}

/// A core that is about to execute these lines, with nops behind; x5 is where data is.
fn machine(lines: &[&str], timing: Timing, late: [u32; 4]) -> Machine<Slow> {
    let word = |line: &str| text::parse(line).expect(line).encode().expect(line);
    let lines = lines.iter().copied().chain(std::iter::repeat_n("nop", 64));
    let bytes: Vec<u8> = lines.flat_map(|line| word(line).to_le_bytes()).collect();
    let code_bytes = bytes.len() as u32;
    let data = Region { first: DATA, bytes: vec![0; 4096], writable: true };
    let code = Region { first: CODE, bytes, writable: false };
    let memory = Memory::new(vec![data, code], CODE, code_bytes);
    let [fetch_cycles, load_cycles, store_cycles, settle_cycles] = late;
    let (unsound, asked) = (None, Vec::new());
    let bus = Slow { memory, fetch_cycles, load_cycles, store_cycles, settle_cycles, unsound, asked };
    let mut machine = Machine::new(bus, timing, CODE);
    machine.set_register(5, DATA);
    machine
}

/// Executes as many instructions as there are lines: the cycles of all, and what they were for.
fn spent(lines: &[&str], timing: Timing, late: [u32; 4]) -> (Cycles, Spent) {
    let mut machine = machine(lines, timing, late);
    for line in lines {
        assert_eq!(machine.step(&mut ()), Stop::Reached, "{line}");
    }
    (machine.cycle(), machine.spent())
}

fn ibex(lines: &[&str]) -> Cycles {
    spent(lines, Timing::ibex(), [0; 4]).0
}

#[test]
fn instructions_take_what_ibex_documents() {
    for (lines, expected) in [
        (&["nop", "add t1, t1, t0", "lui a0, 1", "auipc a0, 0", "sra a0, a0, a0"][..], 5),
        (&["lw a0, 0(t0)", "lb a0, 1(t0)"], 2 + 2),
        // A load is waited for by the load.
        (&["lw a0, 0(t0)", "add a1, a0, a0"], 2 + 1),
        (&["sw a0, 0(t0)", "sb a0, 1(t0)"], 2 + 2),
        (&["mul a0, t0, t0", "mulh a0, t0, t0", "mulhu a0, t0, t0", "mulhsu a0, t0, t0"], 3 + 4 + 4 + 4),
        (&["div a0, a0, t0", "remu a0, t0, t0"], 38 + 38),
        (&["div a0, t0, zero", "rem a0, zero, zero", "remu a0, t0, zero"], 2 + 2 + 2),
        (&["jal ra, .+8", "nop"], 2 + 1),
        // To the return, and back to the line between.
        (&["jal ra, .+8", "nop", "jalr zero, 0(ra)"], 2 + 2 + 1),
        (&["bnez t0, .+8", "nop"], 3 + 1),
        (&["beqz t0, .+8", "bltu t0, t0, .+8", "bge zero, t0, .-8"], 1 + 1 + 1),
        (&["fence rw, rw", "csrr a0, cycle"], 1 + 1),
    ] {
        assert_eq!(ibex(lines), expected, "{lines:?}");
        let (cycles, spent) = spent(lines, Timing::ideal(), [0; 4]);
        assert_eq!((cycles, spent.instructions), (lines.len() as Cycles, lines.len() as u64), "{lines:?}");
    }
    let mut machine = machine(&["addi ra, zero, 1", "lui ra, 0x10", "jr ra"], Timing::ibex(), [0; 4]);
    (0..3).for_each(|_| assert_eq!(machine.step(&mut ()), Stop::Reached));
    assert_eq!((machine.cycle(), machine.pc()), (1 + 1 + 2, CODE));
}

/// A core whose loads leave the pipeline late.
fn late_loads() -> Timing {
    let text = include_str!("../src/rv32/ibex.csv").replace("load_use,0,", "load_use,2,");
    Timing::parse(&text).expect("a core may wait")
}

#[test]
fn what_uses_what_was_just_loaded_waits_where_a_core_does() {
    for (lines, expected, load_use_cycles) in [
        (&["lw a0, 0(t0)", "addi a1, a0, 1"][..], 2 + 2 + 1, 2),
        (&["lw a0, 0(t0)", "add a1, t0, a0"], 2 + 2 + 1, 2),
        (&["lw a0, 0(t0)", "sw a0, 4(t0)"], 2 + 2 + 2, 2),
        (&["lw a0, 0(t0)", "bnez a0, .+8"], 2 + 2 + 1, 2),
        (&["lbu a0, 0(t0)", "csrrs zero, cycle, zero"], 2 + 1, 0),
        // One instruction later it is there, x0 is never waited for, and what is written is not read.
        (&["lw a0, 0(t0)", "nop", "addi a1, a0, 1"], 2 + 1 + 1, 0),
        (&["lw zero, 0(t0)", "add a1, zero, zero"], 2 + 1, 0),
        (&["lw a0, 0(t0)", "addi a0, t0, 1"], 2 + 1, 0),
        (&["lw a0, 0(t0)", "lui a0, 0xa0"], 2 + 1, 0),
        // Bits that stand where a register does are none.
        (&["lw a0, 0(t0)", "srai a1, t1, 10"], 2 + 1, 0),
    ] {
        let (cycles, spent) = spent(lines, late_loads(), [0; 4]);
        assert_eq!((cycles, spent.load_use_cycles), (expected, load_use_cycles), "{lines:?}");
    }
    // Only the lines above differ from Ibex, whose loads are never waited for.
    assert_eq!(spent(&["lw a0, 0(t0)", "addi a1, a0, 1"], Timing::ibex(), [0; 4]).1.load_use_cycles, 0);
}

#[test]
fn the_bus_is_waited_for_at_every_access_and_told_when_it_begins() {
    let lines = ["lw a0, 0(t0)", "sw a0, 0(t0)", "div a0, t0, t0"];
    let mut slow = machine(&lines, Timing::ibex(), [3, 7, 11, 0]);
    lines.iter().for_each(|line| assert_eq!(slow.step(&mut ()), Stop::Reached, "{line}"));
    let spent = slow.spent();
    assert_eq!((spent.fetch_cycles, spent.data_cycles, slow.cycle()), (9, 18, 9 + 18 + 2 + 2 + 38));
    // Fetch; load, when the fetch has been waited for; and so on.
    let (second, third) = (3 + 7 + 2, 3 + 7 + 2 + 3 + 11 + 2);
    assert_eq!(slow.bus.asked, [0, 3, second, second + 3, third]);
}

#[test]
fn nothing_leaves_the_core_before_what_it_came_from_is_sound() {
    let mut sound = machine(&["nop", "ecall", "nop"], Timing::ibex(), [0, 0, 0, 20]);
    assert_eq!(sound.run(100, &mut ()), Stop::Trap(Trap::EnvironmentCall));
    assert_eq!((sound.cycle(), sound.spent().settle_cycles), (1 + 20, 20));
    sound.skip();
    assert_eq!((sound.cycle(), sound.pc(), sound.spent().instructions), (22, CODE + 8, 2));
    let mut unsound = machine(&["nop", "ecall"], Timing::ibex(), [0, 0, 0, 20]);
    let kind = FaultKind::LineCheck { line: CODE };
    unsound.bus.unsound = Some(kind);
    let Stop::Fault(fault) = unsound.run(100, &mut ()) else { panic!("it ends") };
    assert_eq!((fault.pc, fault.kind), (CODE + 4, kind));
}

#[test]
fn counters_tell_cycles_and_instructions() {
    let lines =
        ["lw a0, 0(t0)", "nop", "csrr a1, cycle", "csrr a2, instret", "csrr a3, time", "csrr a4, cycleh"];
    let mut machine = machine(&lines, Timing::ibex(), [0; 4]);
    lines.iter().for_each(|line| assert_eq!(machine.step(&mut ()), Stop::Reached, "{line}"));
    let found = [11, 12, 13, 14].map(|number| machine.register(number));
    assert_eq!(found, [3, 3, 5, 0]);
    // What is read at once is one moment.
    assert_eq!((machine.cycle(), machine.spent().instructions), (7, 6));
}

/// What is told of a run.
#[derive(Default)]
struct Seen(Vec<(char, Cycles, u32, u8)>);

impl Observer for Seen {
    fn fetch(&mut self, cycle: Cycles, address: u32) {
        self.0.push(('f', cycle, address, 0));
    }
    fn load(&mut self, cycle: Cycles, address: u32, value: u8) {
        self.0.push(('l', cycle, address, value));
    }
    fn store(&mut self, cycle: Cycles, address: u32, value: u8) {
        self.0.push(('s', cycle, address, value));
    }
    fn retire(&mut self, cycle: Cycles, address: u32) {
        self.0.push(('r', cycle, address, 0));
    }
}

/// Where the stack was said to end.
#[derive(Default)]
struct Stack(Vec<u32>);

impl Observer for Stack {
    fn stack(&mut self, address: u32) {
        self.0.push(address);
    }
}

#[test]
fn an_observer_is_told_where_the_stack_ends_whatever_sets_it() {
    let lines =
        ["lui sp, 0x4", "addi sp, sp, -32", "mv a0, sp", "sub sp, sp, a0", "lw sp, 0(t0)", "sw sp, 4(t0)"];
    let mut machine = machine(&lines, Timing::ibex(), [0; 4]);
    let mut stack = Stack::default();
    lines.iter().for_each(|line| assert_eq!(machine.step(&mut stack), Stop::Reached, "{line}"));
    assert_eq!(stack.0, [0x4000, 0x3fe0, 0, machine.register(2)]);
}

#[test]
fn an_observer_is_told_every_byte_the_least_significant_first() {
    let mut machine = machine(&["sw a0, 4(t0)", "lh a1, 6(t0)"], Timing::ibex(), [0; 4]);
    machine.set_register(10, 0x8403_0201);
    let mut seen = Seen::default();
    (0..2).for_each(|_| assert_eq!(machine.step(&mut seen), Stop::Reached));
    let stores = (0..4).map(|byte| ('s', 0, DATA + 4 + byte, [1, 2, 3, 0x84][byte as usize]));
    let mut expected = vec![('f', 0, CODE, 0)];
    expected.extend(stores);
    expected.extend([('r', 2, CODE, 0), ('f', 2, CODE + 4, 0)]);
    expected.extend([('l', 2, DATA + 6, 3), ('l', 2, DATA + 7, 0x84), ('r', 4, CODE + 4, 0)]);
    assert_eq!((seen.0, machine.register(11)), (expected, 0xffff_8403));
}
