//! How long weaving takes: every shipped pair by the command line, reading, compiling and proving included. A table, and
//! the line of the goal that `scripts/bench.sh` collects.

#[path = "../tests/woven/mod.rs"]
mod woven;

use std::time::Instant;

use report::table::{Column, Entry, Table};
use woven::{Unbuilt, pairs, weave};

/// Seconds that the slowest pair may take.
const GOAL_SECONDS: f64 = 2.0;

fn main() {
    let names = ["pair", "woven in", "ways tried", "states", "words"];
    let mut columns = names.map(Column::new);
    columns[1] = Column::new(names[1]).unit("s").decimals(2);
    let mut table = Table::new("Weaving, the slowest first", columns);
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let mut measured = Vec::new();
    for pair in pairs() {
        let begin = Instant::now();
        let said = weave(env!("CARGO_BIN_EXE_selvedge"), scratch.path(), &pair, &[]);
        let seconds = begin.elapsed().as_secs_f64();
        match said {
            Err(Unbuilt::NoCompiler) => {
                println!("skip: weaving: avr-gcc is not installed");
                return;
            }
            Err(Unbuilt::Faulty(words)) => panic!("{}: {words}", pair.name()),
            Err(Unbuilt::Refused(_)) => measured.push((seconds, pair.name(), None)),
            Ok(said) => measured.push((seconds, pair.name(), Some(said))),
        }
    }
    measured.sort_by(|a, b| b.0.total_cmp(&a.0));
    let slowest = measured[0].0;
    for (seconds, name, said) in measured {
        let number = |value: &serde_json::Value| Entry::from(value.as_u64().expect("a number"));
        let [tried, states, words] = match said {
            Some(said) => [&said["tried"], &said["proof"]["states"], &said["choice"]["words"]].map(number),
            None => [Entry::Blank, Entry::Blank, Entry::Blank],
        };
        table.push([name.into(), seconds.into(), tried, states, words]);
    }
    print!("{}", table.text(None));
    println!("goal\tweaving the slowest pair, s\t{slowest:.2}\t-\t-\t<= {GOAL_SECONDS}");
}
