//! The state of a running core, its register windows, and how traps are taken.
//!
//! Owns: registers, the processor state, traps by the table that TBR points at, interrupts, and time by cause. What
//! each instruction does is `exec`'s, what it costs is `timing`'s, and what it accesses is the bus'.
//!
//! What the manual leaves to implementations is LEON's: PSR tells implementation 15 and version 3, writes of PSR, WIM
//! and Y hold from the next instruction on, and there is neither a floating-point unit nor a coprocessor.

use super::bus::{Bus, Refusal};
use super::error::{Fault, FaultKind};
use super::observer::Observer;
use super::table::{Opcode, ROWS};
use super::timing::Timing;
use super::trap::Trap;
use crate::Cycles;

/// The most windows that V8 allows, and the fewest.
pub const WINDOWS_MAX: u32 = 32;
/// The fewest windows that V8 allows.
pub const WINDOWS_MIN: u32 = 2;

/// PSR's implementation and version as LEON has them (GR740 user manual, 6.2.3).
const IDENTITY: u32 = 0xf3 << 24;
/// The part of TBR that a program writes.
const TRAP_BASE: u32 = 0xffff_f000;
/// The locals in which a trap leaves PC and nPC.
const TRAP_PC: usize = 17;
const TRAP_NPC: usize = 18;

/// The integer condition codes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Icc {
    /// Negative.
    pub n: bool,
    /// Zero.
    pub z: bool,
    /// Overflow.
    pub v: bool,
    /// Carry, and borrow.
    pub c: bool,
}

/// What a core is made of.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Register windows, 2 to 32.
    pub windows: u32,
    /// What takes how long.
    pub timing: Timing,
}

impl Default for Settings {
    /// Eight windows, and LEON2's cycles.
    fn default() -> Settings {
        Settings { windows: 8, timing: Timing::leon2() }
    }
}

/// Why a run came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The cycle that was asked for is reached.
    Reached,
    /// An instruction traps, and the environment said that it answers this trap ([`Machine::answer`]). PC is still
    /// the instruction's; nothing of it is done.
    Trap(Trap),
    /// The program did what ends its run, and the machine stands still.
    Fault(Fault),
}

/// Cycles by what they were spent for. All that is in none of these is instructions executing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Annulled instructions.
    pub annulled_cycles: Cycles,
    /// Waiting for what the instruction before loaded.
    pub load_use_cycles: Cycles,
    /// Waiting for condition codes that the instruction before set.
    pub icc_branch_cycles: Cycles,
    /// Going to handlers. What handlers execute is instructions.
    pub trap_cycles: Cycles,
    /// Waiting for the bus to bring instructions.
    pub fetch_cycles: Cycles,
    /// Waiting for the bus to load or store.
    pub data_cycles: Cycles,
    /// Waiting for checks, before something left the core.
    pub settle_cycles: Cycles,
    /// Instructions executed to their end.
    pub instructions: u64,
    /// Instructions fetched and annulled.
    pub annulled: u64,
    /// Traps taken, those that the environment answers included.
    pub traps: u64,
}

/// A core and what it is attached to.
#[derive(Clone, Debug)]
pub struct Machine<B> {
    /// What it is attached to.
    pub bus: B,
    /// The current window: globals, outs, locals, ins.
    ///
    /// Invariant: r0 is zero between instructions.
    pub(super) registers: [u32; 32],
    /// Outs and locals of every window but the current one; ins are the outs of the next.
    file: [[u32; 16]; WINDOWS_MAX as usize],
    windows: u32,
    pub(super) cwp: u32,
    pub(super) wim: u32,
    pub(super) icc: Icc,
    pub(super) y: u32,
    pub(super) tbr: u32,
    /// Processor interrupt level.
    pub(super) pil: u8,
    pub(super) supervisor: bool,
    pub(super) previous_supervisor: bool,
    pub(super) enable_traps: bool,
    pub(super) pc: u32,
    pub(super) npc: u32,
    /// Whether nPC is whatever the bus says is behind PC.
    pub(super) sequential: bool,
    /// Whether the instruction at PC is annulled.
    pub(super) annul: bool,
    pub(super) cycle: Cycles,
    pub(super) spent: Spent,
    pub(super) costs: [u8; ROWS.len()],
    pub(super) timing: Timing,
    /// The registers that the last instruction loaded, a bit each.
    pub(super) loaded: u32,
    pub(super) icc_set: bool,
    /// Level of the interrupt that is asked for, 0 for none.
    pub(super) interrupt: u8,
    /// The traps that the environment answers, a bit each.
    answered: [u64; 4],
    fault: Option<Fault>,
}

impl<B: Bus> Machine<B> {
    /// A core after reset: a supervisor with traps disabled, in window 0, all of them valid, about to execute at
    /// `entry`. (V8 leaves all of this but S and ET undefined.)
    ///
    /// # Panics
    /// If there are fewer than two windows, or more than 32.
    pub fn new(bus: B, settings: Settings, entry: u32) -> Machine<B> {
        assert!((WINDOWS_MIN..=WINDOWS_MAX).contains(&settings.windows), "{} windows", settings.windows);
        Machine {
            bus,
            registers: [0; 32],
            file: [[0; 16]; WINDOWS_MAX as usize],
            windows: settings.windows,
            cwp: 0,
            wim: 0,
            icc: Icc::default(),
            y: 0,
            tbr: 0,
            pil: 0,
            supervisor: true,
            previous_supervisor: true,
            enable_traps: false,
            pc: entry,
            npc: 0,
            sequential: true,
            annul: false,
            cycle: 0,
            spent: Spent::default(),
            costs: settings.timing.by_opcode(),
            timing: settings.timing,
            loaded: 0,
            icc_set: false,
            interrupt: 0,
            answered: [0; 4],
            fault: None,
        }
    }

    /// A register of the current window.
    pub fn register(&self, number: u8) -> u32 {
        self.registers[usize::from(number & 31)]
    }

    /// Sets a register of the current window; r0 stays zero.
    pub fn set_register(&mut self, number: u8, value: u32) {
        self.registers[usize::from(number & 31)] = value;
        self.registers[0] = 0;
    }

    /// A register of any window, 8 to 31.
    pub fn window_register(&self, window: u32, number: u8) -> u32 {
        self.file_of(window, number)
    }

    fn file_of(&self, window: u32, number: u8) -> u32 {
        let (window, number) = (window % self.windows, usize::from(number & 31));
        assert!(number >= 8, "globals are in no window");
        if window == self.cwp {
            self.registers[number]
        } else if number >= 24 {
            self.file_of(window + 1, number as u8 - 16)
        } else if window == self.window_outside() && number < 16 {
            self.registers[number + 16]
        } else {
            self.file[window as usize][number - 8]
        }
    }

    fn set_file_of(&mut self, window: u32, number: u8, value: u32) {
        let (window, number) = (window % self.windows, usize::from(number & 31));
        if window == self.cwp {
            self.registers[number] = value;
        } else if number >= 24 {
            self.set_file_of(window + 1, number as u8 - 16, value);
        } else if window == self.window_outside() && number < 16 {
            self.registers[number + 16] = value;
        } else {
            self.file[window as usize][number - 8] = value;
        }
    }

    /// Makes another window the current one.
    pub(super) fn enter_window(&mut self, window: u32) {
        let behind = |window: u32| if window + 1 == self.windows { 0 } else { window as usize + 1 };
        let (old, old_behind) = (self.cwp as usize, behind(self.cwp));
        let (new, new_behind) = (window as usize, behind(window));
        self.file[old].copy_from_slice(&self.registers[8..24]);
        self.file[old_behind][..8].copy_from_slice(&self.registers[24..]);
        self.registers[8..24].copy_from_slice(&self.file[new]);
        self.registers[24..].copy_from_slice(&self.file[new_behind][..8]);
        self.cwp = window;
    }

    /// The window that SAVE and traps enter.
    pub(super) fn window_inside(&self) -> u32 {
        (if self.cwp == 0 { self.windows } else { self.cwp }) - 1
    }

    /// The window that RESTORE and RETT return to.
    pub(super) fn window_outside(&self) -> u32 {
        if self.cwp + 1 == self.windows { 0 } else { self.cwp + 1 }
    }

    pub(super) fn is_invalid(&self, window: u32) -> bool {
        self.wim >> window & 1 == 1
    }

    /// The bits of WIM that stand for windows.
    pub(super) fn window_mask(&self) -> u32 {
        u32::MAX >> (32 - self.windows)
    }

    /// How many windows there are.
    pub fn windows(&self) -> u32 {
        self.windows
    }

    /// The processor state register.
    pub fn psr(&self) -> u32 {
        let Icc { n, z, v, c } = self.icc;
        let icc = u32::from(n) << 23 | u32::from(z) << 22 | u32::from(v) << 21 | u32::from(c) << 20;
        let modes = u32::from(self.supervisor) << 7 | u32::from(self.previous_supervisor) << 6;
        let traps = u32::from(self.pil) << 8 | u32::from(self.enable_traps) << 5;
        IDENTITY | icc | modes | traps | self.cwp
    }

    /// Writes what can be written of the processor state register. What would enable units that are not there stays
    /// zero.
    ///
    /// # Errors
    /// A window that there is not.
    pub fn set_psr(&mut self, psr: u32) -> Result<(), Trap> {
        if psr & 31 >= self.windows {
            return Err(Trap::ILLEGAL_INSTRUCTION);
        }
        let bit = |number: u32| psr >> number & 1 == 1;
        self.icc = Icc { n: bit(23), z: bit(22), v: bit(21), c: bit(20) };
        self.pil = (psr >> 8 & 15) as u8;
        (self.supervisor, self.previous_supervisor, self.enable_traps) = (bit(7), bit(6), bit(5));
        self.enter_window(psr & 31);
        Ok(())
    }

    /// The window invalid mask.
    pub fn wim(&self) -> u32 {
        self.wim
    }

    /// Writes the window invalid mask; bits of windows that there are not stay zero.
    pub fn set_wim(&mut self, wim: u32) {
        self.wim = wim & self.window_mask();
    }

    /// The Y register.
    pub fn y(&self) -> u32 {
        self.y
    }

    /// Writes the Y register.
    pub fn set_y(&mut self, y: u32) {
        self.y = y;
    }

    /// The trap base register.
    pub fn tbr(&self) -> u32 {
        self.tbr
    }

    /// Writes the part of the trap base register that a program can write.
    pub fn set_tbr(&mut self, tbr: u32) {
        self.tbr = tbr & TRAP_BASE | self.tbr & !TRAP_BASE;
    }

    /// The place of the next instruction.
    pub fn pc(&self) -> u32 {
        self.pc
    }

    /// The place of the instruction behind it, where that does not follow from it; else `None`.
    pub fn npc(&self) -> Option<u32> {
        (!self.sequential).then_some(self.npc)
    }

    /// Whether the instruction at PC is annulled: it will be fetched and passed.
    pub fn is_annulled(&self) -> bool {
        self.annul
    }

    /// Goes elsewhere: next to `pc`, then to `npc`, or to what is behind `pc`.
    pub fn jump(&mut self, pc: u32, npc: Option<u32>) {
        self.pc = pc;
        (self.npc, self.sequential, self.annul) = (npc.unwrap_or(0), npc.is_none(), false);
    }

    /// Goes on behind an instruction whose trap the environment has answered, as if it had been executed.
    pub fn skip(&mut self) {
        assert!(!self.sequential, "a trapped instruction was fetched");
        self.cycle += Cycles::from(self.timing.cycles(Opcode::Ta));
        self.spent.instructions += 1;
        self.jump(self.npc, None);
    }

    /// Sets or clears the carry flag, as system calls answer by.
    pub fn set_carry(&mut self, carry: bool) {
        self.icc.c = carry;
    }

    /// Asks for an interrupt of level 1 to 15 until it is asked for another one, or for none with 0. Levels up to PIL
    /// wait, and 15 waits for none but ET.
    pub fn set_interrupt(&mut self, level: u8) {
        assert!(level <= 15, "interrupt level {level}");
        self.interrupt = level;
    }

    /// Says that the environment answers a trap: the run comes back instead of going to its handler.
    pub fn answer(&mut self, trap: Trap) {
        self.answered[usize::from(trap.0 >> 6)] |= 1 << (trap.0 & 63);
    }

    fn is_answered(&self, trap: Trap) -> bool {
        self.answered[usize::from(trap.0 >> 6)] >> (trap.0 & 63) & 1 == 1
    }

    /// Cycles since reset.
    pub fn cycle(&self) -> Cycles {
        self.cycle
    }

    /// What they were spent for.
    pub fn spent(&self) -> Spent {
        self.spent
    }

    /// What ended the run, if something did.
    pub fn fault(&self) -> Option<Fault> {
        self.fault
    }

    /// Ends the run. It is the instruction at PC that did it; unless what the core was brought turns out not to be
    /// sound, which is then why.
    pub fn fail(&mut self, kind: FaultKind) -> Stop {
        let kind = self.settle().err().unwrap_or(kind);
        let fault = Fault { pc: self.pc, kind };
        self.fault = Some(fault);
        Stop::Fault(fault)
    }

    /// Runs until a cycle is reached or not before something else happens. An instruction is done as a whole, so the
    /// run may end a few cycles later.
    pub fn run<O: Observer>(&mut self, until: Cycles, o: &mut O) -> Stop {
        if let Some(fault) = self.fault {
            return Stop::Fault(fault);
        }
        loop {
            let Err(refusal) = self.execute(until, o) else { return Stop::Reached };
            if let Refusal::Fault(kind) = refusal {
                return self.fail(kind);
            }
            if let Some(stop) = self.take(self.trap_of(refusal), o) {
                return stop;
            }
        }
    }

    /// Waits until nothing is left to be checked of what the bus brought.
    fn settle(&mut self) -> Result<(), FaultKind> {
        let mut wait = 0;
        let settled = self.bus.settle(self.cycle, &mut wait);
        self.cycle += Cycles::from(wait);
        self.spent.settle_cycles += Cycles::from(wait);
        settled
    }

    /// Executes one instruction, or goes to a handler, or steps over an annulled instruction.
    pub fn step<O: Observer>(&mut self, o: &mut O) -> Stop {
        self.run(self.cycle + 1, o)
    }

    /// The trap of a refusal that is no fault.
    pub(super) fn trap_of(&self, refusal: Refusal) -> Trap {
        match refusal {
            Refusal::Trap(trap) => trap,
            Refusal::IllegalPrivileged if self.supervisor => Trap::ILLEGAL_INSTRUCTION,
            Refusal::IllegalPrivileged => Trap::PRIVILEGED_INSTRUCTION,
            Refusal::Fault(kind) => unreachable!("{kind:?} is no trap"),
        }
    }

    /// Whether an interrupt is taken before the next instruction.
    #[inline(always)]
    pub(super) fn takes_interrupt(&self) -> bool {
        self.interrupt != 0 && self.enable_traps && (self.interrupt > self.pil || self.interrupt == 15)
    }

    /// Leaves the program for the handler of a trap (V8 manual, section 7.4); or comes back where that is not for the
    /// machine to do.
    fn take<O: Observer>(&mut self, trap: Trap, o: &mut O) -> Option<Stop> {
        self.spent.traps += 1;
        if self.is_answered(trap) {
            // What a trap instruction asks of the environment is seen outside; that a window was short is not.
            let settled = if trap.software_number().is_some() { self.settle() } else { Ok(()) };
            return Some(settled.map_or_else(|kind| self.fail(kind), |()| Stop::Trap(trap)));
        }
        if !self.enable_traps {
            return Some(self.fail(FaultKind::ErrorMode { trap }));
        }
        // What could not be fetched is a whole word: on a bus with slots it ended the run.
        let npc = if self.sequential { (self.pc & !3).wrapping_add(4) } else { self.npc };
        o.trap(self.cycle, trap, self.pc, npc);
        self.enable_traps = false;
        self.previous_supervisor = self.supervisor;
        self.supervisor = true;
        self.enter_window(self.window_inside());
        (self.registers[TRAP_PC], self.registers[TRAP_NPC]) = (self.pc, npc);
        self.tbr = self.tbr & TRAP_BASE | u32::from(trap.0) << 4;
        self.jump(self.tbr, None);
        self.cycle += Cycles::from(self.timing.trap_cycles);
        self.spent.trap_cycles += Cycles::from(self.timing.trap_cycles);
        (self.loaded, self.icc_set) = (0, false);
        None
    }

    /// A window's stack pointer, where words can be.
    fn stack_pointer(&self, window: u32) -> Result<u32, FaultKind> {
        let pointer = self.file_of(window, 14);
        if pointer.is_multiple_of(4) { Ok(pointer) } else { Err(FaultKind::Stack { pointer }) }
    }

    /// Stores locals and ins of a window where its stack pointer says.
    pub(super) fn spill(&mut self, window: u32) -> Result<(), FaultKind> {
        let pointer = self.stack_pointer(window)?;
        for number in 16..32 {
            let at = pointer.wrapping_add(4 * (u32::from(number) - 16));
            let value = self.file_of(window, number).into();
            let stored = self.bus.deposit(at, super::bus::Width::Word, value);
            stored.map_err(|refusal| no_window(refusal, pointer))?;
        }
        Ok(())
    }

    /// Loads locals and ins of a window from where its stack pointer says.
    pub(super) fn fill(&mut self, window: u32) -> Result<(), FaultKind> {
        let pointer = self.stack_pointer(window)?;
        for number in 16..32 {
            let at = pointer.wrapping_add(4 * (u32::from(number) - 16));
            let loaded = self.bus.examine(at, super::bus::Width::Word);
            let value = loaded.map_err(|refusal| no_window(refusal, pointer))?;
            self.set_file_of(window, number, value as u32);
        }
        Ok(())
    }
}

/// Why a window could not be spilled or filled: what ends a run has a name of its own.
fn no_window(refusal: Refusal, pointer: u32) -> FaultKind {
    if let Refusal::Fault(kind) = refusal { kind } else { FaultKind::Stack { pointer } }
}
