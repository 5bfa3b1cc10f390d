//! `selvedge weave HOST`: two functions become one, which is proved and written.
//!
//! Owns the order of the work: read, weave, prove, write. Nothing is written that is not proved, and what we wove
//! and cannot prove is a bug of ours. Files get their names only when they are whole.

use std::io::Write;
use std::path::{Path, PathBuf};

use ::weave::directive::{Directive, Parameters};
use ::weave::item::Item;
use ::weave::memory::Disjoint;
use ::weave::program::{Origin, Program, Written};
use ::weave::proof::{self, Kind, Proof, prove};
use ::weave::source::Source;
use ::weave::{Request, Weave, chip, linked};
use isa::avr::CoreType;
use selvedge::error::{Error, WeaveFault};

use super::check;
use super::header::{Header, Prototype, guards};
use super::report::{Made, Pass};
use super::texts::{Reader, Text};
use crate::output::Output;

#[derive(clap::Args)]
pub struct Weaving {
    /// Where the host is written: C (.c), assembly for the preprocessor (.S), or assembly (.s)
    #[arg(value_name = "HOST")]
    file: PathBuf,
    /// The host: the function that computes
    #[arg(long, value_name = "FUNCTION")]
    host: String,
    /// Where the guest is written
    #[arg(long, value_name = "FILE")]
    guest: PathBuf,
    /// The guest: the function that keeps time
    #[arg(long, value_name = "FUNCTION")]
    guest_fn: String,
    /// A polling guest to run meanwhile; the directive `server` in it says how often
    #[arg(long = "server", value_name = "FILE:FUNCTION", value_parser = server)]
    servers: Vec<(PathBuf, String)>,
    /// What the host calls is written here as well
    #[arg(long, value_name = "FILE")]
    with: Vec<PathBuf>,
    /// The woven function, as assembly text
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// Its C header
    #[arg(long, value_name = "FILE")]
    header: Option<PathBuf>,
    /// Its name [default: HOST_GUEST]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The chip, as avr-gcc calls it, where no directive says it
    #[arg(long, value_name = "NAME")]
    chip: Option<String>,
    /// The number of a name in directives, and a macro of .c and .S
    #[arg(short = 'D', value_name = "NAME=VALUE", value_parser = check::definition)]
    definitions: Vec<(String, i64)>,
    /// Bytes of the host's parameters, in order, where no directive says them; `0` for none
    #[arg(long, value_name = "BYTES", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(0..=16))]
    host_arguments: Option<Vec<u32>>,
    /// Words of the woven function, at most, as a multiple of both functions' own
    #[arg(long, value_name = "FACTOR", default_value_t = 3.0, value_parser = growth)]
    growth: f64,
    /// A flag more for the compiler of C, behind -std=gnu99 -O2 -fno-jump-tables
    #[arg(long = "flag", value_name = "FLAG", allow_hyphen_values = true)]
    flags: Vec<String>,
    /// Write what is printed as a page, too; `-` prints the page in place of the tables
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Print what analysis finds
    #[arg(long, value_enum, value_name = "PASS", value_delimiter = ',')]
    dump: Vec<Pass>,
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
    };
    let woven = ::weave::weave(&request)
        .map_err(|refusal| Error::Woven(WeaveFault::NotWoven { refusal, notes: inputs.notes(arguments) }))?;
    let (text, beside) = inputs.text(&name, &woven)?;
    let (program, proof) = proved(&text, &name, &arguments.out, inputs.host_program.core)?;
    let header = inputs.header(arguments, (&name, &program), &proof, &woven.shares);
    let made = Made {
        arguments: [&arguments.host, &arguments.guest_fn],
        name: &name,
        out: &arguments.out,
        made_by: inputs.made_by(),
        beside,
        growth_max: arguments.growth,
        woven: &woven,
        program: &program,
        proof: &proof,
        chip: check::chip_of(&program, None),
        dumps: inputs.dumps(arguments),
    };
    write(&arguments.out, text.as_bytes())?;
    if let Some(path) = &arguments.header {
        write(path, header.as_bytes())?;
    }
    match &arguments.report {
        Some(path) if path == Path::new("-") => return output.text(&made.page()),
        Some(path) => write(path, made.page().as_bytes())?,
        None => {}
    }
    output.put(&made.text(), &made.value())
}

/// Reads what we wrote as anybody's text, and proves it.
///
/// # Errors
/// A server that has to run more often than it may, where the guest begins or ends. Any other violation is ours.
fn proved(text: &str, name: &str, out: &Path, core: CoreType) -> Result<(Program, Proof), Error> {
    let file = out.display().to_string();
    let source =
        Source::parse(&file, text).unwrap_or_else(|error| panic!("what was woven does not read: {error}"));
    let read = Program::read(std::slice::from_ref(&source), &[name], &Parameters::new(), Some(core));
    let (program, _) = read.unwrap_or_else(|error| panic!("what was woven does not read: {error}"));
    let function = program.function(name).expect("it was asked for and found");
    let proof = prove(&program, function, proof::Options::default());
    match proof {
        Ok(proof) => Ok((program, proof)),
        Err(violation) if matches!(violation.kind, Kind::Unserved { .. }) => Err(Error::Violation(violation)),
        Err(violation) => panic!("what was woven is not proved, nothing is written: {violation}"),
    }
}

/// Under its name only when it is whole.
fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let failed = |source| Error::io("write", path, source);
    let mut fresh = tempfile::Builder::new().permissions(plain()).tempfile_in(folder).map_err(failed)?;
    fresh.write_all(bytes).map_err(failed)?;
    fresh.persist(path).map(drop).map_err(|error| failed(error.error))
}

/// What a file that a compiler writes may be done with, before the user's mask.
fn plain() -> std::fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o666)
}

/// Both threads as they were read.
struct Inputs {
    /// The host's file first, then those with what it calls.
    hosts: Vec<Text>,
    guest: Text,
    host_program: Program,
    guest_program: Program,
    servers: Vec<Server>,
}

/// A polling guest as it was read.
struct Server {
    text: Text,
    program: Program,
    function: String,
}

impl Inputs {
    fn read(arguments: &Weaving) -> Result<Inputs, Error> {
        let named = arguments.chip.as_deref();
        let reader = Reader { chip: named, flags: &arguments.flags, definitions: &arguments.definitions };
        let guest = reader.text(&arguments.guest)?;
        let core = match named {
            None => None,
            Some(name) => {
                Some(chip::core(name).ok_or_else(|| linked::LinkedError::Chip { name: name.to_owned() })?)
            }
        };
        let parameters: Parameters = arguments.definitions.iter().cloned().collect();
        let sources = std::slice::from_ref(&guest.assembly);
        let mut guest_program = Program::read(sources, &[&arguments.guest_fn], &parameters, core)?.0;
        let said = says(&guest_program, &arguments.guest_fn);
        let chip = said.chip.clone().or(arguments.chip.clone());
        let reader = Reader { chip: chip.as_deref(), ..reader };
        let core = Some(guest_program.core);
        let read = |(file, function): &(PathBuf, String)| {
            let text = reader.text(file)?;
            let sources = std::slice::from_ref(&text.assembly);
            let program = Program::read(sources, &[function], &parameters, core)?.0;
            let chip = says(&program, function).chip;
            match (chip, said.chip.as_deref().or(named)) {
                (Some(found), Some(expected)) if found != expected => differ(&found, expected, function),
                _ => Ok(Server { text, program, function: function.clone() }),
            }
        };
        let servers = arguments.servers.iter().map(read).collect::<Result<Vec<Server>, Error>>()?;
        let files = std::iter::once(&arguments.file).chain(&arguments.with);
        let hosts = files.map(|file| reader.text(file)).collect::<Result<Vec<Text>, Error>>()?;
        let sources: Vec<Source> = hosts.iter().map(|text| text.assembly.clone()).collect();
        let mut host_program = Program::read(&sources, &[&arguments.host], &parameters, core)?.0;
        agree(&says(&host_program, &arguments.host), &said, named, [&arguments.host, &arguments.guest_fn])?;
        if let (None, Some(chip)) = (said.chip, chip) {
            add(&mut guest_program, &arguments.guest_fn, Directive::Chip(chip));
        }
        let f_cpu = arguments.definitions.iter().find(|(name, _)| name == "F_CPU");
        match (said.f_cpu_hz, f_cpu.map(|(_, hertz)| hertz.unsigned_abs())) {
            (None, Some(hertz)) => {
                add(&mut guest_program, &arguments.guest_fn, Directive::Frequency(hertz));
            }
            (Some(found), Some(hertz)) if found != hertz => {
                return differ(&format!("{found} Hz"), &format!("{hertz} Hz"), &arguments.guest_fn);
            }
            _ => {}
        }
        if let Some(bytes) = &arguments.host_arguments
            && !says(&host_program, &arguments.host).has_arguments
        {
            let bytes = bytes.iter().copied().filter(|&bytes| bytes > 0).collect();
            add(&mut host_program, &arguments.host, Directive::Arguments(bytes));
        }
        Ok(Inputs { hosts, guest, host_program, guest_program, servers })
    }

    /// What to know when the two are refused.
    fn notes(&self, arguments: &Weaving) -> Vec<String> {
        let mut notes = Vec::new();
        if !says(&self.host_program, &arguments.host).has_arguments {
            notes.push("help: or say them with `--host-arguments 2,2,1`, in bytes".to_owned());
        }
        notes
    }

    fn made_by(&self) -> Vec<String> {
        self.texts().filter_map(|text| text.made_by.clone()).collect()
    }

    /// The host's file first.
    fn texts(&self) -> impl Iterator<Item = &Text> {
        let servers = self.servers.iter().map(|server| &server.text);
        self.hosts.iter().chain([&self.guest]).chain(servers)
    }

    /// The output, and what stands in it beside the woven function: the host's file when only that can name what the
    /// woven function needs.
    fn text(&self, name: &str, woven: &Weave) -> Result<(String, Option<PathBuf>), Error> {
        let mut beside = None;
        for symbol in symbols(&woven.items) {
            for (index, text) in self.texts().enumerate() {
                if is_local(text.assembly.text(), symbol) {
                    if index > 0 {
                        return Err(Error::Woven(WeaveFault::LocalData {
                            symbol: symbol.to_owned(),
                            path: text.path.clone(),
                        }));
                    }
                    beside = Some(text.path.clone());
                }
            }
        }
        let guards = guards(name, &woven.guest.says);
        let text = match &beside {
            Some(_) => format!("{guards}{}\n{}", self.hosts[0].assembly.text().trim_end(), woven.text),
            None => guards + &woven.text,
        };
        Ok((text, beside))
    }

    fn header(
        &self,
        arguments: &Weaving,
        (name, program): (&str, &Program),
        proof: &Proof,
        shares: &Disjoint,
    ) -> String {
        let contract = [
            "Interrupts are off while the guest runs, and then as they were.".to_owned(),
            format!("Needs {} of the stack.", check::stack(proof)),
            "What either must be called with holds for both.".into(),
        ];
        let function = program.function(name).expect("it was proved");
        let said: Vec<Directive> =
            function.directives.iter().map(|written| written.directive.clone()).collect();
        let prototype = |texts: &[Text], function: &str, bytes: Vec<u32>, thread: &str| {
            let found = texts.iter().find_map(|text| Prototype::find(&text.written, function, bytes.len()));
            let is_found = found.is_some();
            (found.unwrap_or_else(|| Prototype::by_size(&bytes, thread)), is_found)
        };
        let bytes = |program: &Program, function: &str| says(program, function).arguments;
        let host =
            prototype(&self.hosts, &arguments.host, bytes(&self.host_program, &arguments.host), "host");
        let guest = prototype(
            std::slice::from_ref(&self.guest),
            &arguments.guest_fn,
            bytes(&self.guest_program, &arguments.guest_fn),
            "guest",
        );
        let header = Header {
            name,
            host: (&arguments.host, host.0, host.1),
            guest: (&arguments.guest_fn, guest.0, guest.1),
            says: &said,
            contract: &contract,
            granted: &shares.granted,
        };
        header.text()
    }

    /// What was asked for, of host and guest.
    fn dumps(&self, arguments: &Weaving) -> Vec<(String, String)> {
        let mut dumps = Vec::new();
        for &pass in &arguments.dump {
            dumps.extend(pass.of(&self.host_program, &arguments.host));
            dumps.extend(pass.of(&self.guest_program, &arguments.guest_fn));
        }
        dumps
    }
}

/// What a function's directives say of it as a whole.
#[derive(Default)]
struct Says {
    chip: Option<String>,
    f_cpu_hz: Option<u64>,
    arguments: Vec<u32>,
    has_arguments: bool,
}

fn says(program: &Program, function: &str) -> Says {
    let mut says = Says::default();
    let written = program.function(function).map_or(&[][..], |function| &function.directives);
    for written in written {
        match &written.directive {
            Directive::Chip(name) => says.chip = Some(name.clone()),
            Directive::Frequency(hertz) => says.f_cpu_hz = Some(*hertz),
            Directive::Arguments(bytes) => {
                (says.arguments, says.has_arguments) = (bytes.clone(), true);
            }
            _ => {}
        }
    }
    says
}

/// Both threads and the command line name one chip and one clock, as far as they name any.
fn agree(
    host: &Says,
    guest: &Says,
    named: Option<&str>,
    [host_name, guest_name]: [&str; 2],
) -> Result<(), Error> {
    if let (Some(found), Some(expected)) = (guest.chip.as_deref(), named)
        && found != expected
    {
        return differ(found, expected, guest_name);
    }
    if let (Some(found), Some(expected)) = (host.chip.as_deref(), guest.chip.as_deref().or(named))
        && found != expected
    {
        return differ(found, expected, host_name);
    }
    match (host.f_cpu_hz, guest.f_cpu_hz) {
        (Some(found), Some(expected)) if found != expected => {
            differ(&format!("{found} Hz"), &format!("{expected} Hz"), host_name)
        }
        _ => Ok(()),
    }
}

fn differ<T>(found: &str, expected: &str, function: &str) -> Result<T, Error> {
    let [found, expected, function] = [found, expected, function].map(str::to_owned);
    Err(Error::Woven(WeaveFault::Mistimed { found, expected, function }))
}

fn add(program: &mut Program, function: &str, directive: Directive) {
    let function = program.functions.iter_mut().find(|known| known.name == function);
    let function = function.expect("it was asked for and found");
    // No line says it: the command line does.
    function.directives.push(Written { directive, origin: Origin::Line { text: 0, line: 0 } });
}

/// The names in operands that only the linker knows.
fn symbols(items: &[Item]) -> Vec<&str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
    let expressions = items.iter().filter_map(|item| match item {
        Item::Line(line) => line.expression.as_deref(),
        _ => None,
    });
    let mut names: Vec<&str> = expressions
        .flat_map(|expression| expression.split(|c| !is_word(c)))
        .filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '.')))
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Whether a text has a symbol that other texts cannot name.
fn is_local(text: &str, symbol: &str) -> bool {
    let words = |line: &str| -> Vec<String> {
        line.split(|c: char| c.is_whitespace() || c == ',')
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let (mut defined, mut visible) = (false, false);
    for line in text.lines() {
        let words = words(line);
        let Some(first) = words.first() else { continue };
        let names_it = words[1..].iter().any(|word| word == symbol);
        defined |= first.strip_suffix(':') == Some(symbol);
        match first.as_str() {
            ".global" | ".globl" | ".weak" => visible |= names_it,
            ".local" | ".lcomm" => defined |= names_it,
            _ => {}
        }
    }
    defined && !visible
}
