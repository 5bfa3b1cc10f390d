//! An engine behind a wire that the host clocks, as a function of time: what comes back, and when.
//!
//! Owns the schedule. Each instant follows from the one before and the preset, never from when somebody looked, so that
//! lateness does not add up; waiting for an instant is `serve`'s.

use std::collections::VecDeque;
use std::time::Duration;

use super::faults::{Faults, Struck};
use super::preset::Preset;
use crate::engine::Engine;
use crate::link::DeviceEnd;
use crate::wiped::Wiped;
use crate::wire::{Operation, Pdu};

/// What a clocked device did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clocks {
    /// Times that it was opened.
    pub opens: u64,
    /// Transactions.
    pub transactions: u64,
    /// Requests that it carried out.
    pub requests: u64,
    /// Cycles of the clock.
    pub cycles: u64,
    /// Cycles in which bytes of PDUs went to the device.
    pub request_cycles: u64,
    /// Cycles in which bytes of PDUs came from it.
    pub answer_cycles: u64,
    /// Faults that were asked for.
    pub struck: Struck,
}

impl Clocks {
    /// What was done between `before` and these.
    pub fn since(&self, before: &Clocks) -> Clocks {
        Clocks {
            opens: self.opens - before.opens,
            transactions: self.transactions - before.transactions,
            requests: self.requests - before.requests,
            cycles: self.cycles - before.cycles,
            request_cycles: self.request_cycles - before.request_cycles,
            answer_cycles: self.answer_cycles - before.answer_cycles,
            struck: self.struck,
        }
    }

    /// What part of the cycles had bytes of PDUs, to the device and from it.
    pub fn shares(&self) -> [f64; 2] {
        [self.request_cycles, self.answer_cycles].map(|cycles| cycles as f64 / self.cycles as f64)
    }
}

/// What the host gets.
pub struct Reply {
    /// As many bytes as the transaction had; none when only the signal changed. On a line, what the device said.
    bytes: Wiped,
    /// The device's signal: it has something.
    pub is_ready: bool,
    at: Duration,
}

impl Reply {
    /// What came over the wire.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

struct Transaction {
    bytes: Wiped,
    /// Bytes that come back; at most so many, and no filler, on a line.
    back_bytes: usize,
    is_line: bool,
    from: Duration,
    stall: Duration,
}

impl Transaction {
    /// In whichever direction has more.
    fn longer_bytes(&self) -> usize {
        self.bytes.len().max(self.back_bytes)
    }
}

struct Computed {
    at: Duration,
    session: u64,
    answer: Pdu,
}

/// A device that is clocked.
pub struct Clocked<E> {
    preset: Preset,
    engine: E,
    link: DeviceEnd,
    faults: Faults,
    /// Transactions in the order in which they came.
    begun: VecDeque<Transaction>,
    wire_free_at: Duration,
    engine_free_at: Duration,
    /// Answers in the order in which they are computed.
    computed: VecDeque<Computed>,
    replies: VecDeque<Reply>,
    /// Whether the host was told that there is something.
    is_told: bool,
    clocks: Clocks,
}

impl<E: Engine> Clocked<E> {
    /// A device that has just started.
    pub fn new(engine: E, preset: Preset, faults: Faults) -> Clocked<E> {
        Clocked {
            link: DeviceEnd::new(preset.piece_bytes_max()),
            preset,
            engine,
            faults,
            begun: VecDeque::new(),
            wire_free_at: Duration::ZERO,
            engine_free_at: Duration::ZERO,
            computed: VecDeque::new(),
            replies: VecDeque::new(),
            is_told: false,
            clocks: Clocks::default(),
        }
    }

    /// What it did so far.
    pub fn clocks(&self) -> Clocks {
        let (request_bytes, answer_bytes) = self.link.pdu_bytes();
        Clocks {
            request_cycles: request_bytes * self.preset.byte_cycles,
            answer_cycles: answer_bytes * self.preset.byte_cycles,
            struck: self.faults.struck(),
            ..self.clocks
        }
    }

    /// The host opens the bus; what was under way is lost. The device itself does not notice.
    pub fn open(&mut self) {
        self.begun.clear();
        self.replies.clear();
        self.is_told = false;
        self.clocks.opens += 1;
    }

    /// The host begins a transaction at `now`.
    pub fn begin(&mut self, now: Duration, bytes: &[u8]) {
        self.push(now, bytes, bytes.len(), false);
    }

    /// A line with two directions of their own goes on at `now`: `bytes` come in while at most `back_bytes_max` go out.
    pub fn go_on(&mut self, now: Duration, bytes: &[u8], back_bytes_max: usize) {
        self.push(now, bytes, back_bytes_max, true);
    }

    fn push(&mut self, now: Duration, bytes: &[u8], back_bytes: usize, is_line: bool) {
        let mut wire = Wiped::new(Vec::with_capacity(bytes.len()));
        wire.extend_from_slice(bytes);
        let (from, stall) = (now + self.preset.turnaround / 2, self.faults.stall());
        self.begun.push_back(Transaction { bytes: wire, back_bytes, is_line, from, stall });
    }

    /// Transactions that are begun and whose reply was not taken.
    pub fn under_way(&self) -> usize {
        self.begun.len() + self.replies.len()
    }

    /// When something happens next.
    pub fn next_at(&self) -> Option<Duration> {
        let end = self.begun.front().map(|transaction| self.span(transaction).1);
        let reply = self.replies.front().map(|reply| reply.at);
        end.into_iter().chain(reply).chain(self.signal_at()).min()
    }

    /// When the wire begins with a transaction, and when it ends.
    fn span(&self, transaction: &Transaction) -> (Duration, Duration) {
        let from = transaction.from.max(self.wire_free_at) + transaction.stall;
        (from, from + self.preset.time(self.preset.cycles(transaction.longer_bytes())))
    }

    /// When the host sees that there is something, of itself.
    fn signal_at(&self) -> Option<Duration> {
        let is_quiet = self.begun.is_empty() && self.replies.is_empty() && !self.is_told;
        let first = self.computed.front().filter(|_| is_quiet)?;
        Some(first.at + self.preset.signal)
    }

    /// The next thing that the host gets by `now`. To be called until there is none.
    pub fn advance(&mut self, now: Duration) -> Option<Reply> {
        while self.begun.front().is_some_and(|transaction| self.span(transaction).1 <= now) {
            let transaction = self.begun.pop_front().expect("there is a first one");
            self.clock(transaction);
        }
        if self.replies.front().is_some_and(|reply| reply.at <= now) {
            return self.replies.pop_front();
        }
        let at = self.signal_at().filter(|at| *at <= now)?;
        self.is_told = true;
        Some(Reply { bytes: Wiped::default(), is_ready: true, at })
    }

    /// A transaction goes over the wire.
    fn clock(&mut self, transaction: Transaction) {
        let (from, end) = self.span(&transaction);
        let bytes = transaction.longer_bytes();
        let Transaction { bytes: mut there, back_bytes, is_line, .. } = transaction;
        self.wire_free_at = end;
        if self.faults.reset() {
            self.link.reset();
            self.engine.restarted();
            self.computed.clear();
            self.engine_free_at = from;
        }
        // What goes back was there when the first bit went.
        while self.computed.front().is_some_and(|computed| computed.at <= from) {
            let Computed { session, answer, .. } = self.computed.pop_front().expect("there is a first one");
            self.link.answer(session, answer);
        }
        let mut back = Wiped::new(Vec::with_capacity(back_bytes));
        if is_line {
            self.link.say(back_bytes, &mut back);
        } else {
            self.link.fill(back_bytes, &mut back);
        }
        self.faults.harm(&mut there, &mut back);
        let (mut requests, session) = (Vec::new(), self.link.session());
        self.link.take(&there, &mut requests);
        if self.link.session() != session {
            self.engine.opened();
        }
        self.compute(end, &requests);
        let at = end + self.preset.turnaround / 2 + self.preset.tail(bytes);
        self.is_told =
            self.link.is_ready() || self.computed.front().is_some_and(|computed| computed.at <= at);
        self.clocks.transactions += 1;
        self.clocks.cycles += self.preset.cycles(bytes);
        self.replies.push_back(Reply { bytes: back, is_ready: self.is_told, at });
    }

    /// The engine takes requests that came by `now`, one after the other.
    fn compute(&mut self, now: Duration, requests: &[Pdu]) {
        // Without a session there are no requests, and answers of an earlier one are of no use.
        let Some(session) = self.link.session() else { return self.computed.clear() };
        self.computed.retain(|computed| computed.session == session);
        for request in requests {
            let Some(answer) = self.engine.execute(request) else { continue };
            let payload_bytes = request.payload().len().max(answer.payload().len());
            let operation = request.operation().unwrap_or(Operation::Info);
            let takes = self.preset.computes(operation, payload_bytes);
            self.engine_free_at = self.engine_free_at.max(now) + takes;
            self.computed.push_back(Computed { at: self.engine_free_at, session, answer });
            self.clocks.requests += 1;
        }
    }
}
