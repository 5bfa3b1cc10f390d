//! Files of models, as they are kept with the source: a line of JSON a routine, below one that says where they come
//! from.
//!
//! Owns writing and reading these lines, that a file is whole, and that it fits the library that is linked: the same
//! routines, which count the same. Opening files is the caller's.
//!
//! Invariant: the first line says how many others there are, and SHA-256 of all of the file with an empty string in
//! place of that.

use isa::rv32::profile::{PROFILES, Profile};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::image::{INSTRUCTION_SET, Leaves};
use crate::model::{Model, Models, Origin, Range, Stack, Term};
use crate::native::ROUTINES;

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    instruction_set: String,
    profile: String,
    leaves: String,
    layout: u64,
    compiler: String,
    /// Older files do not say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    tool: String,
    /// The digest of the library that was measured. Older files do not say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    sources: String,
    seed: u64,
    /// How many lines follow.
    models: usize,
    /// What the file is without this, in hexadecimal digits.
    sha256: String,
}

impl Head {
    /// What the digest of a file with these models is.
    fn digest(&self, models: &str) -> String {
        let empty = Head { sha256: String::new(), ..self.clone() };
        let digest = Sha256::new().chain_update(json(&empty)).chain_update(models).finalize();
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    routine: String,
    /// All features, each with what it was characterised for; the calls, without.
    domain: Vec<(String, f64, f64)>,
    /// Feature and what of it counts, cycles, standard error.
    terms: Vec<(String, f64, f64)>,
    code_bytes: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tables: Option<Vec<(String, u32)>>,
    /// Itself, and when it calls others, by their names. Older files do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stack_bytes: Option<(u32, Vec<(String, u32)>)>,
    samples: usize,
    held_out_error: f64,
    held_out_error_most: f64,
}

/// Models as text.
pub fn write(models: &Models) -> String {
    let Origin { instruction_set, profile, leaves, layout, compiler, tool, sources, seed } =
        models.origin.clone();
    let all = models.routines.iter().flatten();
    let sha256 = String::new();
    let models = all.clone().count();
    let head =
        Head { instruction_set, profile, leaves, layout, compiler, tool, sources, seed, models, sha256 };
    sealed(head, &all.map(|model| json(&line(model))).collect::<String>())
}

/// A file of these lines.
fn sealed(head: Head, lines: &str) -> String {
    let sha256 = head.digest(lines);
    json(&Head { sha256, ..head }) + lines
}

fn line(model: &Model) -> Line {
    let range = |range: &Range| (range.feature.clone(), range.least, range.most);
    let term = |term: &Term| (term.word(), term.cycles, term.error_cycles);
    Line {
        routine: model.routine.clone(),
        domain: model.domain.iter().map(range).collect(),
        terms: model.terms.iter().map(term).collect(),
        code_bytes: model.code_bytes,
        tables: model.tables.clone(),
        stack_bytes: model.stack.as_ref().map(stack_bytes),
        samples: model.samples,
        held_out_error: model.held_out_error,
        held_out_error_most: model.held_out_error_most,
    }
}

fn stack_bytes(stack: &Stack) -> (u32, Vec<(String, u32)>) {
    let named = |&(callee, bytes): &(usize, u32)| (ROUTINES[callee].name.clone(), bytes);
    (stack.own_bytes, stack.callee_bytes.iter().map(named).collect())
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("these values are numbers and names") + "\n"
}

/// Reads models.
///
/// # Errors
/// It is of no processor that is known, cut, or changed; or the first line that is none, or that is of another library
/// than the one that is linked.
pub fn read(text: &str) -> Result<Models, Error> {
    let (first, lines) = text.split_once('\n').unwrap_or((text, ""));
    if first.is_empty() {
        return Err(bad(1, "found nothing, expected where models come from"));
    }
    let head: Head = serde_json::from_str(first).map_err(|error| bad(1, error))?;
    let origin = origin(&head, lines)?;
    let lines = lines.lines().zip(2..).map(|(line, number)| (number, line));
    let mut routines = vec![None; ROUTINES.len()];
    for (number, line) in lines {
        let line: Line = serde_json::from_str(line).map_err(|error| bad(number, error))?;
        let place = place(&line.routine, number)?;
        let model = model(line, number)?;
        if routines[place].replace(model).is_some() {
            return Err(bad(number, format!("`{}` has a second model", ROUTINES[place].name)));
        }
    }
    Ok(Models { origin, routines })
}

fn bad(line: usize, why: impl ToString) -> Error {
    Error::ModelLine { line, why: why.to_string() }
}

/// Where models come from, if these lines are all of them, as they were written.
fn origin(head: &Head, lines: &str) -> Result<Origin, Error> {
    let found = lines.lines().count();
    if found != head.models {
        return Err(Error::ModelsCut { found, expected: head.models });
    }
    let (found, expected) = (head.digest(lines), head.sha256.clone());
    if found != expected {
        return Err(Error::ModelsChanged { found, expected });
    }
    if Profile::named(&head.profile).is_none() {
        return Err(Error::choice("processor", &head.profile, PROFILES.iter().map(|known| known.name())));
    }
    Leaves::read(&head.leaves)?;
    if head.instruction_set != INSTRUCTION_SET {
        return Err(Error::choice("instruction set", &head.instruction_set, [INSTRUCTION_SET]));
    }
    let Head { instruction_set, profile, leaves, layout, compiler, tool, sources, seed, .. } = head.clone();
    Ok(Origin { instruction_set, profile, leaves, layout, compiler, tool, sources, seed })
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
        return Err(bad(number, "found a number that is not finite"));
    }
    if let Some((feature, least, most)) = line.domain.iter().find(|(_, least, most)| least > most) {
        return Err(bad(number, format!("`{feature}` is at least {least} and at most {most}")));
    }
    if line.terms.is_empty() || line.samples == 0 {
        return Err(bad(number, "found a model of nothing, expected terms and measurements"));
    }
    let term = |(word, cycles, error_cycles): (String, f64, f64)| match Term::read(&word) {
        Some((feature, shape)) if features.iter().any(|known| known == feature) => {
            Ok(Term { feature: feature.to_owned(), shape, cycles, error_cycles })
        }
        _ => Err(bad(number, format!("`{}` counts no `{word}`", line.routine))),
    };
    let terms = line.terms.into_iter().map(term).collect::<Result<_, Error>>()?;
    let range = |(feature, least, most)| Range { feature, least, most };
    let stack = line.stack_bytes.map(|bytes| stack(bytes, number)).transpose()?;
    Ok(Model {
        domain: line.domain.into_iter().map(range).collect(),
        routine: line.routine,
        features,
        terms,
        code_bytes: line.code_bytes,
        tables: line.tables,
        stack,
        samples: line.samples,
        held_out_error: line.held_out_error,
        held_out_error_most: line.held_out_error_most,
    })
}

/// The place of a routine.
fn place(name: &str, number: usize) -> Result<usize, Error> {
    let place = ROUTINES.iter().position(|routine| routine.name == name);
    place.ok_or_else(|| bad(number, format!("the library has no routine `{name}`")))
}

fn stack((own_bytes, callees): (u32, Vec<(String, u32)>), number: usize) -> Result<Stack, Error> {
    let mut callee_bytes: Vec<(usize, u32)> = Vec::new();
    for (name, bytes) in callees {
        let callee = place(&name, number)?;
        if callee_bytes.iter().any(|(known, _)| *known == callee) {
            return Err(bad(number, format!("`{name}` is called a second time")));
        }
        if bytes > own_bytes {
            let why =
                format!("found {bytes} bytes of stack when `{name}` is called, expected {own_bytes} at most");
            return Err(bad(number, why));
        }
        callee_bytes.push((callee, bytes));
    }
    Ok(Stack { own_bytes, callee_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Shape;

    fn models() -> Models {
        let origin = Origin {
            instruction_set: INSTRUCTION_SET.to_owned(),
            profile: "pico".to_owned(),
            leaves: "c".to_owned(),
            layout: 0,
            compiler: "a compiler 1.0 -O2".to_owned(),
            tool: "a tool 1.0".to_owned(),
            sources: "0123".to_owned(),
            seed: 1,
        };
        let model = |routine: &str, shape| {
            let routine = ROUTINES.iter().find(|known| known.name == routine).expect("the library has it");
            let term = |feature: &str, shape| {
                let feature = feature.to_owned();
                Term { feature, shape, cycles: 12.5, error_cycles: 0.25 }
            };
            let range = |feature: &String| Range { feature: feature.clone(), least: 0.5, most: 96.0 };
            Model {
                routine: routine.name.clone(),
                features: routine.features.clone(),
                terms: vec![term("calls", Shape::Straight), term("limbs", shape)],
                domain: routine.features[1..].iter().map(range).collect(),
                code_bytes: 60,
                tables: Some(vec![("table@1000".to_owned(), 256)]),
                stack: Some(Stack { own_bytes: 32, callee_bytes: vec![(0, 16)] }),
                samples: 40,
                held_out_error: 0.01,
                held_out_error_most: 0.02,
            }
        };
        let mut routines = vec![None; ROUTINES.len()];
        for (name, shape) in [("mpn32_copy", Shape::Square), ("mpn32_zero", Shape::Above(24.0))] {
            let place = ROUTINES.iter().position(|routine| routine.name == name).expect("it has it");
            routines[place] = Some(model(name, shape));
        }
        Models { origin, routines }
    }

    /// What is said of a file whose text was changed, and whose digest is right.
    fn said(change: impl Fn(&str) -> String) -> String {
        let text = write(&models());
        let changed = change(&text);
        assert_ne!(changed, text);
        let (head, lines) = changed.split_once('\n').expect("it has a first line");
        let head: Head = serde_json::from_str(head).expect("it is one");
        let head = Head { models: lines.lines().count(), ..head };
        read(&sealed(head, lines)).expect_err("it was changed").to_string()
    }

    #[test]
    fn models_are_read_as_they_were_written() {
        assert_eq!(read(&write(&models())), Ok(models()));
    }

    #[test]
    fn a_file_that_does_not_say_of_which_sources_it_is_is_read() {
        let mut older = models();
        older.origin.sources.clear();
        let text = write(&older);
        assert!(!text.contains("sources"));
        assert_eq!(read(&text), Ok(older));
    }

    #[test]
    fn a_file_that_is_cut_anywhere_is_refused() {
        let text = write(&models());
        for length in 0..text.len() {
            assert!(read(&text[..length]).is_err(), "{length} of {}", text.len());
        }
        let at_a_line_end = text.trim_end().rfind('\n').expect("it has lines") + 1;
        assert_eq!(
            read(&text[..at_a_line_end]).expect_err("one is missing").to_string(),
            "the models are cut: found 1, expected 2\nhelp: make the models again with `selvedge explore model`"
        );
        assert!(read(&(text.clone() + text.lines().next_back().expect("it has lines") + "\n")).is_err());
    }

    #[test]
    fn a_file_in_which_a_digit_was_changed_is_refused() {
        let text = write(&models());
        for (from, to) in
            [("12.5", "12.6"), ("96.0", "97.0"), ("\"seed\":1", "\"seed\":2"), ("1.0 -O2", "1.0 -O3")]
        {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text);
            let error = read(&changed).expect_err("it was changed").to_string();
            assert!(error.starts_with("the models were changed: found SHA-256 "), "{error}");
        }
    }

    #[test]
    fn a_line_that_is_no_model_of_this_library_is_refused_by_name() {
        let first = |text: &str| text.lines().nth(1).expect("it has lines").to_owned();
        let cases = [
            (
                said(|text| text.to_owned() + &first(text) + "\n"),
                "line 4 of the models: `mpn32_copy` has a second",
            ),
            (
                said(|text| text.replace("mpn32_copy", "mpn64_copy")),
                "the library has no routine `mpn64_copy`",
            ),
            (
                said(|text| text.replacen("[\"limbs\",0.5,96.0]", "[\"words\",0.5,96.0]", 1)),
                "the model of `mpn32_copy` is of `calls, words`, and the library counts `calls, limbs`",
            ),
            (said(|text| text.replacen("12.5", "1e999", 1)), "line 2 of the models: number out of range"),
            (
                said(|text| text.replacen("0.5,96.0", "97.5,96.0", 1)),
                "`limbs` is at least 97.5 and at most 96",
            ),
            (
                said(|text| text.replacen("[[\"mpn16_add_n\",16]]", "[[\"mpn64_add_n\",16]]", 1)),
                "line 2 of the models: the library has no routine `mpn64_add_n`",
            ),
            (
                said(|text| {
                    text.replacen("[[\"mpn16_add_n\",16]]", "[[\"mpn16_add_n\",16],[\"mpn16_add_n\",0]]", 1)
                }),
                "line 2 of the models: `mpn16_add_n` is called a second time",
            ),
            (
                said(|text| text.replacen("[[\"mpn16_add_n\",16]]", "[[\"mpn16_add_n\",33]]", 1)),
                "line 2 of the models: found 33 bytes of stack when `mpn16_add_n` is called, expected 32 at most",
            ),
            (said(|text| text.replace("limbs^2", "words^2")), "`mpn32_copy` counts no `words^2`"),
            (said(|text| text.replace("limbs>24", "limbs>x")), "`mpn32_zero` counts no `limbs>x`"),
            (said(|text| text.replacen("\"samples\":40", "\"samples\":0", 1)), "found a model of nothing"),
            (said(|text| text.replace("pico", "pick")), "no processor is called `pick`"),
            (said(|text| text.replace("\"c\"", "\"mmx\"")), "mmx"),
            (said(|text| text.replace("rv32im", "rv32e")), "no instruction set is called `rv32e`"),
        ];
        for (said, expected) in cases {
            assert!(said.contains(expected), "{said}");
        }
    }
}
