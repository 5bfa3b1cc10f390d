//! What a sweep found: for a person, for a machine, and as a page with pictures. Computes shares and nothing else.

use std::collections::BTreeSet;

use ::pack::code::dict;
use ::pack::sweep::{Cell, Geometry, Measured, Other, OtherCell, Penalty, Spread, Way};
use report::chart::{Axis, Lines, Panels};
use report::page::{Page, Section};
use report::table::{Column, Entry, Table};
use serde_json::{Value, json};

/// The paper's rule: a cache is large enough when one twice as large does not bring so many hits more.
const LEAST_GAIN: f64 = 0.05;

/// Ways that can be told apart on one plot, with the two that are there always.
const TOGETHER_MAX: usize = 4;

/// What was measured.
pub struct Shown {
    measured: Measured,
    seeds: u64,
    /// Whose cycles the core has.
    timing: &'static str,
    /// By cache.
    cells: Vec<Cell>,
    /// Other ways, each with its cells by cache.
    others: Vec<(Other, Vec<OtherCell>)>,
}

fn ways(cache: Geometry) -> String {
    if cache.is_full() { "all".into() } else { cache.ways.to_string() }
}

/// Caches that share a chart: its title, and its place among others.
fn kind(cache: Geometry) -> (u32, String) {
    match cache.ways {
        _ if cache.is_full() => (u32::MAX, "Fully associative".into()),
        1 => (1, "Direct-mapped".into()),
        ways => (ways, format!("{ways} ways")),
    }
}

/// A mean in percent, with the least and the most.
fn spread(spread: Spread) -> String {
    format!("{:.1} ({:.1} to {:.1})", 100.0 * spread.mean, 100.0 * spread.least, 100.0 * spread.most)
}

/// What a way is called.
fn name(way: Way) -> String {
    match way {
        Way::Packets(dict::Choice::Static) => "packets static".into(),
        Way::Packets(dict::Choice::Dynamic) => "packets dynamic".into(),
        Way::Packets(dict::Choice::Blend { dynamic_percent }) => format!("packets blend={dynamic_percent}"),
        Way::Packets(dict::Choice::Multi { dynamic_entries }) => format!("packets multi={dynamic_entries}"),
        Way::OnFill { code, block_bytes } => format!("{} {block_bytes}", code.name()),
    }
}

impl Shown {
    /// Behind caches that lack a line for so long.
    pub fn of(
        measured: Measured,
        others: Vec<Other>,
        seeds: u64,
        penalty: Penalty,
        timing: &'static str,
    ) -> Shown {
        let caches = || 0..measured.caches.len();
        let cells = caches().map(|cache| measured.cell(cache, penalty)).collect();
        let with_cells = |other: Other| {
            let cells = caches().map(|cache| measured.other(&other, cache, penalty)).collect();
            (other, cells)
        };
        let others = others.into_iter().map(with_cells).collect();
        Shown { measured, seeds, timing, cells, others }
    }

    /// Of other ways, the same as is said of packing for caches in the orders that were drawn.
    fn others_table(&self) -> Option<Table> {
        let names = self.others.iter().map(|(other, _)| Column::new(name(other.way)).unit("%"));
        let columns = [Column::new("cache").unit("bytes"), Column::new("ways")].into_iter().chain(names);
        let mut table = Table::new("Other ways, with AES: cycles, mean over orders (least to most)", columns);
        for (number, cell) in self.cells.iter().enumerate() {
            let others = self.others.iter().map(|(_, cells)| Entry::from(spread(cells[number].packed)));
            let cells = [Entry::from(cell.cache.bytes), ways(cell.cache).into()];
            table.push(cells.into_iter().chain(others));
        }
        (!self.others.is_empty()).then_some(table)
    }

    /// Each cache with what is said of it.
    fn by_cache<const N: usize>(
        &self,
        title: &str,
        names: [&str; N],
        of: impl Fn(&Cell) -> [Entry; N],
    ) -> Table {
        let names = names.map(|name| Column::new(name).unit("%").decimals(1));
        let columns = [Column::new("cache").unit("bytes"), Column::new("ways")].into_iter().chain(names);
        let mut table = Table::new(title, columns);
        for cell in &self.cells {
            let cells = [Entry::from(cell.cache.bytes), ways(cell.cache).into()];
            table.push(cells.into_iter().chain(of(cell)));
        }
        table
    }

    /// Of the orders that were drawn, and of the packer's own.
    fn tables(&self) -> [Table; 2] {
        let drawn = self.by_cache(
            "Cycles in the same order, mean over orders (least to most)",
            ["AES alone", "packed and AES", "beside AES alone", "lines deciphered"],
            |cell| {
                [cell.aes, cell.packed, cell.packed_to_aes, cell.lines_left].map(|each| spread(each).into())
            },
        );
        let placed = self.by_cache(
            "Cycles in the packer's order, beside the program as it was linked",
            ["packed and AES", "AES alone", "plain", "lines deciphered"],
            |cell| {
                let shares = [cell.placed, cell.placed_aes, cell.placed_plain, cell.placed_lines_left];
                shares.map(|share| (100.0 * share).into())
            },
        );
        [drawn, placed]
    }

    fn facts(&self) -> Vec<(String, String)> {
        let sized = self.measured.sized(LEAST_GAIN);
        let ratio = |ratio: f64| format!("{:.1} %", 100.0 * ratio);
        let facts = [
            ("measured on", self.measured.inputs.join(", ")),
            ("cycles of", self.timing.to_owned()),
            ("orders of functions", format!("{}, drawn from the seeds 1 to {0}", self.seeds)),
            ("code in parts of plain, dictionary counted", ratio(self.measured.ratio())),
            ("the smallest, for no profile", ratio(self.measured.ratio_static)),
            ("the paper's rule takes", format!("a cache of {} bytes", sized.bytes)),
        ];
        let facts = facts.into_iter().map(|(fact, words)| (fact.to_owned(), words));
        let others = self
            .others
            .iter()
            .map(|(other, _)| (format!("code by {}, tables counted", name(other.way)), self.size_of(other)));
        let nothing = format!("{} of {}: the program there is as it was", self.without_gain(), self.seeds);
        let nothing =
            (self.without_gain() > 0).then(|| ("orders in which packing would not gain".into(), nothing));
        facts.chain(nothing).chain(others).collect()
    }

    /// In how many of the orders that were drawn nothing is packed.
    fn without_gain(&self) -> usize {
        self.measured.orders.iter().filter(|order| order.report.nothing.is_some()).count()
    }

    /// What share of the program another way makes of it, and in how many orders it makes none.
    fn size_of(&self, other: &Other) -> String {
        let ratio = format!("{:.1} %", 100.0 * other.ratio());
        match other.as_it_is() {
            0 => ratio,
            count => format!("{ratio}; in {count} of {} orders not smaller, and left as it is", self.seeds),
        }
    }

    /// For a person.
    pub fn text(&self) -> String {
        let facts = self.facts().into_iter().map(|(name, words)| format!("{name}: {words}\n"));
        let others = self.others_table().map_or(String::new(), |table| table.text(None));
        let tables: String = self.tables().iter().map(|table| table.text(None)).collect();
        tables + &others + &facts.collect::<String>()
    }

    /// For a machine.
    pub fn value(&self) -> Value {
        let spread =
            |Spread { mean, least, most }: Spread| json!({ "mean": mean, "least": least, "most": most });
        let cell = |cell: &Cell| {
            json!({
                "cache_bytes": cell.cache.bytes, "ways": cell.cache.ways, "hits": cell.hits,
                "aes": spread(cell.aes), "packed": spread(cell.packed),
                "packed_to_aes": spread(cell.packed_to_aes), "lines_left": spread(cell.lines_left),
                "accesses": spread(cell.accesses), "placed_plain": cell.placed_plain,
                "placed_aes": cell.placed_aes, "placed": cell.placed,
                "placed_lines_left": cell.placed_lines_left,
            })
        };
        let other_cell = |(cell, other): (&Cell, &OtherCell)| {
            json!({
                "cache_bytes": cell.cache.bytes, "ways": cell.cache.ways, "packed": spread(other.packed),
                "packed_to_aes": spread(other.packed_to_aes), "lines_left": spread(other.lines_left),
            })
        };
        let other = |(other, cells): &(Other, Vec<OtherCell>)| {
            json!({
                "way": name(other.way), "ratio": other.ratio(), "orders_as_it_is": other.as_it_is(),
                "cells": self.cells.iter().zip(cells).map(other_cell).collect::<Vec<_>>(),
            })
        };
        json!({
            "program": self.measured.program, "inputs": self.measured.inputs, "seeds": self.seeds,
            "timing": self.timing,
            "ratio": self.measured.ratio(), "ratio_static": self.measured.ratio_static,
            "orders_without_gain": self.without_gain(),
            "sized_bytes": self.measured.sized(LEAST_GAIN).bytes,
            "cells": self.cells.iter().map(cell).collect::<Vec<_>>(),
            "others": self.others.iter().map(other).collect::<Vec<_>>(),
        })
    }

    /// Over the size of caches with so many ways, with the least and the most of any order.
    fn chart(&self, title: &str, keep: impl Fn(Geometry) -> bool) -> Lines {
        let points = |of: &dyn Fn(&Cell) -> f64| {
            let cells = self.cells.iter().filter(|cell| keep(cell.cache));
            cells.map(|cell| (f64::from(cell.cache.bytes), 100.0 * of(cell))).collect::<Vec<_>>()
        };
        let cycles = Axis::linear("cycles, in parts of the plain program's", "%");
        Lines::new(title, Axis::log("instruction cache", "bytes"), cycles, Panels::Together)
            .series("AES alone", points(&|cell| cell.aes.mean))
            .series("packed and AES", points(&|cell| cell.packed.mean))
            .series("packed, least of any order", points(&|cell| cell.packed.least))
            .series("packed, most of any order", points(&|cell| cell.packed.most))
            .series("placed and packed and AES", points(&|cell| cell.placed))
    }

    /// Ways beside each other over the size of caches with so many ways.
    fn others_chart(&self, title: &str, keep: impl Fn(Geometry) -> bool) -> Lines {
        let cycles = Axis::linear("cycles, in parts of the plain program's", "%");
        let panels = if self.others.len() <= TOGETHER_MAX { Panels::Together } else { Panels::Each };
        let chart = Lines::new(title, Axis::log("instruction cache", "bytes"), cycles, panels);
        let kept = || self.cells.iter().enumerate().filter(|(_, cell)| keep(cell.cache));
        let points = |of: &dyn Fn(usize, &Cell) -> f64| {
            kept()
                .map(|(number, cell)| (f64::from(cell.cache.bytes), 100.0 * of(number, cell)))
                .collect::<Vec<_>>()
        };
        let chart = chart
            .series("AES alone", points(&|_, cell| cell.aes.mean))
            .series("packed for caches", points(&|_, cell| cell.packed.mean));
        self.others.iter().fold(chart, |chart, (other, cells)| {
            chart.series(name(other.way), points(&|number, _| cells[number].packed.mean))
        })
    }

    /// As a page.
    pub fn page(&self) -> String {
        let mut facts = Table::new("What was found", ["fact", "value"].map(Column::new));
        for (fact, words) in self.facts() {
            facts.push([fact.into(), words.into()]);
        }
        let lead =
            "Cycles of a program that is sealed, and of one that is packed and sealed, beside the plain one.";
        let caption = "The same order of functions on both sides, but where it says placed: there the packer's own \
                       order stands beside the linker's.";
        let [drawn, placed] = self.tables();
        let kinds: BTreeSet<_> = self.cells.iter().map(|cell| kind(cell.cache)).collect();
        let charts = kinds.iter().fold(Section::new("Over caches"), |section, (_, title)| {
            section.chart(self.chart(title, |cache| kind(cache).1 == *title), caption)
        });
        let others_caption = "With AES, mean over the same orders of functions on both sides.";
        let others = self.others_table().map(|table| {
            let section = kinds.iter().fold(Section::new("Other ways"), |section, (_, title)| {
                section.chart(self.others_chart(title, |cache| kind(cache).1 == *title), others_caption)
            });
            section.table(table, others_caption)
        });
        let page = Page::new(format!("{}: packed behind many caches", self.measured.program), lead)
            .section(Section::new("Result").table(facts, ""))
            .section(charts)
            .section(Section::new("In numbers").table(drawn, "").table(placed, ""));
        let page = others.into_iter().fold(page, Page::section);
        page.provenance("selvedge", env!("CARGO_PKG_VERSION"))
            .provenance("command", "selvedge pack sweep")
            .html()
    }
}
