//! Which clocks run in which sleep mode, and what peripherals see of it: time that stood still, and time that did not.

mod assembler;

use std::sync::Arc;

use isa::Cycles;
use isa::avr::{ATMEGA128, ATMEGA328P, Chip, Observer, Pin, ResetCause, Settings, SleepMode, Stop};

/// The cycles at which the core woke.
#[derive(Default)]
struct Wakes(Vec<Cycles>);

impl isa::Observer for Wakes {}
impl Observer for Wakes {
    fn wake(&mut self, cycle: Cycles) {
        self.0.push(cycle);
    }
}

/// An ATmega328P whose timer 2 counts a crystal of 256 Hz without division and interrupts at overflow, asleep in a
/// mode given by its SMCR.
fn crystal_sleeper(smcr: u8) -> Chip {
    let source = format!(
        "jmp start |.org 0x24 |jmp handler |.org 0x100 |handler: |inc r20 |reti |.org 0x200 |start:
         ldi r16, 0x20 |sts ASSR, r16 |ldi r16, 1 |sts TCCR2B, r16 |ldi r16, 1 |sts TIMSK2, r16
         wait: |lds r16, ASSR |andi r16, 0x1f |brne wait
         ldi r16, {smcr} |out SMCR, r16 |sei |again: |sleep |rjmp again"
    );
    let settings = Settings { clock_hz: 256_000, crystal_hz: 256, startup_cycles: 50, ..Settings::default() };
    assembler::chip_with(&ATMEGA328P, settings, &source)
}

#[test]
fn the_crystals_timer_wakes_from_power_save_once_a_second() {
    // 256 ticks of 1000 cycles are one overflow.
    for smcr in [7, 15] {
        let mut chip = crystal_sleeper(smcr);
        let mut wakes = Wakes::default();
        assert_eq!(chip.run_until(1_500_000, &mut wakes), Stop::Reached);
        assert!((5..=6).contains(&chip.register(20)), "{} overflows", chip.register(20));
        assert!(wakes.0.windows(2).all(|pair| pair[1] - pair[0] == 256_000), "SMCR {smcr}: {:?}", wakes.0);
    }
}

#[test]
fn the_crystals_timer_stands_still_in_power_down_and_standby() {
    for (smcr, mode) in [(5, SleepMode::PowerDown), (13, SleepMode::Standby)] {
        let mut chip = crystal_sleeper(smcr);
        assert_eq!(chip.run_until(1_500_000, &mut ()), Stop::Halted);
        assert_eq!((chip.register(20), chip.sleep_mode()), (0, Some(mode)));
    }
}

#[test]
fn a_synchronous_timer_stands_still_in_power_save() {
    // Timer 1 runs from the processor's clock; the crystal's overflow wakes the core, which reads TCNT1.
    let source = "jmp start |.org 0x24 |jmp handler |.org 0x100 |handler: |reti |.org 0x200 |start:
         ldi r16, 0x20 |sts ASSR, r16 |ldi r16, 1 |sts TCCR2B, r16 |sts TIMSK2, r16
         wait: |lds r16, ASSR |andi r16, 0x1f |brne wait |ldi r16, 7 |out SMCR, r16 |sei
         ldi r16, 1 |sts TCCR1B, r16 |sleep |lds r20, TCNT1L |lds r21, TCNT1H |break";
    let settings = Settings { clock_hz: 256_000, crystal_hz: 256, startup_cycles: 50, ..Settings::default() };
    let mut chip = assembler::chip_with(&ATMEGA328P, settings, source);
    assert_eq!(chip.run_until(1_500_000, &mut ()), Stop::Break);
    assert!(chip.asleep_cycles(SleepMode::PowerSave) > 200_000);
    // SLEEP, then 4 + 4 cycles, JMP and RETI, and LDS: that much of the time was awake.
    let counted = u16::from_le_bytes([chip.register(20), chip.register(21)]);
    assert!((1 + 4 + 4 + 3 + 4..=1 + 4 + 4 + 3 + 4 + 3).contains(&counted), "{counted}");
}

#[test]
fn the_watchdog_wakes_the_atmega328p_from_power_down() {
    // WDIE, shortest time-out: 2048 cycles of 128 kHz, 16 ms.
    let source = "jmp start |.org 0x18 |jmp handler |.org 0x100 |handler: |inc r20 |reti |start:
        ldi r16, 0x40 |sts WDTCSR, r16 |ldi r16, 5 |out SMCR, r16 |sei |again: |sleep |rjmp again";
    let settings = Settings { clock_hz: 1_000_000, startup_cycles: 6, ..Settings::default() };
    let mut chip = assembler::chip_with(&ATMEGA328P, settings, source);
    let mut wakes = Wakes::default();
    assert_eq!(chip.run_until(100_000, &mut wakes), Stop::Reached);
    assert_eq!(chip.register(20), 6);
    assert!(wakes.0.windows(2).all(|pair| pair[1] - pair[0] == 16_000), "{:?}", wakes.0);
}

#[test]
fn eeprom_programming_goes_on_in_power_down_but_cannot_wake() {
    // EEPROM ready is enabled; INT0's level wakes at last.
    let source =
        "jmp start |jmp int0 |.org 0x58 |jmp ready |.org 0x100 |int0: |out EIMSK, r0 |in r21, EECR |reti
        ready: |inc r20 |out EECR, r0 |reti |.org 0x200 |start: |ldi r16, 0x10 |out SPH, r16
        ldi r16, 0x5a |out EEDR, r16 |sbi EECR, 2 |sbi EECR, 1 |ldi r16, 0x08 |out EECR, r16
        ldi r16, 1 |out EIMSK, r16 |ldi r16, 0x30 |out MCUCR, r16 |sei |sleep |nop |break";
    let settings = Settings { clock_hz: 1_000_000, startup_cycles: 10, ..Settings::default() };
    let mut chip = assembler::chip_with(&ATMEGA128, settings, source);
    let pd0 = Pin { port: b'D', bit: 0 };
    chip.set_input(pd0, Some(true), 0, &mut ());
    chip.set_input(pd0, Some(false), 50_000, &mut ());
    assert_eq!(chip.run_until(49_999, &mut ()), Stop::Reached);
    assert_eq!((chip.register(20), chip.eeprom()[0]), (0, 0x5a), "written, and still asleep");
    assert_eq!(chip.run_until(60_000, &mut ()), Stop::Break);
    // Both interrupts are served once the core is awake, INT0 first and one instruction (NOP) between them.
    assert_eq!((chip.register(20), chip.register(21) & 2), (1, 0));
}

#[test]
fn the_analog_input_is_asked_in_the_chips_own_time() {
    // 10,000 cycles of power-down lie between reset and the conversion; the voltage is the cycle.
    let source = "jmp start |jmp int0 |.org 0x100 |int0: |out EIMSK, r0 |reti |.org 0x200 |start:
        ldi r16, 0x10 |out SPH, r16 |ldi r16, 1 |out EIMSK, r16 |ldi r16, 0x30 |out MCUCR, r16 |sei |sleep
        ldi r16, 0x40 |out ADMUX, r16 |ldi r16, 0xc1 |out ADCSRA, r16 |wait: |sbic ADCSRA, 6 |rjmp wait
        in r20, ADCL |in r21, ADCH |break";
    let settings = Settings {
        startup_cycles: 10,
        avcc_volts: 1024.0,
        analog: Arc::new(|_, cycle| cycle as f64 - 9900.0),
        ..Settings::default()
    };
    let mut chip = assembler::chip_with(&ATMEGA128, settings, source);
    let pd0 = Pin { port: b'D', bit: 0 };
    chip.set_input(pd0, Some(true), 0, &mut ());
    chip.set_input(pd0, Some(false), 10_000, &mut ());
    assert_eq!(chip.run_until(20_000, &mut ()), Stop::Break);
    let sampled_at = 9900 + u64::from(u16::from_le_bytes([chip.register(20), chip.register(21)]));
    // Some 30 cycles from the wake-up to ADSC, and 13.5 ADC clocks of two cycles.
    assert!((10_050..10_090).contains(&sampled_at), "{sampled_at}");
}

#[test]
fn prescalers_begin_at_a_reset() {
    // Timer 1 counts 64ths of the clock and is read at a fixed time after the start of the program.
    let source = format!("ldi r16, 3 |out TCCR1B, r16 |{} in r20, TCNT1L |break", "nop |".repeat(190));
    let settings = Settings { reset_cycles: 0, ..Settings::default() };
    let mut chip = assembler::chip_with(&ATMEGA128, settings, &source);
    assert_eq!(chip.run_until(1000, &mut ()), Stop::Break);
    let first = chip.register(20);
    assert_eq!(first, 3);
    for _ in 0..70 {
        // One life of this program is no multiple of 64 cycles, so every reset finds another phase.
        chip.reset(ResetCause::External, &mut ());
        assert_eq!(chip.run_until(chip.cycle() + 1000, &mut ()), Stop::Break);
        assert_eq!(chip.register(20), first, "after a reset in cycle {}", chip.cycle());
    }
}

#[test]
fn a_sleeper_can_be_reset() {
    let mut chip = crystal_sleeper(5);
    assert_eq!(chip.run_until(10_000, &mut ()), Stop::Halted);
    chip.reset(ResetCause::External, &mut ());
    assert!(!chip.is_asleep());
    assert_eq!(chip.next_wake(), Some(10_000 + chip.settings().reset_cycles));
}
