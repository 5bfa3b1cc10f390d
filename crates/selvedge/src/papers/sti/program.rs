//! The programs of the cells: compiled, woven and linked.
//!
//! Owns how `firmware/baseline` is built for a case and a scheme. A woven function is made by what `selvedge weave` runs,
//! from the words of its command line, and is proved as text and again as the linker left it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use ::weave::linked;
use ::weave::proof::{self, prove};
use clap::Parser;
use isa::avr::Image;
use selvedge::error::{Error, WeaveFault};
use selvedge::toolchain::Compiler;
use selvedge::weaving::{self, Pair};

use super::cells::{Case, Direction, HOSTS, Host, MESSAGE_BYTES_MAX, Scheme};
use crate::weave::weaving::{self as verb, Outputs};

/// The chip, as avr-gcc calls it.
pub const CHIP: &str = "atmega128";
/// Bytes of a cipher's objects, at most: RC4's state.
pub const OBJECT_BYTES: usize = 320;
/// The woven function.
const WOVEN: &str = "woven";

/// A linked program.
pub struct Built {
    /// Its file.
    pub elf: Vec<u8>,
    /// The same, read.
    pub image: Image,
    /// Bytes of flash that cipher and exchange take, without `main` and the start.
    pub code_bytes: usize,
}

/// A woven program.
pub struct Woven {
    /// The program.
    pub built: Built,
    /// Cycles of the guest's own instructions in a round, which no saves are.
    pub guest_cycles: f64,
    /// Words of the function over both functions' own.
    pub growth: f64,
    /// The share of all cycles in which the schedule lets the cipher get on, before it has run.
    pub schedule_share: f64,
}

/// What becomes of a pair.
pub enum Outcome {
    /// It is woven and proved, twice.
    Woven(Box<Woven>),
    /// It is not, for this reason.
    Refused(String),
}

/// The words of a `selvedge weave`.
#[derive(Parser)]
struct Words {
    #[command(flatten)]
    pair: Pair,
    #[command(flatten)]
    _outputs: Outputs,
}

/// Whoever builds.
pub struct Builder<'a> {
    compiler: &'a Compiler,
    root: &'a Path,
    /// Bytes of the start, the C library's and that of `reserved.S`.
    start_bytes: [usize; 2],
}

impl<'a> Builder<'a> {
    /// With this compiler, from this source tree.
    pub fn new(compiler: &'a Compiler, root: &'a Path) -> Result<Builder<'a>, Error> {
        let mut builder = Builder { compiler, root, start_bytes: [0; 2] };
        let case = Case { host: &HOSTS[0], direction: Direction::Send };
        let start = |scheme, sources| {
            let built = builder.linked(&case, scheme, "BASELINE_NOTHING", "none", sources)?;
            Ok::<usize, Error>(built.code_bytes)
        };
        let library = start(Scheme::Compiled, Vec::new())?;
        let reserved = start(Scheme::Reserved, vec![builder.firmware("baseline", "reserved.S")])?;
        builder.start_bytes = [library, reserved];
        Ok(builder)
    }

    fn firmware(&self, folder: &str, file: &str) -> PathBuf {
        self.root.join("firmware").join(folder).join(file)
    }

    /// The cipher alone; with the registers of `scheme` left alone.
    pub fn alone(&self, case: &Case, scheme: Scheme) -> Result<Built, Error> {
        self.program(case, scheme, "BASELINE_CIPHER", case.host.function(case.direction), &[])
    }

    /// The cipher beside an exchange that is not woven.
    pub fn beside(&self, case: &Case, scheme: Scheme) -> Result<Built, Error> {
        let (name, file) = match scheme {
            Scheme::BusyWait => ("BASELINE_BUSY_WAIT", "busy_wait.c"),
            Scheme::Compiled => ("BASELINE_INTERRUPT", "interrupt.c"),
            Scheme::Reserved => ("BASELINE_INTERRUPT", "reserved.S"),
            Scheme::Woven | Scheme::WovenSmall | Scheme::Coupled => unreachable!("woven cells are woven"),
        };
        let exchange = [self.firmware("baseline", file)];
        self.program(case, scheme, name, case.host.function(case.direction), &exchange)
    }

    /// Cipher and exchange as one function.
    pub fn woven(&self, case: &Case, scheme: Scheme, divider: u32) -> Result<Outcome, Error> {
        let words = self.words(case, scheme, divider);
        let words = Words::try_parse_from(words).expect("they are words of `selvedge weave`");
        let woven = match weaving::woven(&words.pair, "woven.s") {
            Ok(woven) => woven,
            Err(Error::Woven(fault @ (WeaveFault::NotWoven { .. } | WeaveFault::LocalData { .. }))) => {
                return Ok(Outcome::Refused(first_line("refused: ", fault)));
            }
            Err(error) => return Err(error),
        };
        let (program, proof) = match &woven.proved {
            Ok(proved) => proved,
            Err(fault) => return Ok(Outcome::Refused(first_line("a fault of weaving, the result ", fault))),
        };
        let scratch =
            tempfile::tempdir().map_err(|error| Error::io("create a folder in", &env::temp_dir(), error))?;
        let file = |name: &str, text: &str| {
            let path = scratch.path().join(name);
            fs::write(&path, text).map_err(|error| Error::io("write", &path, error)).map(|()| path)
        };
        let text = file("woven.s", &woven.text)?;
        file("woven.h", &verb::header(&woven, &words.pair, program, proof))?;
        // It links only with somebody who has the header.
        let needs = file("needs.c", "#include \"woven.h\"\n")?;
        let built = self.woven_program(case, scheme, [text, needs], woven.beside.is_none())?;
        let program = linked::program(&built.elf, WOVEN)?;
        let function = program.function(WOVEN).expect("it was linked");
        if let Err(violation) = prove(&program, function, proof::Options::default()) {
            let words = first_line("a fault of weaving, the linked result is not proved: ", violation);
            return Ok(Outcome::Refused(words));
        }
        let growth = f64::from(woven.weave.choice.words) / f64::from(woven.weave.plain_words);
        let estimate = woven.weave.choice.estimate;
        let (guest_cycles, schedule_share) = (estimate.guest_cycles_per_round(), estimate.host_share());
        Ok(Outcome::Woven(Box::new(Woven { built, guest_cycles, growth, schedule_share })))
    }

    /// The command line that weaves a cell.
    fn words(&self, case: &Case, scheme: Scheme, divider: u32) -> Vec<String> {
        let Case { host, direction } = case;
        let path = |path: PathBuf| path.display().to_string();
        let crypto = |file: &str| path(self.firmware("crypto", file));
        let guest = direction.guest();
        let mut words = vec!["weave".to_owned(), crypto(host.files[0])];
        let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
        option("--host", host.function(*direction).to_owned());
        option("--host-arguments", host.cipher.arguments().to_owned());
        host.files[1..].iter().for_each(|file| option("--with", crypto(file)));
        option("--guest", path(self.firmware("node", &format!("guest_{guest}.S"))));
        option("--guest-fn", guest.to_owned());
        option("--chip", CHIP.to_owned());
        option("--growth", scheme.growth().to_owned());
        option("--name", WOVEN.to_owned());
        option("-D", format!("PERIOD={}", 8 * divider + 2));
        option("--flag", host.build.level().to_owned());
        option("--out", "woven.s".to_owned());
        if scheme == Scheme::Coupled {
            words.push("--couple".to_owned());
        }
        words
    }

    fn woven_program(
        &self,
        case: &Case,
        scheme: Scheme,
        texts: [PathBuf; 2],
        with_host: bool,
    ) -> Result<Built, Error> {
        let skipped = usize::from(!with_host);
        let files = case.host.files[skipped..].iter().map(|file| self.firmware("crypto", file));
        let sources: Vec<PathBuf> = texts.into_iter().chain(files).collect();
        self.linked(case, scheme, "BASELINE_WOVEN", WOVEN, sources)
    }

    fn program(
        &self,
        case: &Case,
        scheme: Scheme,
        name: &str,
        function: &str,
        exchange: &[PathBuf],
    ) -> Result<Built, Error> {
        let files = case.host.files.iter().map(|file| self.firmware("crypto", file));
        self.linked(case, scheme, name, function, files.chain(exchange.iter().cloned()).collect())
    }

    fn linked(
        &self,
        case: &Case,
        scheme: Scheme,
        name: &str,
        function: &str,
        mut sources: Vec<PathBuf>,
    ) -> Result<Built, Error> {
        sources.insert(0, self.firmware("baseline", "main.c"));
        let mut flags = self.flags(case.host, case.direction);
        flags.extend([format!("-DBASELINE_SCHEME={name}"), format!("-DBASELINE_FUNCTION={function}")]);
        if scheme == Scheme::Coupled {
            flags.push("-DBASELINE_COUPLED".to_owned());
        }
        if scheme == Scheme::Reserved {
            flags.push(case.host.registers.define().to_owned());
            flags.extend(case.host.registers.fixed().iter().map(|&flag| flag.to_owned()));
        }
        let has_own_start = sources.iter().any(|source| source.ends_with("reserved.S"));
        if has_own_start {
            flags.push("-nostartfiles".to_owned());
        }
        let elf = self.compiler.program(&sources, CHIP, &flags)?;
        let image = Image::parse(&elf)?;
        let code_bytes = bytes_without_main(&image) - self.start_bytes[usize::from(has_own_start)];
        Ok(Built { elf, image, code_bytes })
    }

    fn flags(&self, host: &Host, direction: Direction) -> Vec<String> {
        let mut flags: Vec<String> =
            ["-std=gnu99", host.build.level(), "-fno-jump-tables", "-ffunction-sections"]
                .map(str::to_owned)
                .into();
        flags.extend(["-Wl,--gc-sections", "-Wall", "-Werror"].map(str::to_owned));
        flags.push(format!("-Wl,-T,{}", self.firmware("node", "weave.ld").display()));
        flags.push(format!("-I{}", self.root.join("firmware/baseline").display()));
        flags.push(format!("-DBASELINE_SHAPE={}", host.cipher.shape()));
        flags.push(format!("-DBASELINE_OBJECT_BYTES={OBJECT_BYTES}"));
        flags.push(format!("-DBASELINE_MESSAGE_BYTES={MESSAGE_BYTES_MAX}"));
        if direction == Direction::Receive {
            flags.push("-DBASELINE_RECEIVE".to_owned());
        }
        flags
    }
}

/// Why there is no cell, in one line.
fn first_line(what: &str, words: impl std::fmt::Display) -> String {
    format!("{what}{}", words.to_string().lines().next().unwrap_or_default())
}

/// Bytes of flash without `main`.
fn bytes_without_main(image: &Image) -> usize {
    let flash: usize = image.flash.iter().map(|segment| segment.bytes.len()).sum();
    flash - image.symbol("main").expect("a program has a main").bytes as usize
}
