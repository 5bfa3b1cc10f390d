//! What happens to a node that runs `firmware/kernel/slots.c`, slot by slot: what the line does, what is heard, when
//! frames come to its source, and when interrupts fall.

use std::collections::BTreeMap;

use cipher::nonces::node_nonce;
use isa::Cycles;
use isa::avr::Pin;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::Rng;

use super::{ARRIVAL, INTERRUPTION, SS, aead, iv, spi};
use super::{DOWN, EPOCH, FRAME_BYTES, HEADER_BYTES, LEAD_CYCLES, NODE, SLOT_CYCLES, SLOTS, TEXT_BYTES};

/// The last ones, in which nothing new comes.
const LAST_SLOTS: usize = 40;
/// Between two bytes that the node receives: longer than a handler and the switch of `KERNEL_CYCLES_MAX`, for which one
/// waits that is asked for with interrupts on.
pub const BYTE_CYCLES: u32 = 384;
/// Between two pulses, so that a byte waits for one handler.
const PULSES_APART_CYCLES: Cycles = BYTE_CYCLES as Cycles;
/// From a slot's instant, from which on the node asks, to the first byte: `ASK_LEAD_CYCLES` of limits.h.
const GUARD_CYCLES: Cycles = 1700;

pub const TRANSMITS: u8 = 1;
pub const RECEIVES: u8 = 2;
/// Or'ed to it: somebody else has the line.
pub const TAKEN: u8 = 0x80;
/// One slot in so many.
const TAKEN_SLOTS: u64 = 12;

/// How frames come to the source, for some slots in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regime {
    /// None do: the pipes run empty.
    Empty,
    /// Fewer than the line takes, now and then.
    Few,
    /// More than have room, at once.
    Bursts,
    /// More than the line takes: the pipes stay full.
    Full,
}

impl Regime {
    /// By their numbers.
    pub const ALL: [Regime; 4] = [Regime::Empty, Regime::Few, Regime::Bursts, Regime::Full];
    /// Of a stretch, and up to how many more.
    const SLOTS_MIN: u64 = 10;
    const SLOTS_MORE: u64 = 30;
    /// From a burst to the next, and how long it is.
    const BURST_SLOTS: u64 = 12;
    const BURST_CYCLES: Cycles = 4000;

    /// For a table.
    pub fn name(self) -> &'static str {
        ["none", "few", "in bursts", "too many"][self as usize]
    }

    /// When frames come in a slot that begins at a cycle, the `number`th of a stretch.
    fn arrivals(self, number: u64, begins: Cycles, rng: &mut ChaCha20Rng) -> Vec<Cycles> {
        let (count, from, within) = match self {
            Regime::Empty => (0, begins, 1),
            Regime::Few => (below(rng, 4) / 3, begins, SLOT_CYCLES),
            Regime::Bursts if number.is_multiple_of(Regime::BURST_SLOTS) => {
                let from = begins + below(rng, SLOT_CYCLES - Regime::BURST_CYCLES);
                (4 + below(rng, 5), from, Regime::BURST_CYCLES)
            }
            Regime::Bursts => (0, begins, 1),
            Regime::Full => (2 + below(rng, 2), begins, SLOT_CYCLES),
        };
        (0..count).map(|_| from + below(rng, within)).collect()
    }

    /// One for each slot, with the slot's number in its stretch: all in a random order, each for some slots, and again;
    /// and none come in the last ones.
    fn stretches(rng: &mut ChaCha20Rng) -> Vec<(Regime, u64)> {
        let mut regimes = Vec::new();
        while regimes.len() < SLOTS - LAST_SLOTS {
            let mut order = Regime::ALL;
            for at in (1..order.len()).rev() {
                order.swap(at, below(rng, at as u64 + 1) as usize);
            }
            for regime in order {
                let slots = Regime::SLOTS_MIN + below(rng, Regime::SLOTS_MORE + 1);
                regimes.extend((0..slots).map(|number| (regime, number)));
            }
        }
        regimes.truncate(SLOTS - LAST_SLOTS);
        regimes.extend((0..LAST_SLOTS as u64).map(|number| (Regime::Empty, number)));
        regimes
    }
}

/// What is on the line in a slot in which the node receives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Heard {
    Silence,
    Authentic,
    Forged,
    AnotherNodes,
}

/// A pin's level from a cycle on.
type Level = (Cycles, Pin, bool);
/// What is on the line in which slot: the counter of an authentic frame, or none of another one.
pub type Spoken = BTreeMap<usize, Option<u8>>;

/// What happens to the node, slot by slot.
pub struct Plan {
    pub lines: Vec<u8>,
    pub regimes: Vec<Regime>,
    heard: Vec<Heard>,
    /// Pins that fall, and when: cycles from the first slot's timer on.
    pulses: Vec<(Cycles, Pin)>,
}

/// Random, and less than a limit.
pub fn below(rng: &mut ChaCha20Rng, limit: u64) -> u64 {
    (u64::from(rng.next_u32()) * limit) >> 32
}

/// In their order, those that come too soon behind another one put off.
fn apart(mut pulses: Vec<(Cycles, Pin)>) -> Vec<(Cycles, Pin)> {
    pulses.sort_unstable_by_key(|&(cycle, _)| cycle);
    for next in 1..pulses.len() {
        pulses[next].0 = pulses[next].0.max(pulses[next - 1].0 + PULSES_APART_CYCLES);
    }
    pulses
}

impl Plan {
    pub fn random(rng: &mut ChaCha20Rng) -> Plan {
        let mut plan = Plan { lines: vec![], regimes: vec![], heard: vec![], pulses: vec![] };
        for (slot, (regime, number)) in Regime::stretches(rng).into_iter().enumerate() {
            let begins = (slot as Cycles + 1) * SLOT_CYCLES;
            let is_last = slot + LAST_SLOTS >= SLOTS;
            // In the end whatever is under way has a slot, and time to be opened.
            let turn = if is_last { slot as u64 % 5 } else { below(rng, 5) };
            let is_over = slot + 4 >= SLOTS;
            let line = [TRANSMITS, RECEIVES, RECEIVES, TRANSMITS, 0][if is_over { 4 } else { turn as usize }];
            let is_taken = !is_last && below(rng, TAKEN_SLOTS) == 0;
            plan.lines.push(if is_taken { line | TAKEN } else { line });
            let heard = [Heard::Silence, Heard::Forged, Heard::AnotherNodes];
            plan.heard.push(*heard.get(below(rng, 9) as usize).unwrap_or(&Heard::Authentic));
            plan.regimes.push(regime);
            let arrivals = regime.arrivals(number, begins, rng);
            plan.pulses.extend(arrivals.into_iter().map(|cycle| (cycle, ARRIVAL)));
            let about = begins - 800 + below(rng, 900);
            let within = [(); 4].map(|()| begins + below(rng, SLOT_CYCLES - LEAD_CYCLES));
            plan.pulses.extend([about].into_iter().chain(within).map(|cycle| (cycle, INTERRUPTION)));
        }
        Plan { pulses: apart(plan.pulses), ..plan }
    }

    /// When frames come to the source: cycles from the first slot's timer on.
    pub fn arrivals(&self) -> impl Iterator<Item = Cycles> {
        self.pulses.iter().filter(|&&(_, pin)| pin == ARRIVAL).map(|&(cycle, _)| cycle)
    }

    /// The slot in which a cycle from the first slot's timer on lies.
    pub fn slot_at(&self, cycle: Cycles) -> usize {
        ((cycle / SLOT_CYCLES) as usize).saturating_sub(1).min(self.lines.len() - 1)
    }

    /// All levels that the chip's pins see from the timer's start on, and what is on the line.
    pub fn levels(&self, starts: Cycles) -> (Vec<Level>, Spoken) {
        let mut levels = Vec::new();
        let mut spoken = BTreeMap::new();
        for &(at, pin) in &self.pulses {
            levels.extend([(starts + at, pin, false), (starts + at + 4, pin, true)]);
        }
        for (slot, (&line, &heard)) in self.lines.iter().zip(&self.heard).enumerate() {
            if line != RECEIVES || heard == Heard::Silence {
                continue;
            }
            let begins = starts + (slot as Cycles + 1) * SLOT_CYCLES + GUARD_CYCLES;
            let mut frame = downlink(if heard == Heard::AnotherNodes { NODE + 1 } else { NODE }, slot as u32);
            if heard == Heard::Forged {
                frame[HEADER_BYTES] ^= 1;
            }
            spoken.insert(slot, (heard == Heard::Authentic).then_some(slot as u8));
            levels.extend(spi::master(begins, BYTE_CYCLES, 0, &frame));
            levels.push((begins + Cycles::from(BYTE_CYCLES) * frame.len() as Cycles, SS, true));
        }
        levels.sort_by_key(|&(cycle, ..)| cycle);
        (levels, spoken)
    }
}

/// A frame to the node, whose text is its counter's lowest byte.
fn downlink(node: u32, number: u32) -> Vec<u8> {
    let counter = number | DOWN;
    let mut frame = [&[0x11][..], &node.to_le_bytes(), &[EPOCH], &counter.to_le_bytes()].concat();
    let header = frame.clone();
    frame.extend([number as u8; TEXT_BYTES]);
    aead().seal_tail(&node_nonce(&iv(), node, EPOCH, counter), &header, &mut frame, HEADER_BYTES);
    assert_eq!(frame.len(), usize::from(FRAME_BYTES));
    frame
}
