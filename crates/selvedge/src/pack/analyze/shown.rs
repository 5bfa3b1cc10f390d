//! What an analysis found: for a person, for a machine, and as a page. Computes shares and nothing else.

use std::path::Path;

use ::pack::Sections;
use ::pack::analysis::Lines;
use ::pack::lines::Role;
use ::pack::packing::Fetches;
use report::chart::{Axis, Bars, Stand, Tone};
use report::page::{Figure, Page, Section};
use report::table::{Column, Entry, Table};
use serde_json::{Value, json};

use super::Packable;
use crate::pack::words::{self, nothing, packing_tables, percent};

/// Functions that are shown of those that a profile has seen.
const HOT_MAX: usize = 16;

/// Everything that was found.
pub struct Shown<'a> {
    /// The program.
    pub path: &'a Path,
    /// What is loaded of it.
    pub sections: Sections,
    /// What of its segments is in no section.
    pub left_out_bytes: u64,
    /// Its lines, as a seal sees them.
    pub lines: Lines,
    /// What packing would give, or why that is not known.
    pub packable: Result<Packable, String>,
}

/// How much is fetched of what was; in percent.
fn fetched(fetches: &[Fetches]) -> Option<f64> {
    let sum = |of: fn(&Fetches) -> u64| fetches.iter().map(of).sum::<u64>() as f64;
    let plain = sum(|each| each.plain);
    (plain > 0.0).then(|| percent(sum(|each| each.packed), plain))
}

impl Shown<'_> {
    fn sections_table(&self) -> Table {
        let columns =
            [Column::new("section"), Column::new("address"), Column::new("bytes"), Column::new("holds")];
        let mut table = Table::new("Sections", columns);
        for section in &self.sections.sections {
            let first = format!("{:#010x}", section.first);
            let bytes = section.bytes.len();
            table.push([
                section.name.as_str().into(),
                first.into(),
                bytes.into(),
                words::role(Role::Program(section.kind)).into(),
            ]);
        }
        table
    }

    /// What is one number or a few words each.
    fn facts(&self) -> Vec<(&'static str, String)> {
        let Lines { all, repeated, most_copies } = self.lines;
        let of = |part: u32, whole: u32| format!("{:.1} %: {part} of {whole}", percent(part, whole));
        let repeats = format!("{}; one {most_copies} times", of(repeated, all));
        let mut facts = vec![("lines of 16 bytes that the seal ecb shows to be equal to others", repeats)];
        if self.left_out_bytes > 0 {
            facts.push((
                "bytes of segments that are in no section, and are left out",
                self.left_out_bytes.to_string(),
            ));
        }
        let packable = match &self.packable {
            Ok(packable) => packable,
            Err(why) => {
                facts.push(("packing", format!("{why}; it can be sealed as it is")));
                return facts;
            }
        };
        let words = &packable.words;
        if !packable.no_gain.is_empty() {
            facts.push(("codes by which it would not clearly gain", packable.no_gain.join(", ")));
        }
        facts.push(("different words", of(words.different, words.all)));
        if nothing(&packable.report).is_none() {
            let [short, all] = words.most_frequent;
            facts.push(("words that may be in packets", of(words.free, words.all)));
            facts.push(("of those the most frequent 64 are", of(short, words.free)));
            facts.push(("and the most frequent 256", of(all, words.free)));
            facts.push(("places that are jumped to", of(words.leaders, words.all)));
            facts.push(("words of padding", words.padding.to_string()));
            let (some, all) = (packable.report.pieces_packed, packable.report.pieces);
            facts.push(("functions that gain", format!("{some} of {all}")));
        }
        facts
    }

    fn pinned(packable: &Packable) -> Table {
        let columns =
            [Column::new("reason"), Column::new("words"), Column::new("share").unit("%").decimals(1)];
        let mut table = Table::new("Why words may not be packed", columns);
        let mut reasons: Vec<_> = packable.words.pinned.iter().collect();
        reasons.sort_by_key(|&(reason, &count)| (std::cmp::Reverse(count), *reason));
        for (reason, &count) in reasons {
            table.push([reason.to_string().into(), count.into(), percent(count, packable.words.all).into()]);
        }
        table
    }

    fn codes(packable: &Packable) -> Table {
        let columns = [
            Column::new("code"),
            Column::new("code").unit("bytes"),
            Column::new("tables").unit("bytes"),
            Column::new("ratio").unit("%").decimals(1),
        ];
        // Without profiles nothing is known of fetches.
        let is_profiled = packable.codes.iter().any(|coded| fetched(&coded.fetches).is_some());
        let fetches = is_profiled.then(|| Column::new("fetches").unit("%").decimals(1));
        let columns = columns.into_iter().chain(fetches);
        let mut table = Table::new("What each code makes of it", columns);
        for coded in &packable.codes {
            let fetches = fetched(&coded.fetches).map_or(Entry::Blank, Entry::from);
            let [code, tables] = [coded.code_bytes, coded.tables_bytes].map(Entry::from);
            let cells = [coded.name.into(), code, tables, (100.0 * coded.ratio).into()];
            table.push(cells.into_iter().chain(is_profiled.then_some(fetches)));
        }
        table
    }

    fn switches(packable: &Packable) -> Table {
        let columns = [
            Column::new("instead"),
            Column::new("ratio").unit("%").decimals(1),
            Column::new("larger by").unit("points").decimals(1),
        ];
        let mut table = Table::new("What each switch is worth", columns);
        // Where nothing is packed, on either side, there is nothing to compare.
        let asked = packable.report.nothing.is_none().then(|| packable.report.ratio());
        for &(name, ratio) in &packable.switches {
            let points = ratio.zip(asked).map(|(ratio, asked)| 100.0 * (ratio - asked));
            let [ratio, points] = [ratio.map(|ratio| 100.0 * ratio), points]
                .map(|value| value.map_or(Entry::Blank, Entry::from));
            table.push([name.into(), ratio, points]);
        }
        table
    }

    fn heats(packable: &Packable) -> Option<Table> {
        let all: u64 = packable.heats.iter().map(|heat| heat.executions).sum();
        let columns = [
            Column::new("function"),
            Column::new("address"),
            Column::new("words"),
            Column::new("executed").unit("%").decimals(1),
        ];
        let mut table = Table::new("Hot functions", columns);
        for heat in packable.heats.iter().take(HOT_MAX) {
            let name = if heat.name.is_empty() { "(no name)" } else { &heat.name };
            let share = percent(heat.executions as f64, all as f64);
            table.push([
                name.into(),
                format!("{:#010x}", heat.first).into(),
                heat.words.into(),
                share.into(),
            ]);
        }
        (all > 0).then_some(table)
    }

    /// The tables of packing, with what each says; those that have lines.
    fn tables(packable: &Packable) -> Vec<(Table, &'static str)> {
        let [packets, alone] = packing_tables(&packable.report);
        let tables = [
            (Shown::codes(packable), "In parts of the program's code, tables counted."),
            (
                Shown::pinned(packable),
                "Of all words of code. All others may be in packets, if the dictionary has them.",
            ),
            (packets, "Of all words of the packed code."),
            (alone, "Of all words of the packed code."),
            (
                Shown::switches(packable),
                "The same with another choice of one switch: what the one taken is worth.",
            ),
        ];
        let heats = Shown::heats(packable).map(|table| (table, "Of all executions in the profiles."));
        tables.into_iter().chain(heats).filter(|(table, _)| table.line_count() > 0).collect()
    }

    /// For a person.
    pub fn text(&self) -> String {
        let mut text = self.sections_table().text(None);
        if let Ok(packable) = &self.packable {
            for (table, _) in Shown::tables(packable) {
                text += &table.text(None);
            }
        }
        for (name, words) in self.facts() {
            text += &format!("{name}: {words}\n");
        }
        if let Some(why) = self.packable.as_ref().ok().and_then(|packable| nothing(&packable.report)) {
            text += &format!("{why}\n");
        }
        text
    }

    /// For a machine.
    pub fn value(&self) -> Value {
        let Lines { all, repeated, most_copies } = self.lines;
        let section = |section: &::pack::Section| {
            json!({
                "name": section.name, "first": section.first, "bytes": section.bytes.len(),
                "holds": words::role(Role::Program(section.kind)),
            })
        };
        let (packing, why) = match &self.packable {
            Ok(packable) => (packing(packable), None),
            Err(why) => (Value::Null, Some(why)),
        };
        json!({
            "program": self.path, "machine": self.sections.machine.number, "entry": self.sections.entry,
            "sections": self.sections.sections.iter().map(section).collect::<Vec<_>>(),
            "left_out_bytes": self.left_out_bytes,
            "lines": { "all": all, "repeated": repeated, "most_copies": most_copies },
            "packing": packing, "not_packed": why,
        })
    }

    /// As a page.
    pub fn page(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy();
        let lead = "What packing and sealing this program would give. Nothing of it was changed.";
        let mut page = Page::new(format!("{name}: packed and sealed"), lead);
        let mut facts = Table::new("What was found", ["fact", "value"].map(Column::new));
        for (fact, words) in self.facts() {
            facts.push([fact.into(), words.into()]);
        }
        let (mut result, mut packing) = (Section::new("Result"), None);
        if let Ok(packable) = &self.packable {
            let ratio = 100.0 * packable.report.ratio();
            result = result.figures([
                Figure::new("code before", 4 * packable.report.plain_words, "bytes"),
                Figure::new("code after", 4 * packable.report.packed_words, "bytes"),
                Figure::new("ratio", ratio, "%").aside("with the dictionary"),
            ]);
            if let Some(why) = nothing(&packable.report) {
                result = result.note(why);
            }
            let section = Section::new("Packing").chart(sizes(packable), "Code and tables of each code.");
            let tables = Shown::tables(packable).into_iter();
            packing = Some(tables.fold(section, |section, (table, caption)| section.table(table, caption)));
        }
        page = page.section(result.table(facts, "").table(self.sections_table(), ""));
        page = packing.into_iter().fold(page, Page::section);
        page.provenance("selvedge", env!("CARGO_PKG_VERSION"))
            .provenance("command", "selvedge pack analyze")
            .html()
    }
}

/// The size of the program's code by each code.
fn sizes(packable: &Packable) -> Bars {
    let series = [("code", Tone::Accent), ("tables", Tone::Second)];
    let mut bars = Bars::new("Size of the code", Axis::linear("size", "bytes"), Stand::Stacked, series);
    let plain = f64::from(4 * packable.report.plain_words);
    bars = bars.group("as it is", [Some(plain), Some(0.0)]);
    for coded in &packable.codes {
        bars = bars.group(coded.name, [coded.code_bytes, coded.tables_bytes].map(|bytes| Some(bytes.into())));
    }
    bars
}

fn packing(packable: &Packable) -> Value {
    let words = &packable.words;
    let code = |coded: &super::Coded| {
        json!({
            "code": coded.name, "code_bytes": coded.code_bytes, "tables_bytes": coded.tables_bytes,
            "ratio": coded.ratio, "fetches_percent": fetched(&coded.fetches),
        })
    };
    let switch = |(name, ratio): &(&str, Option<f64>)| json!({ "instead": name, "ratio": ratio });
    let heat = |heat: &::pack::analysis::Heat| {
        json!({
            "function": heat.name, "first": heat.first, "words": heat.words, "executions": heat.executions,
        })
    };
    let pinned = words.pinned.iter().map(|(why, count)| json!({ "reason": why.to_string(), "words": count }));
    json!({
        "words": words.all, "different_words": words.different, "free_words": words.free,
        "most_frequent_64_words": words.most_frequent[0], "most_frequent_256_words": words.most_frequent[1],
        "leaders": words.leaders, "padding_words": words.padding, "pinned": pinned.collect::<Vec<_>>(),
        "report": words::report(&packable.report, None), "codes": packable.codes.iter().map(code).collect::<Vec<_>>(),
        "codes_without_gain": packable.no_gain,
        "switches": packable.switches.iter().map(switch).collect::<Vec<_>>(),
        "heats": packable.heats.iter().map(heat).collect::<Vec<_>>(),
    })
}
