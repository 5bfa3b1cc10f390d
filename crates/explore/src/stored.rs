//! Files of models, as they are kept with the source: a line of JSON a routine, below one that says where they come
//! from.
//!
//! Owns writing and reading these lines, and that a file fits the library that is linked: the same routines, which
//! count the same. Opening files is the caller's.

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::model::{Model, Models, Origin, Range, Term};
use crate::native::ROUTINES;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    instruction_set: String,
    profile: String,
    leaves: String,
    layout: u64,
    compiler: String,
    /// Older files do not say.
    #[serde(default)]
    tool: String,
    seed: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    routine: String,
    /// All features, each with what it was characterised for; the calls, without.
    domain: Vec<(String, f64, f64)>,
    /// Feature, cycles, standard error.
    terms: Vec<(String, f64, f64)>,
    code_bytes: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tables: Option<Vec<(String, u32)>>,
    samples: usize,
    held_out_error: f64,
    held_out_error_most: f64,
}

/// Models as text.
pub fn write(models: &Models) -> String {
    let Origin { instruction_set, profile, leaves, layout, compiler, tool, seed } = models.origin.clone();
    let mut text = json(&Head { instruction_set, profile, leaves, layout, compiler, tool, seed });
    for model in models.routines.iter().flatten() {
        let range = |range: &Range| (range.feature.clone(), range.least, range.most);
        let term = |term: &Term| (term.feature.clone(), term.cycles, term.error_cycles);
        text += &json(&Line {
            routine: model.routine.clone(),
            domain: model.domain.iter().map(range).collect(),
            terms: model.terms.iter().map(term).collect(),
            code_bytes: model.code_bytes,
            tables: model.tables.clone(),
            samples: model.samples,
            held_out_error: model.held_out_error,
            held_out_error_most: model.held_out_error_most,
        });
    }
    text
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("these values are numbers and names") + "\n"
}

/// Reads models.
///
/// # Errors
/// The first line that is none, or that is of another library than the one that is linked.
pub fn read(text: &str) -> Result<Models, Error> {
    let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    let bad = |line: usize, why: String| Error::ModelLine { line, why };
    let (_, head) =
        lines.next().ok_or_else(|| bad(1, "found nothing, expected where models come from".to_owned()))?;
    let head: Head = serde_json::from_str(head).map_err(|error| bad(1, error.to_string()))?;
    let origin = Origin {
        instruction_set: head.instruction_set,
        profile: head.profile,
        leaves: head.leaves,
        layout: head.layout,
        compiler: head.compiler,
        tool: head.tool,
        seed: head.seed,
    };
    let mut routines = vec![None; ROUTINES.len()];
    for (number, line) in lines {
        let line: Line = serde_json::from_str(line).map_err(|error| bad(number, error.to_string()))?;
        let place = ROUTINES.iter().position(|routine| routine.name == line.routine);
        let place =
            place.ok_or_else(|| bad(number, format!("the library has no routine `{}`", line.routine)))?;
        let model = model(line, number)?;
        if routines[place].replace(model).is_some() {
            return Err(bad(number, format!("`{}` has a second model", ROUTINES[place].name)));
        }
    }
    Ok(Models { origin, routines })
}

fn model(line: Line, number: usize) -> Result<Model, Error> {
    let features: Vec<String> =
        std::iter::once("calls".to_owned()).chain(line.domain.iter().map(|range| range.0.clone())).collect();
    let expected =
        ROUTINES.iter().find(|routine| routine.name == line.routine).map(|routine| &routine.features);
    if expected != Some(&features) {
        let expected = expected.map(|features| features.join(", ")).unwrap_or_default();
        return Err(Error::ModelStale { routine: line.routine, found: features.join(", "), expected });
    }
    let numbers = line.domain.iter().chain(&line.terms).flat_map(|entry| [entry.1, entry.2]);
    if !numbers.chain([line.held_out_error, line.held_out_error_most]).all(f64::is_finite) {
        return Err(Error::ModelLine { line: number, why: "found a number that is not finite".to_owned() });
    }
    if let Some((unknown, ..)) = line.terms.iter().find(|term| !features.contains(&term.0)) {
        let why = format!("`{}` counts no `{unknown}`", line.routine);
        return Err(Error::ModelLine { line: number, why });
    }
    let term = |(feature, cycles, error_cycles)| Term { feature, cycles, error_cycles };
    let range = |(feature, least, most)| Range { feature, least, most };
    Ok(Model {
        routine: line.routine,
        features,
        terms: line.terms.into_iter().map(term).collect(),
        domain: line.domain.into_iter().map(range).collect(),
        code_bytes: line.code_bytes,
        tables: line.tables,
        samples: line.samples,
        held_out_error: line.held_out_error,
        held_out_error_most: line.held_out_error_most,
    })
}
