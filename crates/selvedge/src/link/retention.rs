//! How long the server keeps what it stored: the keys `retain` and `retain_for` of `[collect]`.
//!
//! Owns the keys and their bounds. What is removed, and when, is the store's (`collect`).

use serde::Serialize;

use super::draft::Maybe;
use super::problem::{Kind, Problem};
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

/// Reads the keys of `[collect]` that are about it. A server that is one of several, where `is_shared`, keeps everything:
/// its next log knows no counter of the one before, so that to remove that one would be to forget them.
pub(super) fn read(
    section: &mut Section<'_>,
    is_shared: bool,
    problems: &mut Vec<Problem>,
) -> RetentionDraft {
    let bytes = section.quantity("retain", &SIZE, BYTES, problems);
    let seconds = section.quantity("retain_for", &AGE, AGES, problems);
    for (key, value) in [("retain", &bytes), ("retain_for", &seconds)] {
        if let Some(asked) = value.as_ref().filter(|_| is_shared) {
            problems.push(Problem { span: asked.span.clone(), kind: Kind::RetainedWithNats { key } });
        }
    }
    RetentionDraft { bytes, seconds }
}

impl RetentionDraft {
    /// The checked value.
    pub(super) fn finish(&self) -> Retention {
        let positive = |value: &Maybe<i64>| value.as_ref().map(|value| value.value.unsigned_abs());
        Retention { retain_bytes: positive(&self.bytes), retain_s: positive(&self.seconds) }
    }
}
