//! Tables of what was found, for a person.

use ::pack::sweep::{Geometry, Means, Measured, Penalty, WANTED, WORST_MAX};
use report::paper::PaperRow;
use report::row::Value;
use report::table::{Column, Entry, Table};

use super::Shown;
use super::measure::{CACHE, Instructions, Measurement};
use super::rows::{self, ON_FILL_MAX, PRINTED_TABLES, at, cache_name, codes, way_name};

/// What is told of the worst order.
const CONFLICTS_SHOWN: usize = 8;

/// All of them.
pub fn all(shown: &Shown) -> Vec<Table> {
    let measurement = shown.measurement;
    let mut tables = vec![of_printed(shown.rows)];
    for instructions in Instructions::ALL {
        tables.push(of_sizes(measurement, instructions));
        tables.extend(of_cycles(measurement, instructions));
        tables.push(of_codes(measurement, instructions));
    }
    tables.extend([of_goals(measurement), of_conflicts(measurement), of_bounds(measurement)]);
    tables.extend([of_caches(measurement), of_witness(measurement)]);
    tables.retain(|table| table.line_count() > 0);
    tables
}

fn set(instructions: Instructions) -> &'static str {
    match instructions {
        Instructions::Sparc => "SPARC V8",
        Instructions::Rv32 => "RV32IM",
    }
}

/// What is printed, beside ours.
pub fn of_printed(rows: &[PaperRow]) -> Table {
    let columns = ["case", "what", "unit", "printed", "ours", "verdict"].map(Column::new);
    let mut table = Table::new("What the paper prints, beside ours", columns);
    for row in rows.iter().filter(|row| PRINTED_TABLES.contains(&row.table())) {
        let Some(printed) = row.printed() else { continue };
        let ours = match row.ours() {
            Some(Value::Text(words)) => words.as_str().into(),
            Some(value) => value.number().map_or(Entry::Blank, |ours| Entry::Literal(format!("{ours:.2}"))),
            None => Entry::Blank,
        };
        table.push([
            row.case().into(),
            row.metric().into(),
            row.unit().into(),
            Entry::Literal(printed.literal().to_owned()),
            ours,
            Entry::Verdict(row.verdict()),
        ]);
    }
    table
}

/// A line for each program, and for the mean of six if it is there.
fn by_program(
    title: String,
    names: &[&str],
    (unit, decimals): (&str, usize),
    all: &[&Measured],
    line: impl Fn(&Measured) -> Vec<f64>,
    mean: Option<Vec<Option<f64>>>,
) -> Table {
    let columns = names.iter().map(|&name| Column::new(name).unit(unit).decimals(decimals));
    let mut table = Table::new(title, [Column::new("program")].into_iter().chain(columns));
    let lines = all.iter().map(|measured| {
        let values = line(measured).into_iter().map(Some).collect();
        (measured.program.as_str(), values)
    });
    for (name, values) in lines.chain(mean.map(|values| ("mean of six", values))) {
        table.push([name.into()].into_iter().chain(values.into_iter().map(shown)));
    }
    table
}

fn shown(value: Option<f64>) -> Entry {
    value.map_or(Entry::Blank, Entry::from)
}

/// Table 1, and the same in the packer's own order.
pub fn of_sizes(measurement: &Measurement, instructions: Instructions) -> Table {
    let title = format!("Table 1 in {}: code and AES cycles left, of plain", set(instructions));
    let names = ["ratio", "AES left", "static ratio", "own order: ratio", "AES left there"];
    let line = |measured: &Measured| {
        let cell = at(measured, CACHE);
        let shares = [
            measured.ratio(),
            cell.lines_left.mean,
            measured.ratio_static,
            measured.placed.report.ratio(),
            cell.placed_lines_left,
        ];
        shares.map(|share| 100.0 * share).to_vec()
    };
    let mean = rows::means(measurement, instructions, 0).map(|means| {
        let shares = [means.ratio, means.lines_left, means.ratio_static];
        let placed = [means.placed_ratio, means.placed_lines_left];
        shares.into_iter().chain(placed).map(|share| Some(100.0 * share)).collect()
    });
    by_program(title, &names, ("%", 1), &measurement.on(instructions, 0), line, mean)
}

/// Figure 3, on each core.
pub fn of_cycles(measurement: &Measurement, instructions: Instructions) -> Vec<Table> {
    let cores = instructions.cores().iter().enumerate();
    cores.map(|(core, name)| of_core(measurement, instructions, core, name)).collect()
}

fn of_core(measurement: &Measurement, instructions: Instructions, core: usize, name: &str) -> Table {
    let title = format!("Figure 3 on {name}: cycles with AES behind {}, of plain", cache_name(CACHE));
    let names = [
        "AES alone",
        "packed",
        "least",
        "most",
        "beside AES",
        "own order: plain",
        "AES alone there",
        "packed there",
    ];
    let line = |measured: &Measured| {
        let cell = at(measured, CACHE);
        let packed = cell.packed;
        let same = [cell.aes.mean, packed.mean, packed.least, packed.most, cell.packed_to_aes.mean];
        same.into_iter().chain([cell.placed_plain, cell.placed_aes, cell.placed]).collect()
    };
    let mean = rows::means(measurement, instructions, core).map(|means| {
        let same = [Some(means.aes), Some(means.packed), None, None, None];
        let placed = [means.placed_plain, means.placed_aes, means.placed].map(Some);
        same.into_iter().chain(placed).collect()
    });
    by_program(title, &names, ("", 3), &measurement.on(instructions, core), line, mean)
}

/// Ways to make code smaller.
pub fn of_codes(measurement: &Measurement, instructions: Instructions) -> Table {
    let title = format!("Other codes in {}, all tables counted", set(instructions));
    let columns = [
        Column::new("code"),
        Column::new("ratio, six").unit("%").decimals(1),
        Column::new("ratio, nine").unit("%").decimals(1),
        Column::new("cycles with AES, of plain").decimals(3),
    ];
    let mut table = Table::new(title, columns);
    for row in codes(measurement, instructions).iter().filter(|row| row.six.is_some()) {
        let [six, nine] = [row.six, row.nine].map(|ratio| ratio.map(|ratio| 100.0 * ratio));
        table.push([way_name(row.way).into(), shown(six), shown(nine), shown(row.cycles)]);
    }
    table
}

/// What is wanted.
pub fn of_goals(measurement: &Measurement) -> Table {
    let columns = ["what", "core", "value", "wanted: at most", "met"].map(Column::new);
    let mut table = Table::new("What is wanted", columns);
    let mut push = |what: &str, core: &str, value: f64, at_most: f64| {
        let [value_words, at_most_words] = [value, at_most].map(|share| format!("{share:.3}"));
        let met = if value <= at_most { "yes" } else { "NO" };
        table.push([what.into(), core.into(), value_words.into(), at_most_words.into(), met.into()]);
    };
    for (core, name) in Instructions::Sparc.cores().iter().enumerate() {
        if let Some(means) = rows::means(measurement, Instructions::Sparc, core) {
            WANTED.iter().for_each(|goal| push(goal.metric, name, goal.value(&means), goal.at_most));
        }
        for (worst, at_most) in rows::worst(measurement, core).into_iter().flatten().zip(WORST_MAX) {
            let seed = worst.seed.map_or("mean".to_owned(), |seed| format!("order {seed}"));
            let where_ = format!("{}, {}, {seed}", worst.program, cache_name(worst.cache));
            push(&format!("worst cell beside AES alone: {where_}"), name, worst.share, at_most);
        }
    }
    if let Some((best, ratio)) = rows::best_on_fill(measurement, Instructions::Sparc) {
        push(&format!("ratio of the best code on fill: {}", way_name(best)), "-", ratio, ON_FILL_MAX);
    }
    table
}

/// Why the worst order is so.
pub fn of_conflicts(measurement: &Measurement) -> Table {
    let title = measurement.reason.as_ref().map_or(String::new(), |reason| {
        format!(
            "Why {} takes {:.4} of AES alone behind {} in order {}: lines given up on `{}`",
            reason.program,
            reason.share,
            cache_name(reason.cache),
            reason.seed,
            reason.cause.input
        )
    });
    let columns = ["lines of", "given up for", "packed, times", "plain, times"].map(Column::new);
    let mut table = Table::new(title, columns);
    let conflicts = measurement.reason.iter().flat_map(|reason| &reason.cause.conflicts);
    for conflict in conflicts.take(CONFLICTS_SHOWN) {
        let names = [conflict.first.as_str().into(), conflict.second.as_str().into()];
        table.push(
            names.into_iter().chain([conflict.packed as usize, conflict.plain as usize].map(Entry::from)),
        );
    }
    table
}

/// What the packer's own order leaves, and what would be left without conflicts.
pub fn of_bounds(measurement: &Measurement) -> Table {
    let names = ["direct-mapped", "any place", "best line kept", "no line lacked", "plain: misses"];
    let columns = names.map(|name| Column::new(name).decimals(3));
    let title = "Own order, packed and AES on LEON2, of plain: the paper's cache, and bounds of its size";
    let mut table = Table::new(title, [Column::new("program")].into_iter().chain(columns));
    let found = measurement.found.iter().filter(|found| found.instructions == Instructions::Sparc);
    for found in found {
        let bounds = found.bounds;
        let values = [bounds.direct, bounds.full, bounds.least, bounds.none, bounds.plain_missing];
        table.push([found.name().into()].into_iter().chain(values.map(Entry::from)));
    }
    if let Some(values) = rows::mean_bounds(measurement) {
        table.push(["mean of six".into()].into_iter().chain(values.map(Entry::from)));
    }
    table
}

/// Means of six behind every cache.
pub fn of_caches(measurement: &Measurement) -> Table {
    let names =
        ["AES alone", "the same, a cycle a word", "packed and AES", "AES left", "own order: packed and AES"];
    let columns = names.map(|name| Column::new(name).decimals(3));
    let title = "Behind every cache on LEON2, of plain: means of six";
    let mut table = Table::new(title, [Column::new("cache")].into_iter().chain(columns));
    let Some(six) = measurement.six(Instructions::Sparc, 0) else { return table };
    for &cache in &six[0].caches {
        let means = Means::of(&six, cache, Penalty::default());
        let values = [means.aes, means.aes_ideal, means.packed, means.lines_left, means.placed];
        table.push([cache_name(cache).into()].into_iter().chain(values.map(Entry::from)));
    }
    table
}

/// The whole chain beside the sweep.
pub fn of_witness(measurement: &Measurement) -> Table {
    let columns = ["program", "core", "runs", "cycles", "sweep's cycles", "equal"].map(Column::new);
    let title = "Packed, sealed and run in the whole chain, beside what the sweep says";
    let mut table = Table::new(title, columns);
    for found in &measurement.found {
        for core in found.instructions.cores() {
            let of_core = || found.witnessed.iter().filter(|witnessed| witnessed.core == *core);
            let chained: u64 = of_core().map(|witnessed| witnessed.found.cycles).sum();
            let swept: u64 = of_core().map(|witnessed| witnessed.predicted).sum();
            let agrees = if of_core().all(|witnessed| witnessed.agrees()) { "yes" } else { "NO" };
            let sums = [of_core().count(), chained as usize, swept as usize].map(Entry::from);
            let names = [found.name().into(), (*core).into()];
            table.push(names.into_iter().chain(sums).chain([agrees.into()]));
        }
    }
    table
}

/// Direct-mapped, and with more ways, each with its caches by size.
pub fn by_ways(measured: &Measured) -> Vec<(String, Vec<Geometry>)> {
    let mut kinds: Vec<(String, Vec<Geometry>)> = Vec::new();
    for &cache in &measured.caches {
        let name = match cache.is_full() {
            true => "Any place".to_owned(),
            false if cache.ways == 1 => "Direct-mapped".to_owned(),
            false => format!("{} ways", cache.ways),
        };
        match kinds.iter_mut().find(|kind| kind.0 == name) {
            Some(kind) => kind.1.push(cache),
            None => kinds.push((name, vec![cache])),
        }
    }
    kinds
}
