//! A ranking: for a person, for a machine, as CSV, and as a page. Ranks and computes nothing else.
//!
//! Owns what is told of rows, and of where secrets decide their time; `page` draws the front.

use ::explore::constant::{Verdict, word};
use ::explore::estimate::{Row, State};
use ::explore::kept::{Provenance, line};
use ::explore::rank::front;
use ::explore::subject::Family;
use isa::rv32::Leak;
use report::table::{Column, Entry, Table};
use serde_json::{Value, json};

use super::doubt;

mod page;

/// A row, and which of the provenances it has.
#[derive(Clone, Debug)]
pub struct Ranked {
    pub row: Row,
    pub from: usize,
}

/// Rows that are ranked together: of one size and state.
struct Ranking {
    size: u32,
    state: State,
    /// The least cycles first.
    rows: Vec<Ranked>,
    /// Whether each is on the front of cycles, memory, code with tables, and constant time.
    is_front: Vec<bool>,
}

/// What was ranked.
pub struct Shown {
    family: Family,
    provenances: Vec<Provenance>,
    rankings: Vec<Ranking>,
    top: usize,
}

/// What the front is of. What is not known of a row may be more than anything: it never makes a row better. Where models
/// say nothing of tables, code stands for both.
fn point(row: &Row, has_tables: bool) -> [f64; 4] {
    let bytes = |bytes: Option<u64>| bytes.map_or(f64::INFINITY, |bytes| bytes as f64);
    let leaks = f64::from(row.constant_time != Some(true));
    let rom_bytes = if has_tables { row.rom_bytes() } else { row.code_bytes };
    [row.cycles, bytes(row.ram_bytes), bytes(rom_bytes), leaks]
}

/// Whether a row takes constant time, and which candidate was looked at for it, if another one.
fn constant_time(row: &Row) -> String {
    let word = match row.constant_time {
        Some(true) => "yes",
        Some(false) => "no",
        None => return "not looked at".to_owned(),
    };
    let followed = row.verdict.as_ref().map_or("", |verdict| verdict.followed.as_str());
    let parts = followed.split('/').zip(row.subject.split('/'));
    match parts.into_iter().find(|(followed, own)| followed != own) {
        Some((followed, _)) => format!("{word}, as {followed}"),
        None => word.to_owned(),
    }
}

impl Shown {
    /// Of these rows, of which so many are printed.
    pub fn of(family: Family, rows: Vec<Ranked>, provenances: Vec<Provenance>, top: usize) -> Shown {
        let mut rankings: Vec<Ranking> = Vec::new();
        for ranked in rows {
            let (size, state) = (ranked.row.size, ranked.row.state);
            let of = |ranking: &&mut Ranking| (ranking.size, ranking.state) == (size, state);
            match rankings.iter_mut().find(of) {
                Some(ranking) => ranking.rows.push(ranked),
                None => rankings.push(Ranking { size, state, rows: vec![ranked], is_front: Vec::new() }),
            }
        }
        rankings.sort_by_key(|ranking| (ranking.size, ranking.state));
        for ranking in &mut rankings {
            let key = |ranked: &Ranked| ranked.row.subject.clone();
            ranking.rows.sort_by(|a, b| a.row.cycles.total_cmp(&b.row.cycles).then(key(a).cmp(&key(b))));
            let has_tables = ranking.rows.iter().any(|ranked| ranked.row.table_bytes.is_some());
            let points = ranking.rows.iter().map(|ranked| point(&ranked.row, has_tables));
            ranking.is_front = front(&points.collect::<Vec<_>>());
        }
        Shown { family, provenances, rankings, top }
    }

    /// Where all rows are from alike: the processor, the program.
    fn origin(&self) -> &Provenance {
        &self.provenances[0]
    }

    fn table(&self, ranking: &Ranking, which: &str, rows: impl ExactSizeIterator<Item = usize>) -> Table {
        let (size, unit, state) = (ranking.size, self.family.unit(), ranking.state.word());
        let title = format!(
            "{} at {size} {unit}, {state}, on {}: {which} {} of {}",
            self.family.word(),
            self.origin().profile,
            rows.len(),
            ranking.rows.len()
        );
        let mut columns = vec![
            Column::new("rank"),
            Column::new("candidate"),
            Column::new("cycles").decimals(0),
            Column::new("beside the first").decimals(3),
            Column::new("memory").unit("bytes"),
            Column::new("of it stack").unit("bytes"),
            Column::new("code").unit("bytes"),
            Column::new("tables").unit("bytes"),
            Column::new("constant time"),
            Column::new("front"),
        ];
        // A column of nothing is left out: the table is wide.
        let has_doubts = ranking.rows.iter().any(|ranked| !ranked.row.outside.is_empty());
        columns.extend(has_doubts.then(|| Column::new("doubt")));
        let mut table = Table::new(title, columns);
        let least = ranking.rows[0].row.cycles;
        let bytes = |bytes: Option<u64>| bytes.map_or(Entry::from("?"), Entry::from);
        for at in rows {
            let row = &ranking.rows[at].row;
            let entries = [
                Entry::from(at + 1),
                row.subject.clone().into(),
                row.cycles.into(),
                (row.cycles / least).into(),
                bytes(row.ram_bytes),
                bytes(row.stack_bytes),
                bytes(row.code_bytes),
                bytes(row.table_bytes),
                constant_time(row).into(),
                (if ranking.is_front[at] { "*" } else { "" }).into(),
            ];
            table.push(entries.into_iter().chain(has_doubts.then(|| doubt(&row.outside).into())));
        }
        table
    }

    /// Rows that are shown.
    fn shown<'a>(&self, ranking: &'a Ranking) -> &'a [Ranked] {
        &ranking.rows[..self.top.min(ranking.rows.len())]
    }

    /// Where secrets decide the time of those that are shown, by line; nothing where they decide nowhere, or nobody looked.
    fn places(&self, ranking: &Ranking) -> Option<Table> {
        let mut verdicts: Vec<&Verdict> = Vec::new();
        for verdict in self.shown(ranking).iter().filter_map(|ranked| ranked.row.verdict.as_ref()) {
            if !verdicts.iter().any(|other| other.followed == verdict.followed) {
                verdicts.push(verdict);
            }
        }
        let size = verdicts.first()?.followed_size;
        let columns = ["candidate", "a secret decides", "line", "function", "times"].map(Column::new);
        let title = format!(
            "Where secrets decide the time, {}, as followed at {size} {}",
            ranking.state.word(),
            self.family.unit()
        );
        let mut table = Table::new(title, columns);
        let mut is_empty = true;
        for verdict in verdicts {
            for place in &verdict.places {
                is_empty = false;
                let what = match place.kind {
                    Leak::Branch => "a branch",
                    Leak::Address => "an address",
                    Leak::Operand => "how long it takes",
                };
                table.push([
                    Entry::from(verdict.followed.clone()),
                    what.into(),
                    place.line.clone().into(),
                    place.function.clone().into(),
                    place.count.into(),
                ]);
            }
        }
        (!is_empty).then_some(table)
    }

    /// For a person.
    pub fn text(&self) -> String {
        let tables = self.rankings.iter().map(|ranking| {
            let table = self.table(ranking, "first", 0..self.shown(ranking).len()).text(None);
            table + &self.places(ranking).map_or(String::new(), |places| places.text(None))
        });
        let mut text: String = tables.collect();
        let rows = self.rankings.iter().flat_map(|ranking| &ranking.rows).map(|ranked| &ranked.row);
        let doubts = rows.filter(|row| !row.outside.is_empty());
        if let Some(row) = doubts.clone().next() {
            text += &format!(
                "{} rows are doubtful, such as {}: {}\n",
                doubts.count(),
                row.subject,
                row.outside[0]
            );
        }
        text
    }

    /// For a machine: all rows, ranked, each with where it comes from.
    pub fn value(&self) -> Value {
        let row = |ranked: &Ranked| -> Value {
            let line = line(&ranked.row, &self.provenances[ranked.from]);
            serde_json::from_str(&line).expect("our lines are JSON")
        };
        let ranking = |ranking: &Ranking| {
            let rows = ranking.rows.iter().zip(&ranking.is_front).map(|(each, is_front)| {
                let mut value = row(each);
                value["front"] = json!(is_front);
                value
            });
            json!({ "size": ranking.size, "state": ranking.state.word(), "rows": rows.collect::<Vec<_>>() })
        };
        json!({ "space": self.family.word(), "unit": self.family.unit(),
                "rankings": self.rankings.iter().map(ranking).collect::<Vec<_>>() })
    }

    /// All rows.
    pub fn csv(&self) -> String {
        let mut table = Table::new("", CSV_COLUMNS.map(Column::new));
        for ranking in &self.rankings {
            for (ranked, is_front) in ranking.rows.iter().zip(&ranking.is_front) {
                table.push(self.csv_row(ranked, *is_front));
            }
        }
        table.csv()
    }

    fn csv_row(&self, ranked: &Ranked, is_front: bool) -> [Entry; CSV_COLUMNS.len()] {
        let bytes = |bytes: Option<u64>| bytes.map_or(Entry::from(""), Entry::from);
        let yes = |is_so: bool| if is_so { "yes" } else { "no" };
        let (row, from) = (&ranked.row, &self.provenances[ranked.from]);
        let verdict = row.verdict.as_ref();
        let places = verdict.iter().flat_map(|verdict| &verdict.places);
        let places: Vec<String> = places
            .map(|place| format!("{} {} {} {}", word(place.kind), place.line, place.function, place.count))
            .collect();
        [
            Entry::from(self.family.word()),
            row.subject.clone().into(),
            row.size.into(),
            row.state.word().into(),
            row.cycles.into(),
            bytes(row.ram_bytes),
            bytes(row.stack_bytes),
            bytes(row.code_bytes),
            bytes(row.table_bytes),
            row.constant_time.map_or("", yes).into(),
            verdict.map_or(String::new(), |verdict| verdict.followed.clone()).into(),
            verdict.map_or(Entry::from(""), |verdict| verdict.followed_size.into()),
            places.join("; ").into(),
            yes(is_front).into(),
            row.outside.join("; ").into(),
            from.instruction_set.clone().into(),
            from.profile.clone().into(),
            from.leaves.clone().into(),
            from.layout.into(),
            from.compiler.clone().into(),
            from.tool.clone().into(),
            from.sources.clone().into(),
            from.models.clone().into(),
            from.models_sources.clone().into(),
            from.mode.clone().into(),
            from.models_seed.into(),
            from.seed.into(),
        ]
    }
}

/// What a line of CSV has.
const CSV_COLUMNS: [&str; 27] = [
    "space",
    "candidate",
    "size",
    "state",
    "cycles",
    "ram_bytes",
    "stack_bytes",
    "code_bytes",
    "table_bytes",
    "constant_time",
    "followed",
    "followed_size",
    "places",
    "front",
    "outside",
    "instruction_set",
    "profile",
    "leaves",
    "layout",
    "compiler",
    "tool",
    "sources",
    "models",
    "models_sources",
    "mode",
    "models_seed",
    "seed",
];
