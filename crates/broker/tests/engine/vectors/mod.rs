//! The official vectors, through PDUs, and how many of each source hold or are left out, and why.
//!
//! A vector that must fail and fails holds. What is left out is outside what the operation takes; the reason is counted.

mod asymmetric;
mod symmetric;

use std::collections::BTreeMap;
use std::fmt::Write;

use broker::engine::keys::{Algorithm, Template, Usages};
use broker::wire::Operation;

/// What was found for each operation and source.
#[derive(Default)]
pub struct Tally {
    rows: BTreeMap<(Operation, String), Row>,
}

/// How many vectors held, and how many were left out, by reason.
#[derive(Default)]
struct Row {
    held: usize,
    skipped: BTreeMap<&'static str, usize>,
}

impl Tally {
    /// Counts a vector that held; one that did not ends the test.
    fn hold(&mut self, operation: Operation, source: &str, held: bool, vector: impl std::fmt::Display) {
        assert!(held, "{}: {source}: vector {vector} does not hold", operation.name());
        self.rows.entry((operation, source.to_owned())).or_default().held += 1;
    }

    /// Counts one that is left out.
    fn skip(&mut self, operation: Operation, source: &str, why: &'static str) {
        *self.rows.entry((operation, source.to_owned())).or_default().skipped.entry(why).or_default() += 1;
    }

    fn table(&self) -> String {
        let mut table = String::new();
        for ((operation, source), Row { held, skipped }) in &self.rows {
            let name = operation.name();
            write!(table, "{name:<16} {source:<42} {held:>4} held").unwrap();
            for (why, count) in skipped {
                write!(table, ", {count} left out: {why}").unwrap();
            }
            table.push('\n');
        }
        table
    }
}

/// A template for a key that is used as an official vector wants it, nonces of the caller's included.
fn template(algorithm: Algorithm, usages: Usages) -> Template {
    let seals = Usages::SEAL.and(Usages::OPEN);
    Template { is_caller_nonce: usages.within(seals), ..Template::new(algorithm, usages) }
}

/// The AES of keys of this length.
fn aes(key_bytes: usize) -> Option<Algorithm> {
    match key_bytes {
        16 => Some(Algorithm::Aes128),
        24 => Some(Algorithm::Aes192),
        32 => Some(Algorithm::Aes256),
        _ => None,
    }
}

#[test]
fn the_official_vectors_hold_for_every_operation() {
    let mut tally = Tally::default();
    symmetric::all(&mut tally);
    asymmetric::all(&mut tally);
    let table = tally.table();
    print!("{table}");
    expect_test::expect_file!["held.txt"].assert_eq(&table);
}
