//! Whole chips with their peripherals: what a program sees of them, and that they keep the machine's promises.

mod assembler;

use std::sync::Arc;

use isa::Cycles;
use isa::avr::usart::Frame;
use isa::avr::{
    ATMEGA128, ATMEGA328P, Chip, Drive, Effect, Fault, FaultKind, Observer, Pin, ResetCause, Settings,
    SleepMode, Stop,
};

/// Everything a chip tells, in words with cycles.
#[derive(Default, Clone, PartialEq, Debug)]
struct Story {
    events: Vec<String>,
}

impl isa::Observer for Story {
    fn fetch(&mut self, cycle: Cycles, address: u32) {
        self.events.push(format!("{cycle} fetch {address:#x}"));
    }
    fn load(&mut self, cycle: Cycles, address: u32, value: u8) {
        self.events.push(format!("{cycle} load {address:#x} {value:#x}"));
    }
    fn store(&mut self, cycle: Cycles, address: u32, value: u8) {
        self.events.push(format!("{cycle} store {address:#x} {value:#x}"));
    }
}

impl Observer for Story {
    fn interrupt(&mut self, cycle: Cycles, vector: u8) {
        self.events.push(format!("{cycle} interrupt {vector}"));
    }
    fn drive(&mut self, cycle: Cycles, pin: Pin, drive: Drive) {
        self.events.push(format!("{cycle} P{}{} {drive:?}", char::from(pin.port), pin.bit));
    }
    fn sleep(&mut self, cycle: Cycles, mode: SleepMode) {
        self.events.push(format!("{cycle} sleep {mode:?}"));
    }
    fn wake(&mut self, cycle: Cycles) {
        self.events.push(format!("{cycle} wake"));
    }
    fn effect(&mut self, cycle: Cycles, effect: &Effect) {
        self.events.push(format!("{cycle} {effect:?}"));
    }
}

impl Story {
    /// The cycle of the first event that contains these words.
    fn cycle_of(&self, words: &str) -> Cycles {
        let event = self.events.iter().find(|event| event.contains(words));
        let event = event.unwrap_or_else(|| panic!("no `{words}` in {:#?}", self.events));
        event.split(' ').next().and_then(|cycle| cycle.parse().ok()).expect("events begin with a cycle")
    }

    fn count(&self, words: &str) -> usize {
        self.events.iter().filter(|event| event.contains(words)).count()
    }
}

fn run(chip: &mut Chip, limit: Cycles) -> (Stop, Story) {
    let mut story = Story::default();
    let stop = chip.run_until(limit, &mut story);
    (stop, story)
}

const SS: Pin = Pin { port: b'B', bit: 0 };
const SCK: Pin = Pin { port: b'B', bit: 1 };
const MOSI: Pin = Pin { port: b'B', bit: 2 };
const MISO: Pin = Pin { port: b'B', bit: 3 };

#[test]
fn spif_of_a_byte_at_half_the_clock_reads_set_17_cycles_after_the_write() {
    // The byte is sent in `send`; `nops` more cycles stand before SPSR is read.
    let read_at = |nops: usize| {
        let source = format!(
            "ldi r16, 7 |out DDRB, r16 |ldi r16, 0x50 |out SPCR, r16 |ldi r16, 1 |out SPSR, r16
             out SPDR, r16 |{} in r17, SPSR |break",
            "nop |".repeat(nops)
        );
        let mut chip = assembler::chip(&ATMEGA128, &source);
        assert_eq!(chip.run_until(1000, &mut ()), Stop::Break);
        chip.register(17) >> 7
    };
    assert_eq!(read_at(15), 0, "16 cycles after the write");
    assert_eq!(read_at(16), 1, "17 cycles after the write");
}

#[test]
fn bytes_written_every_18_cycles_at_half_the_clock_all_arrive_and_17_lose_one() {
    let sent = |nops: usize| {
        let gap = "nop |".repeat(nops);
        let source = format!(
            "ldi r16, 7 |out DDRB, r16 |ldi r16, 0x50 |out SPCR, r16 |ldi r16, 1 |out SPSR, r16
             ldi r16, 0xaa |ldi r17, 0x55 |out SPDR, r16 |{gap} out SPDR, r17 |{} in r18, SPSR |break",
            "nop |".repeat(30)
        );
        let mut chip = assembler::chip(&ATMEGA128, &source);
        let (stop, story) = run(&mut chip, 1000);
        assert_eq!(stop, Stop::Break);
        (story.count("PB1 High"), chip.register(18) >> 6 & 1)
    };
    assert_eq!(sent(17), (16, 0), "two bytes, no collision");
    assert_eq!(sent(16), (8, 1), "one byte, WCOL");
}

/// Runs two chips a few cycles at a time and lets each see what the other drives, with the cycle of the change.
struct Wires {
    changes: Vec<(Cycles, Pin, Drive)>,
}

impl isa::Observer for Wires {}
impl Observer for Wires {
    fn drive(&mut self, cycle: Cycles, pin: Pin, drive: Drive) {
        self.changes.push((cycle, pin, drive));
    }
}

fn high(drive: Drive) -> Option<bool> {
    match drive {
        Drive::High => Some(true),
        Drive::Low => Some(false),
        Drive::PullUp | Drive::Floating => None,
    }
}

#[test]
fn a_master_and_a_slave_chip_exchange_bytes() {
    // f/8 for a slave that may have at most f/4. The slave's first byte is put in before SS falls.
    let master =
        "ldi r16, 7 |out DDRB, r16 |sbi PORTB, 0 |ldi r16, 0x51 |out SPCR, r16 |ldi r16, 1 |out SPSR, r16
        cbi PORTB, 0 |ldi r20, 0xc3 |out SPDR, r20 |wait: |sbis SPSR, 7 |rjmp wait |in r21, SPDR
        ldi r20, 0x18 |out SPDR, r20 |again: |sbis SPSR, 7 |rjmp again |in r22, SPDR |sbi PORTB, 0 |break";
    let slave = "ldi r16, 8 |out DDRB, r16 |ldi r16, 0x40 |out SPCR, r16 |ldi r20, 0x96 |out SPDR, r20
        wait: |sbis SPSR, 7 |rjmp wait |in r21, SPDR |ldi r20, 0x2d |out SPDR, r20
        again: |sbis SPSR, 7 |rjmp again |in r22, SPDR |break";
    let mut chips = [assembler::chip(&ATMEGA128, master), assembler::chip(&ATMEGA128, slave)];
    let mut done = [false; 2];
    let mut wires = [Wires { changes: Vec::new() }, Wires { changes: Vec::new() }];
    chips[1].set_input(SS, Some(true), 0, &mut wires[1]);
    let mut limit = 0;
    while done != [true; 2] {
        limit += 1;
        assert!(limit < 5000, "the transfer does not end");
        for from in 0..2 {
            if !done[from] {
                done[from] = chips[from].run_until(limit, &mut wires[from]) == Stop::Break;
            }
            // A level that arrives can itself bring about changes, which are carried back in the next round.
            let to = 1 - from;
            let carried: &[Pin] = if from == 0 { &[SS, SCK, MOSI] } else { &[MISO] };
            for (cycle, pin, drive) in std::mem::take(&mut wires[from].changes) {
                if carried.contains(&pin) {
                    chips[to].set_input(pin, high(drive), cycle, &mut wires[to]);
                }
            }
        }
    }
    let received = |chip: &Chip| (chip.register(21), chip.register(22));
    assert_eq!(received(&chips[0]), (0x96, 0x2d));
    assert_eq!(received(&chips[1]), (0xc3, 0x18));
}

/// A sleeper that Timer 1 wakes every `period` cycles (CTC, no prescaler), with its handler counting in r20.
fn timer_source(period: u16, sleep_mode: u8) -> String {
    let top = period - 1;
    format!(
        "jmp start |.org 0x30 |jmp handler |.org 0x100 |handler: |inc r20 |reti |.org 0x200 |start:
         ldi r16, 0x10 |out SPH, r16 |ldi r16, {} |out OCR1AH, r16 |ldi r16, {} |out OCR1AL, r16
         ldi r16, 0x10 |out TIMSK, r16 |ldi r16, {} |out MCUCR, r16 |sei
         ldi r16, 9 |out TCCR1B, r16 |again: |sleep |rjmp again",
        top >> 8,
        top & 0xff,
        0x20 | (sleep_mode & 3) << 3 | sleep_mode & 4
    )
}

#[test]
fn a_timer_wakes_the_core_from_idle_at_exact_intervals() {
    let mut chip = assembler::chip(&ATMEGA128, &timer_source(1000, 0));
    let (stop, story) = run(&mut chip, 10_000);
    assert_eq!(stop, Stop::Reached);
    let wakes: Vec<Cycles> = story
        .events
        .iter()
        .filter_map(|event| event.strip_suffix(" wake").map(|cycle| cycle.parse().expect("a cycle")))
        .collect();
    assert!(wakes.len() >= 9);
    assert!(wakes.windows(2).all(|pair| pair[1] - pair[0] == 1000), "{wakes:?}");
    assert!(chip.is_asleep());
    assert_eq!(chip.next_wake(), wakes.last().map(|last| last + 1000));
}

#[test]
fn a_timer_stands_still_in_power_down() {
    let mut chip = assembler::chip(&ATMEGA128, &timer_source(1000, 2));
    assert_eq!(chip.run_until(100_000, &mut ()), Stop::Halted);
    assert_eq!((chip.register(20), chip.next_wake()), (0, None));
    assert!(chip.asleep_cycles(SleepMode::PowerDown) > 99_900);
}

#[test]
fn a_clock_that_stood_still_goes_on_where_it_stopped() {
    // Timer 1 runs freely; INT0 (low level) ends power-down; TCNT1 is read before and behind.
    let source = "jmp start |jmp handler |.org 0x100 |handler: |cbi EIMSK, 0 |reti |.org 0x200 |start:
        ldi r16, 0x10 |out SPH, r16 |ldi r16, 1 |out TCCR1B, r16 |ldi r16, 0x30 |out MCUCR, r16 |ldi r16, 1 |sei
        in r18, TCNT1L |in r19, TCNT1H |out EIMSK, r16 |sleep |in r20, TCNT1L |in r21, TCNT1H |break";
    // CBI cannot reach EIMSK on the ATmega128 (0x59): use OUT.
    let source = source.replace("cbi EIMSK, 0", "out EIMSK, r0");
    let pd0 = Pin { port: b'D', bit: 0 };
    let settings = Settings { startup_cycles: 100, ..Settings::default() };
    let mut chip = assembler::chip_with(&ATMEGA128, settings, &source);
    chip.set_input(pd0, Some(true), 0, &mut ());
    chip.set_input(pd0, Some(false), 10_000, &mut ());
    let (stop, story) = run(&mut chip, 20_000);
    assert_eq!(stop, Stop::Break);
    let before = u64::from(u16::from_le_bytes([chip.register(18), chip.register(19)]));
    let behind = u64::from(u16::from_le_bytes([chip.register(20), chip.register(21)]));
    // From the first reading to the second: IN, OUT, SLEEP, then 4 + 4 cycles, JMP, OUT, RETI.
    let awake = 1 + 1 + 1 + 1 + 4 + 4 + 3 + 1 + 4;
    assert_eq!(behind - before, awake);
    assert_eq!(story.cycle_of("wake"), 10_100);
}

#[test]
fn the_adc_converts_what_its_pin_has_at_the_sample() {
    // Channel 2, AVCC, prescaler 8, single conversion; volts rise with the chip's cycle.
    let source = "ldi r16, 0x42 |out ADMUX, r16 |ldi r16, 0xc3 |out ADCSRA, r16
        wait: |sbic ADCSRA, 6 |rjmp wait |in r20, ADCL |in r21, ADCH |break";
    let settings = Settings {
        avcc_volts: 5.0,
        analog: Arc::new(
            |channel, cycle| if channel == 2 { 5.0 * (cycle as f64 + 0.5) / 1024.0 } else { 0.0 },
        ),
        ..Settings::default()
    };
    let mut chip = assembler::chip_with(&ATMEGA128, settings, source);
    let (stop, story) = run(&mut chip, 5000);
    assert_eq!(stop, Stop::Break);
    let code = u64::from(u16::from_le_bytes([chip.register(20), chip.register(21)]));
    // The code is the cycle of the sample: 13.5 ADC clocks of 8 cycles behind the start.
    assert_eq!(story.cycle_of("Sampled"), code);
    assert!((108..125).contains(&code), "{code}");
}

#[test]
fn noise_reduction_sleep_starts_a_conversion_and_its_end_wakes_the_core() {
    let source = "jmp start |.org 0x54 |jmp handler |.org 0x100 |handler: |in r20, ADCL |in r21, ADCH |reti
        .org 0x200 |start: |ldi r16, 0x10 |out SPH, r16 |ldi r16, 0x40 |out ADMUX, r16 |ldi r16, 0x8b |out ADCSRA, r16
        ldi r16, 0x28 |out MCUCR, r16 |sei |sleep |break";
    let settings = Settings { analog: Arc::new(|_, _| 2.5), avcc_volts: 5.0, ..Settings::default() };
    let mut chip = assembler::chip_with(&ATMEGA128, settings, source);
    let (stop, story) = run(&mut chip, 5000);
    assert_eq!(stop, Stop::Break);
    assert_eq!(u16::from_le_bytes([chip.register(20), chip.register(21)]), 512);
    // 25 ADC clocks of 8 cycles, and up to one clock until it begins.
    let asleep = chip.asleep_cycles(SleepMode::AdcNoiseReduction);
    assert!((200..=208).contains(&asleep), "{asleep}");
    assert_eq!(story.count("sleep AdcNoiseReduction"), 1);
}

#[test]
fn a_timer_flag_triggers_the_adc_of_the_atmega328p() {
    // Timer 0 overflows every 256 cycles and triggers; the ADC runs at half the clock.
    let source = "ldi r16, 1 |out TCCR0B, r16 |ldi r16, 4 |sts ADCSRB, r16 |ldi r16, 0xa1 |sts ADCSRA, r16
        again: |sbrc r17, 0 |nop |in r18, TIFR0 |sbrc r18, 0 |out TIFR0, r18 |rjmp again";
    let mut chip = assembler::chip(&ATMEGA328P, source);
    let (stop, story) = run(&mut chip, 3000);
    assert_eq!(stop, Stop::Reached);
    let samples: Vec<Cycles> = story
        .events
        .iter()
        .filter(|event| event.contains("Sampled"))
        .map(|event| event.split(' ').next().and_then(|c| c.parse().ok()).expect("a cycle"))
        .collect();
    assert!(samples.len() >= 10);
    assert!(samples.windows(2).skip(1).all(|pair| pair[1] - pair[0] == 256), "{samples:?}");
}

const EEPROM_WRITE: &str =
    "ldi r16, 5 |out EEARL, r16 |ldi r16, 0x5a |out EEDR, r16 |sbi EECR, 2 |sbi EECR, 1
    wait: |sbic EECR, 1 |rjmp wait |out EEDR, r0 |sbi EECR, 0 |in r20, EEDR |break";

#[test]
fn the_eeprom_writes_reads_back_and_stalls_the_core() {
    let settings = Settings { clock_hz: 1_000_000, ..Settings::default() };
    let mut chip = assembler::chip_with(&ATMEGA128, settings, EEPROM_WRITE);
    let (stop, story) = run(&mut chip, 20_000);
    assert_eq!(stop, Stop::Break);
    assert_eq!((chip.register(20), chip.eeprom()[5]), (0x5a, 0x5a));
    // SBI takes two cycles, then the core stands still: 2 cycles behind a write, 4 behind a read.
    let write = story.cycle_of("fetch 0xa");
    assert_eq!(story.cycle_of("fetch 0xc"), write + 2 + 2);
    let read = story.cycle_of("fetch 0x12");
    assert_eq!(story.cycle_of("fetch 0x14"), read + 2 + 4);
    assert_eq!(story.cycle_of("EepromWritten") - write, 8448 + 1);
}

#[test]
fn a_power_cut_leaves_every_eeprom_byte_but_the_one_being_written() {
    let settings = Settings { clock_hz: 1_000_000, ..Settings::default() };
    let mut chip = assembler::chip_with(&ATMEGA128, settings, EEPROM_WRITE);
    let before: Vec<u8> = (0..4096_u32).map(|address| (address * 7 % 251) as u8).collect();
    chip.set_eeprom(&before).expect("4096 bytes fit");
    assert_eq!(chip.run_until(3000, &mut ()), Stop::Reached);
    let mut torn = Vec::new();
    for seed in 0..20 {
        let after = chip.cut_power(seed);
        assert_eq!(after.cycle(), 0);
        assert_eq!(after.flash(), chip.flash());
        for (address, (old, new)) in before.iter().zip(after.eeprom()).enumerate() {
            assert!(address == 5 || old == new, "address {address}, seed {seed}");
        }
        torn.push(after.eeprom()[5]);
    }
    torn.sort_unstable();
    torn.dedup();
    assert!(torn.len() > 1, "the torn byte depends on the seed: {torn:?}");
    // Once it is written it stays.
    assert_eq!(chip.run_until(20_000, &mut ()), Stop::Break);
    assert_eq!(chip.cut_power(0).eeprom()[5], 0x5a);
}

#[test]
fn the_watchdog_resets_the_chip_and_says_so() {
    // The first life starts the watchdog and waits; the second finds WDRF and stops.
    let source = "in r16, MCUCSR |sbrc r16, 3 |break |ldi r17, 0x08 |out WDTCR, r17 |again: |rjmp again";
    let settings = Settings { clock_hz: 1_000_000, reset_cycles: 100, ..Settings::default() };
    let mut chip = assembler::chip_with(&ATMEGA128, settings, source);
    let (stop, story) = run(&mut chip, 100_000);
    assert_eq!(stop, Stop::Break);
    assert_eq!(chip.register(16), 0b1001, "power-on and watchdog");
    let bite = story.cycle_of("Reset");
    assert!((16_384..16_400).contains(&bite), "{bite}");
    // The reset happens at the boundary behind the bite; the program begins 100 cycles later.
    let reborn = story.events.iter().filter(|event| event.ends_with("fetch 0x0")).nth(1);
    let reborn: Cycles =
        reborn.and_then(|event| event.split(' ').next()?.parse().ok()).expect("a second life");
    assert!((bite + 100..bite + 103).contains(&reborn), "{reborn}");
}

#[test]
fn wdr_keeps_the_watchdog_quiet() {
    let source = "ldi r17, 0x08 |out WDTCR, r17 |again: |wdr |rjmp again";
    let settings = Settings { clock_hz: 1_000_000, ..Settings::default() };
    let mut chip = assembler::chip_with(&ATMEGA128, settings, source);
    let (stop, story) = run(&mut chip, 100_000);
    assert_eq!((stop, story.count("Reset")), (Stop::Reached, 0));
}

#[test]
fn reset_causes_add_up_until_they_are_cleared() {
    let mut chip = assembler::chip(&ATMEGA128, "in r16, MCUCSR |break");
    let causes = |chip: &mut Chip| {
        assert_eq!(chip.run_until(u64::MAX, &mut ()), Stop::Break);
        chip.register(16)
    };
    assert_eq!(causes(&mut chip), 0b0001);
    chip.reset(ResetCause::External, &mut ());
    assert_eq!(causes(&mut chip), 0b0011);
    chip.reset(ResetCause::BrownOut, &mut ());
    assert_eq!(causes(&mut chip), 0b0111);
    chip.reset(ResetCause::PowerOn, &mut ());
    assert_eq!(causes(&mut chip), 0b0001);
}

#[test]
fn reset_flags_are_cleared_by_zeros_and_jtd_is_kept() {
    let source = "ldi r16, 0xff |out MCUCSR, r16 |in r17, MCUCSR |ldi r16, 0x80 |out MCUCSR, r16 |in r18, MCUCSR |break";
    let mut chip = assembler::chip(&ATMEGA128, source);
    assert_eq!(chip.run_until(100, &mut ()), Stop::Break);
    assert_eq!((chip.register(17), chip.register(18)), (0x81, 0x80));
}

#[test]
fn a_boot_loader_programs_a_page_that_then_runs() {
    // From the boot section: erase page 0x200, fill one word (`inc r25`, `ret` behind it), write, enable, call.
    let (inc, ret) = (0x9593_u16, 0x9508_u16);
    let spm = |control: u8| {
        format!(
            "ldi r18, {control} |sts SPMCSR, r18 |spm |wait{control}: |lds r18, SPMCSR |sbrc r18, 0 |rjmp wait{control}"
        )
    };
    let fill = |z: u8, word: u16| {
        let [low, high] = word.to_le_bytes();
        format!(
            "ldi r30, {z} |ldi r16, {low} |mov r0, r16 |ldi r16, {high} |mov r1, r16 |ldi r18, 1 |sts SPMCSR, r18 |spm"
        )
    };
    let source = format!(
        "jmp 0x1f000 |.org 0x1f000 |ldi r16, 0x10 |out SPH, r16 |ldi r31, 2 |ldi r30, 0
         {} |{} |{} |ldi r30, 0 |{} |{} |call 0x200 |break",
        spm(3),
        fill(0, inc),
        fill(2, ret),
        spm(5),
        spm(0x11)
    );
    let mut chip = assembler::chip(&ATMEGA128, &source);
    let snapshot = chip.clone();
    assert_eq!(chip.run_until(1_000_000, &mut ()), Stop::Break);
    assert_eq!(chip.register(25), 1);
    assert_eq!(chip.flash()[0x200..0x204], [0x93, 0x95, 0x08, 0x95]);
    assert_eq!(chip.flash()[0x204..0x300], [0xff; 0xfc]);
    assert_eq!(snapshot.flash()[0x200], 0, "a clone keeps its own flash");
}

#[test]
fn flash_that_is_being_programmed_must_not_be_read() {
    let boot = |then: &str| {
        let source = format!(
            "jmp 0x1f000 |.org 0x1f000 |ldi r16, 0x10 |out SPH, r16 |ldi r31, 2 |ldi r18, 3 |sts SPMCSR, r18 |spm |{then}"
        );
        assembler::chip(&ATMEGA128, &source).run_until(1_000_000, &mut ())
    };
    let busy = |address| FaultKind::FlashBusy { address };
    assert_eq!(boot("nop |lpm r0, Z"), Stop::Fault(Fault { address: 0x1f010, kind: busy(0x200) }));
    assert_eq!(boot("jmp 0x300"), Stop::Fault(Fault { address: 0x300, kind: busy(0x300) }));
    // The boot section itself can be read all the time.
    assert_eq!(boot("ldi r31, 0xf0 |ldi r19, 1 |out RAMPZ, r19 |elpm r0, Z |break"), Stop::Break);
}

/// A page of flash and an EEPROM byte, once a boot loader has programmed both in the order that `source` gives them.
fn program_both(source: &str) -> (Vec<u8>, u8) {
    let (eeprom, erase) = (
        "ldi r16, 5 |out EEARL, r16 |ldi r16, 0x5a |out EEDR, r16 |sbi EECR, 2 |sbi EECR, 1",
        "ldi r31, 2 |ldi r18, 3 |sts SPMCSR, r18 |spm",
    );
    let source = source.replace("EEPROM", eeprom).replace("ERASE", erase);
    // What has begun ends while it waits.
    let source = format!("jmp 0x1f000 |.org 0x1f000 |{source} |forever: |rjmp forever");
    let settings = Settings { clock_hz: 1_000_000, ..Settings::default() };
    let mut chip = assembler::chip_with(&ATMEGA128, settings, &source);
    assert_eq!(chip.run_until(100_000, &mut ()), Stop::Reached);
    (chip.flash()[0x200..0x300].to_vec(), chip.eeprom()[5])
}

#[test]
fn an_eeprom_write_blocks_self_programming_and_self_programming_an_eeprom_write() {
    let (erased, untouched) = (vec![0xff; 0x100], vec![0; 0x100]);
    let eeprom_is_done = "|again: |sbic EECR, 1 |rjmp again |";
    let flash_is_done = "|again: |lds r18, SPMCSR |sbrc r18, 0 |rjmp again |";
    for (source, flash, eeprom) in [
        (format!("EEPROM {eeprom_is_done} ERASE"), &erased, 0x5a),
        ("EEPROM |ERASE".to_owned(), &untouched, 0x5a),
        (format!("ERASE {flash_is_done} EEPROM"), &erased, 0x5a),
        ("ERASE |EEPROM".to_owned(), &erased, 0xff),
    ] {
        assert_eq!(program_both(&source), (flash.clone(), eeprom), "{source}");
    }
    // The write begins between SPMCSR and SPM, which follows within four cycles.
    let between = "ldi r16, 5 |out EEARL, r16 |out EEDR, r16 |ldi r31, 2 |ldi r18, 3 |ldi r19, 2
                   sbi EECR, 2 |sts SPMCSR, r18 |out EECR, r19 |spm";
    assert_eq!(program_both(between), (untouched, 5));
}

#[test]
fn spm_outside_the_boot_section_does_nothing() {
    let source = "ldi r31, 2 |ldi r18, 3 |sts SPMCSR, r18 |spm |break";
    let mut chip = assembler::chip(&ATMEGA128, source);
    let before = chip.flash().to_vec();
    assert_eq!(chip.run_until(100_000, &mut ()), Stop::Break);
    assert_eq!(chip.flash(), before);
}

#[test]
fn a_usart_sends_and_receives_whole_characters() {
    let source = "ldi r16, 0x18 |out UCSR0B, r16 |ldi r16, 0x41 |out UDR0, r16
        wait: |sbis UCSR0A, 7 |rjmp wait |in r20, UDR0 |again: |rjmp again";
    let mut chip = assembler::chip(&ATMEGA128, source);
    chip.receive(0, 100, Frame::new(0x7e));
    let (_, story) = run(&mut chip, 1000);
    assert_eq!(chip.register(20), 0x7e);
    // UBRR = 0: 16 cycles a bit, ten bits of 8N1.
    let end = story.cycle_of("Transmitted");
    assert!((160..=170).contains(&(end - 3)), "{end}");
    assert_eq!(chip.drive(Pin { port: b'E', bit: 1 }), Drive::High, "TXD is taken over and idles high");
}

/// A program that keeps most of the chip busy at once: timers, SPI, ADC, USART, EEPROM, pins, sleep.
fn busy_chip() -> Chip {
    let source = "jmp start |.org 0x30 |jmp timer |.org 0x44 |jmp spi |.org 0x54 |jmp adc |.org 0x100
        timer: |inc r20 |out SPDR, r20 |reti |spi: |in r21, SPDR |out PORTC, r21 |reti
        adc: |in r22, ADCL |in r23, ADCH |sbi ADCSRA, 6 |reti |.org 0x200
        start: |ldi r16, 0x10 |out SPH, r16 |ldi r16, 0x17 |out DDRB, r16 |ldi r16, 0xff |out DDRC, r16
        ldi r16, 0xd1 |out SPCR, r16 |ldi r16, 97 |out OCR1AL, r16 |ldi r16, 0x10 |out TIMSK, r16
        ldi r16, 0x1a |out TCCR0, r16 |ldi r16, 9 |out TCCR1B, r16 |ldi r16, 0xca |out ADCSRA, r16
        ldi r16, 0x08 |out UCSR0B, r16 |ldi r16, 0x55 |out UDR0, r16 |sbi EECR, 2 |sbi EECR, 1
        ldi r16, 0x20 |out MCUCR, r16 |sei
        loop: |in r17, TCNT0 |push r17 |pop r18 |sbrc r20, 2 |sleep |sbic UCSR0A, 5 |out UDR0, r20 |rjmp loop";
    let settings = Settings {
        clock_hz: 100_000,
        analog: Arc::new(|_, cycle| (cycle % 5) as f64),
        ..Settings::default()
    };
    let mut chip = assembler::chip_with(&ATMEGA128, settings, source);
    for at in (0..6000).step_by(53) {
        chip.set_input(MISO, Some(at % 2 == 0), at, &mut ());
    }
    chip
}

#[test]
fn a_busy_run_cut_into_pieces_is_the_same_run() {
    let (mut whole, mut story) = (busy_chip(), Story::default());
    assert_eq!(whole.run_until(6000, &mut story), Stop::Reached);
    for words in
        ["Sampled", "Transmitted", "EepromWritten", "sleep", "interrupt 12", "interrupt 17", "interrupt 21"]
    {
        assert!(story.count(words) > 0, "{words} did not happen");
    }
    for step in [1, 3, 64] {
        let (mut cut, mut cut_story) = (busy_chip(), Story::default());
        let mut limit: Cycles = 0;
        while limit < 6000 {
            limit = (limit + step).min(6000);
            assert_eq!(cut.run_until(limit, &mut cut_story), Stop::Reached);
        }
        let difference = cut_story.events.iter().zip(&story.events).find(|(cut, whole)| cut != whole);
        assert_eq!(difference, None, "in steps of {step}");
        assert_eq!(cut_story.events.len(), story.events.len());
    }
}

#[test]
fn edges_that_nobody_sees_change_no_register() {
    let (mut shown, mut hidden) = (busy_chip(), busy_chip());
    hidden.set_spi_edges(false, &mut ());
    assert_eq!(shown.run_until(6000, &mut ()), Stop::Reached);
    assert_eq!(hidden.run_until(6000, &mut ()), Stop::Reached);
    let state = |chip: &Chip| {
        let registers: Vec<u8> = (0..32).map(|number| chip.register(number)).collect();
        (registers, chip.cycle(), chip.pc(), chip.sreg())
    };
    assert_eq!(state(&shown), state(&hidden));
}
