//! A cell: simulated nodes and a gateway on one bus, in one time.
//!
//! [`Cell::step`] is the story: whoever is due first acts, and every edge that this makes on the bus is heard by
//! everyone who listens, at its own instant. Nodes run their firmware to the cycle on clocks of their own; the
//! gateway is a model of its SPI hardware. Bits pass, never bytes.
//!
//! Owns cell time and the order of events. Leaves instructions to `isa`, the meaning of frames to the server, and
//! wall time to whoever calls it.
//!
//! Invariant: nobody sees the bus before everybody who could still change it has come as far. A node that neither
//! listens nor drives cannot see it, so it may run ahead up to its next access to the bus ([`Pace::RunAhead`]);
//! the outcome is that of stepping everyone together ([`Pace::Together`]).
//! Invariant: what happens is a function of the configuration and the downlinks queued in each superframe.

pub mod beacon;
pub mod bus;
pub mod clock;
pub mod decision;
pub mod energy;
pub mod error;
pub mod feed;
pub mod gateway;
pub mod inject;
pub mod limits;
pub mod log;
pub mod node;
pub mod registered;
mod trace;

use bus::{Bus, Contention, Edge, Wire};
use clock::Picoseconds;
pub use error::Error;
use gateway::{Action, Gateway, Losses, Received};
use inject::{Disturbance, Injector};
use node::{Node, Paused};

/// How nodes that do not hear the bus are run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// Up to their next access to the bus: fast.
    #[default]
    RunAhead,
    /// Instruction by instruction with everyone else: the reference for the other.
    Together,
}

/// Somebody held SS low.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// Who: a node's index, or `None` for the gateway.
    pub node: Option<usize>,
    /// From when.
    pub start_ps: Picoseconds,
    /// Until when.
    pub end_ps: Picoseconds,
}

/// What happened in one superframe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superframe {
    /// Its number.
    pub number: u32,
    /// The frames that the gateway received, in order.
    pub received: Vec<Received>,
    /// What is left of frames that ended within a byte, in order.
    pub torn: Vec<Received>,
    /// Who was on the bus, in order.
    pub transmissions: Vec<Transmission>,
    /// Wires that two pulled in opposite directions.
    pub contentions: Vec<Contention>,
}

/// A cell.
pub struct Cell {
    gateway: Gateway,
    nodes: Vec<Node>,
    bus: Bus,
    injector: Injector,
    pace: Pace,
    /// Whether noise inverts the bit that is on MOSI now.
    flipped: bool,
    selecting_since_ps: Vec<Option<Picoseconds>>,
    transmissions: Vec<Transmission>,
    /// Room for what a node does to the bus, kept from turn to turn.
    drives: Vec<(Picoseconds, Wire, isa::avr::Drive)>,
}

/// Who acts next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Gateway,
    Node(usize),
}

/// What came of a step.
enum Step {
    /// Somebody acted.
    Acted,
    /// The gateway ended this superframe.
    Ended(u32),
    /// Nobody has anything to do before the instant.
    Waits,
}

/// Who acts next and when, and when the one after that does.
struct Order {
    first: Turn,
    first_ps: Picoseconds,
    second_ps: Picoseconds,
}

impl Cell {
    /// A cell of `nodes` around `gateway`, whose line is disturbed as stated, from `seed`.
    pub fn new(gateway: Gateway, nodes: Vec<Node>, disturbance: Disturbance, seed: u64, pace: Pace) -> Cell {
        let participants = nodes.len() + 1;
        let mut cell = Cell {
            gateway,
            nodes,
            bus: Bus::new(participants),
            injector: Injector::new(disturbance, seed),
            pace,
            flipped: false,
            selecting_since_ps: vec![None; participants],
            transmissions: Vec::new(),
            drives: Vec::new(),
        };
        let bus = &cell.bus;
        cell.nodes.iter_mut().for_each(|node| node.find(|wire| bus.is_high(wire)));
        cell
    }

    /// The nodes.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The nodes, to take from their logs.
    pub fn nodes_mut(&mut self) -> &mut [Node] {
        &mut self.nodes
    }

    /// Replaces a node: its power was cut and comes back with `node`'s chip. What it drove is let go at once.
    pub fn replace(&mut self, index: usize, node: Node, now_ps: Picoseconds) {
        for wire in bus::WIRES {
            self.drive(index + 1, wire, isa::avr::Drive::Floating, now_ps);
        }
        self.nodes[index] = node;
        let bus = &self.bus;
        self.nodes[index].find(|wire| bus.is_high(wire));
    }

    /// What the gateway lost on the bus so far.
    pub fn losses(&self) -> Losses {
        self.gateway.losses()
    }

    /// Gives the first superframe a number other than 0: a number is authenticated once under a cell's key. Cell time
    /// begins at 0 all the same.
    ///
    /// # Panics
    /// When it has begun.
    pub fn number_from(&mut self, superframe: u32) {
        self.gateway.number_from(superframe);
    }

    /// Queues a downlink frame; one goes out each superframe. Gives it back when too many wait.
    ///
    /// # Errors
    /// The frame, when the queue is full or the frame is too long.
    pub fn queue_downlink(&mut self, frame: Vec<u8>) -> Result<(), Vec<u8>> {
        self.gateway.queue_downlink(frame)
    }

    /// Runs the superframe that is due.
    ///
    /// # Errors
    /// A node whose program did what its chip does not define.
    pub fn run_superframe(&mut self) -> Result<Superframe, Error> {
        let superframe = self.run_until(Picoseconds::MAX)?;
        Ok(superframe.expect("a superframe ends before time does"))
    }

    /// Runs until a superframe ends, or until `instant_ps`, if that comes first (`None`). Then every node has come
    /// to the first end of an instruction that is not before it, and no further: its power can be cut there.
    ///
    /// # Errors
    /// As [`Cell::run_superframe`].
    pub fn run_until(&mut self, instant_ps: Picoseconds) -> Result<Option<Superframe>, Error> {
        loop {
            match self.step_before(instant_ps)? {
                Step::Acted => {}
                Step::Ended(number) => {
                    return Ok(Some(Superframe {
                        number,
                        received: self.gateway.take_received(),
                        torn: self.gateway.take_torn(),
                        transmissions: std::mem::take(&mut self.transmissions),
                        contentions: self.bus.take_contentions(),
                    }));
                }
                Step::Waits => {
                    self.nodes.iter_mut().for_each(|node| node.pass_time(instant_ps));
                    return Ok(None);
                }
            }
        }
    }

    /// Lets whoever is due first act. Returns the superframe that this ended, if it ended one.
    ///
    /// # Errors
    /// As [`Cell::run_superframe`].
    pub fn step(&mut self) -> Result<Option<u32>, Error> {
        match self.step_before(Picoseconds::MAX)? {
            Step::Acted => Ok(None),
            Step::Ended(number) => Ok(Some(number)),
            Step::Waits => unreachable!("the gateway is always due before the end of time"),
        }
    }

    /// As [`Cell::step`]; no node begins an instruction at `instant_ps` or later, nor does the gateway act then.
    fn step_before(&mut self, instant_ps: Picoseconds) -> Result<Step, Error> {
        if self.pace == Pace::RunAhead {
            self.run_ahead(instant_ps)?;
        }
        let Order { first, first_ps, second_ps } = self.turn();
        match first {
            _ if first_ps >= instant_ps => Ok(Step::Waits),
            Turn::Gateway => Ok(self.gateway_acts().map_or(Step::Acted, Step::Ended)),
            Turn::Node(index) => {
                self.node_acts(index, second_ps.min(instant_ps))?;
                Ok(Step::Acted)
            }
        }
    }

    /// Runs every node that does not hear the bus up to its next access to it.
    fn run_ahead(&mut self, instant_ps: Picoseconds) -> Result<(), Error> {
        let limit_ps = self.gateway.end_ps().min(instant_ps);
        for (index, node) in self.nodes.iter_mut().enumerate() {
            let may =
                !node.is_held() && !node.hears() && node.due_ps().is_some_and(|due_ps| due_ps < limit_ps);
            if may && let Paused::Stuck(stop) = node.run_ahead(limit_ps) {
                return Err(Error::Stuck { node: self.nodes[index].id, stop });
            }
        }
        Ok(())
    }

    /// Who is due first. The gateway goes before a node, and a node before a later one in the slot map, when they are
    /// due together.
    fn turn(&self) -> Order {
        let mut order =
            Order { first: Turn::Gateway, first_ps: self.gateway.due_ps(), second_ps: Picoseconds::MAX };
        for (index, node) in self.nodes.iter().enumerate() {
            let due_ps = node.due_ps().unwrap_or(Picoseconds::MAX);
            if due_ps < order.first_ps {
                order = Order { first: Turn::Node(index), first_ps: due_ps, second_ps: order.first_ps };
            } else {
                order.second_ps = order.second_ps.min(due_ps);
            }
        }
        order
    }

    fn gateway_acts(&mut self) -> Option<u32> {
        let now_ps = self.gateway.due_ps();
        let mut ended = None;
        for action in self.gateway.act() {
            match action {
                Action::Drive(wire, drive) => self.drive(0, wire, drive, now_ps),
                Action::SuperframeEnds(number) => ended = Some(number),
            }
        }
        ended
    }

    fn node_acts(&mut self, index: usize, next_ps: Picoseconds) -> Result<(), Error> {
        let node = &mut self.nodes[index];
        if node.is_held() || !node.hears() {
            let bus = &self.bus;
            node.catch_up(|wire| bus.is_high(wire));
        }
        // A node that was held executes the one instruction that touches the bus, and is looked at again.
        let limit_ps = if node.is_held() { 0 } else { next_ps };
        if let Paused::Stuck(stop) = node.run_in_step(limit_ps) {
            return Err(Error::Stuck { node: node.id, stop });
        }
        let mut drives = std::mem::take(&mut self.drives);
        node.take_drives(&mut drives);
        for (at_ps, wire, drive) in drives.drain(..) {
            self.drive(index + 1, wire, drive, at_ps);
        }
        self.drives = drives;
        Ok(())
    }

    /// Participant `driver` (0 is the gateway, nodes follow) drives a wire; everyone else hears the edge.
    fn drive(&mut self, driver: usize, wire: Wire, drive: isa::avr::Drive, now_ps: Picoseconds) {
        let edge = self.bus.drive(driver, wire, drive, now_ps);
        if wire == Wire::Ss {
            self.note_transmission(driver, now_ps);
        }
        if let Some(edge) = edge
            && !self.injector.is_cut(now_ps)
        {
            self.carry(edge, driver, now_ps);
        }
    }

    /// Carries an edge to everyone but who made it. Noise strikes a bit as its clock rises.
    fn carry(&mut self, edge: Edge, from: usize, now_ps: Picoseconds) {
        if edge.wire == Wire::Sck && edge.high {
            self.flipped = self.injector.flips_bit();
            if self.flipped {
                let high = !self.bus.is_high(Wire::Mosi);
                self.tell(Edge { wire: Wire::Mosi, high }, from, now_ps);
            }
        }
        self.tell(edge, from, now_ps);
        if edge.wire == Wire::Sck && !edge.high && std::mem::take(&mut self.flipped) {
            let high = self.bus.is_high(Wire::Mosi);
            self.tell(Edge { wire: Wire::Mosi, high }, from, now_ps);
        }
    }

    fn tell(&mut self, edge: Edge, from: usize, now_ps: Picoseconds) {
        if from != 0 {
            let mosi_high = self.bus.is_high(Wire::Mosi) != self.flipped;
            self.gateway.edge(edge, mosi_high, now_ps);
        }
        for (index, node) in self.nodes.iter_mut().enumerate() {
            if index + 1 == from {
                continue;
            }
            if node.hears() || self.pace == Pace::Together {
                node.hear(edge, now_ps);
            } else {
                node.hear_later(edge, now_ps);
            }
        }
    }

    fn note_transmission(&mut self, driver: usize, now_ps: Picoseconds) {
        let since = &mut self.selecting_since_ps[driver];
        if self.bus.is_selecting(driver) {
            since.get_or_insert(now_ps);
        } else if let Some(start_ps) = since.take() {
            let node = driver.checked_sub(1);
            self.transmissions.push(Transmission { node, start_ps, end_ps: now_ps });
        }
    }
}
