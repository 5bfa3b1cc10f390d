//! One simulated node: a chip, its own clock, its input, its pins on the bus, and a log of what it did.
//!
//! Owns the way between a chip's cycles and cell time, and what counts as hearing the bus. Leaves the order in
//! which nodes run to `lib`.
//!
//! Invariant: a node's input is a function of cell time, whenever its power came.

use crate::bus::{Edge, WIRES, Wire};
use crate::clock::{Clock, Picoseconds};
use crate::feed::Feed;
use crate::log::{Log, Marks};
use crate::trace::{Trace, Watched};
use isa::Cycles;
use isa::avr::{Chip, ImageError, Pin, Stop, Watch};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;

/// How a chip's pins and registers meet the bus. One line per chip.
#[derive(Clone, Copy, Debug)]
pub struct Wiring {
    /// The chip's name, as its profile has it.
    pub chip: &'static str,
    /// The pins on SCK, MOSI and SS, in the order of [`WIRES`].
    pub pins: [Pin; 3],
    /// The timer's capture pin, which hangs on SS too and gives the beacon's arrival to the cycle.
    pub capture: Pin,
    /// The register that enables the capture interrupt, and the bit.
    pub capture_enable: (&'static str, u8),
    /// Registers through which a program can see or change the bus.
    pub registers: &'static [&'static str],
}

const fn pin(port: u8, bit: u8) -> Pin {
    Pin { port, bit }
}

/// The chips that a node can be.
pub static WIRINGS: [Wiring; 2] = [
    Wiring {
        chip: "ATmega128",
        pins: [pin(b'B', 1), pin(b'B', 2), pin(b'B', 0)],
        capture: pin(b'D', 4),
        capture_enable: ("TIMSK", 5),
        registers: &["SPCR", "SPSR", "SPDR", "PORTB", "DDRB", "PINB", "PIND", "TIMSK", "TIFR"],
    },
    Wiring {
        chip: "ATmega328P",
        pins: [pin(b'B', 5), pin(b'B', 3), pin(b'B', 2)],
        capture: pin(b'B', 0),
        capture_enable: ("TIMSK1", 5),
        registers: &["SPCR", "SPSR", "SPDR", "PORTB", "DDRB", "PINB", "TIMSK1", "TIFR1"],
    },
];

/// A node of the cell.
pub struct Node {
    /// Its number.
    pub id: u32,
    /// Its clock.
    pub clock: Clock,
    chip: Chip,
    feeds: BTreeMap<u8, Feed>,
    marks: Marks,
    wiring: &'static Wiring,
    watch: Watch,
    log: Log,
    trace: Option<Trace>,
    held: bool,
    /// The latest edges of each wire that came while the node did not hear, oldest first.
    unheard: [VecDeque<(Picoseconds, bool)>; WIRES.len()],
}

/// Edges of a wire that are kept for a node that does not hear: no more than that fit into the cycles in which a pin is
/// read.
const UNHEARD_MAX: usize = 4;

/// Why a node stopped running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paused {
    /// It may go on when its time comes.
    Ready,
    /// It is about to touch the bus, and waits until everyone else has come as far.
    Held,
    /// It cannot go on: its program did what the chip does not define.
    Stuck(Stop),
}

impl Node {
    /// A node whose chip has its program and EEPROM, and whose converter sees `feeds`, by channel, and no voltage on
    /// other ones. At `marks` the program says what it does.
    ///
    /// # Panics
    /// When there is no [`Wiring`] for the chip: the deployment's parser names only chips that have one.
    pub fn new(id: u32, mut chip: Chip, clock: Clock, feeds: BTreeMap<u8, Feed>, marks: Marks) -> Node {
        let inputs = feeds.clone();
        chip.set_analog(Arc::new(move |channel, cycle| {
            inputs.get(&channel).map_or(0.0, |input| input.volts(clock.at(cycle)))
        }));
        let profile = chip.profile();
        let wiring = WIRINGS.iter().find(|wiring| wiring.chip == profile.name).expect("every chip is wired");
        let address = |name: &str| {
            let register = profile.register(name).unwrap_or_else(|| panic!("{} has no {name}", profile.name));
            register.address
        };
        let mut watch = Watch::new();
        wiring.registers.iter().for_each(|name| watch.add(address(name)));
        let log = Log::new(address("SPCR"), address(wiring.capture_enable.0), wiring.capture_enable.1, marks);
        Node {
            id,
            clock,
            chip,
            feeds,
            marks,
            wiring,
            watch,
            log,
            trace: None,
            held: false,
            unheard: [const { VecDeque::new() }; WIRES.len()],
        }
    }

    /// The node after its power fails now and comes back at `back_ps`, with an empty log: its crystal starts again,
    /// its input has gone on meanwhile. `seed` decides what becomes of a byte of the EEPROM that is being written.
    pub fn cut_power(&self, seed: u64, back_ps: Picoseconds) -> Node {
        let clock = self.clock.starting_at(back_ps);
        Node::new(self.id, self.chip.cut_power(seed), clock, self.feeds.clone(), self.marks)
    }

    /// Programs the EEPROM from its first byte on.
    ///
    /// # Errors
    /// More bytes than it has.
    pub fn set_eeprom(&mut self, contents: &[u8]) -> Result<(), ImageError> {
        self.chip.set_eeprom(contents)
    }

    /// Draws what the node does from now on as a waveform, in cell time, until [`Node::finish_trace`].
    ///
    /// # Errors
    /// Those of `out`.
    pub fn trace(&mut self, out: Box<dyn io::Write + Send>) -> io::Result<()> {
        self.trace = Some(Trace::begin(out, self)?);
        Ok(())
    }

    /// Ends the waveform, if one is drawn.
    ///
    /// # Errors
    /// The first of `out` since it began.
    pub fn finish_trace(&mut self) -> io::Result<()> {
        self.trace.take().map_or(Ok(()), Trace::finish)
    }

    /// How it meets the bus.
    pub fn wiring(&self) -> &'static Wiring {
        self.wiring
    }

    /// The data-space address of the byte in which the program says what it does.
    pub fn phase_address(&self) -> Option<u16> {
        self.marks.phase
    }

    /// The chip.
    pub fn chip(&self) -> &Chip {
        &self.chip
    }

    /// What the node did.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// The log, to take from.
    pub fn log_mut(&mut self) -> &mut Log {
        &mut self.log
    }

    /// When the node acts next by itself; `None` when only the bus can make it act.
    pub fn due_ps(&self) -> Option<Picoseconds> {
        let cycle = if self.held { Some(self.chip.cycle()) } else { self.chip.next_wake() };
        cycle.map(|cycle| self.clock.at(cycle))
    }

    /// Whether the node can see an edge on the bus: its SPI or its capture interrupt is on.
    pub fn hears(&self) -> bool {
        self.log.hears()
    }

    /// Whether the node waits before an access to the bus.
    pub fn is_held(&self) -> bool {
        self.held
    }

    /// Runs until `limit_ps`, stopping as soon as a pin's drive has changed.
    pub fn run_in_step(&mut self, limit_ps: Picoseconds) -> Paused {
        let limit = self.limit(limit_ps);
        self.held = false;
        let mut watch = Watch::new();
        watch.drives = true;
        self.run(limit, &watch)
    }

    /// Runs until `limit_ps`, stopping before an access to the bus. Only for a node that does not hear it.
    pub fn run_ahead(&mut self, limit_ps: Picoseconds) -> Paused {
        let limit = self.limit(limit_ps);
        let watch = std::mem::take(&mut self.watch);
        let paused = self.run(limit, &watch);
        self.watch = watch;
        paused
    }

    /// At least one instruction: a limit that has passed would stop time.
    fn limit(&self, limit_ps: Picoseconds) -> Cycles {
        self.clock.first_cycle_from(limit_ps).max(self.chip.cycle() + 1)
    }

    fn run(&mut self, limit: Cycles, watch: &Watch) -> Paused {
        let stop = match &mut self.trace {
            None => self.chip.run_watched(limit, watch, &mut self.log),
            Some(trace) => self.chip.run_watched(limit, watch, &mut Watched { log: &mut self.log, trace }),
        };
        match stop {
            Stop::Reached | Stop::Halted | Stop::Pin => Paused::Ready,
            Stop::Access { .. } => {
                self.held = true;
                Paused::Held
            }
            stop @ (Stop::Break | Stop::Fault(_)) => Paused::Stuck(stop),
        }
    }

    /// Brings a node that sleeps to `instant_ps`, before which it has nothing to do.
    pub fn pass_time(&mut self, instant_ps: Picoseconds) {
        let cycle = self.clock.first_cycle_from(instant_ps);
        if self.chip.cycle() < cycle {
            match &mut self.trace {
                None => self.chip.run_until(cycle, &mut self.log),
                Some(trace) => self.chip.run_until(cycle, &mut Watched { log: &mut self.log, trace }),
            };
        }
    }

    /// A wire changed its level at `now_ps`.
    pub fn hear(&mut self, edge: Edge, now_ps: Picoseconds) {
        // A node that sleeps is brought to the edge at once; one that is awake comes to it in its turn, so that what it
        // does to the bus before the edge is told in order.
        if self.chip.is_asleep() {
            self.pass_time(now_ps);
        }
        self.set_wire(edge.wire, edge.high, self.clock.first_cycle_from(now_ps));
    }

    /// A wire changed its level at `now_ps`, and nothing of the node can tell before [`Node::catch_up`].
    pub fn hear_later(&mut self, edge: Edge, now_ps: Picoseconds) {
        let unheard = &mut self.unheard[edge.wire as usize];
        if unheard.len() == UNHEARD_MAX {
            unheard.pop_front();
        }
        unheard.push_back((now_ps, edge.high));
    }

    /// Tells the node the edges that it has not heard, each at its own instant: a pin is read behind a synchroniser.
    /// Then the levels as they are, since a line that was cut has carried no edge.
    pub fn catch_up(&mut self, level: impl Fn(Wire) -> bool) {
        let now = self.chip.cycle();
        for wire in WIRES {
            let mut is_ahead = false;
            while let Some((at_ps, high)) = self.unheard[wire as usize].pop_front() {
                let cycle = self.clock.first_cycle_from(at_ps);
                is_ahead = cycle > now;
                self.set_wire(wire, high, cycle);
            }
            if !is_ahead {
                self.set_wire(wire, level(wire), now);
            }
        }
    }

    /// The wires as the node finds them when its power comes.
    pub fn find(&mut self, level: impl Fn(Wire) -> bool) {
        let cycle = self.chip.cycle();
        for wire in WIRES {
            self.set_wire(wire, level(wire), cycle);
        }
    }

    fn set_wire(&mut self, wire: Wire, high: bool, cycle: Cycles) {
        let wiring = self.wiring;
        let capture = (wire == Wire::Ss).then_some(wiring.capture);
        for pin in [Some(wiring.pins[wire as usize]), capture].into_iter().flatten() {
            match &mut self.trace {
                None => self.chip.set_input(pin, Some(high), cycle, &mut self.log),
                Some(trace) => {
                    self.chip.set_input(pin, Some(high), cycle, &mut Watched { log: &mut self.log, trace });
                }
            }
        }
    }

    /// Moves what the node's pins did to the bus since the last call to the end of `drives`.
    pub fn take_drives(&mut self, drives: &mut Vec<(Picoseconds, Wire, isa::avr::Drive)>) {
        let (wiring, clock) = (self.wiring, self.clock);
        drives.extend(self.log.take_drives().filter_map(|(cycle, pin, drive)| {
            let index = wiring.pins.iter().position(|candidate| *candidate == pin)?;
            Some((clock.at(cycle), WIRES[index], drive))
        }));
    }
}
