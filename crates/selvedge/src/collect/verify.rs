//! `selvedge collect verify`: whether a store is whole.

use report::row::{Clock, Experiment};
use selvedge::error::Error;
use selvedge::link::logs;

use crate::output::Output;
use crate::place::Place;

/// Scans the store to its end, and fails when something is damaged or missing.
pub fn run(place: Place, output: &Output) -> Result<(), Error> {
    let opened = place.open()?;
    let found = logs::verify(&opened.layout.store(), &opened.keys)?;
    let experiment = Experiment::new(&opened.deployment.name, "selvedge collect verify");
    let count = |metric, value: u64| experiment.row("store", metric, value, "", Clock::None);
    output.rows(
        "store",
        &[
            count("segments", found.segments),
            count("groups", found.groups),
            count("records", found.records),
            count("reservations", found.reservations),
            count("epoch changes", found.changes),
            count("torn segments", found.torn),
            count("damaged places", found.corrupt.len() as u64),
            count(
                "missing segments",
                found.missing.iter().map(|range| range.end() - range.start() + 1).sum(),
            ),
        ],
    )?;
    if let Some(range) = found.missing.first() {
        return Err(collect::error::Error::SegmentMissing { number: *range.start() }.into());
    }
    match found.corrupt.into_iter().next() {
        Some((file, at, what)) => Err(collect::error::Error::Corrupt { file, at, what }.into()),
        None => Ok(()),
    }
}
