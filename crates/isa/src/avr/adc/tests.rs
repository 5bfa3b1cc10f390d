//! One test per rule of the datasheets' ADC chapters.

use proptest::prelude::*;

use super::super::stepping::{Act, assert_steps_do_not_matter};
use super::*;

/// Channel `n` has `n / 10` volts, and a millivolt more every 1000 cycles.
fn ramp() -> AnalogInput {
    Arc::new(|channel, cycle| f64::from(channel) / 10.0 + (cycle / 1000) as f64 / 1000.0)
}

fn constant(volts: f64) -> AnalogInput {
    Arc::new(move |_, _| volts)
}

fn write(adc: &mut Adc, register: Register, value: u8, now: Cycles) {
    adc.advance(now, &mut Vec::new());
    adc.write(register, value, now, &mut Vec::new());
}

fn read(adc: &mut Adc, register: Register, now: Cycles) -> u8 {
    adc.advance(now, &mut Vec::new());
    adc.read(register, now)
}

/// Prescaler settings and what they divide by.
const PRESCALERS: [(u8, Cycles); 8] = [(0, 2), (1, 2), (2, 4), (3, 8), (4, 16), (5, 32), (6, 64), (7, 128)];

/// Switches on and lets the long first conversion pass; answers a cycle in which the ADC clock rises.
fn warmed(config: Config, prescaler: u8, divider: Cycles) -> (Adc, Cycles) {
    let mut adc = Adc::new(config);
    write(&mut adc, Register::AdcsrA, ADEN | ADSC | prescaler, 9);
    adc.advance(10 + 30 * divider, &mut Vec::new());
    write(&mut adc, Register::AdcsrA, ADEN | ADIF | prescaler, 10 + 30 * divider);
    (adc, 10 + 40 * divider)
}

#[test]
fn first_conversion_takes_25_adc_clocks_and_samples_after_13_and_a_half() {
    for (prescaler, divider) in PRESCALERS {
        let mut adc = Adc::new(Config::atmega128(5.0, ramp()));
        let mut effects = Vec::new();
        adc.write(Register::AdcsrA, ADEN | ADSC | prescaler, 9, &mut effects);
        // The prescaler leaves reset in cycle 10; its first rising edge is one ADC clock later.
        let start = 10 + divider;
        assert_eq!(adc.due(), start + 27 * divider / 2);
        adc.advance(start + 25 * divider - 1, &mut effects);
        assert_eq!(effects.len(), 1);
        assert_eq!(effects[0].0, start + 27 * divider / 2, "divider {divider}");
        assert_eq!(adc.read(Register::AdcsrA, 0) & (ADSC | ADIF), ADSC);
        adc.advance(start + 25 * divider, &mut effects);
        assert_eq!(adc.read(Register::AdcsrA, 0) & (ADSC | ADIF), ADIF, "ADSC clears itself");
    }
}

#[test]
fn later_conversions_take_13_adc_clocks_and_sample_after_one_and_a_half() {
    for (prescaler, divider) in PRESCALERS {
        for late in [0, 1, divider - 1] {
            let (mut adc, edge) = warmed(Config::atmega328p(5.0, ramp()), prescaler, divider);
            write(&mut adc, Register::AdcsrA, ADEN | ADSC | ADIE | prescaler, edge + late);
            let start = edge + divider;
            assert_eq!(adc.due(), start + 3 * divider / 2, "written {late} after an edge of ck/{divider}");
            adc.advance(start + 3 * divider / 2, &mut Vec::new());
            assert_eq!(adc.due(), start + 13 * divider);
            adc.advance(start + 13 * divider - 1, &mut Vec::new());
            assert_eq!(adc.requests(), 0);
            adc.advance(start + 13 * divider, &mut Vec::new());
            assert_eq!(adc.requests(), 1);
            adc.acknowledge(0, start + 13 * divider);
            assert_eq!(adc.requests(), 0);
        }
    }
}

#[test]
fn triggered_conversion_samples_two_adc_clocks_after_its_trigger_and_takes_13_and_a_half() {
    for (prescaler, divider) in PRESCALERS {
        for late in [0, 1, divider / 2] {
            let (mut adc, edge) = warmed(Config::atmega328p(5.0, ramp()), prescaler, divider);
            write(&mut adc, Register::AdcsrB, Trigger::Timer1CompareB as u8, edge);
            write(&mut adc, Register::AdcsrA, ADEN | ADATE | ADIE | prescaler, edge);
            let rises = edge + 50 + late;
            adc.trigger(Trigger::Timer1Overflow, edge + 20, &mut Vec::new());
            assert_eq!(adc.due(), NEVER, "not the selected source");
            adc.trigger(Trigger::Timer1CompareB, rises, &mut Vec::new());
            assert_eq!(adc.due(), rises + 3 + 2 * divider, "whatever the prescaler's phase was");
            adc.advance(adc.due(), &mut Vec::new());
            assert_eq!(adc.due(), rises + 3 + 27 * divider / 2);
            adc.trigger(Trigger::Timer1CompareB, rises + 5 + 2 * divider, &mut Vec::new());
            assert_eq!(adc.due(), rises + 3 + 27 * divider / 2, "a trigger during a conversion is ignored");
        }
    }
}

#[test]
fn free_running_converts_every_13_adc_clocks() {
    for model in [Config::atmega128(5.0, ramp()), Config::atmega328p(5.0, ramp())] {
        let mut adc = Adc::new(model);
        let mut effects = Vec::new();
        adc.write(Register::AdcsrA, ADEN | ADSC | ADATE | 3, 9, &mut effects);
        adc.advance(18 + 25 * 8 + 5 * 104, &mut effects);
        let cycles: Vec<_> = effects.iter().map(|&(cycle, _)| cycle).collect();
        let second = 18 + 25 * 8 + 12;
        assert_eq!(cycles, [18 + 108, second, second + 104, second + 208, second + 312, second + 416]);
        assert_eq!(adc.read(Register::AdcsrA, 0) & ADSC, ADSC, "ADSC stays set");
    }
}

fn convert(config: Config, admux: u8) -> u16 {
    let mut adc = Adc::new(config);
    write(&mut adc, Register::Admux, admux, 1);
    write(&mut adc, Register::AdcsrA, ADEN | ADSC, 2);
    let low = read(&mut adc, Register::AdcL, 500);
    u16::from_be_bytes([read(&mut adc, Register::AdcH, 501), low])
}

#[test]
fn code_is_the_floor_of_1024_times_the_ratio_and_saturates() {
    for (volts, code) in [
        (0.0, 0),
        (-1.0, 0),
        (2.5, 512),
        (2.499, 511),
        (4.9951, 1022),
        (4.9952, 1023),
        (5.0, 1023),
        (9.0, 1023),
    ] {
        assert_eq!(convert(Config::atmega128(5.0, constant(volts)), 0x40), code, "{volts} V");
    }
    assert_eq!(convert(Config::atmega128(5.0, constant(f64::NAN)), 0x40), 0);
}

#[test]
fn references_are_selected_by_refs() {
    let config =
        |model: fn(f64, AnalogInput) -> Config| Config { aref_volts: 4.0, ..model(5.0, constant(1.0)) };
    assert_eq!(convert(config(Config::atmega128), 0x00), 256);
    assert_eq!(convert(config(Config::atmega128), 0x40), 204);
    assert_eq!(convert(config(Config::atmega128), 0xC0), 400);
    assert_eq!(convert(config(Config::atmega328p), 0xC0), 930);
}

#[test]
fn channels_reach_the_input_with_the_sampling_cycle() {
    let input: AnalogInput = Arc::new(|channel, cycle| f64::from(channel) + cycle as f64 / 1e6);
    for channel in 0..8 {
        let mut adc = Adc::new(Config::atmega328p(10.24, input.clone()));
        write(&mut adc, Register::Admux, 0x40 | channel, 1);
        let mut effects = Vec::new();
        adc.write(Register::AdcsrA, ADEN | ADSC | 7, 199_999, &mut effects);
        adc.advance(300_000, &mut effects);
        let code = u16::from(channel) * 100 + 20;
        assert_eq!(effects, [(200_128 + 1728, Effect::Sampled { channel, code })]);
    }
}

#[test]
fn bandgap_ground_and_temperature_are_channels() {
    assert_eq!(convert(Config::atmega128(5.0, constant(3.0)), 0x40 | 30), 251);
    assert_eq!(convert(Config::atmega128(5.0, constant(3.0)), 0x40 | 31), 0);
    assert_eq!(convert(Config::atmega328p(5.0, constant(3.0)), 0x40 | 14), 225);
    assert_eq!(convert(Config::atmega328p(5.0, constant(3.0)), 0x40 | 15), 0);
    assert_eq!(convert(Config::atmega328p(5.0, constant(3.0)), 0xC0 | 8), 292);
}

#[test]
fn differential_channels_follow_their_table_and_formula() {
    let input: AnalogInput =
        Arc::new(|channel, _| [1.0, 1.01, 2.0, 2.002, 1.5, 0.5, 0.0, 3.0][usize::from(channel)]);
    let signed = |mux: u8| {
        let code = convert(Config::atmega128(5.12, input.clone()), 0x40 | mux);
        (i32::from(code) << 22) >> 22
    };
    let expected = |positive: f64, negative: f64, gain: f64| {
        ((positive - negative) * gain * 100.0).floor().clamp(-512.0, 511.0) as i32
    };
    assert_eq!([signed(8), signed(10), signed(12), signed(14)], [0; 4], "offset settings");
    assert_eq!(signed(9), expected(1.01, 1.0, 10.0));
    assert_eq!(signed(11), expected(1.01, 1.0, 200.0));
    assert_eq!(signed(13), expected(2.002, 2.0, 10.0));
    assert_eq!(signed(15), expected(2.002, 2.0, 200.0));
    assert_eq!(signed(16), expected(1.0, 1.01, 1.0));
    assert_eq!(signed(23), expected(3.0, 1.01, 1.0));
    assert_eq!(signed(24), expected(1.0, 2.0, 1.0));
    assert_eq!(signed(29), expected(0.5, 2.0, 1.0));
}

#[test]
fn adlar_adjusts_the_result_to_the_left() {
    assert_eq!(convert(Config::atmega128(5.0, constant(2.5)), 0x40 | ADLAR), 512 << 6);
}

#[test]
fn reading_adcl_holds_the_result_until_adch_is_read() {
    let mut adc = Adc::new(Config::atmega128(5.0, ramp()));
    write(&mut adc, Register::Admux, 0x40 | 7, 1);
    write(&mut adc, Register::AdcsrA, ADEN | ADSC, 9);
    assert_eq!(read(&mut adc, Register::AdcL, 100), 143);
    write(&mut adc, Register::Admux, 0x40, 101);
    write(&mut adc, Register::AdcsrA, ADEN | ADSC | ADIF, 102);
    assert_eq!(read(&mut adc, Register::AdcsrA, 200) & ADIF, ADIF, "the interrupt comes, the result is lost");
    assert_eq!(read(&mut adc, Register::AdcH, 201), 0);
    assert_eq!(read(&mut adc, Register::AdcL, 202), 143);
    read(&mut adc, Register::AdcH, 203);
    write(&mut adc, Register::AdcsrA, ADEN | ADSC, 204);
    assert_eq!(read(&mut adc, Register::AdcL, 300), 0);
}

#[test]
fn admux_is_latched_when_the_conversion_starts() {
    let (mut adc, edge) = warmed(Config::atmega128(5.0, ramp()), 7, 128);
    write(&mut adc, Register::AdcsrA, ADEN | ADSC | 7, edge + 1);
    write(&mut adc, Register::Admux, 0x40 | 5, edge + 127);
    write(&mut adc, Register::Admux, 0x40 | 6, edge + 128);
    let mut effects = Vec::new();
    adc.advance(edge + 1000, &mut effects);
    assert!(matches!(effects[0].1, Effect::Sampled { channel: 5, .. }), "{effects:?}");
}

#[test]
fn switching_off_aborts_and_the_next_conversion_is_a_first_one() {
    let (mut adc, edge) = warmed(Config::atmega128(5.0, ramp()), 2, 4);
    write(&mut adc, Register::AdcsrA, ADEN | ADSC | 2, edge);
    write(&mut adc, Register::AdcsrA, 2, edge + 3);
    assert_eq!(adc.due(), NEVER);
    assert_eq!(read(&mut adc, Register::AdcsrA, edge + 4) & ADSC, 0);
    write(&mut adc, Register::AdcsrA, ADEN | ADSC | 2, edge + 20);
    assert_eq!(adc.due(), edge + 21 + 4 + 54);
}

#[test]
fn writing_adsc_during_a_conversion_changes_nothing() {
    let (mut adc, edge) = warmed(Config::atmega128(5.0, ramp()), 2, 4);
    write(&mut adc, Register::AdcsrA, ADEN | ADSC | ADIE | 2, edge);
    let sample = adc.due();
    write(&mut adc, Register::AdcsrA, ADEN | ADSC | ADIE | 2, edge + 5);
    write(&mut adc, Register::AdcsrA, ADEN | ADIE | 2, edge + 6);
    assert_eq!(adc.due(), sample);
    assert_eq!(read(&mut adc, Register::AdcsrA, edge + 7) & ADSC, ADSC, "writing zero has no effect");
}

#[test]
fn atmega128_has_no_trigger_sources() {
    let mut adc = Adc::new(Config::atmega128(5.0, ramp()));
    write(&mut adc, Register::AdcsrB, 5, 1);
    write(&mut adc, Register::AdcsrA, ADEN | ADATE, 2);
    assert_eq!(adc.trigger_source(), None);
}

fn script() -> impl Strategy<Value = Vec<(Cycles, Act<Register>)>> {
    use Register::*;
    let act = prop_oneof![
        4 => any::<u8>().prop_map(|v| Act::Write(AdcsrA, v | ADEN)),
        1 => any::<u8>().prop_map(|v| Act::Write(AdcsrA, v)),
        2 => any::<u8>().prop_map(|v| Act::Write(Admux, v)),
        1 => any::<u8>().prop_map(|v| Act::Write(AdcsrB, v)),
        3 => prop::sample::select(vec![AdcL, AdcH, AdcsrA, Admux]).prop_map(Act::Read),
        1 => Just(Act::Acknowledge(0)),
    ];
    prop::collection::vec((prop_oneof![1..20u64, 20..500u64], act), 1..60)
}

proptest! {
    #[test]
    fn steps_do_not_matter(script in script(), seed in any::<u64>()) {
        use Register::*;
        let adc = Adc::new(Config::atmega328p(5.0, ramp()));
        assert_steps_do_not_matter(&adc, &[Admux, AdcsrA, AdcsrB, AdcL, AdcH], &script, seed);
    }
}
