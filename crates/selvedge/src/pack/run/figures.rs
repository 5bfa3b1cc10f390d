//! What a run took, in tables and in JSON. Computes shares and nothing else.
//!
//! Owns [`Took`], what a run of any core tells.

use ::pack::chain::Counts;
use ::pack::chain::run::Outcome;
use isa::sparc::machine::Spent;
use isa::{Cycles, rv32};
use report::table::{Column, Entry, Table};
use serde_json::{Value, json};

use crate::pack::words::percent;

/// What a run took.
pub struct Took {
    /// What the program printed.
    pub output: Vec<u8>,
    /// All cycles, from the program's first instruction on.
    pub cycles: Cycles,
    /// What they were spent for.
    spent: Spent,
    /// What the chain did.
    counts: Counts,
    /// What the boot before it takes.
    boot_cycles: Cycles,
}

impl Took {
    /// Of a run of SPARC, and the boot before it.
    pub fn of_sparc(outcome: Outcome, boot_cycles: Cycles) -> Took {
        let Outcome { output, cycles, spent, counts, .. } = outcome;
        Took { output, cycles, spent, counts, boot_cycles }
    }

    /// Of a run of RV32IM, which annuls nothing, has no condition codes, and no handlers that cost something.
    pub fn of_rv32(outcome: Outcome<rv32::Spent, rv32::Fault>, boot_cycles: Cycles) -> Took {
        let Outcome { output, cycles, spent, counts, .. } = outcome;
        let spent = Spent {
            load_use_cycles: spent.load_use_cycles,
            fetch_cycles: spent.fetch_cycles,
            data_cycles: spent.data_cycles,
            settle_cycles: spent.settle_cycles,
            instructions: spent.instructions,
            traps: spent.traps,
            ..Spent::default()
        };
        Took { output, cycles, spent, counts, boot_cycles }
    }
}

/// Cycles by what they were spent for, in the order in which they are shown.
fn causes(took: &Took) -> [(&'static str, Cycles); 8] {
    let spent = took.spent;
    let others = [
        ("annulled instructions", spent.annulled_cycles),
        ("waiting for what was just loaded", spent.load_use_cycles),
        ("waiting for condition codes", spent.icc_branch_cycles),
        ("going to trap handlers", spent.trap_cycles),
        ("waiting for instructions", spent.fetch_cycles),
        ("waiting for data", spent.data_cycles),
        ("waiting for checks, before something leaves", spent.settle_cycles),
    ];
    let rest = took.cycles - others.iter().map(|(_, cycles)| cycles).sum::<Cycles>();
    let mut causes = [("instructions", rest); 8];
    causes[1..].copy_from_slice(&others);
    causes
}

/// What was counted, with names for people and for programs.
fn counts(took: &Took) -> [(&'static str, &'static str, u64); 27] {
    let (spent, counts) = (took.spent, took.counts);
    let transfers = counts.transfers;
    let decoding = transfers.decoding;
    [
        ("instructions", "instructions", spent.instructions),
        ("annulled", "annulled", spent.annulled),
        ("traps", "traps", spent.traps),
        ("instructions from a word that was held", "held", counts.held),
        ("words asked of the cache", "cache_accesses", counts.accesses),
        ("misses", "cache_misses", counts.misses),
        ("loads of what is only read", "constants", counts.constants),
        ("lookups in the data cache", "data_accesses", counts.data_accesses),
        ("its misses", "data_misses", counts.data_misses),
        ("transfers", "fills", transfers.fills),
        ("bytes over the bus", "bus_bytes", transfers.bus_bytes),
        ("lines opened", "lines_opened", transfers.blocks.lines),
        ("blocks of AES to open them", "aes_blocks", transfers.blocks.aes_blocks),
        ("groups of lines checked", "groups_checked", transfers.checks.groups),
        ("lines brought for checks alone", "lines_beside", transfers.checks.lines_beside),
        ("lines brought for tags", "tag_lines", transfers.checks.mac_lines),
        ("tags found in their cache", "tag_hits", transfers.checks.mac_hits),
        ("compressed blocks decoded", "blocks_decoded", decoding.blocks),
        ("lines from the block decoded last", "block_hits", decoding.buffer_hits),
        ("bytes brought for blocks", "block_bytes", decoding.block_bytes),
        ("records of blocks found in their cache", "record_hits", decoding.record_hits),
        ("records of blocks brought", "record_fills", decoding.record_fills),
        ("cycles that memory was waited for", "memory_cycles", transfers.memory_cycles),
        ("cycles that the cipher was waited for, too", "cipher_cycles", transfers.cipher_cycles),
        ("cycles that checks were waited for, too", "check_cycles", transfers.check_cycles),
        ("cycles that the decoder was waited for, too", "decode_cycles", decoding.decode_cycles),
        ("cycles of the boot before, which are not among those above", "boot_cycles", took.boot_cycles),
    ]
}

/// For a person: cycles by cause, and what was counted, as far as there was any; those of a plain run beside them.
pub fn text(took: &Took, plain: Option<&Took>) -> String {
    let runs: Vec<&Took> = [took].into_iter().chain(plain).collect();
    let name = |run: usize| if run == 0 { "this run" } else { "plain" };
    let share = || Column::new("share").unit("%").decimals(1);
    let columns = (0..runs.len()).flat_map(|run| [Column::new(name(run)), share()]);
    let mut cycles = Table::new("Cycles", [Column::new("spent for")].into_iter().chain(columns));
    let columns = (0..runs.len()).map(|run| Column::new(name(run)));
    let mut others = Table::new("Counts", [Column::new("what")].into_iter().chain(columns));
    let by_cause: Vec<_> = runs.iter().map(|run| causes(run)).collect();
    for (index, &(name, _)) in by_cause[0].iter().enumerate() {
        let of_runs = by_cause.iter().map(|causes| causes[index].1).zip(&runs);
        if of_runs.clone().any(|(spent, _)| spent > 0) {
            let cells = of_runs.flat_map(|(spent, run)| {
                [Entry::from(spent), percent(spent as f64, run.cycles as f64).into()]
            });
            cycles.push([name.into()].into_iter().chain(cells));
        }
    }
    let all = runs.iter().flat_map(|run| [Entry::from(run.cycles), 100.0.into()]);
    cycles.push(["all".into()].into_iter().chain(all));
    let counted: Vec<_> = runs.iter().map(|run| counts(run)).collect();
    for (index, &(name, ..)) in counted[0].iter().enumerate() {
        let of_runs = counted.iter().map(|counts| counts[index].2);
        if of_runs.clone().any(|count| count > 0) {
            others.push([name.into()].into_iter().chain(of_runs.map(Entry::from)));
        }
    }
    cycles.text(None) + &others.text(None)
}

/// For a machine.
pub fn value(took: &Took) -> Value {
    let causes =
        causes(took).into_iter().map(|(name, cycles)| json!({ "spent_for": name, "cycles": cycles }));
    let counts = counts(took).into_iter().map(|(_, key, value)| (key.to_owned(), value.into()));
    let mut value = Value::Object(counts.collect());
    value["cycles"] = took.cycles.into();
    value["by_cause"] = causes.collect();
    value
}
