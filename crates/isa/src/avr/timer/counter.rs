//! One counter: TCNT as a function of its ticks, compare units, flags and compare outputs.
//!
//! Works in ticks and jumps from one notable value to the next; `clock` says when a tick is.
//! Sources: ATmega128 datasheet, chapters "8-bit Timer/Counter0", "16-bit Timer/Counter" and "8-bit
//! Timer/Counter2" (timing diagrams and modes of operation); the ATmega328P's chapters of the same names.
//! Flags rise and pins change in the tick that *leaves* the value they belong to, as the timing diagrams
//! show: OCF when TCNT becomes OCR + 1, TOV when it leaves MAX, TOP or BOTTOM as the mode says.

use super::clock::{Clocks, Prescaler};
use super::input::Input;
use super::mode::{Connection, Kind, Mode, Slope, Source, Top};
use crate::Cycles;
use crate::avr::peripheral::{Effect, Effects, NEVER, Pin};

/// Overflow; also its bit in a counter's requests, as all of these are.
pub const OVERFLOW: u8 = 0;
/// Compare match of unit A; B and C follow.
pub const COMPARE_A: u8 = 1;
/// Input capture.
pub const CAPTURE: u8 = 4;

/// What a counter counts in, for one step of time.
#[derive(Clone, Copy)]
pub struct Time<'a> {
    pub clocks: &'a Clocks,
    pub prescaler: &'a Prescaler,
}

#[derive(Clone, Debug)]
pub struct Counter {
    pub kind: Kind,
    /// Its request bits are `base` to `base + 4`.
    pub base: u8,
    pub outputs: [Option<Pin>; 3],
    pub wgm: u8,
    pub com: [u8; 3],
    pub source: Source,
    /// ICNC and ICES as written.
    pub noise_canceler: bool,
    pub capture_rising: bool,
    pub count: u16,
    /// The compare registers as the program sees them, and as the comparators do.
    pub buffer: [u16; 3],
    pub compare: [u16; 3],
    pub capture: u16,
    pub flags: u8,
    pub enabled: u8,
    pub watched: u8,
    /// The comparators are off while a write to the asynchronous timer is under way.
    pub compare_off: bool,
    /// TEMP, the high byte on its way in or out.
    pub temp: u8,
    pub clock_input: Input,
    pub capture_input: Input,
    mode: Mode,
    connections: [Connection; 3],
    down: bool,
    /// A write to TCNT suppresses the compare matches of the next tick.
    blocked: bool,
    /// Ticks of the prescaler's tap that have been counted.
    ticks: u64,
    levels: [bool; 3],
    shown: [Option<bool>; 3],
}

impl Counter {
    pub fn new(kind: Kind, base: u8, outputs: [Option<Pin>; 3]) -> Self {
        Self {
            kind,
            base,
            outputs,
            wgm: 0,
            com: [0; 3],
            source: Source::Stopped,
            noise_canceler: false,
            capture_rising: false,
            count: 0,
            buffer: [0; 3],
            compare: [0; 3],
            capture: 0,
            flags: 0,
            enabled: 0,
            watched: 0,
            compare_off: false,
            temp: 0,
            clock_input: Input::default(),
            capture_input: Input::default(),
            mode: Mode::NORMAL,
            connections: [Connection::Port; 3],
            down: false,
            blocked: false,
            ticks: 0,
            levels: [false; 3],
            shown: [None; 3],
        }
    }

    fn channels(&self) -> std::ops::Range<usize> {
        0..self.kind.channels()
    }

    fn top(&self) -> u16 {
        match self.mode.top {
            Top::Max => self.kind.max(),
            Top::Fixed(top) => top,
            Top::CompareA => self.compare[0],
            Top::Capture => self.capture,
        }
    }

    /// Whether ICR is TOP: then the program may write it, and the ICP pin is disconnected.
    pub fn capture_is_top(&self) -> bool {
        self.mode.top == Top::Capture
    }

    /// The mode or the compare outputs' modes were written.
    pub fn configure(&mut self, at: Cycles, effects: &mut Effects) {
        self.mode = self.kind.mode(self.wgm);
        if !self.mode.is_dual() {
            self.down = false;
        }
        if self.mode.slope == Slope::Plain {
            self.compare = self.buffer;
        }
        for x in self.channels() {
            self.connections[x] = self.kind.connection(self.wgm, self.com[x], x);
        }
        self.show(at, effects);
    }

    /// The prescaler or the clock select changed: counts on from the tap's phase at `now`.
    pub fn anchor(&mut self, now: Cycles, time: Time) {
        if let Source::Divided { log2 } = self.source {
            self.ticks = time.prescaler.ticks(time.clocks, log2, now);
        }
    }

    pub fn write_count(&mut self, value: u16) {
        self.count = value;
        self.blocked = true;
    }

    pub fn write_compare(&mut self, channel: usize, value: u16) {
        self.buffer[channel] = value;
        if self.mode.slope == Slope::Plain {
            self.compare[channel] = value;
        }
    }

    /// "Force Output Compare": the pin changes as by a match; no flag is set and nothing is cleared.
    pub fn force(&mut self, channel: usize, at: Cycles, effects: &mut Effects) {
        if self.mode.slope == Slope::Plain {
            self.output(channel, false);
            self.show(at, effects);
        }
    }

    /// The FOC strobes of a control register: A in bit 7, B in bit 6, C in bit 5.
    pub fn force_all(&mut self, value: u8, at: Cycles, effects: &mut Effects) {
        for x in self.channels() {
            if value & 0x80 >> x != 0 {
                self.force(x, at, effects);
            }
        }
    }

    /// Brings the counter to `now`.
    pub fn run(&mut self, now: Cycles, time: Time, effects: &mut Effects) {
        while let Some((at, rising)) = self.capture_input.take(now) {
            self.count_to(at, time, effects);
            if rising == self.capture_rising && !self.capture_is_top() {
                self.capture = self.count;
                self.raise(CAPTURE, at, effects);
            }
        }
        self.count_to(now, time, effects);
    }

    fn count_to(&mut self, now: Cycles, time: Time, effects: &mut Effects) {
        if let Source::Divided { log2 } = self.source {
            self.jump(time.prescaler.ticks(time.clocks, log2, now), log2, time, effects);
        }
        while let Some((at, rising)) = self.clock_input.take(now) {
            let counted = if rising { Source::Rising } else { Source::Falling };
            if self.source == counted && !time.prescaler.held {
                self.tick(at, effects);
            }
        }
    }

    fn jump(&mut self, target: u64, log2: u32, time: Time, effects: &mut Effects) {
        // The flags when the counter last came to 0, for skipping periods that change nothing.
        let mut flags_at_wrap = None;
        while self.ticks < target {
            let step = self.stretch();
            let left = target - self.ticks;
            if step > left {
                self.glide(left);
                self.ticks = target;
                return;
            }
            self.glide(step - 1);
            self.ticks += step;
            self.tick(time.prescaler.cycle_of(time.clocks, log2, self.ticks), effects);
            if self.count == 0 && self.down == self.mode.is_dual() && self.is_unobserved() {
                if flags_at_wrap == Some(self.flags) && self.compare == self.buffer {
                    let left = target - self.ticks;
                    self.ticks += left - left % self.period();
                }
                flags_at_wrap = Some(self.flags);
            }
        }
    }

    /// No pin and nobody else would notice a whole period in which no new flag rises.
    fn is_unobserved(&self) -> bool {
        self.watched == 0 && !self.is_connected()
    }

    /// Ticks from coming to 0 to coming there again.
    fn period(&self) -> u64 {
        let top = u64::from(self.top());
        if self.mode.is_dual() { (2 * top).max(2) } else { top + 1 }
    }

    /// Ticks until the one that leaves the next notable value, at least 1.
    fn stretch(&self) -> u64 {
        if self.blocked || self.compare_off {
            return 1;
        }
        let mut distance = self.count.abs_diff(self.slope_end());
        for x in self.channels() {
            if self.is_ahead(self.compare[x]) && self.cares(x) {
                distance = distance.min(self.count.abs_diff(self.compare[x]));
            }
        }
        u64::from(distance) + 1
    }

    /// The value at which the counter turns or wraps next, as it goes now.
    fn slope_end(&self) -> u16 {
        let top = self.top();
        match (self.down, self.count <= top) {
            (true, _) => 0,
            (false, true) => top,
            (false, false) => self.kind.max(),
        }
    }

    /// Whether `value` comes before the slope's end; one beyond TOP never comes, and is past the end.
    fn is_ahead(&self, value: u16) -> bool {
        if self.down { value <= self.count } else { (self.count..=self.slope_end()).contains(&value) }
    }

    /// Whether a match of unit `x` would change anything.
    fn cares(&self, x: usize) -> bool {
        let bit = 1 << (COMPARE_A + x as u8);
        self.flags & bit == 0 || self.watched & bit != 0 || self.connections[x] != Connection::Port
    }

    /// Moves over values at which nothing happens.
    fn glide(&mut self, ticks: u64) {
        let ticks = ticks as u16;
        self.count = if self.down { self.count - ticks } else { self.count + ticks };
    }

    /// The tick that leaves the present value.
    fn tick(&mut self, at: Cycles, effects: &mut Effects) {
        let value = self.count;
        // A blocked match clears nothing and turns nothing: "the compare match for the TOP will be ignored
        // and the counter will continue" (Modes of Operation). Only the hard ends of the range stay.
        let blocked = std::mem::take(&mut self.blocked) || self.compare_off;
        let at_top = value == self.top() && !self.down && (!blocked || value == self.kind.max());
        let at_bottom = self.mode.is_dual() && self.down && value == 0;
        if self.mode.is_dual() && (at_top || at_bottom) {
            self.down = at_top;
        }
        for x in self.channels() {
            if !blocked && self.compare[x] == value {
                self.raise(COMPARE_A + x as u8, at, effects);
                self.output(x, self.down);
            }
        }
        if at_top && self.capture_is_top() {
            self.raise(CAPTURE, at, effects);
        }
        if self.mode.is_dual() {
            self.turn(value, at_top, at_bottom, at, effects);
        } else {
            let wraps = at_top || value == self.kind.max();
            let overflows = if self.mode.slope == Slope::Fast { at_top } else { value == self.kind.max() };
            self.count = if wraps { 0 } else { value + 1 };
            if overflows {
                self.raise(OVERFLOW, at, effects);
            }
            if wraps && self.mode.slope == Slope::Fast {
                self.compare = self.buffer;
                self.bottom_outputs();
            }
        }
        self.show(at, effects);
    }

    /// The dual slope's part of a tick: phase correct, and phase and frequency correct PWM.
    fn turn(&mut self, value: u16, at_top: bool, at_bottom: bool, at: Cycles, effects: &mut Effects) {
        if at_top {
            self.count = value.saturating_sub(1);
            if self.mode.slope == Slope::DualAtTop {
                self.load_at_top(value);
            }
        } else if at_bottom {
            self.raise(OVERFLOW, at, effects);
            if self.mode.slope == Slope::DualAtBottom {
                self.compare = self.buffer;
            }
            self.count = self.top().min(1);
        } else if self.down {
            self.count = value - 1;
        } else {
            self.count = if value == self.kind.max() { 0 } else { value + 1 };
        }
    }

    /// Takes the buffered compare values at TOP. "When the OCR value is MAX the OC pin value is the same as
    /// the result of a down-counting compare match. To ensure symmetry around BOTTOM the OC value at MAX must
    /// correspond to the result of an up-counting compare match" ("Phase Correct PWM Mode").
    fn load_at_top(&mut self, top: u16) {
        for x in self.channels() {
            if self.compare[x] == top
                && self.buffer[x] < top
                && matches!(self.connections[x], Connection::Pwm { .. })
            {
                self.output(x, false);
            }
        }
        self.compare = self.buffer;
    }

    fn raise(&mut self, flag: u8, at: Cycles, effects: &mut Effects) {
        let bit = 1 << flag;
        if self.flags & bit == 0 && self.watched & bit != 0 {
            effects.push((at, Effect::Flag { bit: self.base + flag }));
        }
        self.flags |= bit;
    }

    /// A match of unit `x`, with the counter going down or up from there.
    fn output(&mut self, x: usize, down: bool) {
        self.levels[x] = match self.connections[x] {
            Connection::Port => return,
            Connection::Toggle => !self.levels[x],
            Connection::Clear => false,
            Connection::Set => true,
            Connection::Pwm { inverted } => down != inverted,
        };
    }

    fn bottom_outputs(&mut self) {
        for x in self.channels() {
            if let Connection::Pwm { inverted } = self.connections[x] {
                self.levels[x] = !inverted;
            }
        }
    }

    fn show(&mut self, at: Cycles, effects: &mut Effects) {
        for x in self.channels() {
            let Some(pin) = self.outputs[x] else { continue };
            let high = (self.connections[x] != Connection::Port).then_some(self.levels[x]);
            if high != self.shown[x] {
                self.shown[x] = high;
                effects.push((at, Effect::Value { pin, high }));
            }
        }
    }

    /// When this counter may next emit an effect or raise an enabled interrupt.
    pub fn due(&self, time: Time) -> Cycles {
        let wanted = self.enabled & !self.flags | self.watched;
        let captured = if wanted & 1 << CAPTURE != 0 { self.capture_input.due() } else { NEVER };
        let ticks = match self.source {
            Source::Divided { log2 } => self.ticks_to_wanted(wanted).map_or(NEVER, |ticks| {
                time.prescaler.cycle_of(time.clocks, log2, self.ticks.saturating_add(ticks))
            }),
            Source::Falling | Source::Rising if wanted != 0 || self.is_connected() => self.clock_input.due(),
            _ => NEVER,
        };
        captured.min(ticks)
    }

    fn is_connected(&self) -> bool {
        self.connections != [Connection::Port; 3]
    }

    /// Ticks until a wanted flag may rise or a pin may change. Exact while the counter only goes up and no
    /// buffered value waits; otherwise it may be the end of the slope, from where one sees further.
    fn ticks_to_wanted(&self, wanted: u8) -> Option<u64> {
        if wanted == 0 && !self.is_connected() {
            return None;
        }
        if self.blocked || self.compare_off {
            return Some(1);
        }
        let (top, end) = (self.top(), self.slope_end());
        let to_end = u64::from(self.count.abs_diff(end)) + 1;
        let settled = !self.mode.is_dual() && self.count <= top && self.compare == self.buffer;
        let turns = match self.mode.slope {
            Slope::Plain => wanted & 1 << OVERFLOW != 0 && end == self.kind.max(),
            _ => wanted & 1 << OVERFLOW != 0 || self.is_connected(),
        };
        let captures = wanted & 1 << CAPTURE != 0 && self.capture_is_top();
        let mut nearest = (turns || captures).then_some(to_end);
        for x in self.channels() {
            if wanted & 1 << (COMPARE_A + x as u8) == 0 && self.connections[x] == Connection::Port {
                continue;
            }
            let value = self.compare[x];
            let ticks = if self.is_ahead(value) {
                u64::from(self.count.abs_diff(value)) + 1
            } else if !settled {
                to_end
            } else if value <= top {
                to_end + u64::from(value) + 1
            } else {
                continue;
            };
            nearest = Some(nearest.map_or(ticks, |n| n.min(ticks)));
        }
        nearest
    }
}
