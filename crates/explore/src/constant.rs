//! Whether a subject's time tells of its secrets, which is looked at and not declared.
//!
//! Owns where a secret decided a branch, an address or how long an instruction takes while an operation was timed, or
//! while a key was expanded for it before, and what of that is told of a subject: by line, each once.
//! What is secret, and what computed from it is not, the program tells (`SECRET_MARKS`, `firmware/crypto/secret.h`);
//! who follows secrets through a run is `isa::rv32::taint`. What a run did not do is not seen: exponents are short
//! here where that changes nothing but how often the same is done.

use std::collections::BTreeMap;
use std::sync::Arc;

use isa::rv32::bare::MARK;
use isa::rv32::{Leak, Taint};
use isa::{Cycles, Observer};
use serde::{Deserialize, Serialize};

use crate::candidate::{Candidate, Method};
use crate::error::Error;
use crate::image::{Image, Symbol};
use crate::limits::SECRET_EXPONENT_BITS;
use crate::lines;
use crate::measure::{BEGIN, Bench, FINISH};
use crate::request::Request;
use crate::subject::{Material, Subject};

/// Where a secret decided something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The function.
    pub function: String,
    /// The line of the source, as `crypto/block/aes_t4.c:31`.
    pub line: String,
    /// The address.
    pub pc: u32,
    /// What was decided.
    pub leak: Leak,
    /// How often.
    pub count: u64,
}

/// What a secret decided, as it is written.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Leak", rename_all = "lowercase")]
enum Written {
    Branch,
    Address,
    Operand,
}

/// As it is written.
pub fn word(leak: Leak) -> &'static str {
    match leak {
        Leak::Branch => "branch",
        Leak::Address => "address",
        Leak::Operand => "operand",
    }
}

/// A line of the source that tells of secrets, with all of its instructions that do so alike.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Telling {
    /// The line, as of a [`Place`].
    pub line: String,
    /// The function.
    pub function: String,
    /// What was decided.
    #[serde(with = "Written")]
    pub kind: Leak,
    /// How often.
    pub count: u64,
}

/// What following secrets through a subject came to, cold or warm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The subject that was followed: itself, or the one that stands for it, [`alike`].
    pub followed: String,
    /// Its size then.
    pub followed_size: u32,
    /// Where secrets decided its time, by line; nowhere is constant time.
    pub places: Vec<Telling>,
}

/// Places of one time, each line once.
fn told(places: Vec<Place>) -> Vec<Telling> {
    let mut counts: BTreeMap<(String, String, Leak), u64> = BTreeMap::new();
    for place in places {
        *counts.entry((place.line, place.function, place.leak)).or_default() += place.count;
    }
    let telling = |((line, function, kind), count)| Telling { line, function, kind, count };
    counts.into_iter().map(telling).collect()
}

/// Follows secrets through a subject: cold, and warm if it keeps something.
///
/// # Errors
/// The library refuses, or the program fails.
///
/// # Panics
/// When the program does not tell what is secret.
pub fn verdicts(
    bench: &Bench,
    subject: &Subject,
    size: u32,
    material: &Material,
) -> Result<Vec<Verdict>, Error> {
    let turns = places(bench, &request(subject, size, material)?)?;
    let verdict = |places| {
        let (followed, followed_size, places) = (subject.to_string(), size, told(places));
        Verdict { followed, followed_size, places }
    };
    Ok(turns.into_iter().map(verdict).collect())
}

/// Marks by which a program says what is public or secret: which, where, and how many bytes.
const PUBLIC: u32 = 3;
const HIDDEN: u32 = 4;
/// Marks around what secrets are followed through before anything is timed.
const PREPARE: u32 = 5;
const PREPARED: u32 = 6;

/// Follows secrets, and tells what they decided between marks.
struct Watch {
    taint: Taint,
    mark: u32,
    /// What the program has begun to say.
    said: Vec<u32>,
    before: BTreeMap<(u32, Leak), u64>,
    prepared: Vec<(u32, Leak, u64)>,
    turns: Vec<Vec<(u32, Leak, u64)>>,
}

impl Watch {
    fn counts(&self) -> BTreeMap<(u32, Leak), u64> {
        self.taint.findings().into_iter().map(|found| ((found.pc, found.leak), found.count)).collect()
    }

    /// What secrets decided since the mark that it began with.
    fn found(&self) -> Vec<(u32, Leak, u64)> {
        let found = self.counts().into_iter().filter_map(|(place, count)| {
            let count = count - self.before.get(&place).copied().unwrap_or(0);
            (count > 0).then_some((place.0, place.1, count))
        });
        found.collect()
    }

    #[cold]
    fn tell(&mut self) {
        self.said.push(self.mark);
        match self.said[..] {
            [PUBLIC, first, count] => self.taint.show(first..first + count),
            [HIDDEN, first, count] => self.taint.hide(first..first + count),
            [PUBLIC | HIDDEN, ..] => return,
            [BEGIN | PREPARE] => self.before = self.counts(),
            [PREPARED] => {
                let found = self.found();
                self.prepared.extend(found);
            }
            [FINISH] => {
                let found = self.found();
                self.turns.push(found);
            }
            _ => {}
        }
        self.said.clear();
    }
}

impl Observer for Watch {
    fn fetch(&mut self, cycle: Cycles, address: u32) {
        self.taint.fetch(cycle, address);
    }

    fn load(&mut self, cycle: Cycles, address: u32, value: u8) {
        self.taint.load(cycle, address, value);
    }

    fn store(&mut self, cycle: Cycles, address: u32, value: u8) {
        self.taint.store(cycle, address, value);
        let byte = address.wrapping_sub(MARK);
        if byte < 4 {
            self.mark = self.mark & !(0xff << (8 * byte)) | u32::from(value) << (8 * byte);
            if byte == 3 {
                self.tell();
            }
        }
    }

    fn retire(&mut self, cycle: Cycles, address: u32) {
        self.taint.retire(cycle, address);
    }
}

/// What a subject does where secrets are followed: cold, and warm if it keeps something, at the shortest size.
///
/// # Errors
/// The library refuses operands.
pub fn request(subject: &Subject, size: u32, material: &Material) -> Result<Request, Error> {
    let Subject::Private(candidate) = subject else { return material.request(subject, size) };
    let key = material.key(size);
    // All bits that an exponent may have are looked at in constant time.
    let request = match candidate.method {
        Method::Fixed => key.private(*candidate, material.seed()),
        _ => key.shortened(SECRET_EXPONENT_BITS).private(*candidate, material.seed()),
    };
    Ok(if subject.keeps() { request.warm() } else { request })
}

/// The subject that stands for this one where secrets are followed: of exponentiation that asks the exponent which way
/// it goes, windows of two bits stand for wider ones, whose code is the same. What takes constant time stands for itself
/// alone.
pub fn alike(subject: &Subject) -> Subject {
    match subject {
        Subject::Private(candidate) if candidate.method != Method::Fixed && candidate.window_bits > 2 => {
            Subject::Private(Candidate { window_bits: 2, ..*candidate })
        }
        other => other.clone(),
    }
}

/// Where secrets decide the time of a request, each time that it is done, and of what is prepared for it, such as its key's
/// expansion, by address.
///
/// # Errors
/// The library refuses, or the program fails.
///
/// # Panics
/// When the program does not tell what is secret.
pub fn places(bench: &Bench, request: &Request) -> Result<Vec<Vec<Place>>, Error> {
    assert!(bench.image().choice.tells_secrets, "it is an image that does not tell of secrets");
    let units = Arc::clone(bench.units());
    let taint = Taint::new(bench.image().listing(&units), units, bench.profile().varying());
    let (said, before, prepared, turns) = (Vec::new(), BTreeMap::new(), Vec::new(), Vec::new());
    let mut watch = Watch { taint, mark: 0, said, before, prepared, turns };
    bench.watch(request, &mut watch)?;
    let Watch { prepared, turns, .. } = watch;
    let places = |turn: Vec<(u32, Leak, u64)>| places_of(bench.image(), &[&prepared[..], &turn[..]].concat());
    turns.into_iter().map(places).collect()
}

/// Found addresses as places.
fn places_of(image: &Image, found: &[(u32, Leak, u64)]) -> Result<Vec<Place>, Error> {
    let addresses: Vec<u32> = found.iter().map(|found| found.0).collect();
    let lines = lines::of(image, &addresses)?;
    let place = |(&(pc, leak, count), line): (&(u32, Leak, u64), String)| {
        let inside = |symbol: &&Symbol| (symbol.address..symbol.address + symbol.bytes).contains(&pc);
        let function = image.functions.iter().find(inside).map_or("?", |symbol| &symbol.name).to_owned();
        Place { function, line, pc, leak, count }
    };
    Ok(found.iter().zip(lines).map(place).collect())
}
