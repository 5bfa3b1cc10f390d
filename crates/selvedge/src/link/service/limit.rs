//! The limits that a configuration may set, a line each.
//!
//! Owns their keys and ranges; what they limit is the broker's.

use std::time::Duration;

use broker::Settings;
use broker::limits as ceiling;

use super::super::problem::{Kind, Problem};
use super::super::quantity::{DURATION, SIZE};
use super::super::section::{At, Section};
use crate::limits;

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Things.
    Count,
    /// Bytes.
    Size,
    /// Microseconds.
    Time,
}

/// A limit that the file may set.
pub struct Limit {
    /// Its key in `[limits]`.
    pub key: &'static str,
    /// What its numbers are.
    pub unit: Unit,
    /// The least.
    pub min: u64,
    /// The most.
    pub max: u64,
    /// Whether a reload sets it.
    pub reloads: bool,
    /// What it limits.
    pub meaning: &'static str,
    get: fn(&Settings) -> u64,
    set: fn(&mut Settings, u64),
}

const fn us(time: Duration) -> u64 {
    time.as_micros() as u64
}

/// The least of most times.
const MS: u64 = us(Duration::from_millis(1));

macro_rules! limit_table {
    ($($key:literal $unit:ident $min:expr, $max:expr, $reloads:literal, $field:ident $(. $inner:ident)?, $meaning:literal;)*) => {
        /// All of them.
        pub static LIMITS: &[Limit] = &[$(Limit {
            key: $key,
            unit: Unit::$unit,
            min: $min as u64,
            max: $max as u64,
            reloads: $reloads,
            meaning: $meaning,
            get: |settings| Value::into(settings.$field$(.$inner)?),
            set: |settings, value| settings.$field$(.$inner)? = Value::of(value),
        }),*];
    };
}

limit_table! {
    "connections" Count 1, ceiling::CONNECTIONS_MAX, true, bounds.connections, "connections at a time";
    "connections_per_user" Count 1, ceiling::CONNECTIONS_MAX, true, bounds.connections_per_user, "those of one user";
    "requests" Count 1, ceiling::REQUESTS_MAX, true, bounds.requests, "requests that are not answered";
    "requests_per_user" Count 1, ceiling::REQUESTS_MAX, true, bounds.requests_per_user, "those of one user";
    "requests_per_connection" Count 1, ceiling::REQUESTS_PER_CONNECTION_MAX, true, bounds.requests_per_connection,
        "those of one connection";
    "request_bytes" Size ceiling::PDU_BYTES_MAX, ceiling::REQUEST_BYTES_MAX, true, bounds.request_bytes,
        "what they hold, each the longer of itself and its longest answer";
    "request_bytes_per_user" Size ceiling::PDU_BYTES_MAX, ceiling::REQUEST_BYTES_MAX, true,
        bounds.request_bytes_per_user, "what those of one user hold";
    "unfinished_bytes" Size ceiling::UNFINISHED_BYTES_MIN, ceiling::UNFINISHED_BYTES_MAX, true, bounds.unfinished_bytes,
        "what connections hold besides: requests that are not whole or not looked at, refusals that are not read";
    "unfinished_bytes_per_user" Size ceiling::UNFINISHED_BYTES_MIN, ceiling::UNFINISHED_BYTES_MAX, true,
        bounds.unfinished_bytes_per_user, "what those of one user hold besides";
    "age" Time us(ceiling::AGE_MIN), us(ceiling::AGE_MAX), true, age_max,
        "how long a lane waits for those before it";
    "attention" Time 0, us(ceiling::ATTENTION_MAX), true, attention,
        "how long the broker looks out for more of who asks alone, before it sleeps";
    "in_flight" Count 1, ceiling::IN_FLIGHT_MAX, true, in_flight_max, "requests at the device";
    "in_flight_bytes" Size 1, ceiling::IN_FLIGHT_BYTES_MAX, true, in_flight_bytes_max,
        "what they hold; one is always allowed";
    "transfers" Count 1, ceiling::TRANSFERS_MAX, true, transfers_max, "transfers that are not on their way as a whole";
    "transfer_bytes" Size 1, ceiling::TRANSFER_BYTES_MAX, false, transfer_bytes_max, "the longest transfer";
    "answer_time" Time MS, us(ceiling::ANSWER_MAX), true, answer_max, "how long the device may take";
    "unread_time" Time MS, us(ceiling::UNREAD_MAX), true, unread_max, "how long answers may stay unread";
    "request_time" Time MS, us(ceiling::REQUEST_TIME_MAX), true, request_max, "how long a request may take to come as a whole";
    "start_time" Time MS, us(ceiling::START_MAX), false, start_max, "how long the device is waited for at the start";
}

/// A value of the settings as a number.
trait Value: Sized {
    fn of(value: u64) -> Self;
    fn into(self) -> u64;
}

impl Value for usize {
    fn of(value: u64) -> usize {
        value as usize
    }

    fn into(self) -> u64 {
        self as u64
    }
}

impl Value for Duration {
    fn of(value: u64) -> Duration {
        Duration::from_micros(value)
    }

    fn into(self) -> u64 {
        us(self)
    }
}

impl Limit {
    /// What these settings say.
    pub fn of(&self, settings: &Settings) -> u64 {
        (self.get)(settings)
    }

    /// Has these settings say what others do.
    pub(super) fn copy(&self, from: &Settings, to: &mut Settings) {
        (self.set)(to, (self.get)(from));
    }

    /// A value of this limit as a person would write it.
    pub fn text(&self, value: u64) -> String {
        match self.unit {
            Unit::Count => value.to_string(),
            Unit::Time if value.is_multiple_of(1_000_000) => format!("{} s", value / 1_000_000),
            Unit::Time if value.is_multiple_of(1000) => format!("{} ms", value / 1000),
            Unit::Time => format!("{value} us"),
            Unit::Size if value.is_multiple_of(1024 * 1024) => format!("{} MiB", value / 1024 / 1024),
            Unit::Size if value.is_multiple_of(1024) => format!("{} KiB", value / 1024),
            Unit::Size => format!("{value} B"),
        }
    }

    fn read_one(&self, section: &mut Section<'_>, problems: &mut Vec<Problem>) -> Option<u64> {
        let bounds = [&*self.text(self.min), &*self.text(self.max)];
        let value = match self.unit {
            Unit::Count => section.integer(self.key, self.min as i64..=self.max as i64, problems),
            Unit::Size => section.quantity(self.key, &SIZE, bounds, problems),
            Unit::Time => section.quantity(self.key, &DURATION, bounds, problems),
        };
        let value = value?;
        match self.unit {
            Unit::Time => whole_us(value, problems),
            Unit::Count | Unit::Size => Some(value.value.unsigned_abs()),
        }
    }
}

/// A time in microseconds, if it is that many.
pub(super) fn whole_us(time: At<i64>, problems: &mut Vec<Problem>) -> Option<u64> {
    let ps_per_us = limits::PS_PER_US as i64;
    if time.value % ps_per_us == 0 {
        return Some((time.value / ps_per_us).unsigned_abs());
    }
    let found = format!("{} ps", time.value);
    problems.push(Problem { span: time.span, kind: Kind::TooFine { found, grain: "microseconds" } });
    None
}

/// A limit of one user that is not said is half of that of all, so that nobody keeps the others out.
pub(super) fn read(section: &mut Section<'_>, settings: &mut Settings, problems: &mut Vec<Problem>) {
    let mut said = Vec::new();
    for limit in LIMITS {
        if let Some(value) = limit.read_one(section, problems) {
            (limit.set)(settings, value);
            said.push(limit.key);
        }
    }
    let bounds = &mut settings.bounds;
    if !said.contains(&"connections_per_user") {
        bounds.connections_per_user = (bounds.connections / 2).max(1);
    }
    if !said.contains(&"requests_per_user") {
        bounds.requests_per_user = (bounds.requests / 2).max(1);
    }
    if !said.contains(&"request_bytes_per_user") {
        bounds.request_bytes_per_user = (bounds.request_bytes / 2).max(ceiling::PDU_BYTES_MAX);
    }
    if !said.contains(&"unfinished_bytes_per_user") {
        let half_bytes = bounds.unfinished_bytes / 2;
        bounds.unfinished_bytes_per_user = half_bytes.max(ceiling::UNFINISHED_BYTES_MIN);
    }
}
