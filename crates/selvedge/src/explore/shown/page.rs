//! A ranking as a page: tables, and the front drawn.
//!
//! Owns what is drawn over what: cycles over memory where candidates differ in it, and over code with tables, or over code
//! alone where models say nothing of tables. Every kind of candidate is drawn, so many on a plot as can be told apart.

use ::explore::estimate::Row;
use ::explore::rank::front;
use report::chart::{Axis, Lines, Panels};
use report::page::{Page, Section};

use super::{Ranked, Ranking, Shown};

/// Curves of kinds on one plot beside that of all, which can be told apart.
const KINDS_MAX: usize = 5;

/// What cycles are drawn over.
#[derive(Clone, Copy)]
struct Over {
    words: &'static str,
    bytes: fn(&Row) -> Option<u64>,
}

const MEMORY: Over = Over { words: "memory", bytes: |row| row.ram_bytes };
const CODE_AND_TABLES: Over = Over { words: "code and tables", bytes: Row::rom_bytes };
const CODE: Over = Over { words: "code", bytes: |row| row.code_bytes };

/// What there is to draw over.
fn over(ranking: &Ranking) -> [Over; 2] {
    let has_tables = ranking.rows.iter().any(|ranked| ranked.row.table_bytes.is_some());
    [MEMORY, if has_tables { CODE_AND_TABLES } else { CODE }]
}

/// What stands before the first slash of a name.
fn kind(row: &Row) -> &str {
    row.subject.split('/').next().unwrap_or_default()
}

/// Kinds of candidates, in the order of their best.
fn kinds(ranking: &Ranking) -> Vec<&str> {
    let mut kinds: Vec<&str> = Vec::new();
    for kind in ranking.rows.iter().map(|ranked| kind(&ranked.row)) {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}

impl Over {
    fn point(self, row: &Row) -> Option<(f64, f64)> {
        Some(((self.bytes)(row)? as f64, row.cycles))
    }

    /// Whether rows differ in it, so that there is something to draw.
    fn differs(self, ranking: &Ranking) -> bool {
        let mut bytes = ranking.rows.iter().filter_map(|ranked| (self.bytes)(&ranked.row));
        let first = bytes.next();
        bytes.any(|bytes| Some(bytes) != first)
    }

    /// The rows that no other beats in both, as points.
    fn curve<'a>(self, rows: impl Iterator<Item = &'a Ranked>) -> Vec<(f64, f64)> {
        let points: Vec<[f64; 2]> =
            rows.filter_map(|ranked| self.point(&ranked.row)).map(|(x, y)| [x, y]).collect();
        let kept = points.iter().zip(front(&points)).filter(|(_, is_front)| *is_front);
        let mut points: Vec<(f64, f64)> = kept.map(|(point, _)| (point[0], point[1])).collect();
        points.dedup();
        points
    }
}

impl Shown {
    /// Cycles over memory or code: of all together and of each kind, those that nothing beats in both as a curve, and
    /// with a point those that nothing beats in all four.
    fn chart(&self, ranking: &Ranking, over: Over, kinds: &[&str]) -> Lines {
        let title = format!(
            "Cycles over {} at {} {}, {}",
            over.words,
            ranking.size,
            self.family.unit(),
            ranking.state.word()
        );
        let (x, y) = (Axis::linear(over.words, "bytes"), Axis::log("operation", "cycles"));
        let chart = Lines::new(title, x, y, Panels::Together).stepped();
        let mut chart = chart.series("all", over.curve(ranking.rows.iter()));
        for name in kinds {
            let is_of = |ranked: &&Ranked| kind(&ranked.row) == *name;
            let curve = over.curve(ranking.rows.iter().filter(is_of));
            // A curve of one point cannot be seen.
            let only = if let [only] = curve[..] { Some(only) } else { None };
            chart = chart.series(*name, curve);
            for (ranked, is_front) in ranking.rows.iter().zip(&ranking.is_front) {
                let is_drawn = |at: &(f64, f64)| is_of(&ranked) && (*is_front || only == Some(*at));
                if let Some(at) = over.point(&ranked.row).filter(is_drawn) {
                    chart = chart.dot(at, ranked.row.subject.clone());
                }
            }
        }
        chart
    }

    fn section(&self, ranking: &Ranking) -> Section {
        let title = format!("{} {}, {}", ranking.size, self.family.unit(), ranking.state.word());
        let mut section = Section::new(title);
        let kinds = kinds(ranking);
        for over in over(ranking).into_iter().filter(|over| over.differs(ranking)) {
            for kinds in kinds.chunks(KINDS_MAX) {
                let caption = "Curves are what no other of its kind beats in both. A point is on the front of all four, or alone of its kind.";
                section = section.chart(self.chart(ranking, over, kinds), caption);
            }
        }
        let on_front: Vec<usize> = (0..ranking.rows.len()).filter(|&at| ranking.is_front[at]).collect();
        let first = self.table(ranking, "first", 0..self.shown(ranking).len());
        let front = self.table(ranking, "on the front", on_front.into_iter());
        section = section.table(first, "By cycles").table(front, "By cycles");
        match self.places(ranking) {
            Some(places) => section.table(places, "By line of the source"),
            None => section,
        }
    }

    /// As a page.
    pub fn page(&self) -> String {
        let lead = format!(
            "Ways of {}, by what macro-models say that they take on {}. A star is on the front: nothing else is as \
             good in cycles, memory with the stack, code with tables and constant time, and better in one. What is \
             not known makes nothing better.",
            self.family.word(),
            self.origin().profile
        );
        let mut page = Page::new("Algorithms for a processor", lead);
        for ranking in &self.rankings {
            page = page.section(self.section(ranking));
        }
        let from = self.origin();
        page = page
            .provenance("program", from.tool.clone())
            .provenance("sources", from.sources.clone())
            .provenance("cycles by", from.mode.clone())
            .provenance("seed", from.seed.to_string());
        for from in &self.provenances {
            page = page
                .provenance("compiler", from.compiler.clone())
                .provenance("leaves", from.leaves.clone())
                .provenance("models", format!("{}, seed {}", from.models, from.models_seed))
                .provenance(
                    "sources of the models",
                    match from.models_sources.as_str() {
                        "" => "unknown".to_owned(),
                        sources => sources.to_owned(),
                    },
                );
        }
        page.html()
    }
}

#[cfg(test)]
mod tests {
    use ::explore::estimate::State;
    use ::explore::kept::Provenance;
    use ::explore::space::Space;
    use ::explore::subject::Family;

    use super::*;

    fn provenance() -> Provenance {
        let word = || "word".to_owned();
        Provenance {
            tool: word(),
            sources: word(),
            profile: word(),
            instruction_set: word(),
            leaves: word(),
            layout: 0,
            compiler: word(),
            models_seed: 1,
            models_sources: word(),
            models: word(),
            mode: word(),
            seed: 1,
        }
    }

    /// A row of a kind, whose memory or code nobody may know.
    fn row(subject: &str, cycles: f64, ram_bytes: Option<u64>, code_bytes: Option<u64>) -> Ranked {
        let row = Row {
            subject: subject.to_owned(),
            size: 512,
            state: State::Cold,
            cycles,
            ram_bytes,
            stack_bytes: ram_bytes,
            code_bytes,
            table_bytes: Some(0),
            constant_time: None,
            verdict: None,
            outside: Vec::new(),
        };
        Ranked { row, from: 0 }
    }

    fn shown(rows: Vec<Ranked>) -> Shown {
        Shown::of(Family::Private(Space::All), rows, vec![provenance()], 3)
    }

    #[test]
    fn what_is_not_known_makes_no_row_better() {
        let known = row("a/x", 100.0, Some(8), Some(8));
        let rows = vec![known, row("b/x", 110.0, None, Some(8)), row("c/x", 90.0, None, None)];
        let shown = shown(rows);
        // c is the fastest; b is slower than a, and nothing is known to be better.
        assert_eq!(shown.rankings[0].is_front, [true, true, false]);
    }

    #[test]
    fn every_kind_is_on_a_plot_and_every_star_is_a_point_of_it() {
        let rows: Vec<Ranked> =
            (0..8u64).map(|at| row(&format!("kind{at}/x"), 100.0 - at as f64, Some(at), Some(100))).collect();
        let shown = shown(rows);
        assert_eq!(shown.rankings[0].is_front, [true; 8]);
        let page = shown.page();
        for at in 0..8 {
            assert!(page.contains(&format!("<title>kind{at}/x</title>")), "{at}");
        }
        // Memory differs and code does not: two plots of memory, of five kinds and of three.
        assert!(page.contains("Cycles over memory") && !page.contains("Cycles over code and tables"));
    }

    #[test]
    fn a_doubt_is_a_column_and_none_is_left_out() {
        let sure = row("a/x", 100.0, Some(8), Some(8));
        let mut doubtful = row("b/x", 110.0, Some(8), Some(8));
        assert!(!shown(vec![sure.clone(), doubtful.clone()]).text().contains("doubt"));
        doubtful.row.outside = vec!["it is far".to_owned()];
        let text = shown(vec![sure, doubtful]).text();
        assert!(text.contains("doubt") && text.contains("outside of its domain"), "{text}");
    }

    #[test]
    fn who_is_alone_of_its_kind_is_a_point_with_a_star_or_without() {
        let rows = vec![row("a", 90.0, Some(8), Some(10)), row("b", 100.0, Some(8), Some(20))];
        let shown = shown(rows);
        assert_eq!(shown.rankings[0].is_front, [true, false]);
        let page = shown.page();
        assert!(page.contains("<title>a</title>") && page.contains("<title>b</title>"));
    }

    #[test]
    fn variants_that_differ_in_code_alone_are_drawn_over_it() {
        let rows = vec![row("a", 100.0, Some(8), Some(10)), row("b", 90.0, Some(8), Some(20))];
        let page = shown(rows).page();
        assert!(page.contains("Cycles over code and tables at 512") && !page.contains("Cycles over memory"));
    }

    #[test]
    fn code_alone_is_drawn_over_where_models_say_nothing_of_tables() {
        let without = |ranked: Ranked| Ranked { row: Row { table_bytes: None, ..ranked.row }, ..ranked };
        let rows = [row("a", 100.0, Some(8), Some(10)), row("b", 90.0, Some(8), Some(20))];
        let page = shown(rows.map(without).to_vec()).page();
        assert!(page.contains("Cycles over code at 512") && page.contains("<title>a</title>"));
    }
}
