//! The page: figure 3 and Table 1 drawn again from what was found, and what decides them. Computes nothing.

use ::pack::sweep::{Cell, Geometry, Means, Penalty, Spread};
use report::chart::{Axis, Bars, Heat, Lines, Panels, Stand, Tone};
use report::page::{Figure, Page, Section};
use report::paper::PaperRow;
use report::printed::Printed;
use report::row::Value;

use super::Shown;
use super::measure::{CACHE, Instructions};
use super::rows::{self, at, cache_name, codes, way_name};
use super::tables;

const LEAD: &str = "A cipher between cache and memory takes 40 cycles of every line that the cache lacks. E. Wanderley, G. \
                    Gogniat and J.-P. Diguet put a decompressor between core and cache: a packet of up to four \
                    instructions is a word, so that the cache holds more and the cipher is asked less. This page \
                    packs, seals and runs nine programs again, with their functions in orders that are drawn, beside \
                    what the paper prints.";

/// A value of a cell.
type OfCell = fn(&Cell) -> f64;

/// The page.
pub fn html(shown: &Shown) -> String {
    let mut page = Page::new("A cipher on the bus: what packing pays back", LEAD);
    let sections = [
        beside(shown),
        figure_3(shown),
        table_1(shown),
        caches(shown),
        cells(shown),
        codes_section(shown),
        bounds(shown),
        rv32(shown),
        hardware(shown),
        witness(shown),
    ];
    for section in sections.into_iter().flatten() {
        page = page.section(section);
    }
    page.provenance("command", shown.source)
        .provenance(
            "programs",
            "corpus/, compiled for SPARC V8 and RV32IM; what each reads: data/workload/runs.txt",
        )
        .provenance("hardware", "rtl/, synthesised by scripts/rtl.sh")
        .provenance("selvedge", env!("CARGO_PKG_VERSION"))
        .html()
}

/// What is printed of a row, digit by digit.
fn literal<'a>(rows: &'a [PaperRow], case: &str, metric: &str) -> Option<&'a Printed> {
    rows.iter().find(|row| row.case() == case && row.metric() == metric)?.printed()
}

fn printed(rows: &[PaperRow], case: &str, metric: &str) -> Option<f64> {
    literal(rows, case, metric)?.number()
}

fn beside(shown: &Shown) -> Option<Section> {
    let mut section = Section::new("Beside the paper");
    if let Some(means) = rows::means(shown.measurement, Instructions::Sparc, 0) {
        let figure = |label: &str, case: &str, metric: &str, value: f64, decimals: usize, unit: &str| {
            let printed = literal(shown.rows, case, metric).map_or("-", Printed::literal);
            Figure::new(label, format!("{value:.decimals$}"), unit).aside(format!("the paper: {printed}"))
        };
        let (packed, six) = ("cycles with AES and packing", "mean of six");
        let leon2 = "mean of six, LEON2";
        let own = format!("{packed}, own order");
        section = section.figures([
            figure("cycles with AES alone", leon2, "cycles with AES", means.aes, 2, "of plain"),
            figure("with AES and packing", leon2, packed, means.packed, 2, "of plain"),
            figure("the same in an own order", leon2, &own, means.placed, 2, "of plain"),
            figure("AES cycles left", six, "AES cycles left", 100.0 * means.lines_left, 1, "%"),
            figure("compression ratio", six, "compression ratio", 100.0 * means.ratio, 1, "%"),
        ]);
    }
    let table = tables::of_printed(shown.rows);
    if table.line_count() == 0 {
        return None;
    }
    let caption = "Orders of functions are drawn, and means are over them; `own order` is the packer's. Why a row differs \
                   docs/paper-bus.md says.";
    Some(section.table(table, caption))
}

fn figure_3(shown: &Shown) -> Option<Section> {
    let mut section = Section::new("Figure 3").text(format!(
        "Cycles behind {}, lines of 16 bytes, 80 cycles for memory and 40 for AES behind it, in parts of the plain \
         program's in the same order of its functions. The thin line over a bar goes from the least to the most of \
         any order: what a link order does is as much as what packing does. In an own order the packer also chose \
         where functions lie; plain and AES alone stand there in an order that was chosen alike.",
        cache_name(CACHE)
    ));
    let all = shown.measurement.on(Instructions::Sparc, 0);
    let chart = cycles(shown, Instructions::Sparc);
    section = section.chart(chart, "After figure 3, whose bars have no numbers but the means.");
    for table in tables::of_cycles(shown.measurement, Instructions::Sparc) {
        section = section.table(table, "");
    }
    (!all.is_empty()).then_some(section)
}

/// Figure 3 on the first core of a set of instructions.
fn cycles(shown: &Shown, instructions: Instructions) -> Bars {
    let series = [
        ("AES alone", Tone::Neutral),
        ("packed and AES", Tone::Accent),
        ("own order: AES alone", Tone::Fourth),
        ("own order: packed and AES", Tone::Third),
    ];
    let core = instructions.cores()[0];
    let axis = Axis::linear("cycles, in parts of plain", "");
    let mut bars = Bars::new(format!("Cycles on {core}"), axis, Stand::Grouped, series);
    for measured in shown.measurement.on(instructions, 0) {
        let cell = at(measured, CACHE);
        let values = [cell.aes.mean, cell.packed.mean, cell.placed_aes, cell.placed].map(Some);
        bars = bars.group(measured.program.as_str(), values);
        for (number, Spread { least, most, .. }) in [cell.aes, cell.packed].into_iter().enumerate() {
            bars = bars.spread(number, least, most);
        }
    }
    let Some(means) = rows::means(shown.measurement, instructions, 0) else { return bars };
    let values = [means.aes, means.packed, means.placed_aes, means.placed].map(Some);
    bars = bars.group("mean of six", values);
    let case = format!("mean of six, {core}");
    let of_paper = |metric| printed(shown.rows, &case, metric);
    let (alone, packed) = (of_paper("cycles with AES"), of_paper("cycles with AES and packing"));
    if alone.is_some() { bars.group("the paper's mean", [alone, packed, None, None]) } else { bars }
}

fn table_1(shown: &Shown) -> Option<Section> {
    let all = shown.measurement.on(Instructions::Sparc, 0);
    let axis = || Axis::linear("of plain", "%");
    let series = || [("printed", Tone::Neutral), ("ours", Tone::Accent)];
    let mut left = Bars::new("AES cycles left", axis(), Stand::Grouped, series());
    let mut ratio = Bars::new("Compression ratio", axis(), Stand::Grouped, series());
    for measured in &all {
        let cell = at(measured, CACHE);
        let name = measured.program.as_str();
        let beside = |metric| printed(shown.rows, name, metric);
        let Spread { mean, least, most } = cell.lines_left;
        left = left.group(name, [beside("AES cycles left"), Some(100.0 * mean)]);
        left = left.spread(1, 100.0 * least, 100.0 * most);
        ratio = ratio.group(name, [beside("compression ratio"), Some(100.0 * measured.ratio())]);
    }
    let section = Section::new("Table 1")
        .text(
            "AES cycles left are lines that the cipher opens, beside those with AES alone in the same order: bytes over \
             the bus and blocks are the same share. The ratio counts the dictionary, and room that the packer left \
             between functions.",
        )
        .chart(left, "Printed for the paper's six. The thin line goes over the orders.")
        .chart(ratio, "")
        .table(tables::of_sizes(shown.measurement, Instructions::Sparc), "");
    (!all.is_empty()).then_some(section)
}

fn caches(shown: &Shown) -> Option<Section> {
    let six = shown.measurement.six(Instructions::Sparc, 0)?;
    let mut section = Section::new("Behind other caches").text(
        "The paper says neither the size of its caches nor the order of its functions. Its rule takes the size behind \
         which twice as much brings at most 5 % more hits.",
    );
    for (kind, caches) in tables::by_ways(six[0]) {
        if kind != "Direct-mapped" && kind != "Any place" {
            continue;
        }
        let points = |of: fn(&Means) -> f64| {
            let means = |&cache: &Geometry| Means::of(&six, cache, Penalty::default());
            let point = |cache: &Geometry| (f64::from(cache.bytes), of(&means(cache)));
            caches.iter().map(point).collect::<Vec<_>>()
        };
        let bytes = Axis::log("instruction cache", "bytes");
        let cycles = Axis::linear("cycles, in parts of plain", "");
        let lines = Lines::new(format!("{kind}: means of six"), bytes, cycles, Panels::Together)
            .series("packed and AES", points(|means| means.packed))
            .series("AES alone", points(|means| means.aes))
            .series("own order: packed and AES", points(|means| means.placed));
        section = section.chart(lines, "");
    }
    Some(section.table(tables::of_caches(shown.measurement), ""))
}

fn cells(shown: &Shown) -> Option<Section> {
    let all = shown.measurement.on(Instructions::Sparc, 0);
    let mut section = Section::new("Never degraded?").text(
        "Each cell is a program behind a cache: its cycles packed and with AES, beside AES alone in the same order of \
         functions. First the mean over the orders, then the order that is worst.",
    );
    let first = all.first()?;
    for (kind, caches) in tables::by_ways(first) {
        let sizes: Vec<String> = caches.iter().map(|cache| cache.bytes.to_string()).collect();
        let values: [(&str, OfCell); 2] = [
            ("mean of orders", |cell| cell.packed_to_aes.mean),
            ("most of any order", |cell| cell.packed_to_aes.most),
        ];
        for (what, of) in values {
            let columns = sizes.iter().map(String::as_str);
            let mut heat = Heat::new(format!("{kind}: {what}"), "bytes", columns, (1.0, "", 3));
            for measured in &all {
                let cells = caches.iter().map(|&cache| Some(of(&at(measured, cache))));
                heat = heat.row(measured.program.as_str(), cells);
            }
            section = section.chart(heat, "");
        }
    }
    let goals = tables::of_goals(shown.measurement);
    if goals.line_count() > 0 {
        section = section.table(goals, "");
    }
    let conflicts = tables::of_conflicts(shown.measurement);
    if conflicts.line_count() > 0 {
        section = section.table(
            conflicts,
            "Which lines the worst order loses to which others more often than unpacked: two functions that a link order \
             put side by side in the cache take each other's places.",
        );
    }
    Some(section)
}

fn codes_section(shown: &Shown) -> Option<Section> {
    let rows = codes(shown.measurement, Instructions::Sparc);
    let series = [("mean of six", Tone::Accent)];
    let mut bars = Bars::new("Code with all tables", Axis::linear("of plain", "%"), Stand::Grouped, series);
    for row in rows.iter().filter(|row| row.six.is_some()) {
        bars = bars.group(way_name(row.way), [row.six.map(|ratio| 100.0 * ratio)]);
    }
    let means = rows::means(shown.measurement, Instructions::Sparc, 0)?;
    bars = bars.group("packets for caches (the rows above)", [Some(100.0 * means.ratio)]);
    let section = Section::new("Other codes").text(
        "A code that is decoded when a line of the cache is filled makes programs much smaller, and slower: the cache \
         holds plain instructions then, and each miss waits for its decoder. Packets are decoded behind the cache.",
    );
    Some(section.chart(bars, "").table(
        tables::of_codes(shown.measurement, Instructions::Sparc),
        "In the first order that was drawn. Cycles behind the paper's cache on LEON2.",
    ))
}

fn bounds(shown: &Shown) -> Option<Section> {
    let table = tables::of_bounds(shown.measurement);
    let text = "How much of what is left are conflicts: the packed program in its own order behind the paper's cache, behind \
                one of its size where a line may have any place, behind the same that gives up the line which is used \
                again last (no cache can do better), and behind one that lacks nothing.";
    (table.line_count() > 0).then(|| Section::new("What is left to win").text(text).table(table, ""))
}

fn rv32(shown: &Shown) -> Option<Section> {
    let table = tables::of_sizes(shown.measurement, Instructions::Rv32);
    if table.line_count() == 0 {
        return None;
    }
    let text = "The same programs for RV32IM without compressed instructions, with the cycles of Ibex.";
    let chart = cycles(shown, Instructions::Rv32);
    let mut section = Section::new("On RV32IM").text(text).chart(chart, "").table(table, "");
    for table in tables::of_cycles(shown.measurement, Instructions::Rv32) {
        section = section.table(table, "");
    }
    let table = tables::of_codes(shown.measurement, Instructions::Rv32);
    Some(if table.line_count() > 0 { section.table(table, "") } else { section })
}

fn hardware(shown: &Shown) -> Option<Section> {
    let area = shown.area;
    let value = |metric: &str| {
        let rows = shown.rows.iter().filter(|row| row.case() == "decompressor");
        rows.filter(|row| row.metric() == metric).find_map(|row| row.ours().and_then(Value::number))
    };
    let share = value("part of the core")?;
    let beside = |metric: &str| {
        let printed = literal(shown.rows, "decompressor", metric).map_or("-", Printed::literal);
        format!("the paper: {printed}")
    };
    let text = "As hardware, without its dictionary, which is memory: synthesised for the FPGA that the paper's gates are \
                counted on, and to the cells of a 0.18 micron process. The paper's numbers are of more: of all that a \
                whole Leon has beside the one without.";
    Some(Section::new("The decompressor").text(text).figures([
        Figure::new("on an FPGA", area.fpga_gates, "gates").aside(beside("area on an FPGA")),
        Figure::new("of the paper's core", format!("{share:.2}"), "%").aside(beside("part of the core")),
        Figure::new("in 0.18 micron", area.ge, "GE"),
        Figure::new("beside a LEON2's logic", area.leon2_logic_percent, "%"),
        Figure::new("dictionary", area.dictionary_bits, "bits"),
    ]))
}

fn witness(shown: &Shown) -> Option<Section> {
    let table = tables::of_witness(shown.measurement);
    let text = "One run of a program tells what all caches would lack of it. As a second witness each packed image was sealed \
                line by line in a container, read back from its bytes and run through decompressor, cache, decipher and \
                memory: its output must be that of a native build, and its cycles those that the sweep said.";
    (table.line_count() > 0).then(|| Section::new("The whole chain").text(text).table(table, ""))
}
