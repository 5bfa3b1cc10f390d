//! The gateway's end of the bus: it sends the beacon and one downlink frame per superframe, and receives the rest.
//!
//! It is a model of a piece of SPI hardware, not of a processor: it acts at exact instants of cell time, drives and
//! samples wires bit by bit (mode 0, most significant bit first), and hands whole frames upwards untouched. Owns
//! the timing of the superframe. Leaves the meaning of frames to the server.

use crate::beacon::Schedule;
use crate::bus::{Edge, Wire};
use crate::clock::Picoseconds;
use crate::limits::{DOWNLINKS_WAITING_MAX, FRAME_BYTES_MAX};
use cipher::CellKey;
use isa::avr::peripheral::Drive;
use std::collections::VecDeque;
use std::ops::Range;

/// Picoseconds in a microsecond.
const PS_PER_US: u64 = 1_000_000;

/// A frame as it came off the bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// The superframe in which it came.
    pub superframe: u32,
    /// The slot in which it began.
    pub slot: u8,
    /// When SS rose behind its last bit.
    pub received_ps: Picoseconds,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// What the gateway saw on the bus that was no frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// SS rose in the middle of a byte, or no bit came at all.
    pub torn: u64,
    /// More bytes than a frame may have.
    pub oversize: u64,
    /// Slots of a node in which nothing was received.
    pub empty_slots: u64,
}

/// What the gateway does at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It drives a wire.
    Drive(Wire, Drive),
    /// A superframe ended; the next begins now.
    SuperframeEnds(u32),
}

/// A frame being sent, bit by bit.
#[derive(Clone, Debug)]
struct Sending {
    bytes: Vec<u8>,
    /// Half bits done. Even: about to put a bit on MOSI with SCK low. Odd: about to raise SCK.
    half_bit: usize,
}

/// What the gateway does next.
#[derive(Clone, Debug)]
enum Phase {
    /// A new superframe begins.
    Begin,
    /// Sending the beacon or a downlink frame.
    Send(Sending),
    /// Waiting for the downlink slot.
    UntilDownlink,
    /// Waiting for the end of the superframe.
    UntilEnd,
}

/// The gateway.
pub struct Gateway {
    schedule: Schedule,
    key: CellKey,
    half_bit_ps: Picoseconds,
    byte_gap_ps: Picoseconds,
    superframe: u32,
    superframe_start_ps: Picoseconds,
    phase: Phase,
    due_ps: Picoseconds,
    downlinks: VecDeque<Vec<u8>>,
    receiving: Option<Receiving>,
    received: Vec<Received>,
    torn: Vec<Received>,
    heard: Vec<bool>,
    losses: Losses,
}

/// Where a frame names its node (`firmware/node/frame.h`).
const NODE: Range<usize> = 1..5;

/// A frame being received.
#[derive(Clone, Debug)]
struct Receiving {
    slot: u8,
    bytes: Vec<u8>,
    shift: u8,
    bits: u8,
    oversize: bool,
}

impl Gateway {
    /// A gateway that starts superframe 0 at `start_ps` and sends `bit_rate_hz` bits a second with `byte_gap_bits`
    /// bit times between bytes, so that a node's interrupt handler can follow.
    pub fn new(
        schedule: Schedule,
        key: CellKey,
        bit_rate_hz: u64,
        byte_gap_bits: u64,
        start_ps: Picoseconds,
    ) -> Gateway {
        let half_bit_ps = crate::clock::PS_PER_S / (2 * bit_rate_hz);
        Gateway {
            heard: vec![false; schedule.nodes.len()],
            schedule,
            key,
            half_bit_ps,
            byte_gap_ps: 2 * half_bit_ps * byte_gap_bits,
            superframe: 0,
            superframe_start_ps: start_ps,
            phase: Phase::Begin,
            due_ps: start_ps,
            downlinks: VecDeque::new(),
            receiving: None,
            received: Vec::new(),
            torn: Vec::new(),
            losses: Losses::default(),
        }
    }

    /// When the gateway acts next.
    pub fn due_ps(&self) -> Picoseconds {
        self.due_ps
    }

    /// Gives the first superframe a number other than 0.
    ///
    /// # Panics
    /// When it has begun.
    pub fn number_from(&mut self, superframe: u32) {
        assert!(
            matches!(self.phase, Phase::Begin) && self.superframe == 0,
            "superframes are numbered already"
        );
        self.superframe = superframe;
    }

    /// The superframe that is running.
    pub fn superframe(&self) -> u32 {
        self.superframe
    }

    /// Queues a downlink frame; one goes out each superframe. It takes the place of one for the same node that waits: what
    /// the server says last holds, and a node hears it when every other had its turn. Returns it when the queue is full.
    pub fn queue_downlink(&mut self, frame: Vec<u8>) -> Result<(), Vec<u8>> {
        if frame.len() > FRAME_BYTES_MAX {
            return Err(frame);
        }
        let waiting = self.downlinks.iter().position(|waiting| waiting.get(NODE) == frame.get(NODE));
        match waiting {
            Some(place) => self.downlinks[place] = frame,
            None if self.downlinks.len() < DOWNLINKS_WAITING_MAX => self.downlinks.push_back(frame),
            None => return Err(frame),
        }
        Ok(())
    }

    /// Takes the frames received since the last call.
    pub fn take_received(&mut self) -> Vec<Received> {
        std::mem::take(&mut self.received)
    }

    /// Takes what is left of the frames that were torn since the last call: their whole bytes.
    pub fn take_torn(&mut self) -> Vec<Received> {
        std::mem::take(&mut self.torn)
    }

    /// What was lost on the bus so far.
    pub fn losses(&self) -> Losses {
        self.losses
    }

    /// Acts at `due_ps`, and says what it did.
    pub fn act(&mut self) -> Vec<Action> {
        let now_ps = self.due_ps;
        match std::mem::replace(&mut self.phase, Phase::UntilEnd) {
            Phase::Begin => {
                let bytes = self.schedule.beacon(self.superframe, &self.key);
                self.begin_sending(bytes, now_ps)
            }
            Phase::Send(sending) => self.continue_sending(sending, now_ps),
            Phase::UntilDownlink => match self.downlinks.pop_front() {
                Some(frame) => self.begin_sending(frame, now_ps),
                None => {
                    self.wait_for_end();
                    Vec::new()
                }
            },
            Phase::UntilEnd => self.end_superframe(now_ps),
        }
    }

    fn begin_sending(&mut self, bytes: Vec<u8>, now_ps: Picoseconds) -> Vec<Action> {
        self.phase = Phase::Send(Sending { bytes, half_bit: 0 });
        // SS leads the first clock by two bit times, so that a slave's input synchroniser has seen it.
        self.due_ps = now_ps + 4 * self.half_bit_ps;
        vec![
            Action::Drive(Wire::Ss, Drive::Low),
            Action::Drive(Wire::Sck, Drive::Low),
            Action::Drive(Wire::Mosi, Drive::Low),
        ]
    }

    fn continue_sending(&mut self, mut sending: Sending, now_ps: Picoseconds) -> Vec<Action> {
        let (byte, half_in_byte) = (sending.half_bit / 16, sending.half_bit % 16);
        if byte == sending.bytes.len() {
            let was_beacon = now_ps < self.downlink_ps();
            if was_beacon {
                self.wait_for_downlink()
            } else {
                self.wait_for_end()
            }
            return crate::bus::WIRES.map(|wire| Action::Drive(wire, Drive::Floating)).to_vec();
        }
        let mut actions = Vec::with_capacity(2);
        if half_in_byte.is_multiple_of(2) {
            let bit = sending.bytes[byte] >> (7 - half_in_byte / 2) & 1;
            actions.push(Action::Drive(Wire::Sck, Drive::Low));
            actions.push(Action::Drive(Wire::Mosi, if bit == 1 { Drive::High } else { Drive::Low }));
        } else {
            actions.push(Action::Drive(Wire::Sck, Drive::High));
        }
        sending.half_bit += 1;
        let byte_begins = half_in_byte == 0;
        self.due_ps = now_ps + self.half_bit_ps + if byte_begins { self.byte_gap_ps } else { 0 };
        self.phase = Phase::Send(sending);
        actions
    }

    fn downlink_ps(&self) -> Picoseconds {
        let slots = u64::from(self.schedule.downlink_slot()) * u64::from(self.schedule.slot_us);
        self.superframe_start_ps + (slots + u64::from(self.schedule.guard_us)) * PS_PER_US
    }

    /// When the superframe that is running ends.
    pub fn end_ps(&self) -> Picoseconds {
        self.superframe_start_ps + u64::from(self.schedule.superframe_us) * PS_PER_US
    }

    fn wait_for_downlink(&mut self) {
        self.phase = Phase::UntilDownlink;
        self.due_ps = self.downlink_ps();
    }

    fn wait_for_end(&mut self) {
        self.phase = Phase::UntilEnd;
        self.due_ps = self.end_ps();
    }

    fn end_superframe(&mut self, now_ps: Picoseconds) -> Vec<Action> {
        self.losses.empty_slots += self.heard.iter().filter(|heard| !**heard).count() as u64;
        self.heard.fill(false);
        let ended = self.superframe;
        self.superframe += 1;
        self.superframe_start_ps = now_ps;
        self.phase = Phase::Begin;
        vec![Action::SuperframeEnds(ended)]
    }

    /// The level of a wire changed at `now_ps`; `mosi_high` is the level of MOSI as the gateway's receiver sees it.
    /// The caller leaves out edges that the gateway itself caused.
    pub fn edge(&mut self, edge: Edge, mosi_high: bool, now_ps: Picoseconds) {
        match (edge.wire, edge.high) {
            (Wire::Ss, false) => self.frame_begins(now_ps),
            (Wire::Ss, true) => self.frame_ends(now_ps),
            (Wire::Sck, true) => self.bit(mosi_high),
            _ => {}
        }
    }

    fn frame_begins(&mut self, now_ps: Picoseconds) {
        let since_us = now_ps.saturating_sub(self.superframe_start_ps) / PS_PER_US;
        let slot = (since_us / u64::from(self.schedule.slot_us)).min(255) as u8;
        self.receiving = Some(Receiving { slot, bytes: Vec::new(), shift: 0, bits: 0, oversize: false });
    }

    fn bit(&mut self, high: bool) {
        let Some(receiving) = &mut self.receiving else { return };
        receiving.shift = receiving.shift << 1 | u8::from(high);
        receiving.bits += 1;
        if receiving.bits == 8 {
            receiving.bits = 0;
            if receiving.bytes.len() == FRAME_BYTES_MAX {
                receiving.oversize = true;
            } else {
                receiving.bytes.push(receiving.shift);
            }
        }
    }

    fn frame_ends(&mut self, now_ps: Picoseconds) {
        let Some(receiving) = self.receiving.take() else { return };
        let frame = Received {
            superframe: self.superframe,
            slot: receiving.slot,
            received_ps: now_ps,
            bytes: receiving.bytes,
        };
        if receiving.oversize {
            self.losses.oversize += 1;
        } else if receiving.bits != 0 || frame.bytes.is_empty() {
            self.losses.torn += 1;
            self.torn.push(frame);
        } else {
            if let Some(heard) = usize::from(frame.slot).checked_sub(1).and_then(|i| self.heard.get_mut(i)) {
                *heard = true;
            }
            self.received.push(frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::Bus;
    use cipher::{CellMaster, Key};

    fn schedule() -> Schedule {
        Schedule { cell: 7, superframe_us: 250_000, slot_us: 10_000, guard_us: 200, nodes: vec![1, 2, 3, 4] }
    }

    fn key() -> CellKey {
        CellMaster::from(Key::copied_from(&[9; 32])).cell_key(7)
    }

    fn gateway() -> Gateway {
        Gateway::new(schedule(), key(), 500_000, 2, 0)
    }

    /// Runs `sender` until its superframe ends, with `listener` as the only other participant.
    fn play(sender: &mut Gateway, listener: &mut Gateway) {
        let mut bus = Bus::new(1);
        loop {
            let now_ps = sender.due_ps();
            for action in sender.act() {
                match action {
                    Action::Drive(wire, drive) => {
                        if let Some(edge) = bus.drive(0, wire, drive, now_ps) {
                            listener.edge(edge, bus.is_high(Wire::Mosi), now_ps);
                        }
                    }
                    Action::SuperframeEnds(_) => return,
                }
            }
        }
    }

    #[test]
    fn a_frame_sent_bit_by_bit_arrives_byte_for_byte() {
        let (mut sender, mut listener) = (gateway(), gateway());
        let frame: Vec<u8> = (0..=254).collect();
        sender.queue_downlink(frame.clone()).unwrap();
        play(&mut sender, &mut listener);
        let received = listener.take_received();
        assert_eq!(received.len(), 2, "beacon and downlink");
        assert_eq!(received[0].bytes, schedule().beacon(0, &key()));
        assert_eq!((received[0].slot, received[1].slot), (0, 5));
        assert_eq!(received[1].bytes, frame);
        assert_eq!(listener.losses(), Losses::default());
    }

    #[test]
    fn what_a_node_is_told_later_goes_in_place_of_what_waits_for_it() {
        let (mut sender, mut listener) = (gateway(), gateway());
        let frame = |node: u8, says: u8| vec![0x11, node, 0, 0, 0, says];
        for told in [frame(1, 0), frame(2, 1), frame(1, 2), frame(3, 3), frame(2, 4), frame(1, 5)] {
            sender.queue_downlink(told).unwrap();
        }
        (0..4).for_each(|_| play(&mut sender, &mut listener));
        let received = listener.take_received();
        let told: Vec<Vec<u8>> =
            received.into_iter().map(|frame| frame.bytes).filter(|bytes| bytes[0] == 0x11).collect();
        assert_eq!(told, [frame(1, 5), frame(2, 4), frame(3, 3)]);
    }

    #[test]
    fn slots_in_which_nothing_came_are_counted() {
        let (mut sender, mut listener) = (gateway(), gateway());
        play(&mut sender, &mut listener);
        assert_eq!(sender.losses().empty_slots, 4);
    }

    #[test]
    fn a_frame_cut_within_a_byte_is_torn() {
        let mut gateway = gateway();
        gateway.edge(Edge { wire: Wire::Ss, high: false }, false, 0);
        for _ in 0..11 {
            gateway.edge(Edge { wire: Wire::Sck, high: true }, true, 1);
        }
        gateway.edge(Edge { wire: Wire::Ss, high: true }, false, 2);
        assert_eq!(gateway.losses().torn, 1);
        assert!(gateway.take_received().is_empty());
        assert_eq!(gateway.take_torn().iter().map(|torn| &torn.bytes[..]).collect::<Vec<_>>(), [[0xff]]);
    }

    #[test]
    fn an_oversize_frame_is_counted_and_dropped() {
        let mut gateway = gateway();
        gateway.edge(Edge { wire: Wire::Ss, high: false }, false, 0);
        for _ in 0..8 * (FRAME_BYTES_MAX + 1) {
            gateway.edge(Edge { wire: Wire::Sck, high: true }, true, 1);
        }
        gateway.edge(Edge { wire: Wire::Ss, high: true }, false, 2);
        assert_eq!(gateway.losses().oversize, 1);
        assert!(gateway.take_received().is_empty());
    }
}
