//! Tests only: for the timers too it does not matter in which steps time passes.

use proptest::prelude::*;

use super::super::stepping::{Act, assert_steps_do_not_matter};
use super::*;

fn registers_of(model: Model) -> Vec<Register> {
    use Channel::{A, B, C};
    use Register::*;
    match model {
        Model::Atmega128 => vec![
            Tccr(0),
            Tcnt(0),
            Ocr(0, A),
            Assr,
            Tccr(2),
            Tcnt(2),
            Ocr(2, A),
            TccrA(1),
            TccrB(1),
            TccrC(1),
            TcntL(1),
            TcntH(1),
            OcrL(1, A),
            OcrH(1, A),
            OcrL(1, C),
            OcrH(1, B),
            IcrL(1),
            IcrH(1),
            TccrA(3),
            TccrB(3),
            TcntL(3),
            OcrL(3, B),
            Timsk,
            Etimsk,
            Tifr,
            Etifr,
            Sfior,
        ],
        Model::Atmega328p => vec![
            TccrA(0),
            TccrB(0),
            Tcnt(0),
            Ocr(0, A),
            Ocr(0, B),
            TccrA(1),
            TccrB(1),
            TccrC(1),
            TcntL(1),
            TcntH(1),
            OcrL(1, A),
            OcrH(1, A),
            OcrL(1, B),
            IcrL(1),
            IcrH(1),
            TccrA(2),
            TccrB(2),
            Tcnt(2),
            Ocr(2, A),
            Ocr(2, B),
            Assr,
            TimskOf(0),
            TimskOf(1),
            TimskOf(2),
            TifrOf(0),
            TifrOf(1),
            TifrOf(2),
            Gtccr,
        ],
    }
}

fn script(model: Model) -> impl Strategy<Value = Vec<(Cycles, Act<Register>)>> {
    let registers = registers_of(model);
    let inputs = match model {
        Model::Atmega128 => [(b'D', 6), (b'E', 6), (b'D', 4), (b'E', 7)],
        Model::Atmega328p => [(b'D', 4), (b'D', 5), (b'B', 0), (b'B', 0)],
    };
    let value = prop_oneof![any::<u8>(), 0..16u8];
    let act = prop_oneof![
        6 => (prop::sample::select(registers.clone()), value).prop_map(|(r, v)| Act::Write(r, v)),
        2 => prop::sample::select(registers).prop_map(Act::Read),
        1 => (0..29u8).prop_map(Act::Acknowledge),
        2 => (prop::sample::select(inputs.to_vec()), any::<bool>())
            .prop_map(|((port, bit), high)| Act::Pin(Pin { port, bit }, high)),
    ];
    let gap = prop_oneof![6 => 1..6u64, 3 => 6..100u64, 1 => 100..1500u64];
    prop::collection::vec((gap, act), 1..60)
}

proptest! {
    #[test]
    fn steps_do_not_matter_on_the_atmega128(script in script(Model::Atmega128), seed in any::<u64>()) {
        let mut timers = Timers::new(Config { model: Model::Atmega128, cpu_hz: 100_000, crystal_hz: 32_768 });
        timers.watch(1 << request(1, COMPARE_A));
        assert_steps_do_not_matter(&timers, &registers_of(Model::Atmega128), &script, seed);
    }

    #[test]
    fn steps_do_not_matter_on_the_atmega328p(script in script(Model::Atmega328p), seed in any::<u64>()) {
        let timers = Timers::new(Config { model: Model::Atmega328p, cpu_hz: 100_000, crystal_hz: 32_768 });
        assert_steps_do_not_matter(&timers, &registers_of(Model::Atmega328p), &script, seed);
    }
}
