//! `selvedge weave check`: proves the timing of assembly code and of linked images.
//!
//! Owns the verb and how a proof is shown; weaving shows its own proof by the same tables.

use std::fs;
use std::path::PathBuf;

use ::weave::directive::{Directive, Parameters};
use ::weave::program::{Origin, Point, Program};
use ::weave::proof::{Followed, Interrupts, Options, Proof, Proved, Unbounded, Window, prove};
use ::weave::{chip, linked};
use clap::ValueEnum;
use isa::avr::{ATMEGA128, ATMEGA328P};
use report::table::{Column, Entry, Table};
use selvedge::error::{Error, WeaveFault};
use selvedge::weaving::texts::{Reader, Text};
use selvedge::weaving::{definition, names};
use serde_json::{Value, json};

use crate::output::Output;

#[derive(clap::Args)]
pub struct Check {
    /// Assembly text, C (.c) or assembly for the preprocessor (.S), or a linked ELF file with the directives in its
    /// section `.weave`
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The function
    #[arg(long = "fn", value_name = "NAME")]
    function: String,
    /// Whose cycles count, where no directive says it
    #[arg(long, value_name = "NAME")]
    chip: Option<String>,
    /// The number of a name in the directives of a text
    #[arg(short = 'D', value_name = "NAME=VALUE", value_parser = definition)]
    definitions: Vec<(String, i64)>,
    /// What is promised of interrupts
    #[arg(long, value_enum, default_value_t = Promise::Nothing)]
    interrupts: Promise,
}

/// What is promised of interrupts.
#[derive(Clone, Copy, ValueEnum)]
enum Promise {
    /// Nothing: the function must turn them off while a clock runs
    Nothing,
    /// It is only called with interrupts off
    OffAtEntry,
    /// They may be on while a clock runs: none comes, or none is minded
    Allowed,
}

/// Runs the verb.
pub fn run(check: Check, output: &Output) -> Result<(), Error> {
    let bytes = fs::read(&check.file).map_err(|source| Error::io("read", &check.file, source))?;
    let program = program(&check, &bytes)?;
    check_timed_for(&check, &program)?;
    let chip = chip_of(&program, check.chip.as_deref());
    let function = program.function(&check.function).expect("it was asked for and found");
    let interrupts = match check.interrupts {
        Promise::Nothing => Interrupts::Checked,
        Promise::OffAtEntry => Interrupts::OffAtEntry,
        Promise::Allowed => Interrupts::Allowed,
    };
    let proof = prove(&program, function, Options { interrupts, ..Options::default() })?;
    output.put(&text(&program, &proof, chip), &value(&program, &proof, chip, None))
}

fn program(check: &Check, bytes: &[u8]) -> Result<Program, Error> {
    names::check_one_value(&check.definitions)?;
    let reader = Reader { chip: check.chip.as_deref(), flags: &[], definitions: &check.definitions };
    if bytes.starts_with(b"\x7fELF") {
        names::check_used(&reader, &[])?;
        return Ok(linked::program_for(bytes, &check.function, check.chip.as_deref())?);
    }
    let text = match check.file.extension().and_then(|extension| extension.to_str()) {
        Some("c" | "S") => reader.text(&check.file)?,
        _ => Text::plain(&check.file, String::from_utf8_lossy(bytes).into_owned())?,
    };
    let parameters: Parameters = check.definitions.iter().cloned().collect();
    let core = match &check.chip {
        None => None,
        Some(name) => {
            let unknown = || ::weave::linked::LinkedError::Chip { name: name.clone() };
            Some(chip::core(name).ok_or_else(unknown)?)
        }
    };
    let roots = [check.function.as_str()];
    let (program, _) = Program::read(std::slice::from_ref(&text.assembly), &roots, &parameters, core)?;
    let chip = chip_of(&program, None).or(check.chip.as_deref());
    names::check_used(&Reader { chip, ..reader }, &[&text])?;
    Ok(program)
}

/// What the directives say of chip and clock is what the command line says.
fn check_timed_for(check: &Check, program: &Program) -> Result<(), Error> {
    let f_cpu = check.definitions.iter().find(|(name, _)| name == names::CLOCK);
    let directives = program.functions.iter().flat_map(|function| &function.directives);
    for written in directives {
        let (found, expected) = match (&written.directive, &check.chip, f_cpu) {
            (Directive::Chip(found), Some(expected), _) => (found.clone(), expected.clone()),
            (Directive::Frequency(found), _, Some((_, expected))) => {
                (format!("{found} Hz"), format!("{expected} Hz"))
            }
            _ => continue,
        };
        if !found.eq_ignore_ascii_case(&expected) {
            let function = check.function.clone();
            return Err(Error::Woven(WeaveFault::Mistimed { found, expected, function }));
        }
    }
    Ok(())
}

/// The chip that the directives name, or the command line.
pub fn chip_of<'a>(program: &'a Program, named: Option<&'a str>) -> Option<&'a str> {
    let directives = program.functions.iter().flat_map(|function| &function.directives);
    let mut chips = directives.filter_map(|written| match &written.directive {
        Directive::Chip(name) => Some(name.as_str()),
        _ => None,
    });
    chips.next().or(named)
}

/// Who vouches for the cycles: the table alone, or a simulator too.
pub fn witnesses(chip: Option<&str>) -> &'static str {
    let is_simulated =
        |name: &str| [&ATMEGA128, &ATMEGA328P].iter().any(|profile| profile.name.eq_ignore_ascii_case(name));
    if chip.is_some_and(is_simulated) { "table and simulator" } else { "static only, one witness" }
}

fn place(program: &Program, point: Point) -> String {
    match program.code[point].origin {
        Origin::Line { line, .. } => format!("line {line}"),
        Origin::Address(address) => format!("{address:#06x}"),
    }
}

/// `0`, or `0 | 130` for a start that comes every 130 cycles.
fn at(event: &Proved) -> String {
    let periods: Vec<String> = event.periods.iter().map(u32::to_string).collect();
    let mut at = event.at.to_string();
    if !periods.is_empty() {
        at = format!("{at}, every {}", periods.join(" or "));
    }
    if event.jitter > 0 { format!("{at} +- {}", event.jitter) } else { at }
}

fn found(event: &Proved) -> String {
    match event.deviation {
        None => "once".to_owned(),
        Some((0, 0)) => "exact".to_owned(),
        Some((least, greatest)) => format!("{least:+} to {greatest:+}"),
    }
}

fn unbounded(program: &Program, why: Unbounded) -> String {
    match why {
        Unbounded::Loop(point) => {
            format!("not bounded: the loop at {} is not counted", place(program, point))
        }
        Unbounded::Call(point) => format!("not bounded: unknown code is called at {}", place(program, point)),
        Unbounded::Return(point) => {
            format!("not bounded: it returns at {} with them off", place(program, point))
        }
    }
}

/// The events of a proof, one a line.
pub fn events(proof: &Proof) -> Table {
    let columns = ["event", "clock", "at", "found", "states", "verdict"].map(Column::new);
    let mut table = Table::new(proof.function.clone(), columns);
    for event in &proof.events {
        let words = [&event.event, &event.clock, &at(event), &found(event)].map(|word| word.as_str().into());
        let [name, clock, at, found]: [Entry; 4] = words;
        table.push([name, clock, at, found, event.states.into(), "proved".into()]);
    }
    table
}

/// The longest time with interrupts off, where there are at most so many rounds, if that is known.
pub fn window(program: &Program, proof: &Proof, rounds_max: Option<u64>) -> String {
    match (proof.window, rounds_max) {
        (Window::Cycles(cycles), _) => format!("at most {cycles} cycles"),
        (Window::Rounds { first_cycles, further_cycles }, None) => {
            format!("at most {first_cycles} cycles for one round, and {further_cycles} for each further one")
        }
        (window @ Window::Rounds { .. }, Some(rounds)) => format!(
            "{}; at most {} cycles for {rounds} rounds",
            self::window(program, proof, None),
            window.cycles(rounds).expect("it is known for each number of rounds")
        ),
        (Window::Unbounded(why), _) => unbounded(program, why),
    }
}

/// How often a server runs.
pub fn server(proof: &Proof, name: &str) -> String {
    let found = proof.servers.iter().find(|(server, ..)| server == name);
    let (_, most, within) = found.expect("it is one of the proof's");
    format!("at most {most} cycles between two runs, within {within}")
}

/// What it takes of the stack.
pub fn stack(proof: &Proof) -> String {
    let frames = if proof.stack.framed { " and frames" } else { "" };
    format!("{} bytes{frames}", proof.stack.bytes)
}

/// A clock that follows another crystal, and for how long.
pub fn followed(followed: &Followed) -> String {
    let Followed { clock, ppm, rounds, rounds_max, polled_cycles } = followed;
    format!(
        "clock {clock} follows a crystal within {ppm} ppm for {rounds_max} rounds, {rounds} are asked for; \
         asked every {polled_cycles} cycles"
    )
}

fn text(program: &Program, proof: &Proof, chip: Option<&str>) -> String {
    let mut text = events(proof).text(None);
    text += &format!("interrupts off: {}\n", window(program, proof, None));
    text += &format!("stack: {}\n", stack(proof));
    for (server, ..) in &proof.servers {
        text += &format!("server {server}: {}\n", self::server(proof, server));
    }
    for each in &proof.followed {
        text += &format!("drift: {}\n", followed(each));
    }
    for trusted in &proof.trusted {
        let (place, min, max) = (place(program, trusted.header), trusted.min, trusted.max);
        let between = if trusted.between { ".." } else { " or " };
        text += &format!("trusted: the loop at {place} runs {min}{between}{max} times\n");
    }
    text += &format!("cycles of: {} ({})\n", chip.unwrap_or("the core that the file names"), witnesses(chip));
    text
}

/// A proof as JSON; there are at most so many rounds, if that is known.
pub fn value(program: &Program, proof: &Proof, chip: Option<&str>, rounds_max: Option<u64>) -> Value {
    let events: Vec<Value> = proof
        .events
        .iter()
        .map(|event| {
            json!({
                "event": event.event, "clock": event.clock, "at_cycles": event.at,
                "periods_cycles": event.periods, "jitter_cycles": event.jitter, "maybe": event.maybe,
                "deviation_cycles": event.deviation, "states": event.states,
                "places": event.points.iter().map(|&point| place(program, point)).collect::<Vec<_>>(),
            })
        })
        .collect();
    let window_cycles = match (proof.window, rounds_max) {
        (Window::Rounds { .. }, None) => None,
        (window, rounds) => window.cycles(rounds.unwrap_or(1)),
    };
    let round_cycles = match proof.window {
        Window::Rounds { first_cycles, further_cycles } => Some([first_cycles, further_cycles]),
        Window::Cycles(_) | Window::Unbounded(_) => None,
    };
    let trusted: Vec<Value> = proof
        .trusted
        .iter()
        .map(|trusted| {
            json!({
                "place": place(program, trusted.header), "min": trusted.min, "max": trusted.max,
                "between": trusted.between,
            })
        })
        .collect();
    let followed: Vec<Value> = proof
        .followed
        .iter()
        .map(|each| {
            json!({
                "clock": each.clock, "ppm": each.ppm, "rounds": each.rounds, "rounds_max": each.rounds_max,
                "polled_cycles": each.polled_cycles,
            })
        })
        .collect();
    json!({
        "function": proof.function, "verdict": "proved", "chip": chip, "witnesses": witnesses(chip),
        "events": events, "interrupts_off_cycles_max": window_cycles,
        "interrupts_off_first_round_cycles": round_cycles.map(|[first, _]| first),
        "interrupts_off_further_round_cycles": round_cycles.map(|[_, further]| further),
        "interrupts_off": window(program, proof, rounds_max),
        "servers": proof.servers.iter().map(|(name, most, within)| {
            json!({ "server": name, "cycles_max": most, "within_cycles": within })
        }).collect::<Vec<_>>(),
        "stack_bytes": proof.stack.bytes, "stack_framed": proof.stack.framed, "trusted": trusted,
        "drift": followed, "states": proof.states,
    })
}
