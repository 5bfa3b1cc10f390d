//! Two functions become one, which is proved: what `selvedge weave` and the node's build have in common.
//!
//! Owns the order of the work: read, weave, write as text, prove. What we wove and cannot prove is a bug of ours.
//! `texts` reads files through the compiler, `library` what the compiler would link, `inputs` both threads from them,
//! `names` knows the names that are given, `header` is the woven function's contract in C. Writes no file.

use std::fmt;
use std::path::PathBuf;

use ::weave::advice;
use ::weave::directive::Parameters;
use ::weave::error::Refusal;
use ::weave::limits::WOVEN_STATES_MAX;
use ::weave::plan::Strategy;
use ::weave::program::Program;
use ::weave::proof::{self, Kind, Proof, Violation, prove};
use ::weave::source::Source;
use ::weave::{Request, Weave};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use isa::avr::CoreType;

use crate::error::{Error, WeaveFault};
use inputs::Inputs;

mod header;
mod inputs;
pub mod library;
pub mod names;
pub mod texts;

/// A host and a guest, and how they are woven: options of `selvedge weave`, or a line of a list of sources.
#[derive(clap::Args, Clone, Debug)]
pub struct Pair {
    /// Where the host is written: C (.c), C++ (.cpp), assembly for the preprocessor (.S), or assembly (.s)
    #[arg(value_name = "HOST")]
    pub file: PathBuf,
    /// The host: the function that computes
    #[arg(long, value_name = "FUNCTION")]
    pub host: String,
    /// Where the guest is written
    #[arg(long, value_name = "FILE")]
    pub guest: PathBuf,
    /// The guest: the function that keeps time
    #[arg(long, value_name = "FUNCTION")]
    pub guest_fn: String,
    /// A polling guest to run meanwhile; the directive `server` in it says how often
    #[arg(long = "server", value_name = "FILE:FUNCTION", value_parser = function)]
    pub servers: Vec<(PathBuf, String)>,
    /// What the host calls is written here as well
    #[arg(long, value_name = "FILE")]
    pub with: Vec<PathBuf>,
    /// Its name [default: HOST_GUEST]
    #[arg(long, value_name = "NAME", value_parser = names::identifier)]
    pub name: Option<String>,
    /// The chip, as avr-gcc calls it, where no directive says it
    #[arg(long, value_name = "NAME")]
    pub chip: Option<String>,
    /// The number of a name in directives, and a macro of .c and .S
    #[arg(short = 'D', value_name = "NAME=VALUE", value_parser = definition)]
    pub definitions: Vec<(String, i64)>,
    /// Bytes of the host's parameters, in order, where no directive says them; `0` for none
    #[arg(long, value_name = "BYTES", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(0..=16))]
    pub host_arguments: Option<Vec<u32>>,
    /// Words of the woven function, at most, as a multiple of both functions' own [default: 3, or the smallest possible]
    #[arg(long, value_name = "FACTOR", value_parser = growth)]
    pub growth: Option<f64>,
    /// `interleave` their code, let the host `cocall` the guest, or `auto`: what leaves the host more within the size
    #[arg(long, value_name = "STRATEGY", default_value_t = Strategy::Auto, value_parser = strategies())]
    pub strategy: Strategy,
    /// Let the guest send what the host stores at `;@weave produce`, in the host's register, in place of a buffer
    #[arg(long)]
    pub couple: bool,
    /// A flag more for the compiler of C, behind -std=gnu99 -O2 -fno-jump-tables
    #[arg(long = "flag", value_name = "FLAG", allow_hyphen_values = true)]
    pub flags: Vec<String>,
}

impl Pair {
    /// The woven function's name.
    pub fn name(&self) -> String {
        self.name.clone().unwrap_or_else(|| format!("{}_{}", self.host, self.guest_fn))
    }
}

/// Named one by one, so that shells know them.
fn strategies() -> impl TypedValueParser<Value = Strategy> {
    let of = |name: String| Strategy::ALL.into_iter().find(|strategy| strategy.name() == name);
    PossibleValuesParser::new(Strategy::ALL.map(Strategy::name))
        .map(move |name| of(name).expect("it is one of them"))
}

/// How many times larger than both functions a woven one may be.
///
/// # Errors
/// In words, when it is no number from 1 to 100.
pub fn growth(text: &str) -> Result<f64, String> {
    let range = 1.0..=100.0;
    match text.parse() {
        Ok(value) if range.contains(&value) => Ok(value),
        _ => Err(format!("found `{text}`, expected a number from {} to {}", range.start(), range.end())),
    }
}

/// Reads `FILE:FUNCTION`.
///
/// # Errors
/// In words, when one of them is missing.
pub fn function(text: &str) -> Result<(PathBuf, String), String> {
    let found = text.rsplit_once(':').filter(|(file, function)| !file.is_empty() && !function.is_empty());
    let (file, function) = found.ok_or_else(|| format!("found `{text}`, expected FILE:FUNCTION"))?;
    Ok((file.into(), function.to_owned()))
}

/// Reads `NAME=VALUE`.
///
/// # Errors
/// In words, when it is none.
pub fn definition(text: &str) -> Result<(String, i64), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    let value = isa::avr::text::number(value).ok_or_else(|| format!("found `{value}`, expected a number"))?;
    Ok((name.to_owned(), value))
}

/// A woven function that nobody has written yet.
pub struct Woven {
    inputs: Inputs,
    /// Its name.
    pub name: String,
    /// What weaving says.
    pub weave: Weave,
    /// The output.
    pub text: String,
    /// The host's file, when its whole text is in the output.
    pub beside: Option<PathBuf>,
    /// The output, read as anybody's text, and its proof; without one it is a bug of ours, with what is wrong.
    pub proved: Result<(Program, Proof), String>,
}

impl Woven {
    /// Its C header, which also says that it is linked for the right chip and clock, with these sentences in its
    /// contract. `program` is what was proved.
    pub fn header(&self, pair: &Pair, program: &Program, contract: &[String]) -> String {
        self.inputs.header(pair, (&self.name, program), &self.weave, contract)
    }

    /// Refuses what is larger than the pair asks for: no way is smaller then.
    ///
    /// # Errors
    /// [`WeaveFault::Growth`].
    pub fn check_growth(&self, pair: &Pair) -> Result<(), Error> {
        let [words, plain_words] = [self.weave.choice.words, self.weave.plain_words].map(f64::from);
        let smallest = (100.0 * words / plain_words).ceil() / 100.0;
        match pair.growth {
            Some(growth_max) if words > plain_words * growth_max && smallest > growth_max => {
                Err(Error::Woven(WeaveFault::Growth { growth_max, smallest }))
            }
            _ => Ok(()),
        }
    }

    /// The commands that made assembly text of what is woven, the host's first.
    pub fn made_by(&self) -> Vec<String> {
        self.inputs.made_by()
    }

    /// The host, and the guest, as they were read.
    pub fn threads(&self) -> [&Program; 2] {
        [&self.inputs.host_program, &self.inputs.guest_program]
    }
}

/// Reads, weaves and proves; writes nothing. `out` names the text in what is wrong with it.
///
/// # Errors
/// When a file cannot be read, when the two cannot be woven, or when a server would have to run more often than it may,
/// where the guest begins or ends.
pub fn woven(pair: &Pair, out: &str) -> Result<Woven, Error> {
    Reading::of(pair)?.woven(pair, out)
}

/// What is woven, read.
pub struct Reading(Inputs);

impl Reading {
    /// Reads both threads and the servers.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn of(pair: &Pair) -> Result<Reading, Error> {
        Ok(Reading(Inputs::read(pair)?))
    }

    /// Refuses a definition that nothing has a use for; `swept` is one more of them.
    ///
    /// # Errors
    /// As for [`names::check_used`].
    pub fn check_used(&self, pair: &Pair, swept: Option<(&str, i64)>) -> Result<(), Error> {
        self.0.check_used(pair, swept)
    }

    /// The files that what is woven comes from, those that are included among them.
    ///
    /// # Errors
    /// When one of them cannot be preprocessed.
    pub fn sources(&self, pair: &Pair) -> Result<Vec<PathBuf>, Error> {
        self.0.sources(pair)
    }

    /// The assembly texts that are woven: with the pair, all that a woven function follows from.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.texts().map(|text| text.assembly.text())
    }

    /// Weaves and proves.
    ///
    /// # Errors
    /// As for [`woven`].
    pub fn woven(self, pair: &Pair, out: &str) -> Result<Woven, Error> {
        let inputs = self.0;
        let name = pair.name();
        let servers: Vec<(&Program, &str)> =
            inputs.servers.iter().map(|server| (&server.program, server.function.as_str())).collect();
        let request = Request {
            servers: &servers,
            growth_max: pair.growth.unwrap_or(::weave::GROWTH),
            strategy: pair.strategy,
            is_coupled: pair.couple,
            ..Request::new((&inputs.host_program, &pair.host), (&inputs.guest_program, &pair.guest_fn), &name)
        };
        let mut states_left = WOVEN_STATES_MAX;
        let made = ::weave::weave_until(&request, |weave| {
            let (text, beside) = match inputs.text(&name, &weave) {
                Ok(found) => found,
                Err(error) => return Some(Err(error)),
            };
            let states_max = states_left / 2;
            match proved(&text, &name, (out, inputs.host_program.core), states_max) {
                // Nothing is known to be wrong: a smaller one may have fewer states.
                Err(Unproved::Violated(violation))
                    if matches!(violation.kind, Kind::TooManyStates { .. }) =>
                {
                    states_left -= states_max;
                    None
                }
                Err(Unproved::Violated(violation)) if matches!(violation.kind, Kind::Unserved { .. }) => {
                    Some(Err(Error::Violation(violation)))
                }
                proved => Some(Ok((weave, text, beside, proved.map_err(|fault| fault.to_string())))),
            }
        });
        let made = made.map_err(|refusal| {
            let mut notes = inputs.notes(pair, &refusal);
            notes.extend(growth_note(pair, &request, &refusal));
            Error::Woven(WeaveFault::NotWoven { notes, refusal })
        })?;
        if let Some(guest) = inputs.guest_program.function(&pair.guest_fn) {
            proof::promised(&inputs.guest_program, guest)?;
        }
        let Some(made) = made else {
            let [host, guest] = [&pair.host, &pair.guest_fn].map(String::clone);
            return Err(Error::Woven(WeaveFault::TooManyStates { host, guest }));
        };
        let (weave, text, beside, proved) = made?;
        Ok(Woven { inputs, name, weave, text, beside, proved })
    }
}

/// What the period that a refusal names costs in size, where that is more than is asked for.
fn growth_note(pair: &Pair, request: &Request, refusal: &Refusal) -> Option<String> {
    let (growth_max, cycles) = (pair.growth?, refusal.smallest_cycles()?);
    let smallest = (100.0 * advice::smallest_growth(request, cycles)?).ceil() / 100.0;
    let is_over = smallest > growth_max;
    is_over.then(|| {
        format!("help: with a period of {cycles} the smallest that works is `--growth {smallest:.2}`")
    })
}

/// What is wrong with what we wove.
enum Unproved {
    Unread(::weave::error::Error),
    Violated(Box<Violation>),
}

impl fmt::Display for Unproved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unproved::Unread(error) => write!(f, "does not read: {error}"),
            Unproved::Violated(violation) => write!(f, "is not proved: {violation}"),
        }
    }
}

/// Reads what we wrote as anybody's text, and proves it.
fn proved(
    text: &str,
    name: &str,
    (out, core): (&str, CoreType),
    states_max: usize,
) -> Result<(Program, Proof), Unproved> {
    let source = Source::parse(out, text).map_err(Unproved::Unread)?;
    let read = Program::read(std::slice::from_ref(&source), &[name], &Parameters::new(), Some(core));
    let (program, _) = read.map_err(Unproved::Unread)?;
    let function = program.function(name).expect("it was asked for and found");
    let options = proof::Options { states_max, ..proof::Options::default() };
    let proof = prove(&program, function, options).map_err(Unproved::Violated)?;
    Ok((program, proof))
}
