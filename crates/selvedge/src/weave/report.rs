//! What weaving made, for a person, for a machine, and as a page; and what the analyses found, as text.
//!
//! Owns: the tables. Computes nothing that is not said by `weave`: an estimate is named one.

use std::path::{Path, PathBuf};

use ::weave::analysis::Analysis;
use ::weave::plan::{Choice, Way};
use ::weave::program::Program;
use ::weave::proof::Proof;
use ::weave::registers::Liveness;
use ::weave::{GROWTH, Weave, dump, slack};
use clap::ValueEnum;
use report::page::{Figure, Page, Section};
use report::table::{Column, Entry, Table};
use serde_json::{Value, json};

use super::check;
use super::sweep::Swept;

/// Bytes of the longest value that is returned in registers.
const RETURNED_BYTES_MAX: u32 = 8;

/// What may be printed of an analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Pass {
    /// Blocks and their edges
    Cfg,
    /// Control dependence, as nested regions
    Cdg,
    /// Best and worst cycles
    Time,
    /// Cycles between the events of a clock that are free
    Slack,
    /// What lives in which register, and who changes it
    Registers,
}

impl Pass {
    /// Of a function and what it calls; slack only where there is a clock.
    pub fn of(self, program: &Program, name: &str) -> Vec<(String, String)> {
        let analysis = Analysis::of(program);
        let mut texts = Vec::new();
        for (index, function) in program.functions.iter().enumerate() {
            let title = format!("{} of {}", format!("{self:?}").to_lowercase(), function.name);
            let (routine, time) = match (&analysis.routines[index], &analysis.times[index]) {
                (Ok(routine), Ok(time)) => (routine, time),
                (Err(fault), _) | (_, Err(fault)) => {
                    texts.push((title, format!("not known: {fault}\n")));
                    continue;
                }
            };
            let text = match self {
                Pass::Cfg => dump::cfg(program, function, &routine.cfg),
                Pass::Cdg => dump::cdg(program, function, routine, time),
                Pass::Time => dump::time(program, function, routine, time),
                Pass::Slack => match slack::of(program, function, routine, time) {
                    Ok(clocks) if clocks.is_empty() && function.name == name => continue,
                    Ok(clocks) => dump::slack(program, function, &clocks),
                    Err(fault) => format!("not known: {fault}\n"),
                },
                Pass::Registers => {
                    let live = Liveness::of(program, &routine.cfg, &analysis.registers, RETURNED_BYTES_MAX);
                    dump::registers(program, function, routine, &analysis.registers, &live)
                }
            };
            texts.push((title, text));
        }
        texts
    }
}

/// What distinguishes a way from others, in a few words.
fn how(choice: &Choice) -> String {
    match choice.way {
        Way::Interleave(options) => {
            let copies =
                if choice.copies == 1 { "1 copy".into() } else { format!("{} copies", choice.copies) };
            let shared = if options.counted { ", shared rounds" } else { "" };
            let batch = match options.rounds {
                1 => String::new(),
                rounds => format!(", {rounds} at once"),
            };
            format!("interleave, {copies}{shared}{batch}")
        }
        Way::Cocall(options) => {
            let guests = if options.inlined { "own guests" } else { "one guest" };
            let rounds = match options.round_cycles {
                0 => String::new(),
                cycles => format!(", loops of {cycles}"),
            };
            format!("cocall every {} cycles, {guests}{rounds}", options.stretch_cycles)
        }
    }
}

/// The share of the guest's idle time that does the host's work. It passes one where copies of a loop have lost jumps
/// that the plain host makes.
fn recovered(choice: &Choice) -> String {
    let percent = 100.0 * choice.estimate.recovered();
    let why = if percent > 100.0 { ": copies of loops save jumps that the host alone makes" } else { "" };
    format!("{percent:.1} % of the cycles that the guest leaves (estimated){why}")
}

/// What a round of the guest costs the host.
fn round(choice: &Choice) -> String {
    let estimate = choice.estimate;
    let (cost, guest) = (estimate.cost_cycles_per_round(), estimate.guest_cycles_per_round());
    let saving = estimate.saving_cycles_per_round();
    let rest = match cost - guest - saving {
        lost if lost < 0.0 => format!("less {:.1} that copies of loops save", -lost),
        lost => format!("and {lost:.1} lost to padding"),
    };
    format!(
        "costs the host {cost:.1} cycles: {guest:.1} of the guest's own, {saving:.1} of saving registers, {rest} (estimated)"
    )
}

/// A woven function with everything that is known of it.
pub struct Made<'a> {
    /// Host and guest.
    pub arguments: [&'a str; 2],
    /// The woven function.
    pub name: &'a str,
    /// Where it is.
    pub out: &'a Path,
    /// The commands that made assembly text of sources.
    pub made_by: Vec<String>,
    /// The file that stands in the output beside it, whole.
    pub beside: Option<PathBuf>,
    /// What was asked for of size, as a multiple of both functions' own.
    pub growth_max: Option<f64>,
    /// What weaving says.
    pub woven: &'a Weave,
    /// The output as it was read again.
    pub program: &'a Program,
    /// What was proved of that.
    pub proof: &'a Proof,
    /// Whose cycles count.
    pub chip: Option<&'a str>,
    /// What other values of a name leave the host.
    pub swept: Option<Swept>,
    /// What was asked for of the analyses, with titles.
    pub dumps: Vec<(String, String)>,
}

impl Made<'_> {
    fn growth(&self, choice: &Choice) -> f64 {
        f64::from(choice.words) / f64::from(self.woven.plain_words)
    }

    /// The ways that are neither larger nor gain less than another.
    fn choices(&self) -> Table {
        let columns = [
            Column::new("choice"),
            Column::new("words"),
            Column::new("growth").decimals(2),
            Column::new("host").unit("%").decimals(1),
            Column::new("recovered").unit("%").decimals(1),
            Column::new("how"),
        ];
        let mut table = Table::new("Size against cycles (estimated)", columns);
        for choice in &self.woven.choices {
            let is_taken = choice.way == self.woven.choice.way;
            table.push([
                Entry::from(if is_taken { "taken" } else { "" }),
                choice.words.into(),
                self.growth(choice).into(),
                (100.0 * choice.estimate.host_share()).into(),
                (100.0 * choice.estimate.recovered()).into(),
                how(choice).into(),
            ]);
        }
        table
    }

    fn events(&self) -> Table {
        check::events(self.proof)
    }

    fn words(&self) -> String {
        let (words, growth) = (self.woven.choice.words, self.growth(&self.woven.choice));
        let over = if self.growth_max.is_none() && growth > GROWTH {
            format!(", over {GROWTH}: no way is smaller")
        } else {
            String::new()
        };
        format!("{words}, {growth:.2} times both functions' own{over}")
    }

    /// What is one number or a few words each.
    fn facts(&self) -> Vec<(&'static str, String)> {
        let choice = &self.woven.choice;
        let [host, guest] = self.arguments;
        let mut facts = vec![
            ("woven", format!("{} = {host} + {guest}, in {}", self.name, self.out.display())),
            ("words", self.words()),
            ("recovered", recovered(choice)),
            ("a round", round(choice)),
            ("interrupts off", check::window(self.program, self.proof, self.woven.guest.rounds_max)),
            ("stack", check::stack(self.proof)),
            (
                "cycles of",
                format!("{} ({})", self.chip.unwrap_or("the core named"), check::witnesses(self.chip)),
            ),
        ];
        if !self.woven.shares.granted.is_empty() {
            let pairs = self.woven.shares.granted.iter().map(|(guest, host)| format!("apart {guest} {host}"));
            facts.push(("taken for granted", pairs.collect::<Vec<_>>().join(", ")));
        }
        for (server, ..) in &self.proof.servers {
            facts.push(("server", format!("{server}, {}", check::server(self.proof, server))));
        }
        facts.extend(self.proof.followed.iter().map(|each| ("drift", check::followed(each))));
        let even = self.swept.as_ref().and_then(Swept::break_even);
        facts.extend(even.map(|words| ("break-even", words)));
        let refused = self.swept.iter().flat_map(Swept::refused);
        facts.extend(refused.map(|words| ("not woven", words)));
        if let Some(file) = &self.beside {
            let words = format!(
                "the text of `{}` too, whose local data it needs: link it in that file's place",
                file.display()
            );
            facts.push(("holds", words));
        }
        facts.extend(self.made_by.iter().map(|command| ("read with", command.clone())));
        facts
    }

    /// For a person.
    pub fn text(&self) -> String {
        let mut text = self.events().text(None);
        text += &self.choices().text(None);
        text += &self.swept.as_ref().map_or_else(String::new, |swept| swept.table().text(None));
        for (name, words) in self.facts() {
            text += &format!("{name}: {words}\n");
        }
        for (_, dump) in &self.dumps {
            text += &format!("\n{dump}");
        }
        text
    }

    /// For a machine.
    pub fn value(&self) -> Value {
        let of = |choice: &Choice| {
            let options = match choice.way {
                Way::Interleave(options) => json!({
                    "copies": choice.copies, "loss": options.loss, "states": options.states,
                    "counted": options.counted, "rounds": options.rounds, "together": options.together,
                }),
                Way::Cocall(options) => json!({
                    "stretch_cycles": options.stretch_cycles, "round_cycles": options.round_cycles,
                    "inlined": options.inlined,
                }),
            };
            json!({
                "strategy": choice.way.strategy().to_string(), "words": choice.words,
                "growth": self.growth(choice), "recovered_estimate": choice.estimate.recovered(),
                "host_share_estimate": choice.estimate.host_share(), "options": options,
            })
        };
        let [host, guest] = self.arguments;
        let dumps: Vec<Value> =
            self.dumps.iter().map(|(title, text)| json!({ "title": title, "text": text })).collect();
        json!({
            "host": host, "guest": guest, "name": self.name, "out": self.out, "beside": self.beside,
            "plain_words": self.woven.plain_words, "choice": of(&self.woven.choice),
            "choices": self.woven.choices.iter().map(of).collect::<Vec<_>>(), "tried": self.woven.tried,
            "guest_cycles_per_round": self.woven.choice.estimate.guest_cycles_per_round(),
            "saving_cycles_per_round": self.woven.choice.estimate.saving_cycles_per_round(),
            "cost_cycles_per_round": self.woven.choice.estimate.cost_cycles_per_round(),
            "sweep": self.swept.as_ref().map(Swept::value),
            "granted_apart": self.woven.shares.granted, "read_with": self.made_by,
            "proof": check::value(self.program, self.proof, self.chip, self.woven.guest.rounds_max),
            "dumps": dumps,
        })
    }

    /// As a page.
    pub fn page(&self) -> String {
        let [host, guest] = self.arguments;
        let choice = &self.woven.choice;
        let lead = format!(
            "{host} and {guest} as one function, with every timed instruction proved to execute at exactly its cycle."
        );
        let figures = [
            Figure::new("words of flash", choice.words, "words"),
            Figure::new("growth", self.growth(choice), "x").aside("over both functions by themselves"),
            Figure::new("recovered", 100.0 * choice.estimate.recovered(), "%")
                .aside("of the cycles that the guest leaves, estimated"),
        ];
        let mut facts = Table::new("What was made", ["fact", "value"].map(Column::new));
        for (name, words) in self.facts() {
            facts.push([name.into(), words.into()]);
        }
        let mut page = Page::new(format!("{} = {host} + {guest}", self.name), lead)
            .section(Section::new("Result").figures(figures).table(facts, ""))
            .section(Section::new("Schedule").table(self.events(), "Every event of the clock, proved on every path."))
            .section(Section::new("Choices").table(
                self.choices(),
                "Ways of weaving of which none is both larger and gains less than another. Estimated, not measured.",
            ));
        if let Some(swept) = &self.swept {
            let caption = "A handler that takes fewer cycles than a round costs, entry and return included, leaves the \
                           host more. Estimated; `selvedge paper sti` measures ciphers beside SPI.";
            page = page.section(Section::new("Break-even").table(swept.table(), caption));
        }
        for (title, dump) in &self.dumps {
            page = page.section(Section::new(title.clone()).code(dump.clone(), "As analysis finds it."));
        }
        page.provenance("selvedge", env!("CARGO_PKG_VERSION")).html()
    }
}
