//! Programs that nobody wrote: a chip never panics, whatever it executes, and keeps its invariants doing so.

use isa::Cycles;
use isa::avr::{
    ATMEGA128, ATMEGA328P, Chip, Drive, Effect, Image, Observer, Pin, Profile, Settings, SleepMode, Stop,
    Watch,
};
use proptest::prelude::*;

/// A digest of everything a chip tells.
#[derive(Default, Clone, PartialEq, Debug)]
struct Digest {
    events: u64,
    hash: u64,
}

impl Digest {
    fn add(&mut self, kind: u64, cycle: Cycles, what: u64) {
        self.events += 1;
        for word in [kind, cycle, what] {
            self.hash = (self.hash ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
        }
    }
}

impl isa::Observer for Digest {
    fn fetch(&mut self, cycle: Cycles, address: u32) {
        self.add(1, cycle, address.into());
    }
    fn load(&mut self, cycle: Cycles, address: u32, value: u8) {
        self.add(2, cycle, u64::from(address) << 8 | u64::from(value));
    }
    fn store(&mut self, cycle: Cycles, address: u32, value: u8) {
        self.add(3, cycle, u64::from(address) << 8 | u64::from(value));
    }
    fn retire(&mut self, cycle: Cycles, address: u32) {
        self.add(4, cycle, address.into());
    }
}

impl Observer for Digest {
    fn interrupt(&mut self, cycle: Cycles, vector: u8) {
        self.add(5, cycle, vector.into());
    }
    fn drive(&mut self, cycle: Cycles, pin: Pin, drive: Drive) {
        self.add(6, cycle, u64::from(pin.port) << 16 | u64::from(pin.bit) << 8 | drive as u64);
    }
    fn sleep(&mut self, cycle: Cycles, mode: SleepMode) {
        self.add(7, cycle, mode as u64);
    }
    fn wake(&mut self, cycle: Cycles) {
        self.add(8, cycle, 0);
    }
    fn effect(&mut self, cycle: Cycles, effect: &Effect) {
        self.add(
            9,
            cycle,
            format!("{effect:?}").bytes().fold(0, |sum, byte| sum * 31 % 0xffff_fffb + u64::from(byte)),
        );
    }
}

/// Instructions that set up peripherals at random and use them: mostly OUT and STS with constants, some sleep,
/// some branches. Purely random words fault too soon to get anywhere.
fn program(choices: &[(u8, u8, u8)], profile: &Profile) -> Vec<u8> {
    let mut words: Vec<u16> = Vec::new();
    let mut line = |text: String| {
        let (first, second) =
            isa::avr::text::parse(&text).expect("lines are well-formed").encode().expect("encodable");
        words.push(first);
        words.extend(second);
    };
    line(format!("ldi r16, {}", 0x04));
    line("out 0x3e, r16".into());
    for &(what, value, which) in choices {
        let register = profile.registers[usize::from(which) % profile.registers.len()];
        line(format!("ldi r16, {value}"));
        match what % 8 {
            0..=3 => line(format!("sts {}, r16", register.address)),
            4 => line(format!("lds r{}, {}", value % 16, register.address)),
            5 if register.address < 0x40 => line(format!("sbi {}, {}", register.address - 0x20, value % 8)),
            5 => line("sei".into()),
            6 => line("sleep".into()),
            _ => line(format!("sbrc r{}, {}", value % 16, which % 8)),
        }
    }
    line("sei".into());
    line("jmp 0".into());
    words.into_iter().flat_map(u16::to_le_bytes).collect()
}

fn chip(profile: &'static Profile, flash: &[u8], inputs: &[(u16, u8, bool)]) -> Chip {
    let settings = Settings {
        clock_hz: 200_000,
        startup_cycles: 60,
        reset_cycles: 30,
        external_memory: profile.external_memory,
        ..Settings::default()
    };
    let mut chip = Chip::with_settings(profile, settings);
    chip.load(&Image::from_flash(profile.architecture, flash.to_vec())).expect("the program fits");
    for &(at, pin, level) in inputs {
        let port = profile.ports[usize::from(pin / 8) % profile.ports.len()].letter;
        chip.set_input(Pin { port, bit: pin % 8 }, Some(level), at.into(), &mut ());
    }
    chip
}

const LIMIT: Cycles = 20_000;

/// Runs to the limit in steps, and says how it ended.
fn run(mut chip: Chip, step: Cycles) -> (Stop, Cycles, Vec<u8>, Digest) {
    let mut digest = Digest::default();
    let mut limit = 0;
    loop {
        limit = (limit + step).min(LIMIT);
        let stop = chip.run_until(limit, &mut digest);
        let goes_on = matches!(stop, Stop::Reached | Stop::Halted) && limit < LIMIT
            || stop == Stop::Break && chip.cycle() < LIMIT;
        if !goes_on {
            let registers = (0..32).map(|number| chip.register(number)).collect();
            // Whether a sleeper is called halted depends on the call: both are "nothing more to come".
            let stop = if stop == Stop::Halted { Stop::Reached } else { stop };
            return (stop, chip.cycle(), registers, digest);
        }
        if stop == Stop::Break {
            limit = chip.cycle();
        }
    }
}

fn choices() -> impl Strategy<Value = Vec<(u8, u8, u8)>> {
    proptest::collection::vec(any::<(u8, u8, u8)>(), 1..120)
}

fn inputs() -> impl Strategy<Value = Vec<(u16, u8, bool)>> {
    proptest::collection::vec((0..20_000_u16, any::<u8>(), any::<bool>()), 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_words_never_make_a_chip_panic(
        words in proptest::collection::vec(any::<u8>(), 2..400), inputs in inputs()
    ) {
        for profile in [&ATMEGA128, &ATMEGA328P] {
            run(chip(profile, &words, &inputs), LIMIT);
        }
    }

    #[test]
    fn random_use_of_peripherals_is_the_same_in_one_step_and_in_many(
        choices in choices(), inputs in inputs(), step in 1..200_u64
    ) {
        for profile in [&ATMEGA128, &ATMEGA328P] {
            let flash = program(&choices, profile);
            let whole = run(chip(profile, &flash, &inputs), LIMIT);
            let cut = run(chip(profile, &flash, &inputs), step);
            prop_assert_eq!(&whole, &cut, "{}", profile.name);
        }
    }

    #[test]
    fn random_use_of_peripherals_is_the_same_when_it_is_watched(
        choices in choices(), inputs in inputs(), watched in proptest::collection::vec(0x20..0x100_u16, 0..20)
    ) {
        let flash = program(&choices, &ATMEGA128);
        let (mut plain, mut plain_digest) = (chip(&ATMEGA128, &flash, &inputs), Digest::default());
        let (mut other, mut digest) = (plain.clone(), Digest::default());
        while plain.run_until(LIMIT, &mut plain_digest) == Stop::Break {}
        let mut watch = Watch::new();
        watch.drives = true;
        watched.into_iter().for_each(|address| watch.add(address));
        while let Stop::Break | Stop::Pin | Stop::Access { .. } = other.run_watched(LIMIT, &watch, &mut digest) {}
        prop_assert_eq!(digest, plain_digest);
        prop_assert_eq!((other.cycle(), other.pc(), other.fault()), (plain.cycle(), plain.pc(), plain.fault()));
    }

    #[test]
    fn time_asleep_and_awake_is_all_the_time(choices in choices(), inputs in inputs()) {
        let flash = program(&choices, &ATMEGA328P);
        let mut chip = chip(&ATMEGA328P, &flash, &inputs);
        while matches!(chip.run_until(LIMIT, &mut ()), Stop::Break) {}
        let asleep: Cycles = SleepMode::ALL.iter().map(|&mode| chip.asleep_cycles(mode)).sum();
        prop_assert_eq!(asleep + chip.awake_cycles(), chip.cycle());
    }
}
