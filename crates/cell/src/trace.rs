//! What one node does, as a waveform: its pins on the bus, its SPI, its interrupts, its sleep and its phases.
//!
//! Owns which signals are drawn. How changes get into a file is `isa::avr::vcd`'s; when they happen is the node's.
//! A node that is run ahead is not told of edges that it cannot hear, so a waveform is whole only in a cell that is
//! stepped together ([`crate::Pace::Together`]).

use crate::log::Log;
use crate::node::Node;
use isa::Cycles;
use isa::avr::peripheral::{Drive, Effect, Pin};
use isa::avr::vcd::{Signal, Vcd};
use isa::avr::{Observer, SleepMode};
use std::io;

/// Registers whose writes are drawn: the SPI's control and data.
const REGISTERS: [&str; 2] = ["SPCR", "SPDR"];

/// A waveform that is being drawn.
pub(crate) struct Trace(Vcd<Box<dyn io::Write + Send>>);

impl Trace {
    /// Begins with the present state of `node`, in the scope `node_ID`.
    pub(crate) fn begin(out: Box<dyn io::Write + Send>, node: &Node) -> io::Result<Trace> {
        let (chip, clock) = (node.chip(), node.clock);
        let profile = chip.profile();
        let mut signals: Vec<Signal> = node.wiring().pins.map(Signal::Pin).into();
        signals.push(Signal::Pin(node.wiring().capture));
        signals.extend(REGISTERS.iter().filter_map(|name| {
            let address = profile.register(name)?.address;
            Some(Signal::Byte { name: (*name).into(), address })
        }));
        signals.extend(node.phase_address().map(|address| Signal::Byte { name: "phase".into(), address }));
        signals.extend([Signal::Vector, Signal::Asleep]);
        let scope = format!("node_{}", node.id);
        Vcd::in_time(out, chip, &signals, &scope, move |cycle| clock.at(cycle)).map(Trace)
    }

    /// Writes what still waits.
    pub(crate) fn finish(self) -> io::Result<()> {
        self.0.finish()
    }
}

/// A node's log and its waveform, told of everything that either wants to know.
pub(crate) struct Watched<'a> {
    pub log: &'a mut Log,
    pub trace: &'a mut Trace,
}

impl isa::Observer for Watched<'_> {
    fn fetch(&mut self, cycle: Cycles, address: u32) {
        self.trace.0.fetch(cycle, address);
    }

    fn store(&mut self, cycle: Cycles, address: u32, value: u8) {
        self.log.store(cycle, address, value);
        self.trace.0.store(cycle, address, value);
    }
}

impl Observer for Watched<'_> {
    fn interrupt(&mut self, cycle: Cycles, vector: u8) {
        self.log.interrupt(cycle, vector);
        self.trace.0.interrupt(cycle, vector);
    }

    fn interrupt_ends(&mut self, cycle: Cycles) {
        self.log.interrupt_ends(cycle);
        self.trace.0.interrupt_ends(cycle);
    }

    fn drive(&mut self, cycle: Cycles, pin: Pin, drive: Drive) {
        self.log.drive(cycle, pin, drive);
        self.trace.0.drive(cycle, pin, drive);
    }

    fn level(&mut self, cycle: Cycles, pin: Pin, high: bool) {
        self.trace.0.level(cycle, pin, high);
    }

    fn sleep(&mut self, cycle: Cycles, mode: SleepMode) {
        self.trace.0.sleep(cycle, mode);
    }

    fn wake(&mut self, cycle: Cycles) {
        self.trace.0.wake(cycle);
    }

    fn effect(&mut self, cycle: Cycles, effect: &Effect) {
        self.log.effect(cycle, effect);
    }
}
