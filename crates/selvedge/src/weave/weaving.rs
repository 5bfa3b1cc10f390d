//! `selvedge weave HOST`: two functions become one, which is proved and written.
//!
//! Owns the verb's options and what it writes. Nothing is written that is not proved; how it is woven is
//! `selvedge::weaving`'s.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use ::weave::program::Program;
use ::weave::proof::Proof;
use ::weave::unroll;
use selvedge::error::{Error, WeaveFault};
use selvedge::weaving::{Pair, Reading, Woven};

use super::check;
use super::report::{Made, Pass};
use super::sweep::{self, Sweep, Swept};
use crate::output::Output;
use selvedge::whole::{self, is_same_file};

/// What is written and printed.
#[derive(clap::Args)]
pub struct Outputs {
    /// The woven function, as assembly text
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// Its C header
    #[arg(long, value_name = "FILE")]
    header: Option<PathBuf>,
    /// Write what is printed as a page, too; `-` prints the page in place of the tables
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Weave for other values of a name as well, and say what each leaves the host
    #[arg(long, value_name = "NAME=VALUE,…", value_parser = sweep::sweep)]
    sweep: Option<Sweep>,
    /// Cycles of an interrupt handler for a round of the guest, entry and return included: says with which values of
    /// the sweep it leaves the host less
    #[arg(long, value_name = "CYCLES", requires = "sweep")]
    handler: Option<f64>,
    /// Print what analysis finds
    #[arg(long, value_enum, value_name = "PASS", value_delimiter = ',')]
    dump: Vec<Pass>,
}

impl Outputs {
    /// What is written has a place where nothing is that is read, or written as well.
    fn check_own_places(&self, read: &[PathBuf]) -> Result<(), Error> {
        let page = self.report.iter().filter(|path| *path != Path::new("-"));
        let written: Vec<&PathBuf> = [&self.out].into_iter().chain(&self.header).chain(page).collect();
        for (index, path) in written.iter().enumerate() {
            if let Some(other) =
                read.iter().chain(written[..index].iter().copied()).find(|other| is_same_file(path, other))
            {
                let [path, other] = [path, other].map(|path| path.to_path_buf());
                return Err(Error::Woven(WeaveFault::Overwrites { path, other }));
            }
        }
        Ok(())
    }
}

/// Runs the verb.
pub fn run(pair: &Pair, outputs: &Outputs, output: &Output) -> Result<(), Error> {
    let reading = Reading::of(pair)?;
    outputs.check_own_places(&reading.sources(pair)?)?;
    reading.check_used(pair, outputs.sweep.as_ref().map(Sweep::example))?;
    let woven = reading.woven(pair, &outputs.out.display().to_string())?;
    woven.check_growth(pair)?;
    let (program, proof) = match &woven.proved {
        Ok((program, proof)) => (program, proof),
        Err(fault) => panic!("what was woven {fault}; nothing is written"),
    };
    let header = header(&woven, pair, program, proof);
    let made = Made {
        arguments: [&pair.host, &pair.guest_fn],
        name: &woven.name,
        out: &outputs.out,
        made_by: woven.made_by(),
        beside: woven.beside.clone(),
        growth_max: pair.growth,
        woven: &woven.weave,
        program,
        proof,
        chip: check::chip_of(program, None),
        swept: outputs.sweep.as_ref().map(|sweep| Swept::of(pair, sweep, outputs.handler)).transpose()?,
        dumps: dumps(pair, &outputs.dump, woven.threads()),
    };
    whole::write(&outputs.out, woven.text.as_bytes())?;
    if let Some(path) = &outputs.header {
        whole::write(path, header.as_bytes())?;
    }
    match &outputs.report {
        Some(path) if path == Path::new("-") => return output.text(&made.page()),
        Some(path) => whole::write(path, made.page().as_bytes())?,
        None => {}
    }
    output.put(&made.text(), &made.value())
}

/// The C header of a woven function.
pub fn header(woven: &Woven, pair: &Pair, program: &Program, proof: &Proof) -> String {
    let couples = "What the host stores where it produces a byte is sent, and not stored.".to_owned();
    let contract = [
        "Interrupts are off while the guest runs, and then as they were:".to_owned(),
        format!("{}.", check::window(program, proof, woven.weave.guest.rounds_max)),
        format!("Needs {} of the stack.", check::stack(proof)),
        "What either must be called with holds for both.".into(),
    ];
    let contract: Vec<String> = contract.into_iter().chain(pair.couple.then_some(couples)).collect();
    woven.header(pair, program, &contract)
}

/// What was asked for, of host and guest. What the guest leaves idle is that of the guest without loops inside its
/// rounds.
fn dumps(pair: &Pair, passes: &[Pass], [host, guest]: [&Program; 2]) -> Vec<(String, String)> {
    let mut dumps = Vec::new();
    for &pass in passes {
        dumps.extend(pass.of(host, &pair.host));
        let timed = guest.function(&pair.guest_fn).filter(|_| pass == Pass::Slack);
        let unrolled = timed.and_then(|function| unroll::unrolled(guest, function).ok());
        let guest = unrolled.map_or(Cow::Borrowed(guest), Cow::Owned);
        dumps.extend(pass.of(guest.as_ref(), &pair.guest_fn));
    }
    dumps
}
