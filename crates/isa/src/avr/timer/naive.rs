//! Tests only: a second witness for the counters, written from the mode tables one tick at a time.
//!
//! Shares no code with `counter`: a dual slope is a phase in 0..2 TOP here, not a direction, and nothing
//! jumps.

use proptest::prelude::*;

use super::super::peripheral::Effect;
use super::*;

/// A timer with constant settings that starts at 0.
struct Naive {
    max: u32,
    top: u32,
    dual: bool,
    fast: bool,
    icr_is_top: bool,
    com: [u8; 3],
    toggles_a: bool,
    ocr: [u32; 3],
    channels: usize,
    phase: u32,
    started: bool,
    flags: u8,
    levels: [bool; 3],
}

impl Naive {
    fn value(&self) -> u32 {
        if self.dual && self.phase > self.top { 2 * self.top - self.phase } else { self.phase }
    }

    fn drives(&self, x: usize) -> bool {
        let pwm = self.dual || self.fast;
        match self.com[x] {
            0 => false,
            1 => !pwm || (x == 0 && self.toggles_a),
            _ => true,
        }
    }

    fn tick(&mut self) {
        let value = self.value();
        let pwm = self.dual || self.fast;
        let downward = self.dual && self.phase >= self.top;
        for x in 0..self.channels {
            if value != self.ocr[x] {
                continue;
            }
            self.flags |= 2 << x;
            self.levels[x] = match (self.com[x], pwm) {
                (0, _) => self.levels[x],
                (1, _) => self.levels[x] != self.drives(x),
                (com, false) => com == 3,
                (com, true) => (com == 3) != downward,
            };
        }
        if self.icr_is_top && value == self.top && (!self.dual || self.phase == self.top) {
            self.flags |= 1 << 4;
        }
        if self.dual {
            if self.phase == 0 && self.started {
                self.flags |= 1;
            }
            self.phase = (self.phase + 1) % (2 * self.top);
        } else {
            let ends = value == self.top || value == self.max;
            if (self.fast && value == self.top) || (!self.fast && value == self.max) {
                self.flags |= 1;
            }
            self.phase = if ends { 0 } else { self.phase + 1 };
            for x in 0..self.channels {
                if ends && self.fast && self.com[x] >= 2 {
                    self.levels[x] = self.com[x] == 2;
                }
            }
        }
        self.started = true;
    }
}

/// The timer that stands for a kind, and its pins.
fn timer_of(kind: Kind) -> (Model, u8, [(u8, u8); 3]) {
    match kind {
        Kind::Single8 => (Model::Atmega128, 2, [(b'B', 7), (0, 0), (0, 0)]),
        Kind::Double8 => (Model::Atmega328p, 0, [(b'D', 6), (b'D', 5), (0, 0)]),
        Kind::Double16 => (Model::Atmega328p, 1, [(b'B', 1), (b'B', 2), (0, 0)]),
        Kind::Triple16 => (Model::Atmega128, 3, [(b'E', 3), (b'E', 4), (b'E', 5)]),
    }
}

/// TOP, dual slope, fast: the tables' rows, as numbers. `None` for a reserved row.
fn row(kind: Kind, wgm: u8, ocr_a: u32, icr: u32) -> Option<(u32, bool, bool)> {
    Some(match (kind, wgm) {
        (Kind::Single8 | Kind::Double8, 0) => (0xFF, false, false),
        (Kind::Single8 | Kind::Double8, 1) => (0xFF, true, false),
        (Kind::Single8 | Kind::Double8, 2) => (ocr_a, false, false),
        (Kind::Single8 | Kind::Double8, 3) => (0xFF, false, true),
        (Kind::Double8, 5) => (ocr_a, true, false),
        (Kind::Double8, 7) => (ocr_a, false, true),
        (Kind::Single8 | Kind::Double8, _) => return None,
        (_, 0) => (0xFFFF, false, false),
        (_, 1) => (0xFF, true, false),
        (_, 2) => (0x1FF, true, false),
        (_, 3) => (0x3FF, true, false),
        (_, 4) => (ocr_a, false, false),
        (_, 5) => (0xFF, false, true),
        (_, 6) => (0x1FF, false, true),
        (_, 7) => (0x3FF, false, true),
        (_, 8 | 10) => (icr, true, false),
        (_, 9 | 11) => (ocr_a, true, false),
        (_, 12) => (icr, false, false),
        (_, 14) => (icr, false, true),
        (_, 15) => (ocr_a, false, true),
        _ => return None,
    })
}

/// Writes the settings; the clock is selected in cycle 100.
fn set_up(kind: Kind, wgm: u8, com: [u8; 3], ocr: [u32; 3], icr: u32, select: u8) -> (Timers, Effects) {
    let (model, n, _) = timer_of(kind);
    let mut timers = Timers::new(Config { model, cpu_hz: 1_000_000, crystal_hz: 32_768 });
    let mut effects = Vec::new();
    let mut now = 0;
    let mut write = |register, value: u32| {
        now += 1;
        timers.advance(now, &mut effects);
        timers.write(register, value as u8, now, &mut effects);
    };
    for (channel, value) in [Channel::A, Channel::B, Channel::C].into_iter().zip(ocr).take(kind.channels()) {
        if kind.is_16_bit() {
            write(Register::OcrH(n, channel), value >> 8);
            write(Register::OcrL(n, channel), value);
        } else {
            write(Register::Ocr(n, channel), value);
        }
    }
    if kind.is_16_bit() {
        write(Register::TccrB(n), 0x18);
        write(Register::IcrH(n), icr >> 8);
        write(Register::IcrL(n), icr);
    }
    let com_bits = com[0] << 6 | com[1] << 4 | if kind == Kind::Triple16 { com[2] << 2 } else { 0 };
    let mut at_100 = |register, value: u8| {
        timers.advance(100, &mut effects);
        timers.write(register, value, 100, &mut effects);
    };
    if kind == Kind::Single8 {
        at_100(Register::Tccr(n), (wgm & 1) << 6 | com[0] << 4 | (wgm & 2) << 2 | select);
    } else {
        timers.advance(90, &mut effects);
        timers.write(Register::TccrA(n), com_bits | wgm & 3, 90, &mut effects);
        let high = if kind.is_16_bit() { (wgm & 12) << 1 } else { (wgm & 4) << 1 };
        timers.advance(91, &mut effects);
        timers.write(Register::TccrB(n), high, 91, &mut effects);
        timers.advance(100, &mut effects);
        timers.write(Register::TccrB(n), high | select, 100, &mut effects);
    }
    (timers, effects)
}

fn flags_of(timers: &mut Timers, kind: Kind) -> u8 {
    timers.counters[usize::from(timer_of(kind).1)].flags
}

fn count_of(timers: &Timers, kind: Kind) -> u32 {
    timers.counters[usize::from(timer_of(kind).1)].count.into()
}

proptest! {
    #[test]
    fn counters_do_what_a_tick_by_tick_reading_of_the_tables_says(
        kind in prop::sample::select(vec![Kind::Single8, Kind::Double8, Kind::Double16, Kind::Triple16]),
        wgm in 0..16u8,
        com in prop::array::uniform3(0..4u8),
        values in prop::array::uniform4(prop_oneof![1..20u32, 1..256u32, 1..1200u32]),
        (select, divider) in prop::sample::select(vec![(1u8, 1u64), (2, 8)]),
        looks in prop::collection::vec((1..3000u64, any::<u8>()), 1..12),
    ) {
        let max = u32::from(kind.max());
        let [a, b, c, icr] = values.map(|v| v.min(max));
        let wgm = wgm & match kind { Kind::Single8 => 3, Kind::Double8 => 7, _ => 15 };
        let Some((top, dual, fast)) = row(kind, wgm, a, icr) else { return Ok(()) };
        let toggles_a = match kind {
            Kind::Single8 => false,
            Kind::Double8 => wgm == 5 || wgm == 7,
            Kind::Double16 => [9, 11, 14, 15].contains(&wgm),
            Kind::Triple16 => [9, 11, 15].contains(&wgm),
        };
        let mut naive = Naive {
            max, top, dual, fast, icr_is_top: kind.is_16_bit() && [8, 10, 12, 14].contains(&wgm),
            com, toggles_a, ocr: [a, b, c], channels: kind.channels(),
            phase: 0, started: false, flags: 0, levels: [false; 3],
        };
        let (mut timers, mut effects) = set_up(kind, wgm, com, [a, b, c], icr, select);
        let (_, n, pins) = timer_of(kind);
        timers.advance(101, &mut effects);
        effects.clear();
        timers.counters[usize::from(n)].flags = 0;
        let mut expected = Vec::new();
        let mut now = 101;
        for (gap, clear) in looks {
            for cycle in now + 1..=now + gap {
                if cycle % divider == 0 {
                    let before = naive.levels;
                    naive.tick();
                    for x in 0..naive.channels {
                        if naive.drives(x) && naive.levels[x] != before[x] {
                            let (port, bit) = pins[x];
                            let pin = Pin { port, bit };
                            expected.push((cycle, Effect::Value { pin, high: Some(naive.levels[x]) }));
                        }
                    }
                }
            }
            now += gap;
            timers.advance(now, &mut effects);
            prop_assert_eq!(count_of(&timers, kind), naive.value(), "count in cycle {}", now);
            prop_assert_eq!(flags_of(&mut timers, kind), naive.flags, "flags in cycle {}", now);
            // A look in between clears some flags, so that they have to rise again.
            naive.flags &= !clear;
            timers.counters[usize::from(n)].flags &= !clear;
        }
        prop_assert_eq!(effects, expected);
    }

    #[test]
    fn due_leads_to_the_cycle_in_which_an_enabled_flag_rises(
        kind in prop::sample::select(vec![Kind::Single8, Kind::Double8, Kind::Double16, Kind::Triple16]),
        wgm in 0..16u8,
        values in prop::array::uniform4(prop_oneof![1..20u32, 1..256u32]),
        (select, divider) in prop::sample::select(vec![(1u8, 1u64), (2, 8)]),
        start in 102..3000u64,
        flag in 0..5u8,
    ) {
        let [a, b, c, icr] = values;
        let wgm = wgm & match kind { Kind::Single8 => 3, Kind::Double8 => 7, _ => 15 };
        let Some((top, dual, _)) = row(kind, wgm, a, icr) else { return Ok(()) };
        let (mut timers, mut effects) = set_up(kind, wgm, [0; 3], [a, b, c], icr, select);
        timers.advance(start, &mut effects);
        let n = usize::from(timer_of(kind).1);
        timers.counters[n].flags = 0;
        timers.counters[n].enabled = 1 << flag;
        timers.find_due();
        // Two periods decide whether it rises at all.
        let end = start + 4 * (u64::from(top) + 2) * divider;
        let mut creeping = timers.clone();
        let rises = (start..end).find(|&now| {
            creeping.advance(now, &mut effects);
            creeping.requests() != 0
        });
        let mut jumps = 0;
        while timers.requests() == 0 && timers.due() < end {
            timers.advance(timers.due(), &mut effects);
            jumps += 1;
        }
        prop_assert_eq!((timers.requests() != 0).then_some(timers.now), rises);
        prop_assert!(dual || jumps <= 1, "{} jumps with a single slope", jumps);
    }
}
