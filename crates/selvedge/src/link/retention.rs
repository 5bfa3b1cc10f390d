//! How long the server keeps what it stored: the keys `retain` and `retain_for` of `[collect]`.
//!
//! Owns the keys and their bounds. What is removed, and when, is the store's (`collect`).

use serde::Serialize;

use super::draft::Maybe;
use super::problem::Problem;
use super::quantity::{AGE, SIZE};
use super::section::Section;

/// Least and most bytes: two segments of the store, and 1 PiB.
const BYTES: [&str; 2] = ["128 MiB", "1048576 GiB"];
/// Least and most time after a segment's end.
const AGES: [&str; 2] = ["1 s", "36500 d"];

/// What is kept; `None` means all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Retention {
    /// The newest so many bytes.
    pub retain_bytes: Option<u64>,
    /// What was stored in the last so many seconds.
    pub retain_s: Option<u64>,
}

impl Retention {
    /// Whether everything is kept.
    pub fn is_none(&self) -> bool {
        *self == Retention::default()
    }
}

/// What a deployment says of it.
pub(super) struct RetentionDraft {
    bytes: Maybe<i64>,
    seconds: Maybe<i64>,
}

/// Reads the keys of `[collect]` that are about it.
pub(super) fn read(section: &mut Section<'_>, problems: &mut Vec<Problem>) -> RetentionDraft {
    RetentionDraft {
        bytes: section.quantity("retain", &SIZE, BYTES, problems),
        seconds: section.quantity("retain_for", &AGE, AGES, problems),
    }
}

impl RetentionDraft {
    /// The checked value.
    pub(super) fn finish(&self) -> Retention {
        let positive = |value: &Maybe<i64>| value.as_ref().map(|value| value.value.unsigned_abs());
        Retention { retain_bytes: positive(&self.bytes), retain_s: positive(&self.seconds) }
    }
}
