//! The analog-to-digital converter: ten bits by successive approximation, to the cycle.
//!
//! Owns ADMUX, ADCSRA, ADCSRB (ATmega328P) and ADCH:ADCL. What the voltages are is asked of a function of
//! channel and cycle at the instant the sample-and-hold closes. Which timer or pin starts a conversion is
//! told by [`Adc::trigger`]. Left to the chip: the sleep mode that starts a conversion, and ACME in ADCSRB
//! beyond storing it.
//! Sources: ATmega128 datasheet, "Analog to Digital Converter"; ATmega328P datasheet, same title. In ADC
//! clocks: a conversion takes 13 and samples after 1.5; the first after switching on takes 25 and samples
//! after 13.5; an auto-triggered one takes 13.5 and samples after 2 (table "ADC Conversion Time").
//! Differential channels (ATmega128) return what the formula says; their conversions take the same time here,
//! while the datasheet lets them begin up to one ADC clock later ("synchronized to CK_ADC2").

use std::fmt;
use std::sync::Arc;

use super::peripheral::{Effect, Effects, NEVER, Peripheral};
use crate::Cycles;

const ADLAR: u8 = 1 << 5;
const ADEN: u8 = 1 << 7;
const ADSC: u8 = 1 << 6;
/// ADFR on the ATmega128.
const ADATE: u8 = 1 << 5;
const ADIF: u8 = 1 << 4;
const ADIE: u8 = 1 << 3;
const ADPS: u8 = 7;

/// From a trigger to the conversion's start: "three additional CPU clock cycles are used for synchronization
/// logic".
const TRIGGER_CYCLES: Cycles = 3;
const CODES: f64 = 1024.0;
/// An input that is exactly at a code's threshold has reached it: this is more than a float's rounding and far less
/// than any converter's noise.
const ROUNDING_CODES: f64 = 1e-9;

/// The ADC's registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    /// Multiplexer, reference and adjustment.
    Admux,
    /// Control and status (ADCSRA).
    AdcsrA,
    /// Trigger source (ATmega328P).
    AdcsrB,
    /// Result, low byte; reading it holds the result until ADCH is read.
    AdcL,
    /// Result, high byte.
    AdcH,
}

/// Volts at a channel (0 to 7) in a cycle.
pub type AnalogInput = Arc<dyn Fn(u8, Cycles) -> f64 + Send + Sync>;

/// Which multiplexer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// Five MUX bits with differential channels; free running is the only automatic mode.
    Atmega128,
    /// Four MUX bits, a temperature sensor and auto-trigger sources.
    Atmega328p,
}

/// A chip's converter and its analog surroundings.
#[derive(Clone)]
pub struct Config {
    /// The multiplexer.
    pub model: Model,
    /// Supply, in volts (AVCC as the reference).
    pub avcc_volts: f64,
    /// What is connected to AREF, in volts.
    pub aref_volts: f64,
    /// The internal reference: 2.56 V or 1.1 V.
    pub internal_volts: f64,
    /// The bandgap as a channel: 1.23 V or 1.1 V.
    pub bandgap_volts: f64,
    /// The temperature sensor as a channel (ATmega328P): 0.314 V at 25 degrees Celsius.
    pub temperature_volts: f64,
    /// The pins.
    pub input: AnalogInput,
}

impl Config {
    /// An ATmega128 with AREF on its supply.
    pub fn atmega128(avcc_volts: f64, input: AnalogInput) -> Self {
        Self {
            model: Model::Atmega128,
            avcc_volts,
            aref_volts: avcc_volts,
            internal_volts: 2.56,
            bandgap_volts: 1.23,
            temperature_volts: 0.0,
            input,
        }
    }

    /// An ATmega328P with AREF on its supply, at 25 degrees Celsius.
    pub fn atmega328p(avcc_volts: f64, input: AnalogInput) -> Self {
        Self {
            model: Model::Atmega328p,
            avcc_volts,
            aref_volts: avcc_volts,
            internal_volts: 1.1,
            bandgap_volts: 1.1,
            temperature_volts: 0.314,
            input,
        }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("model", &self.model)
            .field("avcc_volts", &self.avcc_volts)
            .finish_non_exhaustive()
    }
}

/// What can start a conversion (ADTS in ADCSRB, ATmega328P).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// The analog comparator's interrupt flag.
    AnalogComparator = 1,
    /// External interrupt 0's flag.
    External0 = 2,
    /// Timer 0, compare match A.
    Timer0CompareA = 3,
    /// Timer 0, overflow.
    Timer0Overflow = 4,
    /// Timer 1, compare match B.
    Timer1CompareB = 5,
    /// Timer 1, overflow.
    Timer1Overflow = 6,
    /// Timer 1, input capture.
    Timer1Capture = 7,
}

/// A conversion under way.
#[derive(Clone, Copy, Debug)]
struct Conversion {
    sample_at: Cycles,
    done_at: Cycles,
    admux: u8,
    code: Option<u16>,
}

/// The converter. Its one interrupt request is bit 0.
#[derive(Clone, Debug)]
pub struct Adc {
    config: Config,
    admux: u8,
    control: u8,
    control_b: u8,
    /// The data register, right-adjusted, and whether a read of ADCL holds it.
    result: u16,
    held: bool,
    conversion: Option<Conversion>,
    /// The prescaler counts from here while the ADC is on.
    prescaler_from: Cycles,
    /// The next conversion is the first since the ADC was switched on.
    first: bool,
    /// When the conversion under way begins; until then it follows ADMUX.
    starts_at: Cycles,
    /// What this unit's clock has missed of the chip's time, in which the analog input is asked.
    lag_cycles: Cycles,
}

impl Adc {
    /// The converter after reset.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            admux: 0,
            control: 0,
            control_b: 0,
            result: 0,
            held: false,
            conversion: None,
            prescaler_from: 0,
            first: true,
            starts_at: NEVER,
            lag_cycles: 0,
        }
    }

    /// Connects the pins to another input.
    pub fn set_input(&mut self, input: AnalogInput) {
        self.config.input = input;
    }

    /// The unit's clock is `cycles` behind the chip's time: it stood still in sleep, or began at a reset.
    pub fn set_lag(&mut self, cycles: Cycles) {
        self.lag_cycles = cycles;
    }

    /// A flag that may start conversions rose. The chip calls this for the source that [`Adc::trigger_source`]
    /// names; another one does nothing.
    pub fn trigger(&mut self, source: Trigger, now: Cycles, effects: &mut Effects) {
        self.advance(now, effects);
        let idle = self.conversion.is_none() && self.starts_at == NEVER;
        if self.trigger_source() == Some(source) && idle {
            // "The prescaler is reset when the trigger event occurs. This assures a fixed delay."
            self.prescaler_from = now + TRIGGER_CYCLES;
            let (sample, done) = if self.first { (27, 50) } else { (4, 27) };
            self.begin(self.prescaler_from, sample, done);
        }
    }

    /// The trigger that the program selected, if conversions are triggered (ADATE with ADTS other than 0).
    pub fn trigger_source(&self) -> Option<Trigger> {
        if self.control & (ADEN | ADATE) != ADEN | ADATE {
            return None;
        }
        match self.control_b & 7 {
            1 => Some(Trigger::AnalogComparator),
            2 => Some(Trigger::External0),
            3 => Some(Trigger::Timer0CompareA),
            4 => Some(Trigger::Timer0Overflow),
            5 => Some(Trigger::Timer1CompareB),
            6 => Some(Trigger::Timer1Overflow),
            7 => Some(Trigger::Timer1Capture),
            _ => None,
        }
    }

    /// Cycles of half an ADC clock: the smallest division is by 2 (table "ADC Prescaler Selections").
    fn half_clock_cycles(&self) -> Cycles {
        match self.control & ADPS {
            0 => 1,
            select => 1 << (select - 1),
        }
    }

    /// Begins a conversion at `start`, with its instants in half ADC clocks.
    fn begin(&mut self, start: Cycles, sample_halves: u64, done_halves: u64) {
        let half = self.half_clock_cycles();
        self.starts_at = start;
        self.first = false;
        self.conversion = Some(Conversion {
            sample_at: start + sample_halves * half,
            done_at: start + done_halves * half,
            admux: self.admux,
            code: None,
        });
    }

    /// "The conversion starts at the following rising edge of the ADC clock cycle."
    fn begin_on_next_edge(&mut self, now: Cycles) {
        let clock = 2 * self.half_clock_cycles();
        let start = self.prescaler_from + ((now - self.prescaler_from) / clock + 1) * clock;
        let (sample, done) = if self.first { (27, 50) } else { (3, 26) };
        self.begin(start, sample, done);
    }

    fn write_control(&mut self, value: u8, now: Cycles) {
        let was_on = self.control & ADEN != 0;
        let flag = self.control & ADIF & !value;
        self.control = value & !(ADIF | ADSC) | flag;
        if value & ADEN == 0 {
            (self.conversion, self.starts_at, self.first) = (None, NEVER, true);
            return;
        }
        if !was_on {
            // "The prescaler keeps running for as long as the ADEN bit is set, and is continuously reset when
            // ADEN is low." The write is over at the end of its cycle.
            self.prescaler_from = now + 1;
        }
        if value & ADSC != 0 && self.conversion.is_none() {
            self.begin_on_next_edge(now.max(self.prescaler_from));
        }
    }

    fn is_free_running(&self) -> bool {
        self.control & ADATE != 0 && self.control_b & 7 == 0
    }

    /// Volts of the reference that `admux` selects; the reserved setting counts as AREF.
    fn reference_volts(&self, admux: u8) -> f64 {
        match admux >> 6 {
            1 => self.config.avcc_volts,
            3 => self.config.internal_volts,
            _ => self.config.aref_volts,
        }
    }

    fn code(&self, admux: u8, cycle: Cycles) -> u16 {
        let reference = self.reference_volts(admux);
        let volts = |channel| (self.config.input)(channel, cycle + self.lag_cycles);
        let mux = admux & self.mux_bits();
        let single = match (self.config.model, mux) {
            (_, 0..=7) => volts(mux),
            (Model::Atmega128, 30) | (Model::Atmega328p, 14) => self.config.bandgap_volts,
            (Model::Atmega328p, 8) => self.config.temperature_volts,
            (Model::Atmega128, 8..=29) => {
                let (positive, negative, gain) = differential(mux);
                // "ADC = (VPOS - VNEG) * GAIN * 512 / VREF", two's complement in ten bits.
                let code = ((volts(positive) - volts(negative)) * gain * CODES / 2.0 / reference).floor();
                return (code.clamp(-512.0, 511.0) as i16 as u16) & 0x3FF;
            }
            // Ground, and the ATmega328P's reserved channels.
            _ => 0.0,
        };
        // "ADC = VIN * 1024 / VREF"; 0x3FF is the selected reference minus one LSB. A float that is no number
        // becomes 0.
        (single * CODES / reference + ROUNDING_CODES).floor().clamp(0.0, CODES - 1.0) as u16
    }

    fn mux_bits(&self) -> u8 {
        if self.config.model == Model::Atmega128 { 0x1F } else { 0x0F }
    }

    fn complete(&mut self, code: u16, done_at: Cycles) {
        self.conversion = None;
        self.starts_at = NEVER;
        // "If ADCL has been read, and a conversion completes before ADCH is read, neither register is updated
        // and the result from the conversion is lost"; the interrupt comes all the same.
        if !self.held {
            self.result = code;
        }
        self.control |= ADIF;
        if self.is_free_running() {
            self.begin(done_at, 3, 26);
        }
    }

    fn adjusted(&self) -> u16 {
        if self.admux & ADLAR != 0 { self.result << 6 } else { self.result }
    }
}

/// Positive and negative channel and gain of the ATmega128's settings 8 to 29 (table "Input Channel and Gain
/// Selections").
fn differential(mux: u8) -> (u8, u8, f64) {
    match mux {
        8..=15 => {
            let negative = if mux < 12 { 0 } else { 2 };
            let gain = if mux & 2 == 0 { 10.0 } else { 200.0 };
            (negative + (mux & 1), negative, gain)
        }
        16..=23 => (mux - 16, 1, 1.0),
        _ => (mux - 24, 2, 1.0),
    }
}

impl Peripheral for Adc {
    type Register = Register;

    fn read(&mut self, register: Register, _now: Cycles) -> u8 {
        match register {
            Register::Admux => self.admux,
            Register::AdcsrA => self.control | if self.conversion.is_some() { ADSC } else { 0 },
            Register::AdcsrB => self.control_b,
            Register::AdcL => {
                self.held = true;
                self.adjusted() as u8
            }
            Register::AdcH => {
                self.held = false;
                (self.adjusted() >> 8) as u8
            }
        }
    }

    fn write(&mut self, register: Register, value: u8, now: Cycles, _effects: &mut Effects) {
        match register {
            Register::Admux => {
                self.admux = value;
                // "Continuously updated until a conversion is started": ADC clock, not ADSC, latches it.
                if let Some(conversion) = &mut self.conversion
                    && now < self.starts_at
                {
                    conversion.admux = value;
                }
            }
            Register::AdcsrA => self.write_control(value, now),
            Register::AdcsrB if self.config.model == Model::Atmega328p => self.control_b = value & 0x47,
            Register::AdcsrB | Register::AdcL | Register::AdcH => {}
        }
    }

    fn advance(&mut self, now: Cycles, effects: &mut Effects) {
        while let Some(conversion) = self.conversion {
            let code = match conversion.code {
                Some(code) => code,
                None if conversion.sample_at > now => return,
                None => {
                    let code = self.code(conversion.admux, conversion.sample_at);
                    let channel = conversion.admux & self.mux_bits();
                    effects.push((conversion.sample_at, Effect::Sampled { channel, code }));
                    self.conversion = Some(Conversion { code: Some(code), ..conversion });
                    code
                }
            };
            if conversion.done_at > now {
                return;
            }
            self.complete(code, conversion.done_at);
        }
    }

    fn due(&self) -> Cycles {
        match &self.conversion {
            Some(Conversion { code: None, sample_at, .. }) => *sample_at,
            Some(conversion) if self.control & ADIE != 0 || self.is_free_running() => conversion.done_at,
            _ => NEVER,
        }
    }

    fn requests(&self) -> u32 {
        u32::from(self.control & (ADIE | ADIF) == ADIE | ADIF)
    }

    fn acknowledge(&mut self, bit: u8, _now: Cycles) {
        assert_eq!(bit, 0, "the ADC has one interrupt");
        self.control &= !ADIF;
    }
}

#[cfg(test)]
mod tests;
