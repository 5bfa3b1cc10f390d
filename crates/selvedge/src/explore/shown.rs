//! A ranking: for a person, for a machine, as CSV, and as a page with the front drawn. Ranks and computes nothing else.

use ::explore::estimate::{Row, State};
use ::explore::kept::{Provenance, line};
use ::explore::rank::front;
use ::explore::subject::Family;
use report::chart::{Axis, Lines, Panels};
use report::page::{Page, Section};
use report::table::{Column, Entry, Table};
use serde_json::{Value, json};

/// Curves that can be told apart on one plot.
const CURVES_MAX: usize = 6;

/// Rows that are ranked together: of one size and state.
struct Ranking {
    size: u32,
    state: State,
    /// The least cycles first.
    rows: Vec<Row>,
    /// Whether each is on the front of cycles, memory, code and constant time.
    is_front: Vec<bool>,
}

/// What was ranked.
pub struct Shown {
    family: Family,
    provenance: Provenance,
    rankings: Vec<Ranking>,
    top: usize,
}

/// What the front is drawn over; what is not known is no worse than anything.
fn point(row: &Row) -> [f64; 4] {
    let bytes = |bytes: Option<u64>| bytes.map_or(0.0, |bytes| bytes as f64);
    let leaks = f64::from(row.constant_time != Some(true));
    [row.cycles, bytes(row.ram_bytes), bytes(row.code_bytes), leaks]
}

fn constant_time(row: &Row) -> &'static str {
    match row.constant_time {
        Some(true) => "yes",
        Some(false) => "no",
        None => "not looked at",
    }
}

impl Shown {
    /// Of these rows, of which so many are printed.
    pub fn of(family: Family, rows: Vec<Row>, provenance: Provenance, top: usize) -> Shown {
        let mut rankings: Vec<Ranking> = Vec::new();
        for row in rows {
            let of = |ranking: &&mut Ranking| (ranking.size, ranking.state) == (row.size, row.state);
            match rankings.iter_mut().find(of) {
                Some(ranking) => ranking.rows.push(row),
                None => {
                    let (size, state) = (row.size, row.state);
                    rankings.push(Ranking { size, state, rows: vec![row], is_front: Vec::new() });
                }
            }
        }
        rankings.sort_by_key(|ranking| (ranking.size, ranking.state));
        for ranking in &mut rankings {
            ranking.rows.sort_by(|a, b| a.cycles.total_cmp(&b.cycles).then(a.subject.cmp(&b.subject)));
            ranking.is_front = front(&ranking.rows.iter().map(point).collect::<Vec<_>>());
        }
        Shown { family, provenance, rankings, top }
    }

    fn title(&self, ranking: &Ranking) -> String {
        let (size, unit, state) = (ranking.size, self.family.unit(), ranking.state.word());
        let shown = self.top.min(ranking.rows.len());
        let profile = &self.provenance.profile;
        format!(
            "{} at {size} {unit}, {state}, on {profile}: first {shown} of {}",
            self.family.word(),
            ranking.rows.len()
        )
    }

    fn table(&self, ranking: &Ranking, rows: impl Iterator<Item = usize>) -> Table {
        let columns = [
            Column::new("rank"),
            Column::new("candidate"),
            Column::new("cycles").decimals(0),
            Column::new("beside the first").decimals(3),
            Column::new("memory").unit("bytes"),
            Column::new("code").unit("bytes"),
            Column::new("constant time"),
            Column::new("front"),
            Column::new("doubt"),
        ];
        let mut table = Table::new(self.title(ranking), columns);
        let least = ranking.rows[0].cycles;
        let bytes = |bytes: Option<u64>| bytes.map_or(Entry::from("?"), Entry::from);
        for at in rows {
            let row = &ranking.rows[at];
            table.push([
                Entry::from(at + 1),
                row.subject.clone().into(),
                row.cycles.into(),
                (row.cycles / least).into(),
                bytes(row.ram_bytes),
                bytes(row.code_bytes),
                constant_time(row).into(),
                (if ranking.is_front[at] { "*" } else { "" }).into(),
                (if row.outside.is_empty() { "" } else { "outside of its domain" }).into(),
            ]);
        }
        table
    }

    /// For a person.
    pub fn text(&self) -> String {
        let tables = self.rankings.iter().map(|ranking| {
            let shown = self.top.min(ranking.rows.len());
            self.table(ranking, 0..shown).text(None)
        });
        let mut text: String = tables.collect();
        let doubts =
            self.rankings.iter().flat_map(|ranking| &ranking.rows).filter(|row| !row.outside.is_empty());
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
        let row = |row: &Row| -> Value {
            serde_json::from_str(&line(row, &self.provenance)).expect("our lines are JSON")
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
        let names = [
            "space",
            "candidate",
            "size",
            "state",
            "cycles",
            "ram_bytes",
            "code_bytes",
            "constant_time",
            "front",
            "outside",
            "profile",
            "leaves",
            "compiler",
            "tool",
            "mode",
            "models_seed",
            "seed",
        ];
        let mut table = Table::new("", names.map(Column::new));
        for ranking in &self.rankings {
            for (row, is_front) in ranking.rows.iter().zip(&ranking.is_front) {
                let bytes = |bytes: Option<u64>| bytes.map_or(Entry::from(""), Entry::from);
                let from = &self.provenance;
                table.push([
                    Entry::from(self.family.word()),
                    row.subject.clone().into(),
                    row.size.into(),
                    row.state.word().into(),
                    row.cycles.into(),
                    bytes(row.ram_bytes),
                    bytes(row.code_bytes),
                    row.constant_time.map_or("", |is_so| if is_so { "yes" } else { "no" }).into(),
                    (if *is_front { "yes" } else { "no" }).into(),
                    row.outside.join("; ").into(),
                    from.profile.clone().into(),
                    from.leaves.clone().into(),
                    from.compiler.clone().into(),
                    from.tool.clone().into(),
                    from.mode.clone().into(),
                    from.models_seed.into(),
                    from.seed.into(),
                ]);
            }
        }
        table.csv()
    }

    /// Cycles over memory, of those that nothing beats in both: of all together, and of each way to multiply.
    fn chart(&self, ranking: &Ranking) -> Lines {
        let title = format!(
            "Cycles over memory at {} {}, {}",
            ranking.size,
            self.family.unit(),
            ranking.state.word()
        );
        let (x, y) = (Axis::linear("state and scratch", "bytes"), Axis::log("operation", "cycles"));
        let mut names: Vec<String> = Vec::new();
        for row in &ranking.rows {
            let name = kind(row).to_owned();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let all: Vec<&Row> = ranking.rows.iter().collect();
        let mut chart = Lines::new(title, x, y, Panels::Together).series("all", curve(&all));
        for name in names.iter().take(CURVES_MAX - 1) {
            let of: Vec<&Row> = ranking.rows.iter().filter(|row| kind(row) == name).collect();
            chart = chart.series(name.clone(), curve(&of));
        }
        chart
    }

    /// As a page.
    pub fn page(&self) -> String {
        let lead = format!(
            "Ways of `{}`, by what macro-models say that they take on `{}`. A star is on the front: nothing else is as \
             good in cycles, memory, code and constant time, and better in one.",
            self.family.word(),
            self.provenance.profile
        );
        let mut page = Page::new("Algorithms for a processor", lead);
        for ranking in &self.rankings {
            let shown = self.top.min(ranking.rows.len());
            let on_front = (0..ranking.rows.len()).filter(|&at| ranking.is_front[at]);
            let title = format!("{} {}, {}", ranking.size, self.family.unit(), ranking.state.word());
            let mut section = Section::new(title);
            if ranking.rows.iter().any(|row| row.ram_bytes.is_some()) {
                section =
                    section.chart(self.chart(ranking), "Of each way to multiply, those that no other beats.");
            }
            let front = self.table(ranking, on_front);
            section = section.table(self.table(ranking, 0..shown), "By cycles").table(front, "The front");
            page = page.section(section);
        }
        let from = &self.provenance;
        page.provenance("program", from.tool.clone())
            .provenance("compiler", from.compiler.clone())
            .provenance("leaves", from.leaves.clone())
            .provenance("cycles by", from.mode.clone())
            .provenance("models", format!("{}, seed {}", from.models, from.models_seed))
            .provenance("seed", from.seed.to_string())
            .html()
    }
}

/// What stands before the first slash of a name.
fn kind(row: &Row) -> &str {
    row.subject.split('/').next().unwrap_or_default()
}

/// The rows that no other beats in memory and cycles, as points.
fn curve(rows: &[&Row]) -> Vec<(f64, f64)> {
    let points: Vec<[f64; 2]> =
        rows.iter().map(|row| [row.ram_bytes.unwrap_or(0) as f64, row.cycles]).collect();
    let kept = points.iter().zip(front(&points)).filter(|(_, is_front)| *is_front);
    let mut points: Vec<(f64, f64)> = kept.map(|(point, _)| (point[0], point[1])).collect();
    points.dedup();
    points
}
