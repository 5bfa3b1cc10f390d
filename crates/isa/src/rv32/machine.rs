//! The state of a running core.
//!
//! Owns: registers, PC, the counters, time by cause, and how a run comes back. What each instruction does is `exec`'s,
//! what it costs is the pipeline's, and what it accesses is the bus'.
//!
//! A trap is not taken here: the run comes back with it, PC at the instruction, and the environment answers
//! ([`Machine::skip`], [`Machine::jump`]) or ends the run ([`Machine::fail`]).

use std::sync::Arc;

use super::bus::{Bus, Refusal};
use super::custom::{State, Units};
use super::error::{Fault, FaultKind};
use super::pipeline::Pipeline;
use super::sequential::Sequential;
use super::timing::Timing;
use super::trap::Trap;
use crate::{Cycles, Observer};

/// Why a run came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The cycle that was asked for is reached.
    Reached,
    /// An instruction traps. PC is still the instruction's; nothing of it is done.
    Trap(Trap),
    /// The program did what ends its run, and the machine stands still.
    Fault(Fault),
}

/// Cycles by what they were spent for. All that is in none of these is instructions executing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Waiting for what the instruction before loaded.
    pub load_use_cycles: Cycles,
    /// Waiting for the bus to bring instructions.
    pub fetch_cycles: Cycles,
    /// Waiting for the bus to load or store.
    pub data_cycles: Cycles,
    /// Waiting for checks, before something left the core.
    pub settle_cycles: Cycles,
    /// Instructions executed to their end, calls that the environment has answered included.
    pub instructions: u64,
    /// Traps.
    pub traps: u64,
}

/// A core and what it is attached to.
#[derive(Clone, Debug)]
pub struct Machine<B, P = Sequential> {
    /// What it is attached to.
    pub bus: B,
    pub(super) pipeline: P,
    /// Its instructions of one's own, and what they keep.
    pub(super) units: Arc<Units>,
    pub(super) state: State,
    /// Invariant: x0 is zero between instructions.
    pub(super) registers: [u32; 32],
    pub(super) pc: u32,
    /// Where the instruction behind the one that traps is, once that was fetched.
    pub(super) next: Option<u32>,
    pub(super) cycle: Cycles,
    pub(super) spent: Spent,
    fault: Option<Fault>,
}

impl<B: Bus> Machine<B> {
    /// A core after reset that does one instruction at a time, about to execute at `entry`. Its registers are zero (which
    /// the manual leaves open).
    pub fn new(bus: B, timing: Timing, entry: u32) -> Machine<B> {
        Machine::with_pipeline(bus, Sequential::new(timing), entry)
    }
}

impl<B: Bus, P: Pipeline> Machine<B, P> {
    /// The same with any pipeline.
    pub fn with_pipeline(bus: B, pipeline: P, entry: u32) -> Machine<B, P> {
        Machine {
            bus,
            pipeline,
            units: Arc::default(),
            state: State::default(),
            registers: [0; 32],
            pc: entry,
            next: None,
            cycle: 0,
            spent: Spent::default(),
            fault: None,
        }
    }

    /// The same with instructions of one's own, which its bus has to decode.
    #[must_use]
    pub fn with_units(self, units: Arc<Units>) -> Machine<B, P> {
        Machine { units, ..self }
    }

    /// What instructions of one's own keep.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// A register.
    pub fn register(&self, number: u8) -> u32 {
        self.registers[usize::from(number & 31)]
    }

    /// Sets a register; x0 stays zero.
    pub fn set_register(&mut self, number: u8, value: u32) {
        self.registers[usize::from(number & 31)] = value;
        self.registers[0] = 0;
    }

    /// The place of the next instruction.
    pub fn pc(&self) -> u32 {
        self.pc
    }

    /// Goes elsewhere.
    pub fn jump(&mut self, pc: u32) {
        (self.pc, self.next) = (pc, None);
    }

    /// Goes on behind an instruction whose trap the environment has answered, as if it had been executed.
    ///
    /// # Panics
    /// If the run did not come back with a trap of an instruction that was fetched.
    pub fn skip(&mut self) {
        let next = self.next.expect("a trapped instruction was fetched");
        self.pipeline.answer(&mut self.cycle);
        self.spent.instructions += 1;
        self.jump(next);
    }

    /// Its pipeline.
    pub fn pipeline(&self) -> &P {
        &self.pipeline
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
        self.next = None;
        match self.execute(until, o) {
            Ok(()) => Stop::Reached,
            Err(Refusal::Fault(kind)) => self.fail(kind),
            Err(Refusal::Trap(trap)) => {
                self.spent.traps += 1;
                // What the environment is told is seen outside.
                self.settle().map_or_else(|kind| self.fail(kind), |()| Stop::Trap(trap))
            }
        }
    }

    /// Executes one instruction.
    pub fn step<O: Observer>(&mut self, o: &mut O) -> Stop {
        self.run(self.cycle + 1, o)
    }

    /// Waits until nothing is left to be checked of what the bus brought.
    fn settle(&mut self) -> Result<(), FaultKind> {
        let mut wait = 0;
        let settled = self.bus.settle(self.cycle, &mut wait);
        self.cycle += Cycles::from(wait);
        self.spent.settle_cycles += Cycles::from(wait);
        settled
    }
}
