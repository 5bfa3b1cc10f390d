//! `--constant-time` of a ranking: where secrets decide the time of each candidate.
//!
//! Owns which images and subjects are followed, and that it goes on where a run was interrupted. Following is the tool's.

use std::collections::HashMap;
use std::path::PathBuf;

use ::explore::constant::{self, Verdict};
use ::explore::estimate::State;
use ::explore::measure::Bench;
use ::explore::subject::{Family, Material, Subject};
use ::explore::threads;
use selvedge::error::Error;

use super::algorithms::Reading;
use super::keeping::{Keeping, states};
use super::{image_of, made_of};
use crate::papers::spread::progress;

/// What was found of each subject, by its name in rows, cold and warm.
pub type Verdicts = HashMap<(String, State), Verdict>;

/// Where secrets decide the time of each, cold and warm: on an image that tells what is secret, at the shortest size that
/// takes every path.
pub fn follow(
    root: Option<&PathBuf>,
    family: Family,
    subjects: &[Subject],
    reading: &Reading,
    seed: u64,
    keeping: Option<&Keeping>,
) -> Result<Verdicts, Error> {
    let (_, profile) = made_of(&reading.models)?;
    let image = image_of(root, &reading.models, true)?;
    let bench = Bench::new(&image, profile);
    let size = family.shortest();
    let material = Material::new(family, &[size], seed)?;
    let mut alike: Vec<Subject> = Vec::new();
    for subject in subjects.iter().map(constant::alike) {
        if !alike.contains(&subject) {
            alike.push(subject);
        }
    }
    let bar = progress(alike.len());
    let follow = |subject: &Subject| -> Result<Vec<Verdict>, Error> {
        let name = reading.name(subject);
        if let Some(verdicts) = keeping.and_then(|keeping| keeping.verdicts(&name, subject.keeps(), size)) {
            return Ok(verdicts);
        }
        let mut verdicts = constant::verdicts(&bench, subject, size, &material)?;
        verdicts.iter_mut().for_each(|verdict| verdict.followed.clone_from(&name));
        if let Some(keeping) = keeping {
            keeping.keep_verdicts(&verdicts, &reading.provenance)?;
        }
        Ok(verdicts)
    };
    let found = threads::each(&alike, follow, |_, _| bar.inc(1))?;
    bar.finish_and_clear();
    let mut all = Verdicts::new();
    for subject in subjects {
        let at = alike.iter().position(|other| *other == constant::alike(subject)).expect("it is among them");
        for (state, verdict) in states(true).iter().zip(&found[at]) {
            all.insert((reading.name(subject), *state), verdict.clone());
        }
    }
    Ok(all)
}
