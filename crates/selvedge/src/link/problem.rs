//! What can be wrong with a deployment, one line of [`Kind`] each, in words.
//!
//! Owns the words: what was found, what was expected, and the fix where it is known. Finding problems is left
//! to the readers (`section`, `draft`, `schedule`), showing them in their text to `diagnostic`.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use super::quantity::{Hertz, Millivolts, Span, up_to_us};

/// One fault of a deployment and the bytes of the text that it lies in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// Bytes of the text.
    pub span: Range<usize>,
    /// What is wrong.
    pub kind: Kind,
}

/// What is wrong. Fields are found and expected; durations are in picoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Not TOML.
    Syntax { message: String },
    /// A key that nothing reads.
    UnknownKey { key: String, section: String, known: Vec<&'static str> },
    /// A key that must be there.
    MissingKey { key: &'static str, section: String, example: String },
    /// A value of another TOML type.
    WrongType { found: &'static str, expected: String, example: String },
    /// A string that does not begin with a number.
    NotANumber { found: String, expected: &'static str, example: &'static str },
    /// A number that needs a unit.
    NoUnit { found: String, expected: &'static str, example: String },
    /// A unit of another dimension.
    UnknownUnit { unit: String, expected: &'static str, units: Vec<&'static str> },
    /// A value between two grains of its dimension.
    TooFine { found: String, grain: &'static str },
    /// Beyond the limits of what is measured or encoded.
    OutOfRange { what: &'static str, found: String, min: String, max: String },
    /// A word that cannot be what it was told to be.
    Unfit { what: &'static str, found: String, expected: String, example: &'static str },
    /// A name that is not in its list.
    UnknownName { what: &'static str, found: String, known: Vec<String> },
    /// A legacy suite that nobody allowed.
    Legacy { suite: &'static str },
    /// A suite that no node's firmware speaks.
    NoFirmware { suite: &'static str },
    /// Not one of the SPI clock's dividers.
    NotADivider { found: String },
    /// A name that is not made of a-z, 0-9 and `-`.
    BadName { found: String },
    /// Two things with one identity; `first_line` has the other one.
    Duplicate { what: &'static str, found: u64, first_line: usize },
    /// Two nodes transmit at once.
    SlotTaken { slot: u64, first: String, first_line: usize, free: Option<u64> },
    /// No node, so nothing to run.
    Empty { what: &'static str },
    /// The slots do not fit into the superframe.
    SuperframeOverfull { slots: u64, slot_ps: u64, superframe_ps: u64, slots_fit: u64 },
    /// A transmission does not fit into its slot.
    SlotTooShort { what: String, bytes: u64, air_ps: u64, guard_ps: u64, slot_ps: u64 },
    /// A frame that is still being sealed when its slot comes.
    SealedTooLate { suite: &'static str, bytes: u64, slot: u64, latest_ps: u64, ready_ps: u64, fix: InTime },
    /// A beacon that is verified, behind the node's frame, when the next superframe has begun.
    VerifiedTooLate { slot: u64, armed_ps: u64, superframe_ps: u64, fix: InTime },
    /// A frame that is sealed beside another one, and goes on to be when the downlink begins.
    SealedPastDownlink { slot: u64, free_ps: u64, downlink_ps: u64, fix: InTime },
    /// The guard does not cover what two clocks may be off after one superframe.
    GuardTooShort { guard_ps: u64, needs_ps: u64 },
    /// A sampling rate that the node's firmware cannot keep.
    SamplesTooFast { rate_hz: u64, clock_hz: u64, rate_hz_max: u64 },
    /// A frame over the format's limit.
    FrameTooLong { samples: u64, samples_max: u64 },
    /// A batch of a cell that the crypto device cannot seal.
    BatchTooLong { cell: String, superframes: u64, bytes: u64, most: (u64, &'static str), fit: u64 },
    /// The sampling grid does not divide the superframe.
    SamplesNotWhole { rate_hz: u64, superframe_ps: u64 },
    /// A setting from a sample on that is not the first of a frame.
    NotFirst { found: u64, samples: u64 },
    /// A rate of a setting that is no whole part of the node's, or of its frame.
    NoSuchRate { found_hz: u64, rates_hz: Vec<u64> },
    /// A bit clock that a listener on the bus cannot follow.
    BusTooFast { bit_hz: u64, listener: String, listener_hz: u64, fix: String },
    /// Bytes that follow each other faster than a listening node takes them.
    BytesTooFast { byte_ps: u64, listener: String, needs_ps: u64 },
    /// A chip without room for filters that are two at once.
    NoRoomForFilters { chip: &'static str, filters: &'static str, sram_bytes: u64, static_bytes: u64 },
    /// A woven frame that keeps interrupts off for longer than sampling and clock can make up for.
    WovenTooLong { bytes: u64, divider: u64, cycles: u64, cycles_max: u64 },
    /// A recording that cannot be read.
    Recording { path: PathBuf, fault: String },
    /// A recording that ends before the run does.
    RecordingTooShort { recording_ps: u64, needs_ps: u64 },
    /// A signal that leaves the converter's range.
    Clipped { lowest_nv: i128, highest_nv: i128, reference_nv: u64 },
    /// Threads that would have both a core and deadlines.
    PinnedWithDeadlines,
    /// What would remove something of a store of many logs.
    RetainedWithNats { key: &'static str },
    /// One of two keys that only make sense together.
    Alone { key: &'static str, other: &'static str },
}

/// The smallest change that gives a node the time it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InTime {
    /// Another slot, in the superframe that there is.
    Slot(u64),
    /// A longer superframe, and the first slot that will do in it.
    Superframe { superframe_ps: u64, slot: u64 },
    /// Longer slots.
    SlotLength { slot_ps: u64 },
    /// There is none for this node at this rate.
    Nothing { is_ascon: bool },
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Syntax { message } => write!(f, "{}", message.trim()),
            Kind::UnknownKey { key, section, .. } => write!(f, "unknown key `{key}` in {section}"),
            Kind::MissingKey { key, section, .. } => write!(f, "{section} lacks the key `{key}`"),
            Kind::WrongType { found, expected, .. } => write!(f, "found {found}, expected {expected}"),
            Kind::NotANumber { found, expected, .. } => write!(f, "`{found}` is not {expected}"),
            Kind::NoUnit { found, expected, .. } => write!(f, "`{found}` has no unit, expected {expected}"),
            Kind::UnknownUnit { unit, expected, .. } => write!(f, "`{unit}` is not a unit of {expected}"),
            Kind::TooFine { found, grain } => write!(f, "`{found}` is not a whole number of {grain}"),
            Kind::OutOfRange { what, found, min, max } => {
                write!(f, "{what} is {found}, expected {min} to {max}")
            }
            Kind::Unfit { what, found, expected, .. } => {
                write!(f, "{what} is `{found}`, expected {expected}")
            }
            Kind::UnknownName { what, found, .. } => write!(f, "unknown {what} `{found}`"),
            Kind::Legacy { suite } => {
                write!(f, "`{suite}` is a legacy suite: it has no tag, so nobody knows who sent what it says")
            }
            Kind::NoFirmware { suite } => {
                write!(f, "`{suite}` is a legacy suite, and no node's firmware speaks it")
            }
            Kind::NotADivider { found } => write!(
                f,
                "`{found}` is not a divider of the SPI clock, expected `f/2`, `f/4`, `f/8`, `f/16`, `f/32`, `f/64` or `f/128`"
            ),
            Kind::BadName { found } => {
                write!(f, "`{found}` is not a name, expected 1 to 32 of a-z, 0-9 and `-`")
            }
            Kind::Duplicate { what, found, first_line } => {
                write!(f, "{what} {found} is taken already, on line {first_line}")
            }
            Kind::SlotTaken { slot, first, first_line, .. } => {
                write!(f, "slot {slot} belongs to {first} already, on line {first_line}")
            }
            Kind::Empty { what } => write!(f, "found no {what}, expected at least one"),
            Kind::SuperframeOverfull { slots, slot_ps, superframe_ps, .. } => write!(
                f,
                "{slots} slots of {} take {}, and the superframe has {}",
                Span(*slot_ps),
                Span(slots * slot_ps),
                Span(*superframe_ps)
            ),
            Kind::SlotTooShort { what, bytes, air_ps, guard_ps, slot_ps } => write!(
                f,
                "{what} has {bytes} bytes and takes {} between two guards of {}, and the slot has {}",
                Span(*air_ps),
                Span(*guard_ps),
                Span(*slot_ps)
            ),
            Kind::SealedTooLate { suite, bytes, slot, latest_ps, ready_ps, .. } => write!(
                f,
                "a frame of {bytes} bytes under {suite} is ready {} after its superframe begins, and slot {slot} holds it if it is sent by {}",
                Span(*ready_ps),
                Span(*latest_ps)
            ),
            Kind::VerifiedTooLate { slot, armed_ps, superframe_ps, .. } => write!(
                f,
                "behind its frame in slot {slot} the node verifies the beacon until {}, and the superframe has {}",
                Span(*armed_ps),
                Span(*superframe_ps)
            ),
            Kind::SealedPastDownlink { slot, free_ps, downlink_ps, .. } => write!(
                f,
                "beside its frame in slot {slot} the node seals the next one until {} after its superframe begins, and the downlink begins after {}",
                Span(*free_ps),
                Span(*downlink_ps)
            ),
            Kind::GuardTooShort { guard_ps, needs_ps } => write!(
                f,
                "the clocks of a node and its gateway may be {} apart after a superframe, more than the guard of {}",
                Span(*needs_ps),
                Span(*guard_ps)
            ),
            Kind::SamplesTooFast { rate_hz, clock_hz, .. } => {
                write!(f, "{} are too many samples for a node at {}", Hertz(*rate_hz), Hertz(*clock_hz))
            }
            Kind::FrameTooLong { samples, samples_max } => {
                write!(
                    f,
                    "{samples} samples in a superframe, expected at most {samples_max}, which fill a frame"
                )
            }
            Kind::BatchTooLong { cell, superframes, bytes, most: (bytes_max, why), .. } => write!(
                f,
                "{superframes} superframes of cell `{cell}` make a batch of {bytes} bytes, expected at most {bytes_max}, which {why}"
            ),
            Kind::SamplesNotWhole { rate_hz, superframe_ps } => write!(
                f,
                "a superframe of {} does not hold a whole number of samples at {}",
                Span(*superframe_ps),
                Hertz(*rate_hz)
            ),
            Kind::NotFirst { found, samples } => {
                write!(f, "sample {found} is not the first of a frame, which holds {samples}")
            }
            Kind::NoSuchRate { found_hz, rates_hz } => {
                let rates: Vec<String> = rates_hz.iter().map(|&rate_hz| Hertz(rate_hz).to_string()).collect();
                write!(
                    f,
                    "the node cannot be set to {}, expected one of: {}",
                    Hertz(*found_hz),
                    rates.join(", ")
                )
            }
            Kind::BusTooFast { bit_hz, listener, listener_hz, .. } => write!(
                f,
                "bits at {} are too fast for {listener}: a slave at {} follows at most {}",
                Hertz(*bit_hz),
                Hertz(*listener_hz),
                Hertz(listener_hz / crate::limits::SLAVE_DIVIDER_MIN)
            ),
            Kind::BytesTooFast { byte_ps, listener, needs_ps } => write!(
                f,
                "a byte every {} is too fast for {listener}, which takes one every {}",
                Span(*byte_ps),
                Span(*needs_ps)
            ),
            Kind::NoRoomForFilters { chip, filters, sram_bytes, static_bytes } => write!(
                f,
                "an {chip} has no room for `{filters}` filters: found {sram_bytes} bytes of SRAM, and they take up to {static_bytes}"
            ),
            Kind::WovenTooLong { bytes, divider, cycles, cycles_max } => write!(
                f,
                "a woven frame of {bytes} bytes at f/{divider} takes {cycles} cycles, and at this rate of samples {cycles_max} are the most"
            ),
            Kind::Recording { path, fault } => write!(f, "recording `{}`: {fault}", path.display()),
            Kind::RecordingTooShort { recording_ps, needs_ps } => write!(
                f,
                "the recording lasts {}, and this node needs {}",
                Span(*recording_ps),
                Span(*needs_ps)
            ),
            Kind::Clipped { lowest_nv, highest_nv, reference_nv } => write!(
                f,
                "the converter sees {} to {}, and its range is 0 mV to {}",
                Millivolts(*lowest_nv),
                Millivolts(*highest_nv),
                Millivolts(i128::from(*reference_nv))
            ),
            Kind::PinnedWithDeadlines => f.write_str(
                "found `pin = true` with `policy = \"deadline\"`: Linux pins no thread that has deadlines",
            ),
            Kind::RetainedWithNats { key } => write!(
                f,
                "found `{key}` with transport `nats`: each lease has a log of its own, and those of former leases are never removed"
            ),
            Kind::Alone { key, other } => {
                write!(f, "found `{key}` without `{other}`, expected both or neither")
            }
        }
    }
}

impl Kind {
    /// What to do about it, where that is known.
    pub fn help(&self) -> Option<String> {
        match self {
            Kind::UnknownKey { key, known, .. } => Some(closest(key, known)),
            Kind::UnknownName { found, known, .. } => {
                Some(closest(found, &known.iter().map(String::as_str).collect::<Vec<_>>()))
            }
            Kind::MissingKey { key, example, .. } => Some(format!("add `{key} = {example}`")),
            Kind::WrongType { example, .. } => Some(format!("write `{example}`")),
            Kind::NotANumber { example, .. } | Kind::Unfit { example, .. } => {
                Some(format!("write it like `\"{example}\"`"))
            }
            Kind::NoUnit { example, .. } => Some(format!("write it like `{example}`")),
            Kind::UnknownUnit { units, .. } => Some(format!("use {}", list(units))),
            Kind::Legacy { .. } => Some(
                "leave `suite` out, or write `allow_legacy = true` in [collect]: what is stored of it is marked"
                    .into(),
            ),
            Kind::NoFirmware { .. } => {
                Some("leave `suite` out; a computer may be `[[cell.NAME.computer]]`".into())
            }
            Kind::SuperframeOverfull { slots_fit, .. } => Some(format!(
                "{slots_fit} slots fit, the beacon's and the downlink's included: shorten `slot`, lengthen `superframe` or move nodes to another cell"
            )),
            Kind::SlotTooShort { air_ps, guard_ps, .. } => {
                Some(format!("a slot of {} would hold it", Span(up_to_us(air_ps + 2 * guard_ps))))
            }
            Kind::SealedTooLate { fix, .. } | Kind::VerifiedTooLate { fix, .. } => Some(in_time(fix)),
            Kind::SealedPastDownlink { fix, .. } => {
                Some(format!("{}, or write `filters = \"discrete\"`", in_time(fix)))
            }
            Kind::GuardTooShort { needs_ps, .. } => {
                Some(format!("write `guard = \"{}\"`", Span(up_to_us(*needs_ps))))
            }
            Kind::BatchTooLong { fit: 0, .. } => Some("move nodes to another cell".into()),
            Kind::BatchTooLong { fit, .. } => Some(format!("write `batch_superframes = {fit}` or less")),
            Kind::FrameTooLong { .. } => Some("lower `rate` or shorten `superframe`".into()),
            Kind::SamplesTooFast { rate_hz_max, .. } => Some(format!("it keeps {rate_hz_max} Hz")),
            Kind::SamplesNotWhole { rate_hz, superframe_ps } => Some(whole_samples(*rate_hz, *superframe_ps)),
            Kind::NotFirst { found, samples } => {
                Some(format!("write `first = {}`", found.next_multiple_of(*samples)))
            }
            Kind::BusTooFast { fix, .. } => Some(format!("write `bus = \"{fix}\"` or slower")),
            Kind::SlotTaken { free, .. } => free.map(|free| format!("slot {free} is free")),
            Kind::BytesTooFast { .. } => Some("lower `bus` or lengthen `byte_gap` of the cell".into()),
            Kind::NoRoomForFilters { .. } => Some("write `filters = \"discrete\"`".into()),
            Kind::WovenTooLong { .. } => {
                Some("use a faster `bus` or a lower `rate`, or write `filters = \"discrete\"`".into())
            }
            Kind::RecordingTooShort { .. } => {
                Some("shorten `duration`, begin earlier, or write `repeat = true` in the input".into())
            }
            Kind::PinnedWithDeadlines => Some("leave `pin` out, or write `policy = \"fifo\"`".into()),
            Kind::RetainedWithNats { key } => {
                Some(format!("leave `{key}` out; where room is needed, move folders of former leases away"))
            }
            Kind::Clipped { .. } => Some("lower `gain` or move `offset`".into()),
            Kind::Syntax { .. }
            | Kind::TooFine { .. }
            | Kind::OutOfRange { .. }
            | Kind::NotADivider { .. }
            | Kind::NoSuchRate { .. }
            | Kind::BadName { .. }
            | Kind::Duplicate { .. }
            | Kind::Empty { .. }
            | Kind::Recording { .. }
            | Kind::Alone { .. } => None,
        }
    }
}

/// Jaro-Winkler similarity below which a suggestion would only mislead.
const SIMILARITY_MIN: f64 = 0.75;

fn closest(found: &str, known: &[&str]) -> String {
    let best = known
        .iter()
        .map(|name| (strsim::jaro_winkler(found, name), *name))
        .filter(|(similarity, _)| *similarity >= SIMILARITY_MIN)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    match best {
        Some((_, name)) => format!("did you mean `{name}`?"),
        None => format!("expected {}", list(known)),
    }
}

fn list(names: &[&str]) -> String {
    match names {
        [] => "none".into(),
        [only] => format!("`{only}`"),
        [first @ .., last] => {
            let first: Vec<_> = first.iter().map(|name| format!("`{name}`")).collect();
            format!("{} or `{last}`", first.join(", "))
        }
    }
}

fn in_time(fix: &InTime) -> String {
    match fix {
        InTime::Slot(slot) => format!("slot {slot} is the first that will do"),
        InTime::Superframe { superframe_ps, slot } => format!(
            "a superframe of {} is the shortest that will do at this rate, with slot {slot}",
            Span(*superframe_ps)
        ),
        InTime::SlotLength { slot_ps } => format!("a slot of {} would do", Span(*slot_ps)),
        InTime::Nothing { is_ascon: true } => "use a faster clock or a lower rate".into(),
        InTime::Nothing { is_ascon: false } => "use `ascon-aead128`, a faster clock or a lower rate".into(),
    }
}

/// The nearest whole-sample rates around `rate_hz`.
fn whole_samples(rate_hz: u64, superframe_ps: u64) -> String {
    let second = u128::from(crate::limits::PS_PER_SECOND);
    let whole = |rate: u64| (u128::from(rate) * u128::from(superframe_ps)).is_multiple_of(second);
    let below = (1..rate_hz).rev().take(1_000).find(|rate| whole(*rate));
    let above = (rate_hz + 1..).take(1_000).find(|rate| whole(*rate));
    match (below, above) {
        (Some(below), Some(above)) => format!("{below} Hz and {above} Hz do"),
        (None, Some(only)) | (Some(only), None) => format!("{only} Hz does"),
        (None, None) => "choose a superframe that is a multiple of the sampling period".into(),
    }
}
