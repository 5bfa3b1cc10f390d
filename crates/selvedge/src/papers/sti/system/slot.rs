//! One frame on the node's line, and what is sealed meanwhile.
//!
//! Owns the look at it: a copy of the chip, taken shortly before the slot begins, runs alone through the frame, since nobody
//! else is on the bus then. How far woven sealing has come at the last byte is what would be left of it behind a frame of one
//! byte, less what is left behind this one: a second copy sends one byte. Interrupts that come are no sealing.

use std::ops::Range;

use ::cell::log::Phase;
use ::cell::node::Node;
use isa::Cycles;
use isa::avr::{Chip, Image};
use selvedge::error::Error;
use selvedge::link::filters::Filters;

/// Longer than a frame and all that is sealed beside it.
const CYCLES_MAX: Cycles = 400_000;
/// How often a copy is asked whether it is done.
const CYCLES_STEP: Cycles = 10_000;
/// What the program says when it has sealed, and interrupts do not.
const WAITING: u8 = Phase::Waiting as u8;

/// What was seen of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Slot {
    /// From a write of SPDR to the next, on an average.
    pub byte_cycles: f64,
    /// Cycles from the first write to the last.
    pub line_cycles: f64,
    /// Of those, the ones that sealing got on by.
    pub sealing_cycles: f64,
    /// All that sealing a frame takes.
    pub work_cycles: f64,
}

impl Slot {
    /// The share of the cycles between writes that goes into sealing.
    pub fn share(&self) -> f64 {
        self.sealing_cycles / self.line_cycles
    }

    /// Bytes of a frame's text, of so many, that are sealed while another frame is on the line.
    pub fn sealed_bytes(&self, text_bytes: f64) -> f64 {
        text_bytes * self.sealing_cycles / self.work_cycles
    }

    /// On an average.
    pub fn mean(slots: &[Slot]) -> Slot {
        let mean = |of: fn(&Slot) -> f64| slots.iter().map(of).sum::<f64>() / slots.len() as f64;
        Slot {
            byte_cycles: mean(|slot| slot.byte_cycles),
            line_cycles: mean(|slot| slot.line_cycles),
            sealing_cycles: mean(|slot| slot.sealing_cycles),
            work_cycles: mean(|slot| slot.work_cycles),
        }
    }
}

/// Where the image has what is watched.
pub struct Places {
    spcr: u32,
    spdr: u32,
    phase: u32,
    /// The woven function.
    woven: Option<u32>,
}

impl Places {
    /// Those of an image with these filters.
    ///
    /// # Errors
    /// An image that is none.
    pub fn of(elf: &[u8], chip: &Chip, filters: Filters) -> Result<Places, Error> {
        let image = Image::parse(elf)?;
        let symbol =
            |name: &str| image.symbol(name).unwrap_or_else(|| panic!("the node has a `{name}`")).address;
        let [spcr, spdr] = ["SPCR", "SPDR"]
            .map(|name| chip.profile().register(name).expect("the chip has an SPI").address.into());
        let woven = (filters == Filters::Woven).then(|| symbol("ascon_seal_transmit"));
        Ok(Places { spcr, spdr, phase: symbol("phase"), woven })
    }

    fn run(&self, mut chip: Chip) -> Seen<'_> {
        let (begun, mut seen) = (chip.cycle(), Seen::new(self));
        while !seen.is_done() && chip.cycle() < begun + CYCLES_MAX {
            chip.run_until(chip.cycle() + CYCLES_STEP, &mut seen);
        }
        assert!(seen.is_done(), "a frame is sent and another one sealed");
        seen
    }

    /// What a node does whose slot begins soon, with a frame of `text_bytes`.
    pub fn look(&self, node: &Node, filters: Filters) -> Slot {
        let seen = self.run(node.chip().clone());
        let (&[first, ..], &[.., last]) = (&seen.written[..], &seen.written[..]) else {
            panic!("a frame has bytes")
        };
        let (sealing, work) = match filters {
            Filters::Discrete => (0, 0),
            Filters::Handler | Filters::HandlerByHand => {
                let done = seen.done();
                (seen.own(first..last.min(done)), seen.own(first..done))
            }
            Filters::Woven => {
                let called = seen.called.expect("it was called");
                let one = self.run(self.with_one_byte(node, called));
                let left = |seen: &Seen| seen.own(seen.written[seen.written.len() - 1]..seen.done());
                (left(&one) - left(&seen), one.own(called..one.done()))
            }
        };
        Slot {
            byte_cycles: (last - first) as f64 / (seen.written.len() - 1) as f64,
            line_cycles: (last - first) as f64,
            sealing_cycles: sealing as f64,
            work_cycles: work as f64,
        }
    }

    /// The chip as a woven filter is called, its `struct transfer` (`firmware/node/filters.h`) one of the last byte alone.
    fn with_one_byte(&self, node: &Node, called: Cycles) -> Chip {
        let mut chip = node.chip().clone();
        chip.run_until(called, &mut Seen::new(self));
        // The second parameter, by avr-gcc's calling convention.
        let transfer = u16::from_le_bytes([chip.register(22), chip.register(23)]);
        let [low, count] = [transfer, transfer + 2].map(|at| chip.memory(at).expect("it is in SRAM"));
        assert!(chip.set_memory(transfer, low.wrapping_add(count - 1)) && chip.set_memory(transfer + 2, 1));
        chip
    }
}

/// What a copy does.
struct Seen<'a> {
    places: &'a Places,
    called: Option<Cycles>,
    written: Vec<Cycles>,
    /// Whether the SPI is off again.
    is_over: bool,
    /// When the program said that it waits.
    waits: Option<Cycles>,
    interrupts: Vec<Range<Cycles>>,
    /// When those began that have not ended.
    inside: Vec<Cycles>,
}

impl Seen<'_> {
    fn new(places: &Places) -> Seen<'_> {
        let (written, interrupts, inside) = (Vec::new(), Vec::new(), Vec::new());
        Seen { places, called: None, written, is_over: false, waits: None, interrupts, inside }
    }

    /// Whether the line is over and the other frame sealed.
    fn is_done(&self) -> bool {
        self.is_over && self.waits.is_some()
    }

    fn done(&self) -> Cycles {
        self.waits.expect("it has run until then")
    }

    /// Cycles of a time that no interrupt took.
    fn own(&self, time: Range<Cycles>) -> Cycles {
        let within =
            |range: &Range<Cycles>| range.end.min(time.end).saturating_sub(range.start.max(time.start));
        time.end.saturating_sub(time.start) - self.interrupts.iter().map(within).sum::<Cycles>()
    }
}

impl isa::Observer for Seen<'_> {
    fn fetch(&mut self, cycle: Cycles, address: u32) {
        if Some(address) == self.places.woven && self.called.is_none() {
            self.called = Some(cycle);
        }
    }

    fn store(&mut self, cycle: Cycles, address: u32, value: u8) {
        if address == self.places.spdr {
            self.written.push(cycle);
        } else if address == self.places.spcr {
            self.is_over = value == 0 && !self.written.is_empty();
        } else if address == self.places.phase
            && value == WAITING
            && self.inside.is_empty()
            && !self.written.is_empty()
        {
            self.waits.get_or_insert(cycle);
        }
    }
}

impl isa::avr::Observer for Seen<'_> {
    fn interrupt(&mut self, cycle: Cycles, _vector: u8) {
        self.inside.push(cycle);
    }

    fn interrupt_ends(&mut self, cycle: Cycles) {
        if let Some(start) = self.inside.pop()
            && self.inside.is_empty()
        {
            self.interrupts.push(start..cycle);
        }
    }
}
