//! The tables of the timers: waveform generation modes, compare output modes, clock selects.
//!
//! Sources: ATmega128 datasheet tables "Waveform Generation Mode Bit Description", "Compare Output Mode" and
//! "Clock Select Bit Description" of each timer, and the same tables of the ATmega328P datasheet.
//! Reserved settings count as normal mode and as a disconnected pin.

/// The kinds of counter in the two chips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 8 bits, one compare unit, one control register (ATmega128 timers 0 and 2).
    Single8,
    /// 8 bits, compare units A and B (ATmega328P timers 0 and 2).
    Double8,
    /// 16 bits, compare units A and B (ATmega328P timer 1).
    Double16,
    /// 16 bits, compare units A, B and C (ATmega128 timers 1 and 3).
    Triple16,
}

impl Kind {
    pub fn is_16_bit(self) -> bool {
        matches!(self, Self::Double16 | Self::Triple16)
    }

    pub fn channels(self) -> usize {
        match self {
            Self::Single8 => 1,
            Self::Double8 | Self::Double16 => 2,
            Self::Triple16 => 3,
        }
    }

    pub fn max(self) -> u16 {
        if self.is_16_bit() { 0xFFFF } else { 0xFF }
    }

    pub fn mode(self, wgm: u8) -> Mode {
        if self.is_16_bit() { MODES_16[usize::from(wgm)] } else { MODES_8[usize::from(wgm)] }
    }

    /// What compare output mode `com` makes of `channel`'s pin under waveform mode `wgm`.
    pub fn connection(self, wgm: u8, com: u8, channel: usize) -> Connection {
        let pwm = self.mode(wgm).slope != Slope::Plain;
        match (pwm, com) {
            (_, 0) => Connection::Port,
            (false, 1) => Connection::Toggle,
            (false, 2) => Connection::Clear,
            (false, _) => Connection::Set,
            (true, 1) if channel == 0 && self.toggles_in_pwm(wgm) => Connection::Toggle,
            (true, 1) => Connection::Port,
            (true, 2) => Connection::Pwm { inverted: false },
            (true, _) => Connection::Pwm { inverted: true },
        }
    }

    fn toggles_in_pwm(self, wgm: u8) -> bool {
        match self {
            Self::Single8 => false,
            Self::Double8 => matches!(wgm, 5 | 7),
            Self::Double16 => matches!(wgm, 9 | 11 | 14 | 15),
            Self::Triple16 => matches!(wgm, 9 | 11 | 15),
        }
    }
}

/// How a counter moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slope {
    /// Normal and CTC: up to TOP, then 0; compare registers are not buffered.
    Plain,
    /// Fast PWM: up to TOP, then 0; compare registers change there.
    Fast,
    /// Phase correct PWM: up to TOP and down again; compare registers change at TOP.
    DualAtTop,
    /// Phase and frequency correct PWM: as before, but compare registers change at BOTTOM.
    DualAtBottom,
}

/// Where a counter turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Top {
    Max,
    Fixed(u16),
    CompareA,
    Capture,
}

/// A waveform generation mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    pub slope: Slope,
    pub top: Top,
}

impl Mode {
    pub const NORMAL: Self = mode(Slope::Plain, Top::Max);

    pub fn is_dual(self) -> bool {
        matches!(self.slope, Slope::DualAtTop | Slope::DualAtBottom)
    }
}

const fn mode(slope: Slope, top: Top) -> Mode {
    Mode { slope, top }
}

const MODES_8: [Mode; 8] = [
    Mode::NORMAL,
    mode(Slope::DualAtTop, Top::Max),
    mode(Slope::Plain, Top::CompareA),
    mode(Slope::Fast, Top::Max),
    Mode::NORMAL,
    mode(Slope::DualAtTop, Top::CompareA),
    Mode::NORMAL,
    mode(Slope::Fast, Top::CompareA),
];

const MODES_16: [Mode; 16] = [
    Mode::NORMAL,
    mode(Slope::DualAtTop, Top::Fixed(0x00FF)),
    mode(Slope::DualAtTop, Top::Fixed(0x01FF)),
    mode(Slope::DualAtTop, Top::Fixed(0x03FF)),
    mode(Slope::Plain, Top::CompareA),
    mode(Slope::Fast, Top::Fixed(0x00FF)),
    mode(Slope::Fast, Top::Fixed(0x01FF)),
    mode(Slope::Fast, Top::Fixed(0x03FF)),
    mode(Slope::DualAtBottom, Top::Capture),
    mode(Slope::DualAtBottom, Top::CompareA),
    mode(Slope::DualAtTop, Top::Capture),
    mode(Slope::DualAtTop, Top::CompareA),
    mode(Slope::Plain, Top::Capture),
    Mode::NORMAL,
    mode(Slope::Fast, Top::Capture),
    mode(Slope::Fast, Top::CompareA),
];

/// What a compare unit does to its pin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Connection {
    /// The pin is the port's.
    #[default]
    Port,
    Toggle,
    Clear,
    Set,
    Pwm {
        inverted: bool,
    },
}

/// What a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Stopped,
    /// A tap of the prescaler: all divide by a power of two.
    Divided {
        log2: u32,
    },
    /// Falling edges on the counter's T pin.
    Falling,
    /// Rising edges on it.
    Rising,
}

/// Clock select of the counters that have a T pin.
pub const SOURCES_WITH_PIN: [Source; 8] = [
    Source::Stopped,
    Source::Divided { log2: 0 },
    Source::Divided { log2: 3 },
    Source::Divided { log2: 6 },
    Source::Divided { log2: 8 },
    Source::Divided { log2: 10 },
    Source::Falling,
    Source::Rising,
];

/// Clock select of the counters that can run from the crystal.
pub const SOURCES_WITH_CRYSTAL: [Source; 8] = [
    Source::Stopped,
    Source::Divided { log2: 0 },
    Source::Divided { log2: 3 },
    Source::Divided { log2: 5 },
    Source::Divided { log2: 6 },
    Source::Divided { log2: 7 },
    Source::Divided { log2: 8 },
    Source::Divided { log2: 10 },
];
