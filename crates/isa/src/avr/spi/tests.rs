//! One test per rule of the datasheet, and the timing of a byte.

use proptest::prelude::*;

use super::super::stepping::{Act, assert_steps_do_not_matter, run};
use super::*;

const PINS: Config = Config::ATMEGA128;

fn master(control: u8, double: bool) -> Spi {
    let mut spi = Spi::new(PINS);
    let effects = &mut Vec::new();
    spi.set_ss_output(true, 0, effects);
    spi.write(Register::Spsr, u8::from(double), 0, effects);
    spi.write(Register::Spcr, SPE | MSTR | control, 0, effects);
    spi
}

fn slave(control: u8) -> Spi {
    let mut spi = Spi::new(PINS);
    spi.pin(PINS.sck, control & CPOL != 0, 0, &mut Vec::new());
    spi.write(Register::Spcr, SPE | control, 0, &mut Vec::new());
    spi
}

fn at<T>(spi: &mut Spi, now: Cycles, act: impl FnOnce(&mut Spi, &mut Effects) -> T) -> T {
    let effects = &mut Vec::new();
    spi.advance(now, effects);
    act(spi, effects)
}

fn status_at(spi: &mut Spi, now: Cycles) -> u8 {
    at(spi, now, |s, _| s.read(Register::Spsr, now))
}

fn send_at(spi: &mut Spi, value: u8, now: Cycles) {
    at(spi, now, |s, e| s.write(Register::Spdr, value, now, e));
}

/// The seven dividers: SPR bits, SPI2X, N.
const DIVIDERS: [(u8, bool, Cycles); 8] = [
    (0, true, 2),
    (0, false, 4),
    (1, true, 8),
    (1, false, 16),
    (2, true, 32),
    (2, false, 64),
    (3, true, 64),
    (3, false, 128),
];

#[test]
fn received_byte_is_readable_8n_plus_1_cycles_after_the_write() {
    for edges in [true, false] {
        for (spr, double, n) in DIVIDERS {
            let mut spi = master(spr, double);
            spi.set_edges(edges, 0, &mut Vec::new());
            send_at(&mut spi, 0x5A, 100);
            assert_eq!(status_at(&mut spi, 100 + 8 * n) & SPIF, 0, "N = {n}");
            assert_eq!(status_at(&mut spi, 100 + 8 * n + 1) & SPIF, SPIF, "N = {n}");
            assert_eq!(spi.read(Register::Spdr, 100 + 8 * n + 1), 0xFF, "MISO was high throughout");
        }
    }
}

#[test]
fn next_write_is_legal_from_8n_plus_2_and_collides_before() {
    for (spr, double, n) in DIVIDERS {
        for gap in [1, 2, 8 * n - 1, 8 * n, 8 * n + 1] {
            let mut spi = master(spr, double);
            send_at(&mut spi, 0x5A, 100);
            send_at(&mut spi, 0xA5, 100 + gap);
            assert_eq!(status_at(&mut spi, 100 + gap + 1) & WCOL, WCOL, "N = {n}, gap {gap}");
            assert_eq!(status_at(&mut spi, 100 + 8 * n + 1) & SPIF, SPIF, "the first byte goes on");
        }
        let mut spi = master(spr, double);
        send_at(&mut spi, 0x5A, 100);
        send_at(&mut spi, 0xA5, 100 + 8 * n + 2);
        let later = 100 + 2 * (8 * n + 2);
        assert_eq!(status_at(&mut spi, later - 2) & (SPIF | WCOL), SPIF, "N = {n}: the first byte's");
        assert_eq!(spi.due(), later - 1, "N = {n}: the second byte ends a period after the first");
    }
}

#[test]
fn seventeen_cycles_lose_the_byte_and_eighteen_do_not_at_half_the_clock() {
    // The hardware-derived case, with the numbers as they were found.
    let mut spi = master(0, true);
    send_at(&mut spi, 1, 0);
    assert_eq!(status_at(&mut spi, 16) & SPIF, 0);
    assert_eq!(status_at(&mut spi, 17) & SPIF, SPIF);
    let mut late = spi.clone();
    send_at(&mut spi, 2, 17);
    assert_eq!(status_at(&mut spi, 18) & WCOL, WCOL);
    send_at(&mut late, 2, 18);
    assert_eq!(status_at(&mut late, 19) & WCOL, 0);
}

#[test]
fn free_running_divider_waits_for_its_next_multiple() {
    for (spr, double, n) in DIVIDERS {
        for phase in 0..n {
            let config = Config { phase: Phase::FreeRunning, ..PINS };
            let mut spi = Spi { config, ..master(spr, double) };
            let written = 10 * n + phase;
            send_at(&mut spi, 0x5A, written);
            let start = written + 1 + (n - 1 - phase);
            assert_eq!(spi.due(), start);
            assert_eq!(status_at(&mut spi, start + 8 * n - 1) & SPIF, 0);
            assert_eq!(status_at(&mut spi, start + 8 * n) & SPIF, SPIF);
        }
    }
}

#[test]
fn reading_spsr_then_spdr_clears_spif_and_wcol() {
    let mut spi = master(0, true);
    send_at(&mut spi, 1, 0);
    send_at(&mut spi, 2, 5);
    at(&mut spi, 17, |s, _| s.read(Register::Spdr, 17));
    assert_eq!(spi.status & (SPIF | WCOL), SPIF | WCOL, "SPSR was not read before");
    assert_eq!(status_at(&mut spi, 18) & (SPIF | WCOL), SPIF | WCOL);
    assert_eq!(status_at(&mut spi, 19) & (SPIF | WCOL), SPIF | WCOL, "reading SPSR alone clears nothing");
    at(&mut spi, 20, |s, _| s.read(Register::Spdr, 20));
    assert_eq!(status_at(&mut spi, 21) & (SPIF | WCOL), 0);
}

#[test]
fn writing_spdr_after_spsr_clears_spif_too() {
    let mut spi = master(0, true);
    send_at(&mut spi, 1, 0);
    assert_eq!(status_at(&mut spi, 17), SPIF | SPI2X);
    send_at(&mut spi, 2, 18);
    assert_eq!(status_at(&mut spi, 19), SPI2X);
}

#[test]
fn entering_the_vector_clears_spif() {
    let mut spi = master(SPIE, true);
    send_at(&mut spi, 1, 0);
    at(&mut spi, 17, |s, _| assert_eq!(s.requests(), 1));
    spi.acknowledge(0, 17);
    assert_eq!(spi.requests(), 0);
    assert_eq!(status_at(&mut spi, 18) & SPIF, 0);
}

#[test]
fn received_byte_survives_until_the_next_one_is_complete() {
    let mut spi = master(0, true);
    spi.pin(PINS.miso, false, 0, &mut Vec::new());
    send_at(&mut spi, 1, 0);
    at(&mut spi, 18, |s, e| s.pin(PINS.miso, true, 18, e));
    send_at(&mut spi, 2, 18);
    assert_eq!(at(&mut spi, 34, |s, _| s.read(Register::Spdr, 34)), 0x00);
    assert_eq!(at(&mut spi, 35, |s, _| s.read(Register::Spdr, 35)), 0xFF);
}

/// SCK and MOSI as an onlooker's shift register sees them: (cycle of each sampling edge, byte).
fn watch(effects: &Effects, control: u8) -> (Vec<Cycles>, u8) {
    let (mut sck, mut mosi, mut byte, mut cycles) = (control & CPOL != 0, false, 0u8, Vec::new());
    for &(cycle, effect) in effects {
        let Effect::Value { pin, high: Some(high) } = effect else { continue };
        if pin == PINS.mosi {
            mosi = high;
        } else if pin == PINS.sck && high != sck {
            sck = high;
            let leading = high != (control & CPOL != 0);
            if leading == (control & CPHA == 0) {
                byte = byte << 1 | u8::from(mosi);
                cycles.push(cycle);
            }
        }
    }
    (cycles, if control & DORD != 0 { byte.reverse_bits() } else { byte })
}

#[test]
fn each_mode_and_bit_order_puts_the_byte_on_the_wire_at_its_edges() {
    for (spr, double, n) in DIVIDERS {
        for mode in 0..8 {
            let control = spr | mode << 2 & (CPOL | CPHA) | if mode & 4 != 0 { DORD } else { 0 };
            for value in [0x00, 0xFF, 0xA5, 0x1E, 0x80, 0x01] {
                let mut spi = master(control, double);
                send_at(&mut spi, value, 100);
                let mut effects = Vec::new();
                spi.advance(100 + 8 * n + 1, &mut effects);
                let (cycles, byte) = watch(&effects, control);
                let first = 101 + if control & CPHA == 0 { n / 2 } else { n };
                assert_eq!(cycles, (0..8).map(|bit| first + bit * n).collect::<Vec<_>>());
                assert_eq!(byte, value, "control {control:#04x}");
            }
        }
    }
}

#[test]
fn miso_is_sampled_at_the_sampling_edge_and_nowhere_else() {
    // f/8, mode 0: samples at 1 + 4 + 8 * bit. MISO is right there only, and wrong one cycle before and
    // after.
    for edges in [true, false] {
        let (mut spi, value) = (master(1, true), 0xC5u8);
        spi.set_edges(edges, 0, &mut Vec::new());
        send_at(&mut spi, 0, 0);
        for bit in 0..8 {
            let level = value >> (7 - bit) & 1 != 0;
            let sample = 5 + 8 * bit;
            at(&mut spi, sample - 1, |s, e| s.pin(PINS.miso, level, sample - 1, e));
            at(&mut spi, sample, |s, e| s.pin(PINS.miso, !level, sample, e));
        }
        assert_eq!(at(&mut spi, 65, |s, _| s.read(Register::Spdr, 65)), value);
    }
}

#[test]
fn pins_are_taken_and_given_back_as_the_override_table_says() {
    let overrides = |effects: &Effects| {
        let taken = |pin| {
            effects.iter().rev().find_map(|&(_, e)| match e {
                Effect::Override { pin: p, drive } if p == pin => Some(drive),
                _ => None,
            })
        };
        [PINS.sck, PINS.mosi, PINS.miso, PINS.ss].map(taken)
    };
    let (mut spi, mut effects) = (Spi::new(PINS), Vec::new());
    spi.write(Register::Spcr, SPE, 1, &mut effects);
    assert_eq!(overrides(&effects), [Some(Some(Drive::Floating)); 4], "a slave that is not selected listens");
    spi.pin(PINS.ss, false, 2, &mut effects);
    assert_eq!(overrides(&effects)[2], Some(None), "a selected slave may drive MISO");
    spi.pin(PINS.ss, true, 3, &mut effects);
    assert_eq!(overrides(&effects)[2], Some(Some(Drive::Floating)));
    spi.write(Register::Spcr, SPE | MSTR, 4, &mut effects);
    assert_eq!(overrides(&effects), [Some(None), Some(None), Some(Some(Drive::Floating)), Some(None)]);
    spi.write(Register::Spcr, 0, 5, &mut effects);
    assert_eq!(overrides(&effects), [Some(None); 4]);
    let values = |pin| {
        effects.iter().rev().find_map(|&(_, e)| match e {
            Effect::Value { pin: p, high } if p == pin => Some(high),
            _ => None,
        })
    };
    assert_eq!([values(PINS.sck), values(PINS.mosi)], [Some(None); 2]);
}

#[test]
fn master_yields_the_bus_when_ss_is_an_input_and_low() {
    let mut spi = master(SPIE, true);
    spi.pin(PINS.ss, false, 1, &mut Vec::new());
    assert_eq!(spi.control & MSTR, MSTR, "SS is an output: its level means nothing");
    let mut effects = Vec::new();
    spi.set_ss_output(false, 2, &mut effects);
    assert_eq!(spi.control, SPE | SPIE);
    assert_eq!((spi.status & SPIF, spi.requests()), (SPIF, 1));
    assert!(effects.contains(&(2, Effect::Override { pin: PINS.sck, drive: Some(Drive::Floating) })));
    spi.write(Register::Spcr, SPE | MSTR, 3, &mut effects);
    assert_eq!(spi.control & MSTR, 0, "SS is still low");
    spi.pin(PINS.ss, true, 4, &mut effects);
    spi.write(Register::Spcr, SPE | MSTR, 5, &mut effects);
    assert_eq!(spi.control & MSTR, MSTR);
    send_at(&mut spi, 1, 6);
    at(&mut spi, 9, |s, e| s.pin(PINS.ss, false, 9, e));
    assert_eq!(spi.control & MSTR, 0, "SS fell during a byte");
    assert!(spi.transfer.is_none());
}

/// Runs a master and a slave wired together until `until`, event by event.
fn wire(master: &mut Spi, slave: &mut Spi, until: Cycles) {
    loop {
        let now = master.due().min(slave.due()).min(until);
        let (mut from_master, mut from_slave) = (Vec::new(), Vec::new());
        master.advance(now, &mut from_master);
        slave.advance(now, &mut from_slave);
        while !(from_master.is_empty() && from_slave.is_empty()) {
            for (_, effect) in std::mem::take(&mut from_master) {
                if let Effect::Value { pin, high: Some(high) } = effect {
                    slave.pin(pin, high, now, &mut from_slave);
                }
            }
            for (_, effect) in std::mem::take(&mut from_slave) {
                if let Effect::Value { pin, high: Some(high) } = effect
                    && pin == PINS.miso
                {
                    master.pin(pin, high, now, &mut from_master);
                }
            }
        }
        if now == until {
            return;
        }
    }
}

/// Sends `out` against `back` and answers what each side received.
fn exchange(control: u8, double: bool, n: Cycles, out: &[u8], back: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (mut m, mut s) = (master(control, double), slave(control & (DORD | CPOL | CPHA)));
    s.pin(PINS.mosi, m.mosi_out, 1, &mut Vec::new());
    send_at(&mut s, back[0], 1);
    let mut first = Vec::new();
    s.pin(PINS.ss, false, 2, &mut first);
    for (_, effect) in first {
        if let Effect::Value { pin, high: Some(high) } = effect {
            m.pin(pin, high, 2, &mut Vec::new());
        }
    }
    let (mut at_master, mut at_slave) = (Vec::new(), Vec::new());
    let mut now = 10;
    for (i, &byte) in out.iter().enumerate() {
        m.write(Register::Spdr, byte, now, &mut Vec::new());
        now += 8 * n + 12;
        wire(&mut m, &mut s, now);
        assert_eq!([m.status & SPIF, s.status & SPIF], [SPIF; 2]);
        m.read(Register::Spsr, now);
        s.read(Register::Spsr, now);
        at_master.push(m.read(Register::Spdr, now));
        at_slave.push(s.read(Register::Spdr, now));
        if let Some(&next) = back.get(i + 1) {
            let mut effects = Vec::new();
            s.write(Register::Spdr, next, now, &mut effects);
            for (_, effect) in effects {
                if let Effect::Value { pin, high: Some(high) } = effect {
                    m.pin(pin, high, now, &mut Vec::new());
                }
            }
        }
    }
    (at_master, at_slave)
}

#[test]
fn master_and_slave_exchange_bytes_in_every_mode_up_to_a_quarter_of_the_clock() {
    let (out, back) = ([0x00, 0xA5, 0x5C, 0xFF, 0x81], [0x3C, 0xFF, 0x01, 0x80, 0x42]);
    for (spr, double, n) in DIVIDERS.into_iter().filter(|d| d.2 >= 4) {
        for mode in 0..8 {
            let control = spr | mode << 2 & (CPOL | CPHA) | if mode & 4 != 0 { DORD } else { 0 };
            let (at_master, at_slave) = exchange(control, double, n, &out, &back);
            assert_eq!(at_slave, out, "f/{n}, mode {mode}");
            assert_eq!(at_master, back, "f/{n}, mode {mode}");
        }
    }
}

#[test]
fn slave_cannot_follow_half_the_clock() {
    let (mut m, mut s) = (master(0, true), slave(0));
    s.pin(PINS.ss, false, 2, &mut Vec::new());
    m.write(Register::Spdr, 0xA5, 10, &mut Vec::new());
    wire(&mut m, &mut s, 60);
    assert_eq!((m.status & SPIF, s.status & SPIF), (SPIF, 0), "it saw fewer edges than there were");
}

fn clock_in(spi: &mut Spi, bits: u8, from: Cycles) -> Cycles {
    for bit in 0..Cycles::from(bits) {
        spi.pin(PINS.sck, true, from + 8 * bit, &mut Vec::new());
        spi.pin(PINS.sck, false, from + 8 * bit + 4, &mut Vec::new());
    }
    from + 8 * Cycles::from(bits) - 4
}

#[test]
fn slave_notices_a_byte_two_cycles_after_its_last_edge() {
    let mut spi = slave(SPIE);
    spi.pin(PINS.ss, false, 4, &mut Vec::new());
    let last = clock_in(&mut spi, 8, 10);
    assert_eq!(spi.due(), last + 2);
    at(&mut spi, last + 1, |s, _| assert_eq!(s.requests(), 0));
    at(&mut spi, last + 2, |s, _| assert_eq!(s.requests(), 1));
}

#[test]
fn ss_high_resets_the_bit_counter() {
    let mut spi = slave(0);
    spi.pin(PINS.ss, false, 4, &mut Vec::new());
    let last = clock_in(&mut spi, 3, 10);
    spi.pin(PINS.ss, true, last + 4, &mut Vec::new());
    spi.pin(PINS.ss, false, last + 8, &mut Vec::new());
    let last = clock_in(&mut spi, 7, last + 12);
    assert_eq!(status_at(&mut spi, last + 7), 0);
    let last = clock_in(&mut spi, 1, last + 8);
    assert_eq!(status_at(&mut spi, last + 2), SPIF);
}

#[test]
fn clock_edges_without_ss_are_ignored() {
    let mut spi = slave(0);
    let last = clock_in(&mut spi, 8, 10);
    assert_eq!(status_at(&mut spi, last + 8), 0);
}

#[test]
fn slave_write_during_a_byte_collides() {
    let mut spi = slave(0);
    send_at(&mut spi, 0x11, 1);
    spi.pin(PINS.ss, false, 4, &mut Vec::new());
    let last = clock_in(&mut spi, 4, 10);
    send_at(&mut spi, 0x22, last + 1);
    assert_eq!(status_at(&mut spi, last + 2), WCOL);
    assert_eq!(spi.shift, 0x11);
}

#[test]
fn slave_that_writes_nothing_echoes_what_it_received() {
    let (_, at_slave) = exchange(0, false, 4, &[0x12, 0x34], &[0x56]);
    assert_eq!(at_slave, [0x12, 0x34]);
    let (at_master, _) = exchange(0, false, 4, &[0x12, 0x34], &[0x56]);
    assert_eq!(at_master, [0x56, 0x12]);
}

#[test]
fn only_spi2x_of_spsr_can_be_written() {
    let mut spi = master(0, false);
    spi.write(Register::Spsr, 0xFF, 1, &mut Vec::new());
    assert_eq!(spi.read(Register::Spsr, 2), SPI2X);
}

fn script() -> impl Strategy<Value = Vec<(Cycles, Act<Register>)>> {
    let control = any::<u8>().prop_map(|v| v | SPE);
    let act = prop_oneof![
        4 => any::<u8>().prop_map(|v| Act::Write(Register::Spdr, v)),
        2 => control.prop_map(|v| Act::Write(Register::Spcr, v)),
        1 => any::<u8>().prop_map(|v| Act::Write(Register::Spsr, v)),
        1 => any::<u8>().prop_map(|v| Act::Write(Register::Spcr, v)),
        2 => prop::sample::select(vec![Register::Spsr, Register::Spdr, Register::Spcr]).prop_map(Act::Read),
        1 => Just(Act::Acknowledge(0)),
        2 => any::<bool>().prop_map(|h| Act::Pin(PINS.miso, h)),
        2 => any::<bool>().prop_map(|h| Act::Pin(PINS.mosi, h)),
        8 => any::<bool>().prop_map(|h| Act::Pin(PINS.sck, h)),
        2 => prop::bool::weighted(0.2).prop_map(|h| Act::Pin(PINS.ss, h)),
    ];
    let gap = prop_oneof![6 => 1..8u64, 2 => 8..40u64, 1 => 40..1200u64];
    prop::collection::vec((gap, act), 1..80)
}

proptest! {
    #[test]
    fn steps_do_not_matter(
        script in script(),
        free in any::<bool>(),
        edges in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let phase = if free { Phase::FreeRunning } else { Phase::Restarted };
        let mut spi = Spi::new(Config { phase, ..PINS });
        spi.set_edges(edges, 0, &mut Vec::new());
        let registers = [Register::Spcr, Register::Spsr, Register::Spdr];
        assert_steps_do_not_matter(&spi, &registers, &script, seed);
    }

    #[test]
    fn registers_do_not_tell_whether_edges_are_emitted(script in script()) {
        let mut silent = Spi::new(PINS);
        silent.set_edges(false, 0, &mut Vec::new());
        let (_, with) = run(Spi::new(PINS), &script, |_, _, _, _| {});
        let (_, without) = run(silent, &script, |_, _, _, _| {});
        prop_assert_eq!((with.reads, with.requests), (without.reads, without.requests));
    }
}
