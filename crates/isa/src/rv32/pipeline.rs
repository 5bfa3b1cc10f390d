//! What stands between an instruction and its cycles: the seam between the machine's loop and a core's pipeline.
//!
//! Owns: the seam ([`Pipeline`]) and what a pipeline may look at ([`Ahead`]). A core that does one instruction at a time
//! is `sequential`'s; the five stages with caches are `vex5`'s. The machine is compiled anew for each, so that a plain
//! one costs nothing.
//!
//! # Order
//! The machine does instructions one after the other, each as a whole. For each it calls [`Pipeline::issue`], then at
//! most one of [`Pipeline::load`], [`Pipeline::store`] and [`Pipeline::custom`], with what the bus made it wait in
//! [`Pipeline::wait`], then [`Pipeline::complete`], unless the instruction traps. `now` is the machine's count of cycles: what it is between two
//! instructions is where one ends for whoever counts by instructions, and it never goes back.

use super::bits::Instruction;
use super::bus::{Bus, Width};
use super::custom::{Unit, Units};
use super::machine::Spent;
use crate::Cycles;

/// Where the program goes on behind an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Behind it.
    On,
    /// Behind it, in the time of a division by zero.
    Undivided,
    /// There.
    To(u32),
    /// There, by a branch.
    Taken(u32),
}

/// What is around an instruction, for a core that has begun others before that one ends.
#[derive(Debug)]
pub struct Ahead<'a, B> {
    /// Brings instructions.
    pub bus: &'a B,
    /// Those of one's own.
    pub units: &'a Units,
    /// The registers as they are now.
    pub registers: &'a [u32; 32],
}

impl<B: Bus> Ahead<'_, B> {
    /// The instruction at a place, if there is one and the bus tells it.
    pub fn instruction(&self, pc: u32) -> Option<Instruction> {
        self.bus.peek(pc)
    }
}

/// How a core spends cycles.
pub trait Pipeline {
    /// An instruction is there and is about to be executed. It may have to wait.
    fn issue(&mut self, i: Instruction, pc: u32, now: &mut Cycles, spent: &mut Spent, units: &Units);

    /// It loads. Tells when the bus is asked.
    fn load<B: Bus>(
        &mut self,
        at: u32,
        width: Width,
        now: Cycles,
        spent: &mut Spent,
        ahead: &Ahead<'_, B>,
    ) -> Cycles;

    /// It stores. Tells when the bus is asked.
    fn store(&mut self, at: u32, width: Width, now: Cycles) -> Cycles;

    /// What it loaded is there.
    fn loaded(&mut self, _i: Instruction) {}

    /// It is one of one's own.
    fn custom(&mut self, _unit: &Unit, _now: &mut Cycles) {}

    /// Its port stores to an address.
    fn port_stores(&mut self, _at: u32) {}

    /// The bus made it wait.
    fn wait(&mut self, cycles: u32, now: &mut Cycles);

    /// It was executed.
    fn complete<B: Bus>(&mut self, i: Instruction, flow: Flow, now: &mut Cycles, ahead: &Ahead<'_, B>);

    /// The environment answers an instruction that trapped, as if it had been executed.
    fn answer(&mut self, now: &mut Cycles);

    /// What a counter of cycles shows to the instruction that was issued.
    fn counted(&self, now: Cycles) -> Cycles {
        now
    }

    /// What has to be written to CSR bc0 before instructions of one's own, 0 where nothing has.
    fn switched_on_by(&self) -> u32 {
        0
    }

    /// A state register of the core's own, by its number.
    fn state_register(&mut self, _number: u32) -> Option<&mut u32> {
        None
    }
}
