//! Computers that send waveforms in a cell's batches, as the papers' do: `[[cell.NAME.computer]]`.
//!
//! No simulated node is one: what each sends is a program's business, which has its keys. Owns what a deployment says of them.
//! A computer may use a legacy suite where `[collect]` allows it; a node's firmware speaks none.

use cipher::Suite;
use serde::Serialize;

use super::deployment::by_name;
use super::draft::{Draft, Maybe, suite};
use super::problem::{Kind, Problem};
use super::quantity::FREQUENCY;
use super::schedule::DEFAULT_SUITE;
use super::section::Section;
use crate::limits;

/// A data acquisition computer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Computer {
    /// Identity, unique among nodes and computers of the deployment.
    pub id: u32,
    /// Samples a second of its grid.
    pub rate_hz: u64,
    /// Cipher suite of its frames.
    #[serde(serialize_with = "by_name")]
    pub suite: Suite,
}

/// What a deployment says of one.
pub(super) struct ComputerDraft {
    pub id: Maybe<i64>,
    rate: Maybe<i64>,
    suite: Maybe<Suite>,
}

/// Reads those of the cell of this name.
pub(super) fn read(name: &str, cell: &mut Section<'_>, problems: &mut Vec<Problem>) -> Vec<ComputerDraft> {
    let tables = cell.array("computer", problems);
    let label = format!("cell.{name}.computer");
    let computer = |table: super::section::At<_>| {
        let mut section = Section::new(label.clone(), table.value, table.span).element(None);
        section.require(&[("id", "9"), ("rate", "\"1 kHz\"")], problems);
        let computer = ComputerDraft {
            id: section.integer("id", 1..=u32::MAX.into(), problems),
            rate: section.quantity("rate", &FREQUENCY, limits::RATE, problems),
            suite: section
                .text("suite", "\"ascon-aead128\"", problems)
                .and_then(|text| suite(text, problems)),
        };
        section.finish(problems);
        computer
    };
    tables.into_iter().map(computer).collect()
}

/// Checks that a legacy suite is allowed where one is named, and that one server has all its frames.
pub(super) fn check(draft: &Draft, problems: &mut Vec<Problem>) {
    let is_allowed = draft.allow_legacy.as_ref().is_some_and(|allowed| allowed.value);
    let suites =
        draft.cells.iter().flat_map(|cell| &cell.computers).filter_map(|computer| computer.suite.as_ref());
    for found in suites.filter(|suite| suite.value.row().is_legacy) {
        let suite = found.value.row().name;
        let kind = match draft.transport.is_shared() {
            _ if !is_allowed => Kind::Legacy { suite },
            true => Kind::Unfit {
                what: "suite",
                found: suite.into(),
                expected: "one with a tag with transport `nats`: two logs may hold different frames of one count, and \
                           nobody knows which is the node's"
                    .into(),
                example: "ascon-aead128",
            },
            false => continue,
        };
        problems.push(Problem { span: found.span.clone(), kind });
    }
}

impl ComputerDraft {
    /// The checked value.
    pub(super) fn finish(&self) -> Option<Computer> {
        Some(Computer {
            id: self.id.as_ref()?.value.try_into().ok()?,
            rate_hz: self.rate.as_ref()?.value.unsigned_abs(),
            suite: self.suite.as_ref().map_or(DEFAULT_SUITE, |suite| suite.value),
        })
    }
}
