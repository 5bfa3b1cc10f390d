//! Measurements as they are kept, so that an interrupted run goes on: a line of JSON each, below one that says which
//! program on which processor they are of.
//!
//! Owns the lines, and that those of another program are not taken for those of this one. Files are the roof's. A line
//! that is cut off at the end is what an interruption leaves, and is measured again; any other line that is none is an
//! error.

use std::collections::HashMap;

use isa::Cycles;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::frames::Frames;
use crate::image::Image;
use crate::kept::half_digest;
use crate::measure::{Measured, Turn};
use crate::native::ROUTINES;
use crate::request::{Request, Response};

/// What measurements are a function of, besides their requests: first halves of SHA-256, and a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    /// Of the program that is measured.
    image: String,
    profile: String,
    /// Of the program that measures, with its simulator and its routines.
    tool: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    /// The first half of its SHA-256.
    request: String,
    response: Vec<Vec<u8>>,
    turns: Vec<Part>,
    read: Vec<(usize, usize)>,
    /// Routine, bytes.
    own_bytes: Vec<(usize, u32)>,
    /// Caller, callee, bytes.
    callee_bytes: Vec<(usize, usize, u32)>,
    /// The first half of that of the line with an empty string in place of this.
    sha256: String,
}

impl Line {
    fn digest(&mut self) -> String {
        let found = std::mem::take(&mut self.sha256);
        let digest = half_digest(json(self).as_bytes());
        self.sha256 = found;
        digest
    }
}

/// A turn: what is not 0.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    local_cycles: Vec<(usize, Cycles)>,
    bench_cycles: Cycles,
    stack_bytes: u32,
}

/// What takes a line that is to be kept.
type Keep<'a> = dyn Fn(&str) -> Result<(), Error> + Send + Sync + 'a;

/// Measurements that were kept, and where others go.
pub struct Measurements<'a> {
    known: HashMap<String, Measured>,
    keep: Box<Keep<'a>>,
}

impl<'a> Measurements<'a> {
    /// Those of an earlier run; `keep` takes each line of this one.
    pub fn new(
        known: HashMap<String, Measured>,
        keep: impl Fn(&str) -> Result<(), Error> + Send + Sync + 'a,
    ) -> Self {
        Measurements { known, keep: Box::new(keep) }
    }

    /// What a request took: as it was kept, or as `measure` says, which is kept then.
    ///
    /// # Errors
    /// Those of measuring and of keeping.
    pub fn of(
        &self,
        request: &Request,
        measure: impl FnOnce() -> Result<Measured, Error>,
    ) -> Result<Measured, Error> {
        let name = half_digest(&request.bytes());
        let is_whole = |known: &&Measured| known.turns.len() == usize::from(request.repeats);
        if let Some(known) = self.known.get(&name).filter(is_whole) {
            return Ok(known.clone());
        }
        let measured = measure()?;
        (self.keep)(&json(&line(name, &measured)))?;
        Ok(measured)
    }
}

/// The line, with its end, that a file of measurements of this image begins with, when the program whose bytes these are
/// measures.
pub fn head(image: &Image, profile: &str, tool: &[u8]) -> String {
    json(&Head { image: half_digest(image.elf()), profile: profile.to_owned(), tool: half_digest(tool) })
}

/// Reads what a run kept behind `head`, of a program with so many constants; and how many bytes of it are whole lines: none
/// where it has no head yet.
///
/// # Errors
/// A line that is none, or those of another program.
pub fn read(text: &str, head: &str, constants: usize) -> Result<(HashMap<String, Measured>, usize), Error> {
    let whole = text.rfind('\n').map_or(0, |at| at + 1);
    let bad = |line: usize, why: String| Error::RowLine { line, why };
    let mut known = HashMap::new();
    for (index, words) in text[..whole].lines().enumerate() {
        if index == 0 {
            check(words, head).map_err(|error| error.unwrap_or_else(|why| bad(1, why)))?;
            continue;
        }
        let line: Line = serde_json::from_str(words).map_err(|error| bad(index + 1, error.to_string()))?;
        let (name, measured) = measured(line, constants).map_err(|why| bad(index + 1, why))?;
        known.insert(name, measured);
    }
    Ok((known, whole))
}

/// That a first line is this one; what is not the same, or why it is none.
fn check(found: &str, expected: &str) -> Result<(), Result<Error, String>> {
    let of = |text: &str| serde_json::from_str::<Head>(text).map_err(|error| Err(error.to_string()));
    let (found, expected) = (of(found)?, of(expected)?);
    let pairs = [
        ("image", found.image, expected.image),
        ("profile", found.profile, expected.profile),
        ("tool", found.tool, expected.tool),
    ];
    match pairs.into_iter().find(|(_, found, expected)| found != expected) {
        Some((what, found, expected)) => Err(Ok(Error::OtherRun { what: what.to_owned(), found, expected })),
        None => Ok(()),
    }
}

fn line(request: String, measured: &Measured) -> Line {
    let part = |turn: &Turn| {
        let local_cycles = turn.local_cycles.iter().copied().enumerate().filter(|(_, cycles)| *cycles != 0);
        let Turn { bench_cycles, stack_bytes, .. } = *turn;
        Part { local_cycles: local_cycles.collect(), bench_cycles, stack_bytes }
    };
    let Frames { own_bytes, callee_bytes } = &measured.frames;
    let mut line = Line {
        request,
        response: measured.response.operands.clone(),
        turns: measured.turns.iter().map(part).collect(),
        read: measured.read.clone(),
        own_bytes: own_bytes.iter().map(|(&routine, &bytes)| (routine, bytes)).collect(),
        callee_bytes: callee_bytes
            .iter()
            .map(|(&(caller, callee), &bytes)| (caller, callee, bytes))
            .collect(),
        sha256: String::new(),
    };
    line.sha256 = line.digest();
    line
}

fn measured(mut line: Line, constants: usize) -> Result<(String, Measured), String> {
    let expected = line.digest();
    if line.sha256 != expected {
        return Err(format!("found SHA-256 {}, expected {expected}", line.sha256));
    }
    let is_there = |what: &str, place: usize, count: usize| match place < count {
        true => Ok(place),
        false => Err(format!("found {what} {place}, expected less than {count}")),
    };
    let routine = |place: usize| is_there("routine", place, ROUTINES.len());
    for &(reader, constant) in &line.read {
        routine(reader)?;
        is_there("constant", constant, constants)?;
    }
    let mut frames = Frames::default();
    for (place, bytes) in line.own_bytes {
        frames.own_bytes.insert(routine(place)?, bytes);
    }
    for (caller, callee, bytes) in line.callee_bytes {
        frames.callee_bytes.insert((routine(caller)?, routine(callee)?), bytes);
    }
    let turn = |Part { local_cycles, bench_cycles, stack_bytes }: Part| {
        let mut all = vec![0; ROUTINES.len()];
        for (place, cycles) in local_cycles {
            all[routine(place)?] = cycles;
        }
        let sum = all.iter().try_fold(bench_cycles, |sum, cycles| sum.checked_add(*cycles));
        let cycles = sum.ok_or_else(|| format!("found more than {} cycles", Cycles::MAX))?;
        Ok(Turn { cycles, local_cycles: all, bench_cycles, stack_bytes })
    };
    let turns: Result<Vec<Turn>, String> = line.turns.into_iter().map(turn).collect();
    let response = Response { operands: line.response };
    Ok((line.request, Measured { response, turns: turns?, read: line.read, frames }))
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("lines are numbers and names") + "\n"
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::candidate::Radix;

    fn head_of(image: &str) -> String {
        json(&Head { image: image.to_owned(), profile: "vex5".to_owned(), tool: "one".to_owned() })
    }

    fn request(choice: u8) -> Request {
        let operands = vec![vec![1; 4]];
        Request { choice, ..Request::new("mpn_copy", Some(Radix::Limbs32), operands) }.warm()
    }

    fn one() -> Measured {
        let mut local_cycles = vec![0; ROUTINES.len()];
        (local_cycles[3], local_cycles[ROUTINES.len() - 1]) = (40, 2);
        let turn = Turn { cycles: 47, local_cycles, bench_cycles: 5, stack_bytes: 48 };
        let response = Response { operands: vec![vec![1, 2], vec![]] };
        let frames = Frames { own_bytes: [(3, 16)].into(), callee_bytes: [((3, 4), 32)].into() };
        Measured { response, turns: vec![turn.clone(), turn], read: vec![(3, 1)], frames }
    }

    /// Constants of the program.
    const CONSTANTS: usize = 2;

    /// What is kept of two requests.
    fn kept() -> String {
        let text = Mutex::new(head_of("this"));
        let keep = |line: &str| {
            text.lock().expect("nobody panicked with it").push_str(line);
            Ok(())
        };
        let measurements = Measurements::new(HashMap::new(), keep);
        for choice in [0, 1] {
            assert_eq!(measurements.of(&request(choice), || Ok(one())), Ok(one()));
        }
        drop(measurements);
        text.into_inner().expect("nobody panicked with it")
    }

    #[test]
    fn what_was_kept_is_not_measured_again_but_for_a_line_that_is_cut_off() {
        let text = kept();
        let (known, whole) = read(&text[..text.len() - 2], &head_of("this"), CONSTANTS).expect("it is ours");
        assert_eq!((known.len(), text[whole..].matches("request").count()), (1, 1));
        let again = Measurements::new(known, |_| panic!("it is there"));
        let never = || panic!("it is known");
        assert_eq!(again.of(&request(0), never), Ok(one()));
        // Of a request that was done less often nothing is taken.
        let (mut known, _) = read(&text, &head_of("this"), CONSTANTS).expect("it is ours");
        known.values_mut().for_each(|measured| drop(measured.turns.pop()));
        let again = Measurements::new(known, |_| Ok(()));
        let twice = Measured { read: Vec::new(), ..one() };
        assert_eq!(again.of(&request(0), || Ok(twice.clone())), Ok(twice.clone()));
        assert_eq!(read("", &head_of("this"), CONSTANTS), Ok((HashMap::new(), 0)));
    }

    #[test]
    fn measurements_of_another_program_and_lines_that_are_none_are_refused() {
        let text = kept();
        let error = read(&text, &head_of("that"), CONSTANTS).expect_err("it is another").to_string();
        assert!(error.contains("image this, expected that"), "{error}");
        for (field, other) in [("vex5", "profile pico"), ("one", "tool two")] {
            let (what, value) = other.split_once(' ').expect("two words");
            let head = head_of("this").replace(&format!("\"{field}\""), &format!("\"{value}\""));
            let error = read(&text, &head, CONSTANTS).expect_err("it is another").to_string();
            assert!(error.contains(&format!("{what} {field}, expected {value}")), "{error}");
        }
        let bad = text.replacen("\"request\"", "\"requests\"", 1);
        assert!(matches!(read(&bad, &head_of("this"), CONSTANTS), Err(Error::RowLine { line: 2, .. })));
        let bad = text.replacen("[3,40]", "[3,41]", 1);
        let error = read(&bad, &head_of("this"), CONSTANTS).expect_err("it was changed").to_string();
        assert!(error.contains("line 2") && error.contains("found SHA-256 "), "{error}");
        for (from, to, expected) in [
            ("[3,40]", "[9999,40]", "routine 9999"),
            ("[[3,1]]", "[[3,2]]", "constant 2, expected less than 2"),
            ("[[3,16]]", "[[9999,16]]", "routine 9999"),
            ("[[3,4,32]]", "[[3,9999,32]]", "routine 9999"),
        ] {
            let first = text.lines().nth(1).expect("two are kept");
            let mut line: Line = serde_json::from_str(&first.replacen(from, to, 1)).expect("it is one");
            line.sha256 = line.digest();
            let bad = text.replacen(first, json(&line).trim_end(), 1);
            let error = read(&bad, &head_of("this"), CONSTANTS).expect_err("there is none").to_string();
            assert!(error.contains("line 2") && error.contains(expected), "{error}");
        }
        assert!(matches!(
            read("nothing\n", &head_of("this"), CONSTANTS),
            Err(Error::RowLine { line: 1, .. })
        ));
    }
}
