//! One test per rule of the datasheets' timer chapters.

use super::super::peripheral::Effect;
use super::*;

const HZ: u64 = 8_000_000;

struct Bench {
    timers: Timers,
    effects: Effects,
}

impl Bench {
    fn new(model: Model) -> Self {
        let timers = Timers::new(Config { model, cpu_hz: HZ, crystal_hz: 32_768 });
        Self { timers, effects: Vec::new() }
    }

    fn to(&mut self, now: Cycles) -> &mut Self {
        self.timers.advance(now, &mut self.effects);
        self
    }

    fn write(&mut self, now: Cycles, register: Register, value: u8) {
        self.to(now);
        self.timers.write(register, value, now, &mut self.effects);
    }

    fn read(&mut self, now: Cycles, register: Register) -> u8 {
        self.to(now).timers.read(register, now)
    }

    fn pin(&mut self, now: Cycles, port: u8, bit: u8, high: bool) {
        self.to(now);
        self.timers.pin(Pin { port, bit }, high, now, &mut self.effects);
    }

    /// 16-bit write: high byte in `now`, low byte in `now + 1`.
    fn write_16(&mut self, now: Cycles, high: Register, low: Register, value: u16) {
        self.write(now, high, (value >> 8) as u8);
        self.write(now + 1, low, value as u8);
    }

    /// Cycles and levels at which a pin's value changed, from `since` on.
    fn edges(&self, port: u8, bit: u8, since: Cycles) -> Vec<(Cycles, bool)> {
        let of = Pin { port, bit };
        let changes = self.effects.iter().filter_map(|&(cycle, effect)| match effect {
            Effect::Value { pin, high: Some(high) } if pin == of && cycle >= since => Some((cycle, high)),
            _ => None,
        });
        changes.collect()
    }

    /// The first cycle in `range` in which `register` has one of `bits`; they are cleared first.
    fn rises(&mut self, register: Register, bits: u8, range: std::ops::Range<Cycles>) -> Option<Cycles> {
        self.write(range.start, register, bits);
        range.clone().skip(1).find(|&now| self.read(now, register) & bits != 0)
    }
}

/// ATmega328P timer 0, 8 bits.
fn timer0() -> Bench {
    Bench::new(Model::Atmega328p)
}

const TCNT0: Register = Register::Tcnt(0);
const TIFR0: Register = Register::TifrOf(0);
const OCR0A: Register = Register::Ocr(0, Channel::A);
const OCR0B: Register = Register::Ocr(0, Channel::B);

#[test]
fn counts_are_those_found_on_an_atmega328p() {
    // What boards answered, as reported in the issues 36, 40, 41 and 72 of the simulator avr8js. STS and LDS
    // reach the register in their second cycle. (program as (cycle, register, value), cycle of the read,
    // count)
    type Program = &'static [(Cycles, Register, u8)];
    const CONTROL: Register = Register::TccrB(0);
    let found: [(&str, Program, Cycles, u8); 5] = [
        ("OUT TCCR; OUT TCNT,0; IN", &[(10, CONTROL, 1), (11, TCNT0, 0)], 12, 0),
        ("OUT TCCR; LDI; OUT TCNT,30; NOP; IN", &[(10, CONTROL, 1), (12, TCNT0, 30)], 14, 31),
        ("STS TCNT,0; NOP; LDS", &[(5, CONTROL, 1), (11, TCNT0, 0)], 14, 2),
        ("STS TCCR,1; NOP; LDS", &[(11, CONTROL, 1)], 14, 2),
        ("STS TCCR,1; STS TCCR,0; NOP; NOP; LDS", &[(11, CONTROL, 1), (13, CONTROL, 0)], 17, 2),
    ];
    for (what, program, read_at, count) in found {
        let mut b = timer0();
        for &(now, register, value) in program {
            b.write(now, register, value);
        }
        assert_eq!(b.read(read_at, TCNT0), count, "{what}");
    }
}

#[test]
fn prescaler_runs_free_and_does_not_care_when_the_timer_starts() {
    for (select, divider) in [(2, 8), (3, 64), (4, 256), (5, 1024)] {
        let mut b = timer0();
        let start = 3 * divider + 5;
        b.write(start, Register::TccrB(0), select);
        assert_eq!(b.read(4 * divider - 1, TCNT0), 0, "divider {divider}");
        assert_eq!(b.read(4 * divider, TCNT0), 1, "divider {divider}");
        assert_eq!(b.read(14 * divider - 1, TCNT0), 10);
        assert_eq!(b.read(14 * divider, TCNT0), 11);
    }
}

#[test]
fn prescaler_reset_moves_the_phase_of_every_timer_that_shares_it() {
    let mut b = timer0();
    b.write(1, Register::TccrB(0), 3);
    b.write(2, Register::TccrB(1), 3);
    b.write(3, Register::TccrB(2), 4);
    b.write(20, Register::Gtccr, 1);
    for (register, first) in [(TCNT0, 21 + 64), (Register::TcntL(1), 21 + 64), (Register::Tcnt(2), 64)] {
        let mut b = Bench { timers: b.timers.clone(), effects: Vec::new() };
        assert_eq!(b.read(first - 1, register), 0, "{register:?}");
        assert_eq!(b.read(first, register), 1, "{register:?}");
    }
    assert_eq!(b.read(30, Register::Gtccr), 0, "the bit clears itself");
}

#[test]
fn timer_synchronization_mode_holds_the_timers_until_it_is_cleared() {
    let mut b = timer0();
    b.write(1, Register::TccrB(0), 1);
    b.write(2, Register::TccrB(2), 1);
    b.write(9, Register::Gtccr, TSM | 1);
    assert_eq!(b.read(10, Register::Gtccr), TSM | 1);
    let held = b.read(10, TCNT0);
    assert_eq!(b.read(1000, TCNT0), held);
    assert_eq!(b.read(1000, Register::Tcnt(2)), (1000 - 3) as u8, "PSRASY was not set: timer 2 runs");
    b.write(1000, Register::Gtccr, 0);
    assert_eq!(b.read(1001, TCNT0), held);
    assert_eq!(b.read(1002, TCNT0), held + 1);
}

#[test]
fn compare_flag_rises_when_the_counter_leaves_the_compare_value() {
    for (select, divider) in [(1, 1), (2, 8)] {
        let mut b = timer0();
        b.write(1, OCR0A, 5);
        b.write(2, OCR0B, 7);
        b.write(7, Register::TccrB(0), select);
        b.write(15, TCNT0, 0);
        b.write(15, TIFR0, 7);
        let start = 16;
        for (bits, value) in [(2, 5), (4, 7)] {
            let mut b = Bench { timers: b.timers.clone(), effects: Vec::new() };
            let leaves = start + (value + 1) * divider;
            assert_eq!(b.read(leaves - 1, TIFR0) & bits, 0, "divider {divider}");
            assert_eq!(b.read(leaves - 1, TCNT0), value as u8);
            assert_eq!(b.read(leaves, TIFR0) & bits, bits, "divider {divider}");
        }
    }
}

#[test]
fn overflow_flag_rises_when_the_counter_leaves_max() {
    let mut b = timer0();
    b.write(1, Register::TimskOf(0), 1);
    b.write(2, Register::TccrB(0), 1);
    b.write(3, TCNT0, 0xFE);
    assert_eq!(b.timers.due(), 4, "the write is still to take effect");
    assert_eq!(b.to(5).timers.requests(), 0);
    assert_eq!(b.timers.due(), 6);
    assert_eq!(b.to(6).timers.requests(), 1 << request(0, OVERFLOW));
    assert_eq!(b.read(6, TCNT0), 0);
    b.timers.acknowledge(request(0, OVERFLOW), 6);
    assert_eq!(b.timers.requests(), 0);
    assert_eq!(b.rises(TIFR0, 1, 7..1000), Some(6 + 256));
}

#[test]
fn flag_is_cleared_by_writing_one_and_kept_by_writing_zero() {
    let mut b = timer0();
    b.write(1, Register::TccrB(0), 1);
    b.write(2, TCNT0, 0xF0);
    b.write(100, TIFR0, 0);
    assert_eq!(b.read(101, TIFR0), 7);
    b.write(101, TIFR0, 2);
    assert_eq!(b.read(102, TIFR0), 5);
}

#[test]
fn write_to_tcnt_blocks_the_compare_match_of_the_next_timer_clock() {
    let mut b = timer0();
    b.write(1, OCR0A, 40);
    b.write(2, TCNT0, 40);
    b.write(3, Register::TccrB(0), 1);
    assert_eq!(b.read(200, TIFR0) & 2, 0, "blocked even though the timer stood still when it was written");
    assert_eq!(b.read(4 + 256, TIFR0) & 2, 0);
    assert_eq!(b.read(4 + 256 + 1, TIFR0) & 2, 2);
    // One below is not blocked.
    b.write(300, TCNT0, 39);
    b.write(300, TIFR0, 2);
    assert_eq!(b.read(302, TIFR0) & 2, 0);
    assert_eq!(b.read(303, TIFR0) & 2, 2);
}

#[test]
fn ctc_clears_after_the_compare_value_and_toggles_at_the_documented_frequency() {
    // f = f_clk / (2 N (1 + OCR)), "Clear Timer on Compare Match (CTC) Mode".
    for (select, divider) in [(1, 1), (2, 8), (3, 64)] {
        for ocr in [0u8, 1, 9, 255] {
            let mut b = timer0();
            b.write(1, OCR0A, ocr);
            b.write(2, Register::TccrA(0), 0x42);
            b.write(3, Register::TccrB(0), select);
            let half = divider * (1 + u64::from(ocr));
            b.to(22 * half + 2000);
            let edges = b.edges(b'D', 6, 4);
            assert!(edges.len() >= 20, "{} edges", edges.len());
            assert!(edges.windows(2).all(|w| w[1].0 - w[0].0 == half && w[1].1 != w[0].1), "OCR {ocr}");
            let overflow = b.read(22 * half + 2000, TIFR0) & 1;
            assert_eq!(overflow, u8::from(ocr == 255), "TOV means MAX in this mode");
        }
    }
}

#[test]
fn ctc_with_a_compare_value_below_the_count_runs_on_to_max() {
    let mut b = timer0();
    b.write(1, OCR0A, 100);
    b.write(2, Register::TccrA(0), 2);
    b.write(3, Register::TccrB(0), 1);
    b.write(4, TCNT0, 50);
    b.write(10, OCR0A, 20);
    assert_eq!(b.read(5 + 205, TCNT0), 255);
    assert_eq!(b.read(5 + 206, TCNT0), 0);
    assert_eq!(b.read(5 + 206, TIFR0) & 1, 1);
    assert_eq!(b.read(5 + 206 + 21, TCNT0), 0, "from then on the period is 21");
}

/// High and low times of a pin over one period once it runs evenly, or its constant level.
fn duty(b: &Bench, port: u8, bit: u8, since: Cycles) -> Result<(Cycles, Cycles), bool> {
    let edges = b.edges(port, bit, since);
    let Some(rise) = edges.iter().position(|&(_, high)| high).filter(|&i| i + 2 < edges.len()) else {
        let before = b.edges(port, bit, 0);
        return Err(before.iter().rev().find(|&&(cycle, _)| cycle < since).expect("connected").1);
    };
    Ok((edges[rise + 1].0 - edges[rise].0, edges[rise + 2].0 - edges[rise + 1].0))
}

#[test]
fn fast_pwm_is_high_for_ocr_plus_one_of_256_ticks() {
    for ocr in [0u8, 1, 100, 254, 255] {
        for inverted in [false, true] {
            let mut b = timer0();
            b.write(1, OCR0B, ocr);
            b.write(2, Register::TccrA(0), if inverted { 0x33 } else { 0x23 });
            b.write(3, Register::TccrB(0), 1);
            b.to(4000);
            let on = Cycles::from(ocr) + 1;
            let expected = match (ocr, inverted) {
                (255, _) => Err(!inverted),
                (_, false) => Ok((on, 256 - on)),
                (_, true) => Ok((256 - on, on)),
            };
            assert_eq!(duty(&b, b'D', 5, 1000), expected, "OCR {ocr}, inverted {inverted}");
        }
    }
}

#[test]
fn fast_pwm_overflows_at_top_and_takes_the_compare_value_there() {
    let mut b = timer0();
    b.write(1, OCR0A, 99);
    b.write(2, OCR0B, 10);
    b.write(3, Register::TccrA(0), 0x23);
    b.write(4, Register::TccrB(0), 0x08 | 1);
    b.write(5, TCNT0, 0);
    let zero = 6;
    b.write(zero + 5, OCR0B, 50);
    assert_eq!(b.read(zero + 6, OCR0B), 50, "the program reads the buffer");
    b.write(zero + 6, TIFR0, 7);
    assert_eq!(b.read(zero + 11, TIFR0) & 4, 4, "the old value still matches");
    b.write(zero + 12, TIFR0, 7);
    assert_eq!(b.read(zero + 99, TIFR0) & 5, 0);
    assert_eq!(b.read(zero + 100, TIFR0) & 5, 1, "TOV at TOP");
    assert_eq!(b.read(zero + 150, TIFR0) & 4, 0);
    assert_eq!(b.read(zero + 151, TIFR0) & 4, 4, "the new value matches after BOTTOM");
}

#[test]
fn phase_correct_pwm_is_high_for_twice_ocr_of_510_ticks() {
    for ocr in [0u8, 1, 77, 254, 255] {
        for inverted in [false, true] {
            let mut b = timer0();
            b.write(1, OCR0A, ocr);
            b.write(2, Register::TccrA(0), if inverted { 0xC1 } else { 0x81 });
            b.write(3, Register::TccrB(0), 1);
            b.to(6000);
            let on = 2 * Cycles::from(ocr);
            let expected = match (ocr, inverted) {
                (0, _) => Err(inverted),
                (255, _) => Err(!inverted),
                (_, false) => Ok((on, 510 - on)),
                (_, true) => Ok((510 - on, on)),
            };
            assert_eq!(duty(&b, b'D', 6, 2000), expected, "OCR {ocr}, inverted {inverted}");
        }
    }
}

#[test]
fn phase_correct_pwm_overflows_at_bottom_and_takes_the_compare_value_at_top() {
    let mut b = timer0();
    b.write(1, OCR0B, 10);
    b.write(2, Register::TccrA(0), 0x21);
    b.to(3);
    b.write(3, Register::TccrB(0), 1);
    b.write(4, TCNT0, 0);
    b.write(8, OCR0B, 200);
    b.write(9, TIFR0, 7);
    let zero = 5;
    assert_eq!(b.read(zero + 11, TIFR0) & 4, 4, "the old value still matches on the way up");
    b.write(zero + 12, TIFR0, 7);
    assert_eq!(b.read(zero + 201, TIFR0) & 4, 0);
    assert_eq!(b.read(zero + 255, TCNT0), 255);
    assert_eq!(b.read(zero + 256, TCNT0), 254);
    assert_eq!(b.read(zero + 255 + 55, TIFR0) & 5, 0);
    assert_eq!(b.read(zero + 255 + 56, TIFR0) & 5, 4, "200 matches on the way down");
    assert_eq!(b.read(zero + 510, TCNT0), 0);
    assert_eq!(b.read(zero + 510, TIFR0) & 1, 0);
    assert_eq!(b.read(zero + 511, TIFR0) & 1, 1, "TOV when BOTTOM is left");
}

#[test]
fn phase_correct_pwm_that_leaves_a_full_duty_stays_symmetric_around_bottom() {
    // OCR goes from MAX to 100 at TOP: without a match on the way up the pin falls there.
    let mut b = timer0();
    b.write(1, OCR0A, 255);
    b.write(2, Register::TccrA(0), 0x81);
    b.write(3, Register::TccrB(0), 1);
    b.write(4, TCNT0, 0);
    let zero = 5;
    b.write(zero + 510 + 20, OCR0A, 100);
    b.to(zero + 510 + 255 + 1 + 400);
    let top = zero + 510 + 255;
    assert_eq!(b.edges(b'D', 6, zero + 510), [(top + 1, false), (top + 156, true), (top + 256 + 100, false)]);
}

/// ATmega128 timer 1 with every waveform mode: TOP, ticks per period, where TOV rises, buffered.
#[test]
fn sixteen_bit_modes_have_the_tops_and_periods_of_their_table() {
    const ICR: u64 = 3000;
    const OCR: u64 = 2000;
    let fixed = |top: u64, dual: bool| if dual { 2 * top } else { top + 1 };
    let table: [(u8, u64); 15] = [
        (0, 65536),
        (1, fixed(255, true)),
        (2, fixed(511, true)),
        (3, fixed(1023, true)),
        (4, fixed(OCR, false)),
        (5, fixed(255, false)),
        (6, fixed(511, false)),
        (7, fixed(1023, false)),
        (8, fixed(ICR, true)),
        (9, fixed(OCR, true)),
        (10, fixed(ICR, true)),
        (11, fixed(OCR, true)),
        (12, fixed(ICR, false)),
        (14, fixed(ICR, false)),
        (15, fixed(OCR, false)),
    ];
    for (wgm, period) in table {
        let mut b = Bench::new(Model::Atmega128);
        b.write(1, Register::TccrB(1), 0x18);
        b.write_16(2, Register::IcrH(1), Register::IcrL(1), ICR as u16);
        b.write(4, Register::TccrB(1), 0);
        b.write_16(5, Register::OcrH(1, Channel::A), Register::OcrL(1, Channel::A), OCR as u16);
        b.write_16(7, Register::OcrH(1, Channel::B), Register::OcrL(1, Channel::B), 100);
        b.write(9, Register::TccrA(1), wgm & 3);
        b.write(10, Register::TccrB(1), (wgm & 12) << 1 | 1);
        // The matches of B, over three periods after the first: in a dual slope there are two of them.
        b.timers.watch(1 << request(1, COMPARE_A + 1));
        let mut rises = Vec::new();
        let mut seen = 0;
        b.to(70_000);
        for _ in 0..5 {
            b.write(b.timers.now.max(70_000), Register::Tifr, 0xFF);
            let start = b.timers.now;
            while !b.effects[seen..].iter().any(|(_, e)| matches!(e, Effect::Flag { .. })) {
                let due = b.timers.due();
                assert!(due < start + 200_000, "mode {wgm} never matches");
                b.to(due);
            }
            rises.push(b.effects.last().expect("the flag").0);
            seen = b.effects.len();
        }
        let dual = matches!(wgm, 1 | 2 | 3 | 8 | 9 | 10 | 11);
        let over = if dual { rises[3] - rises[1] } else { rises[2] - rises[1] };
        assert_eq!(over, period, "mode {wgm}: {rises:?}");
    }
}

#[test]
fn frequency_correct_pwm_takes_the_compare_value_at_bottom() {
    for (wgm, early) in [(10u8, 2u8), (8, 0)] {
        let mut b = timer0();
        b.write(1, Register::TccrB(1), 0x10);
        b.write_16(2, Register::IcrH(1), Register::IcrL(1), 100);
        b.write(4, Register::TccrA(1), wgm & 3);
        b.write(5, Register::TccrB(1), (wgm & 12) << 1 | 1);
        b.write_16(6, Register::TcntH(1), Register::TcntL(1), 0);
        b.write_16(10, Register::OcrH(1, Channel::A), Register::OcrL(1, Channel::A), 50);
        b.write(12, Register::TifrOf(1), 0xFF);
        let zero = 8;
        // On the way down past 50 only the mode that takes the value at TOP matches.
        assert_eq!(b.read(zero + 100 + 51, Register::TifrOf(1)) & 2, early, "mode {wgm}");
        b.write(zero + 205, Register::TifrOf(1), 0xFF);
        assert_eq!(b.read(zero + 200 + 50, Register::TifrOf(1)) & 2, 0, "mode {wgm}");
        assert_eq!(b.read(zero + 200 + 51, Register::TifrOf(1)) & 2, 2, "mode {wgm}");
    }
}

#[test]
fn capture_flag_marks_top_when_icr_is_top() {
    let mut b = timer0();
    b.write(1, Register::TccrB(1), 0x18);
    b.write_16(2, Register::IcrH(1), Register::IcrL(1), 99);
    b.write(4, Register::TccrB(1), 0x18 | 1);
    assert_eq!(b.rises(Register::TifrOf(1), 0x20, 5..400), Some(5 + 100));
    assert_eq!(b.rises(Register::TifrOf(1), 0x20, 106..400), Some(5 + 200));
}

#[test]
fn icr_can_be_written_only_when_it_is_top() {
    let mut b = timer0();
    b.write_16(1, Register::IcrH(1), Register::IcrL(1), 0x1234);
    assert_eq!(b.read(3, Register::IcrL(1)), 0);
    b.write(3, Register::TccrB(1), 0x18);
    b.write_16(4, Register::IcrH(1), Register::IcrL(1), 0x1234);
    assert_eq!([b.read(6, Register::IcrL(1)), b.read(7, Register::IcrH(1))], [0x34, 0x12]);
}

#[test]
fn sixteen_bit_count_is_read_and_written_whole_through_temp() {
    let mut b = timer0();
    b.write(1, Register::TccrB(1), 1);
    b.write(9, Register::TcntH(1), 0x12);
    b.write(10, Register::TcntL(1), 0xFE);
    assert_eq!(b.read(12, Register::TcntL(1)), 0xFF);
    assert_eq!(b.read(40, Register::TcntH(1)), 0x12, "latched when the low byte was read");
    assert_eq!(b.read(41, Register::TcntL(1)), 0x1C);
    assert_eq!(b.read(41, Register::TcntH(1)), 0x13);
}

#[test]
fn reading_a_sixteen_bit_compare_register_leaves_temp_alone() {
    let mut b = timer0();
    b.write_16(1, Register::OcrH(1, Channel::A), Register::OcrL(1, Channel::A), 0xABCD);
    b.write(3, Register::TcntH(1), 0x55);
    assert_eq!(b.read(4, Register::OcrL(1, Channel::A)), 0xCD);
    assert_eq!(b.read(5, Register::OcrH(1, Channel::A)), 0xAB);
    assert_eq!(b.read(6, Register::TcntH(1)), 0x55);
}

#[test]
fn compare_output_modes_act_on_the_pin_as_their_table_says() {
    for (com, expected) in [(1u8, vec![true, false, true]), (2, vec![false]), (3, vec![false, true])] {
        let mut b = timer0();
        b.write(1, OCR0A, 9);
        b.write(2, Register::TccrA(0), com << 6 | 2);
        b.write(3, Register::TccrB(0), 1);
        b.to(40);
        let levels: Vec<bool> = b.edges(b'D', 6, 0).into_iter().map(|(_, high)| high).collect();
        let tail = if com == 1 { &levels[1..] } else { &levels[..] };
        assert_eq!(tail[..expected.len().min(tail.len())], expected, "COM {com}");
        b.write(50, Register::TccrA(0), 2);
        b.to(51);
        let last = b.effects.last();
        assert_eq!(last, Some(&(51, Effect::Value { pin: Pin { port: b'D', bit: 6 }, high: None })));
    }
}

#[test]
fn toggling_in_pwm_needs_a_mode_that_has_ocra_as_top() {
    let connected = |a: u8, b: u8| {
        let mut bench = timer0();
        bench.write(1, Register::TccrA(0), a);
        bench.write(2, Register::TccrB(0), b);
        bench.to(3);
        bench.timers.counters[0]
            .due(Time { clocks: &bench.timers.clocks, prescaler: &bench.timers.prescalers[0] })
            < NEVER
    };
    assert!(!connected(0x43, 1), "mode 3");
    assert!(connected(0x43, 9), "mode 7");
    assert!(!connected(0x13, 9), "unit B never toggles in PWM");
    assert!(connected(0x40, 1), "normal mode");
    assert!(!Kind::Single8.toggles(3) && Kind::Triple16.toggles(15) && !Kind::Triple16.toggles(14));
    assert!(Kind::Double16.toggles(14));
}

impl Kind {
    fn toggles(self, wgm: u8) -> bool {
        self.connection(wgm, 1, 0) == mode::Connection::Toggle
    }
}

#[test]
fn force_compare_changes_the_pin_and_sets_no_flag() {
    let mut b = timer0();
    b.write(1, OCR0A, 200);
    b.write(2, Register::TccrA(0), 0x40);
    b.write(3, Register::TccrB(0), 0x80 | 1);
    b.to(5);
    assert_eq!(b.edges(b'D', 6, 4), [(4, true)]);
    assert_eq!(b.read(6, TIFR0) & 2, 0);
    assert_eq!(b.read(6, Register::TccrB(0)), 1, "the strobe reads zero");
    b.write(7, Register::TccrA(0), 0x83);
    b.write(8, Register::TccrB(0), 0x80 | 1);
    b.to(10);
    assert_eq!(b.edges(b'D', 6, 8), [], "no strobe in a PWM mode");
}

#[test]
fn input_capture_takes_the_count_three_cycles_after_the_edge_it_waits_for() {
    for (noise, delay) in [(0u8, 3), (0x80, 7)] {
        for rising in [false, true] {
            let mut b = timer0();
            b.write(1, Register::TimskOf(1), 0x20);
            b.write(2, Register::TccrB(1), noise | u8::from(rising) << 6 | 1);
            b.write_16(3, Register::TcntH(1), Register::TcntL(1), 0);
            let zero = 5;
            b.pin(50, b'B', 0, false);
            let edge = if rising { 100 } else { 50 };
            if rising {
                b.pin(100, b'B', 0, true);
            }
            assert_eq!(b.to(edge + delay - 1).timers.requests(), 0);
            assert_eq!(b.to(edge + delay).timers.requests(), 1 << request(1, CAPTURE));
            let low = b.read(edge + delay, Register::IcrL(1));
            assert_eq!(u64::from(low), edge + delay - zero);
        }
    }
}

#[test]
fn noise_canceler_swallows_what_is_shorter_than_four_samples() {
    for (width, captured) in [(1, 0), (3, 0), (4, 0x20), (9, 0x20)] {
        let mut b = timer0();
        b.write(1, Register::TccrB(1), 0x80 | 1);
        b.pin(50, b'B', 0, false);
        b.pin(50 + width, b'B', 0, true);
        assert_eq!(b.read(100, Register::TifrOf(1)) & 0x20, captured, "width {width}");
    }
    let mut b = timer0();
    b.write(1, Register::TccrB(1), 1);
    b.pin(50, b'B', 0, false);
    b.pin(51, b'B', 0, true);
    assert_eq!(b.read(100, Register::TifrOf(1)) & 0x20, 0x20, "without it one cycle is enough");
}

#[test]
fn t_pin_clocks_the_counter_three_cycles_after_the_chosen_edge() {
    for (select, rising) in [(6u8, false), (7, true)] {
        let mut b = Bench::new(Model::Atmega128);
        b.write(1, Register::TccrB(3), select);
        for i in 0..10 {
            b.pin(100 + 20 * i, b'E', 6, false);
            b.pin(110 + 20 * i, b'E', 6, true);
        }
        let first = if rising { 110 } else { 100 };
        let mut b2 = Bench::new(Model::Atmega128);
        b2.write(1, Register::TccrB(3), select);
        b2.pin(100, b'E', 6, false);
        b2.pin(110, b'E', 6, true);
        // Only the edge decides; both runs agree where they overlap.
        assert_eq!(b2.read(first + 10, Register::TcntL(3)), 1);
        assert_eq!(b.read(400, Register::TcntL(3)), 10);
    }
    let mut b = Bench::new(Model::Atmega128);
    b.write(1, Register::TccrB(3), 6);
    b.pin(100, b'E', 6, false);
    assert_eq!(b.read(102, Register::TcntL(3)), 0);
    assert_eq!(b.read(103, Register::TcntL(3)), 1);
}

#[test]
fn crystal_timer_overflows_after_one_second_to_the_cycle() {
    // 32768 Hz / 128 / 256 = 1 Hz; the processor runs at 8 MHz.
    for (model, assr, control, timer) in
        [(Model::Atmega128, 8u8, Register::Tccr(0), 0u8), (Model::Atmega328p, 0x20, Register::TccrB(2), 2)]
    {
        let mut b = Bench::new(model);
        b.write(0, Register::Assr, assr);
        b.write(1, control, 5);
        let mask = if timer == 0 { Register::Timsk } else { Register::TimskOf(2) };
        b.write(2, mask, 1);
        // It sleeps in power-save: the I/O clock stands, the crystal runs.
        b.timers.set_io_clock(false, 1000, &mut b.effects);
        b.to(5000);
        assert_eq!(b.timers.due(), HZ, "{model:?}");
        assert_eq!(b.to(HZ - 1).timers.requests(), 0);
        assert_eq!(b.to(HZ).timers.requests(), 1 << request(timer, OVERFLOW));
    }
}

#[test]
fn writes_to_the_crystal_timer_are_busy_until_its_clock_takes_them() {
    let mut b = Bench::new(Model::Atmega128);
    b.write(10, Register::Assr, 8);
    b.write(11, Register::Tcnt(0), 77);
    b.write(12, Register::Ocr(0, Channel::A), 5);
    b.write(13, Register::Tccr(0), 1);
    assert_eq!(b.read(14, Register::Assr), 0x0F);
    assert_eq!(b.read(14, Register::Tcnt(0)), 0, "the count itself is read");
    assert_eq!(b.read(14, Register::Tccr(0)), 1, "the latch of TCCR is read");
    // Two edges of 32768 Hz at 8 MHz: cycle 488.28 -> 489.
    assert_eq!(b.read(488, Register::Assr), 0x0F);
    assert_eq!(b.read(489, Register::Assr), 0x08);
    assert_eq!(b.read(489, Register::Tcnt(0)), 77);
    assert_eq!(b.read(733, Register::Tcnt(0)), 78, "the third edge, at 732.4, counts");
}

#[test]
fn crystal_timer_compares_nothing_while_its_registers_are_taken_over() {
    let mut b = Bench::new(Model::Atmega128);
    b.write(10, Register::Assr, 8);
    b.write(11, Register::Ocr(0, Channel::A), 22);
    b.write(12, Register::Tccr(0), 1);
    let again = |before: Option<Cycles>, matches: Cycles| {
        let mut b = Bench { timers: b.timers.clone(), effects: Vec::new() };
        if let Some(before) = before {
            b.write(matches - before, Register::Ocr(0, Channel::A), 22);
        }
        b.read(matches, Register::Tifr) & 2
    };
    // Value 22 is left 23 crystal edges after the control register was taken over at edge 2.
    let matches = (25 * HZ).div_ceil(32_768);
    assert_eq!(again(None, matches - 1), 0);
    assert_eq!(again(None, matches), 2);
    assert_eq!(again(Some(1000), matches), 2, "taken over in time");
    assert_eq!(again(Some(100), matches), 0, "the same value, but still being written");
}

#[test]
fn synchronous_timer_stands_still_with_the_io_clock_and_goes_on_in_phase() {
    let mut b = timer0();
    b.write(1, Register::TccrB(0), 2);
    assert_eq!(b.read(20, TCNT0), 2);
    b.timers.set_io_clock(false, 20, &mut b.effects);
    assert_eq!(b.timers.due(), NEVER);
    assert_eq!(b.read(1020, TCNT0), 2);
    b.timers.set_io_clock(true, 1023, &mut b.effects);
    assert_eq!(b.read(1026, TCNT0), 2);
    assert_eq!(b.read(1027, TCNT0), 3, "20 cycles had been counted of the 24");
}

#[test]
fn atmega128_interrupt_registers_have_their_bits_where_the_datasheet_has_them() {
    let order = |register, bits: u8| {
        let mut requests = Vec::new();
        for bit in (0..8).rev().filter(|b| bits >> b & 1 != 0) {
            let mut b = Bench::new(Model::Atmega128);
            b.write(1, register, 1 << bit);
            assert_eq!(b.read(2, register), 1 << bit);
            for c in &mut b.timers.counters {
                c.flags = 0x1F;
            }
            requests.push(b.timers.requests().trailing_zeros() as u8);
        }
        requests
    };
    use super::request as r;
    let timsk = [r(2, 1), r(2, 0), r(1, 4), r(1, 1), r(1, 2), r(1, 0), r(0, 1), r(0, 0)];
    assert_eq!(order(Register::Timsk, 0xFF), timsk, "OCIE2 TOIE2 TICIE1 OCIE1A OCIE1B TOIE1 OCIE0 TOIE0");
    let etimsk = [r(3, 4), r(3, 1), r(3, 2), r(3, 0), r(3, 3), r(1, 3)];
    assert_eq!(order(Register::Etimsk, 0x3F), etimsk, "TICIE3 OCIE3A OCIE3B TOIE3 OCIE3C OCIE1C");
}

#[test]
fn atmega128_eight_bit_control_register_has_its_mixed_bits() {
    // FOC0 WGM00 COM01 COM00 WGM01 CS02 CS01 CS00: fast PWM, non-inverting, /64 of timer 2's table.
    let mut b = Bench::new(Model::Atmega128);
    b.write(1, Register::Ocr(2, Channel::A), 63);
    b.write(2, Register::Tccr(2), 0x6B);
    assert_eq!(b.read(3, Register::Tccr(2)), 0x6B);
    b.to(64 * 256 * 6);
    assert_eq!(duty(&b, b'B', 7, 64 * 256), Ok((64 * 64, 64 * 192)));
    // The same bits divide by 32 in timer 0.
    b.write(64 * 256 * 6, Register::Tccr(0), 0x03);
    assert_eq!(b.read(64 * 256 * 6 + 64, Register::Tcnt(0)), 2);
}

#[test]
fn watched_flag_is_announced_when_it_rises_and_not_again_while_it_is_set() {
    let mut b = timer0();
    b.timers.watch(1 << request(0, COMPARE_A));
    b.write(1, OCR0A, 9);
    b.write(2, Register::TccrA(0), 2);
    b.write(3, Register::TccrB(0), 1);
    b.to(100);
    let flag = Effect::Flag { bit: request(0, COMPARE_A) };
    assert_eq!(b.effects, [(14, flag)]);
    b.write(100, TIFR0, 2);
    b.to(200);
    assert_eq!(b.effects, [(14, flag), (104, flag)]);
}

#[test]
fn long_jump_over_idle_periods_lands_where_stepping_does() {
    for (model, control, wgm_register, wgm) in [
        (Model::Atmega328p, Register::TccrB(0), Register::TccrA(0), 0u8),
        (Model::Atmega328p, Register::TccrB(0), Register::TccrA(0), 1),
        (Model::Atmega328p, Register::TccrB(0), Register::TccrA(0), 2),
        (Model::Atmega328p, Register::TccrB(0), Register::TccrA(0), 3),
    ] {
        let mut far = Bench::new(model);
        far.write(1, OCR0A, 77);
        far.write(2, wgm_register, wgm);
        far.write(3, control, 1);
        let mut near = Bench { timers: far.timers.clone(), effects: Vec::new() };
        for now in 4..20_000 {
            near.to(now);
        }
        far.to(19_999);
        assert_eq!(far.read(19_999, TCNT0), near.read(19_999, TCNT0), "mode {wgm}");
        assert_eq!(far.read(19_999, TIFR0), near.read(19_999, TIFR0));
    }
}
