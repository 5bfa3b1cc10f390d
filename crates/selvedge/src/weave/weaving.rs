//! `selvedge weave HOST`: two functions become one, which is proved and written.
//!
//! Owns the order of the work: read, weave, prove, write. Nothing is written that is not proved, and what we wove
//! and cannot prove is a bug of ours.

use std::fmt;
use std::path::{Path, PathBuf};

use ::weave::directive::Parameters;
use ::weave::plan::Strategy;
use ::weave::program::Program;
use ::weave::proof::{self, Kind, Proof, Violation, prove};
use ::weave::source::Source;
use ::weave::{Request, Weave};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use isa::avr::CoreType;
use selvedge::error::{Error, WeaveFault};

use super::check;
use super::inputs::Inputs;
use super::report::{Made, Pass};
use super::sweep::{self, Sweep, Swept};
use crate::output::Output;
use crate::whole;

#[derive(clap::Args, Clone)]
pub struct Weaving {
    /// Where the host is written: C (.c), C++ (.cpp), assembly for the preprocessor (.S), or assembly (.s)
    #[arg(value_name = "HOST")]
    pub(super) file: PathBuf,
    /// The host: the function that computes
    #[arg(long, value_name = "FUNCTION")]
    pub(super) host: String,
    /// Where the guest is written
    #[arg(long, value_name = "FILE")]
    pub(super) guest: PathBuf,
    /// The guest: the function that keeps time
    #[arg(long, value_name = "FUNCTION")]
    pub(super) guest_fn: String,
    /// A polling guest to run meanwhile; the directive `server` in it says how often
    #[arg(long = "server", value_name = "FILE:FUNCTION", value_parser = server)]
    pub(super) servers: Vec<(PathBuf, String)>,
    /// What the host calls is written here as well
    #[arg(long, value_name = "FILE")]
    pub(super) with: Vec<PathBuf>,
    /// The woven function, as assembly text
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// Its C header
    #[arg(long, value_name = "FILE")]
    header: Option<PathBuf>,
    /// Its name [default: HOST_GUEST]
    #[arg(long, value_name = "NAME")]
    pub(super) name: Option<String>,
    /// The chip, as avr-gcc calls it, where no directive says it
    #[arg(long, value_name = "NAME")]
    pub(super) chip: Option<String>,
    /// The number of a name in directives, and a macro of .c and .S
    #[arg(short = 'D', value_name = "NAME=VALUE", value_parser = check::definition)]
    pub(super) definitions: Vec<(String, i64)>,
    /// Bytes of the host's parameters, in order, where no directive says them; `0` for none
    #[arg(long, value_name = "BYTES", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(0..=16))]
    pub(super) host_arguments: Option<Vec<u32>>,
    /// Words of the woven function, at most, as a multiple of both functions' own
    #[arg(long, value_name = "FACTOR", default_value_t = ::weave::GROWTH, value_parser = growth)]
    growth: f64,
    /// `interleave` their code, let the host `cocall` the guest, or `auto`: what leaves the host more within the size
    #[arg(long, value_name = "STRATEGY", default_value_t = Strategy::Auto, value_parser = strategies())]
    strategy: Strategy,
    /// Let the guest send what the host stores at `;@weave produce`, in the host's register, in place of a buffer
    #[arg(long)]
    pub(super) couple: bool,
    /// A flag more for the compiler of C, behind -std=gnu99 -O2 -fno-jump-tables
    #[arg(long = "flag", value_name = "FLAG", allow_hyphen_values = true)]
    pub(super) flags: Vec<String>,
    /// Write what is printed as a page, too; `-` prints the page in place of the tables
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Weave for other values of a name as well, and say what each leaves the host
    #[arg(long, value_name = "NAME=VALUE,…", value_parser = sweep::sweep)]
    sweep: Option<Sweep>,
    /// Cycles of an interrupt handler for a round of the guest, entry and return included: says with which values of
    /// the sweep it leaves the host less
    #[arg(long, value_name = "CYCLES", requires = "sweep")]
    pub(super) handler: Option<f64>,
    /// Print what analysis finds
    #[arg(long, value_enum, value_name = "PASS", value_delimiter = ',')]
    pub(super) dump: Vec<Pass>,
}

/// Named one by one, so that shells know them.
fn strategies() -> impl TypedValueParser<Value = Strategy> {
    let of = |name: String| Strategy::ALL.into_iter().find(|strategy| strategy.name() == name);
    PossibleValuesParser::new(Strategy::ALL.map(Strategy::name))
        .map(move |name| of(name).expect("it is one of them"))
}

fn growth(text: &str) -> Result<f64, String> {
    let range = 1.0..=100.0;
    match text.parse() {
        Ok(value) if range.contains(&value) => Ok(value),
        _ => Err(format!("found `{text}`, expected a number from {} to {}", range.start(), range.end())),
    }
}

fn server(text: &str) -> Result<(PathBuf, String), String> {
    let found = text.rsplit_once(':').filter(|(file, function)| !file.is_empty() && !function.is_empty());
    let (file, function) = found.ok_or_else(|| format!("found `{text}`, expected FILE:FUNCTION"))?;
    Ok((file.into(), function.to_owned()))
}

/// Runs the verb.
pub fn run(arguments: &Weaving, output: &Output) -> Result<(), Error> {
    let woven = woven(arguments)?;
    let (program, proof) = match &woven.proved {
        Ok((program, proof)) => (program, proof),
        Err(fault) => panic!("what was woven {fault}; nothing is written"),
    };
    let inputs = &woven.inputs;
    let header = woven.header(arguments, program, proof);
    let made = Made {
        arguments: [&arguments.host, &arguments.guest_fn],
        name: &woven.name,
        out: &arguments.out,
        made_by: inputs.made_by(),
        beside: woven.beside.clone(),
        growth_max: arguments.growth,
        woven: &woven.weave,
        program,
        proof,
        chip: check::chip_of(program, None),
        swept: arguments.sweep.as_ref().map(|sweep| Swept::of(arguments, sweep)).transpose()?,
        dumps: inputs.dumps(arguments),
    };
    whole::write(&arguments.out, woven.text.as_bytes())?;
    if let Some(path) = &arguments.header {
        whole::write(path, header.as_bytes())?;
    }
    match &arguments.report {
        Some(path) if path == Path::new("-") => return output.text(&made.page()),
        Some(path) => whole::write(path, made.page().as_bytes())?,
        None => {}
    }
    output.put(&made.text(), &made.value())
}

/// A woven function that nobody has written yet.
pub struct Woven {
    inputs: Inputs,
    name: String,
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
    /// Its C header, which also says that it is linked for the right chip and clock.
    pub fn header(&self, arguments: &Weaving, program: &Program, proof: &Proof) -> String {
        self.inputs.header(arguments, (&self.name, program), proof, &self.weave)
    }
}

/// Reads, weaves and proves; writes nothing.
///
/// # Errors
/// When a file cannot be read, when the two cannot be woven, or when a server would have to run more often than it may,
/// where the guest begins or ends.
pub fn woven(arguments: &Weaving) -> Result<Woven, Error> {
    let inputs = Inputs::read(arguments)?;
    let name = arguments.name.clone().unwrap_or_else(|| format!("{}_{}", arguments.host, arguments.guest_fn));
    let servers: Vec<(&Program, &str)> =
        inputs.servers.iter().map(|server| (&server.program, server.function.as_str())).collect();
    let request = Request {
        servers: &servers,
        host_program: &inputs.host_program,
        host: &arguments.host,
        guest_program: &inputs.guest_program,
        guest: &arguments.guest_fn,
        name: &name,
        growth_max: arguments.growth,
        strategy: arguments.strategy,
        is_coupled: arguments.couple,
    };
    let mut gave_up = None;
    let made = ::weave::weave_until(&request, |weave| {
        let (text, beside) = match inputs.text(&name, &weave) {
            Ok(found) => found,
            Err(error) => return Some(Err(error)),
        };
        match proved(&text, &name, &arguments.out, inputs.host_program.core) {
            // Nothing is known to be wrong: a smaller one may have fewer states.
            Err(Unproved::Violated(violation)) if violation.kind == Kind::TooManyStates => {
                gave_up = gave_up.take().or(Some(violation));
                None
            }
            Err(Unproved::Violated(violation)) if matches!(violation.kind, Kind::Unserved { .. }) => {
                Some(Err(Error::Violation(violation)))
            }
            proved => Some(Ok((weave, text, beside, proved.map_err(|fault| fault.to_string())))),
        }
    });
    let made = made
        .map_err(|refusal| Error::Woven(WeaveFault::NotWoven { refusal, notes: inputs.notes(arguments) }))?;
    if let Some(guest) = inputs.guest_program.function(&arguments.guest_fn) {
        proof::promised(&inputs.guest_program, guest)?;
    }
    match (made, gave_up) {
        (Some(made), _) => {
            let (weave, text, beside, proved) = made?;
            Ok(Woven { inputs, name, weave, text, beside, proved })
        }
        (None, Some(violation)) => Err(Error::Violation(violation)),
        (None, None) => unreachable!("something was woven"),
    }
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
fn proved(text: &str, name: &str, out: &Path, core: CoreType) -> Result<(Program, Proof), Unproved> {
    let source = Source::parse(&out.display().to_string(), text).map_err(Unproved::Unread)?;
    let read = Program::read(std::slice::from_ref(&source), &[name], &Parameters::new(), Some(core));
    let (program, _) = read.map_err(Unproved::Unread)?;
    let function = program.function(name).expect("it was asked for and found");
    let proof = prove(&program, function, proof::Options::default()).map_err(Unproved::Violated)?;
    Ok((program, proof))
}
