//! `selvedge collect verify`: whether a store is whole.

use collect::read;
use report::row::{Clock, Experiment};
use selvedge::error::Error;
use selvedge::link::logs;

use crate::output::Output;
use crate::place::Place;

/// Scans the store to its end, and fails when something is damaged or missing.
pub fn run(place: Place, output: &Output) -> Result<(), Error> {
    let opened = place.open()?;
    let store = opened.layout.store();
    // First: a server that runs moves it meanwhile, and the store is further then. Logs of several servers have none.
    let is_noted = !opened.deployment.collect.is_shared() && store.exists();
    let anchored = if is_noted { opened.keys.anchored(&store)? } else { None };
    let found = logs::verify(&store, &opened.keys)?;
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
            count("orders", found.orders),
            count("anchors", anchored.iter().count() as u64),
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
    if let Some((file, at, what)) = found.corrupt.into_iter().next() {
        return Err(collect::error::Error::Corrupt { file, at, what }.into());
    }
    match anchored {
        Some(anchor) => Ok(read::check_anchor(&store, &opened.keys.store()?, &anchor)?),
        None => Ok(()),
    }
}
