//! Rows of what was found, beside what the paper prints.
//!
//! Owns the metrics and their names, and which witnesses each has. What is wanted of them stands where else the paper's
//! number does, and is met or `differs`: there is no tolerance.

use ::pack::sweep::why::Bounds;
use ::pack::sweep::{Cell, Geometry, Means, Measured, Penalty, Spread, WANTED, WORST_MAX, Way, Worst};
use report::paper::PaperRow;
use report::printed::{Direction as Better, Printed, PrintedCell, read_csv};
use report::row::Value;

use super::area::Area;
use super::measure::{CACHE, FULL, Found, Instructions, Measurement, PROGRAMS, SIX};

/// The key of the paper.
const PAPER: &str = "bus";
/// What the paper prints.
const PRINTED: &str = include_str!("printed.csv");
/// The tables whose cells the paper has.
pub const PRINTED_TABLES: [&str; 3] = ["table-1", "figure-3", "section-5"];

/// What the fetches of one run say of all caches.
const SWEPT: [&str; 1] = ["pack::sweep"];
/// And at the paper's cache, packed and sealed images in the whole chain.
const CHAINED: [&str; 2] = ["pack::sweep", "pack::chain, sealed"];
/// Sizes; what is packed is executed.
const PACKED: [&str; 2] = ["pack::packing", "pack::chain executes it"];
const COMPRESSED: [&str; 1] = ["pack::code"];
/// Caches that `why` simulates for itself.
const BOUNDED: [&str; 2] = ["pack::sweep", "pack::sweep::why"];
const SYNTHESISED: [&str; 1] = ["yosys"];

/// The paper's rule: a cache is large enough when one twice as large does not bring so many hits more.
const LEAST_GAIN: f64 = 0.05;
/// How many conflicts a row names.
const CONFLICTS_NAMED: usize = 3;

/// What is wanted of the best code that is decoded on fill, tables counted.
pub const ON_FILL_MAX: f64 = 0.58;

/// So exactly a value must keep to what is wanted of it: a half of the last of these decimals is no more.
const WANTED_DECIMALS: usize = 4;

/// Where a row stands.
struct Place<'a> {
    table: &'a str,
    case: &'a str,
    /// The core, where cycles depend on it.
    core: Option<&'a str>,
}

struct Rows<'a> {
    printed: Vec<PrintedCell>,
    source: &'a str,
    rows: Vec<PaperRow>,
}

/// What a cache is called.
pub fn cache_name(cache: Geometry) -> String {
    match cache.is_full() {
        true => format!("{} B, any place", cache.bytes),
        false => format!("{} B in {}", cache.bytes, cache.ways),
    }
}

/// What a way is called.
pub fn way_name(way: Way) -> String {
    use ::pack::code::dict::Choice;
    match way {
        Way::Packets(Choice::Static) => "packets, static dictionary".into(),
        Way::Packets(Choice::Dynamic) => "packets, dynamic dictionary".into(),
        Way::Packets(other) => format!("packets, {other:?}"),
        Way::OnFill { code, block_bytes } => format!("{}, blocks of {block_bytes} bytes", code.name()),
    }
}

fn yes(is_so: bool) -> Value {
    Value::from(if is_so { "yes" } else { "no" })
}

fn place<'a>(table: &'a str, case: &'a str, core: Option<&'a str>) -> Place<'a> {
    Place { table, case, core }
}

/// All rows.
pub fn rows(measurement: &Measurement, area: &Area, source: &str) -> Vec<PaperRow> {
    let (printed, errors) = read_csv(PRINTED);
    assert!(errors.is_empty(), "the file is ours: {errors:?}");
    let mut rows = Rows { printed, source, rows: Vec::new() };
    for instructions in Instructions::ALL {
        let suffix = if instructions == Instructions::Sparc { "" } else { "-rv32" };
        let (table, figure) = (format!("table-1{suffix}"), format!("figure-3{suffix}"));
        rows.table_1(measurement, instructions, &table);
        for (core, name) in instructions.cores().iter().enumerate() {
            rows.figure_3(measurement, instructions, (core, name), &figure);
        }
        rows.codes(measurement, instructions, &format!("codes{suffix}"));
    }
    rows.section_5(measurement);
    rows.decompressor(area);
    rows.goals(measurement);
    rows.caches(measurement);
    rows.worst(measurement);
    measurement.found.iter().for_each(|found| rows.found(found));
    rows.rows
}

impl Rows<'_> {
    fn push(
        &mut self,
        place: &Place,
        metric: &str,
        unit: &str,
        better: Better,
        value: impl Into<Value>,
        witnesses: &[&str],
    ) {
        let is_there = PRINTED_TABLES.contains(&place.table);
        let is_it = |cell: &&PrintedCell| is_there && cell.case == place.case && cell.metric == metric;
        let beside = self.printed.iter().find(is_it);
        let cell = PrintedCell {
            case: place.core.map_or(place.case.to_owned(), |core| format!("{}, {core}", place.case)),
            metric: metric.to_owned(),
            unit: unit.to_owned(),
            printed: beside.and_then(|cell| cell.printed.clone()),
            direction: beside.map_or(better, |cell| cell.direction),
            tolerance: beside.and_then(|cell| cell.tolerance),
        };
        self.rows.push(PaperRow::new(PAPER, place.table, &cell, Some(value.into()), witnesses, self.source));
    }

    /// What is to be at most so much, with as many decimals as the metric has.
    fn wanted(
        &mut self,
        place: &Place,
        metric: &str,
        unit: &str,
        value: f64,
        at_most: f64,
        witnesses: &[&str],
    ) {
        let cell = PrintedCell {
            case: place.core.map_or(place.case.to_owned(), |core| format!("{}, {core}", place.case)),
            metric: format!("{metric}, wanted: at most {at_most}"),
            unit: unit.to_owned(),
            printed: Some(Printed::new(format!("{at_most:.WANTED_DECIMALS$}"))),
            direction: Better::Lower,
            tolerance: Some(0.0),
        };
        self.rows.push(PaperRow::new(PAPER, place.table, &cell, Some(value.into()), witnesses, self.source));
    }

    /// A share in percent, less of which is better.
    fn percent(&mut self, place: &Place, metric: &str, share: f64, witnesses: &[&str]) {
        self.push(place, metric, "%", Better::Lower, 100.0 * share, witnesses);
    }

    /// A share of plain cycles.
    fn cycles(&mut self, place: &Place, metric: &str, share: f64) {
        self.push(place, metric, "of plain", Better::Lower, share, &CHAINED);
    }

    /// Both columns: size and AES, neither of which a core's cycles change.
    fn table_1(&mut self, measurement: &Measurement, instructions: Instructions, table: &str) {
        for measured in measurement.on(instructions, 0) {
            let place = place(table, &measured.program, None);
            let cell = at(measured, CACHE);
            self.percent(&place, "compression ratio", measured.ratio(), &PACKED);
            self.percent(&place, "AES cycles left", cell.lines_left.mean, &CHAINED);
            self.percent(&place, "compression ratio, static dictionary", measured.ratio_static, &PACKED);
            let ratio = measured.placed.report.ratio();
            self.percent(&place, "compression ratio, own order", ratio, &PACKED);
            self.percent(&place, "AES cycles left, own order", cell.placed_lines_left, &CHAINED);
        }
        let Some(means) = means(measurement, instructions, 0) else { return };
        let place = place(table, "mean of six", None);
        self.percent(&place, "compression ratio", means.ratio, &PACKED);
        self.percent(&place, "AES cycles left", means.lines_left, &CHAINED);
        self.percent(&place, "compression ratio, static dictionary", means.ratio_static, &PACKED);
        self.percent(&place, "compression ratio, own order", means.placed_ratio, &PACKED);
        self.percent(&place, "AES cycles left, own order", means.placed_lines_left, &CHAINED);
    }

    fn figure_3(
        &mut self,
        measurement: &Measurement,
        instructions: Instructions,
        (core, core_name): (usize, &str),
        table: &str,
    ) {
        for measured in measurement.on(instructions, core) {
            let place = place(table, &measured.program, Some(core_name));
            let cell = at(measured, CACHE);
            self.push(&place, "cycles with AES", "of plain", Better::Neither, cell.aes.mean, &CHAINED);
            let Spread { mean, least, most } = cell.packed;
            let packed = "cycles with AES and packing";
            self.cycles(&place, packed, mean);
            self.cycles(&place, &format!("{packed}, least of any order"), least);
            self.cycles(&place, &format!("{packed}, most of any order"), most);
            let is_less = yes(cell.packed_to_aes.mean < 1.0);
            self.push(
                &place,
                "less with packing than with AES alone",
                "",
                Better::Neither,
                is_less,
                &CHAINED,
            );
            self.cycles(&place, "plain cycles, own order", cell.placed_plain);
            self.cycles(&place, "cycles with AES, own order", cell.placed_aes);
            self.cycles(&place, &format!("{packed}, own order"), cell.placed);
        }
        let Some(means) = means(measurement, instructions, core) else { return };
        let place = place(table, "mean of six", Some(core_name));
        self.push(&place, "cycles with AES", "of plain", Better::Neither, means.aes, &CHAINED);
        self.cycles(&place, "cycles with AES and packing", means.packed);
        self.cycles(&place, "plain cycles, own order", means.placed_plain);
        self.cycles(&place, "cycles with AES, own order", means.placed_aes);
        self.cycles(&place, "cycles with AES and packing, own order", means.placed);
    }

    /// What section 5 and the abstract say.
    fn section_5(&mut self, measurement: &Measurement) {
        let sparc = Instructions::Sparc;
        for (core, core_name) in sparc.cores().iter().enumerate() {
            let Some(six) = measurement.six(sparc, core) else { return };
            let means = Means::of(&six, CACHE, Penalty::default());
            let of_six = place("section-5", "mean of six", Some(core_name));
            for (metric, share) in [("speed-up", means.packed), ("speed-up, own order", means.placed)] {
                self.push(&of_six, metric, "x", Better::Higher, 1.0 / share, &CHAINED);
            }
            let each = place("section-5", "each of six", Some(core_name));
            let never = |caches: &dyn Fn(Geometry) -> bool, value: fn(&Cell) -> f64| {
                let cells = six.iter().flat_map(|measured| {
                    (0..measured.caches.len()).map(|cache| measured.cell(cache, Penalty::default()))
                });
                yes(cells.filter(|cell| caches(cell.cache)).all(|cell| value(&cell) <= 1.0))
            };
            let any_order: fn(&Cell) -> f64 = |cell| cell.packed_to_aes.most;
            for (metric, value) in [
                ("any order, the paper's cache", never(&|cache| cache == CACHE, any_order)),
                ("mean of orders, any cache", never(&|_| true, |cell| cell.packed_to_aes.mean)),
                ("any order, any cache", never(&|_| true, any_order)),
            ] {
                let metric = format!("never slower than AES alone, {metric}");
                self.push(&each, &metric, "", Better::Neither, value, &SWEPT);
            }
        }
        let Some(six) = measurement.six(sparc, 0) else { return };
        let means = Means::of(&six, CACHE, Penalty::default());
        let each = place("section-5", "each of six", None);
        let is_saved = yes(six.iter().all(|measured| measured.ratio() < 1.0));
        self.push(&each, "memory is saved", "", Better::Neither, is_saved, &PACKED);
        let of_six = place("section-5", "mean of six", None);
        for (metric, left, witnesses) in [
            ("less memory", means.ratio, &PACKED),
            ("fewer AES blocks", means.lines_left, &CHAINED),
            ("fewer bus transfers", means.lines_left, &CHAINED),
            ("fewer cache accesses", means.accesses, &CHAINED),
        ] {
            self.push(&of_six, metric, "%", Better::Higher, 100.0 * (1.0 - left), witnesses);
        }
    }

    fn decompressor(&mut self, area: &Area) {
        let place = place("section-5", "decompressor", None);
        let share = 100.0 * area.fpga_gates / area.core_fpga_gates;
        for (metric, unit, value) in [
            ("area on an FPGA", "gates", area.fpga_gates),
            ("part of the core", "%", share),
            ("area of its logic in 0.18 micron", "GE", area.ge),
            ("its logic beside a LEON2's", "%", area.leon2_logic_percent),
            ("dictionary", "bits", area.dictionary_bits),
        ] {
            self.push(&place, metric, unit, Better::Lower, value, &SYNTHESISED);
        }
    }

    /// What is wanted of the means, on each core.
    fn goals(&mut self, measurement: &Measurement) {
        for (core, core_name) in Instructions::Sparc.cores().iter().enumerate() {
            let Some(means) = means(measurement, Instructions::Sparc, core) else { continue };
            let place = place("goals", "mean of six", Some(core_name));
            for goal in &WANTED {
                self.wanted(&place, goal.metric, "", goal.value(&means), goal.at_most, &CHAINED);
            }
        }
    }

    /// Means of six behind every cache, and of AES alone if a core did nothing but fetch; and behind the caches that the
    /// paper's rule gives them.
    fn caches(&mut self, measurement: &Measurement) {
        for (core, core_name) in Instructions::Sparc.cores().iter().enumerate() {
            let Some(six) = measurement.six(Instructions::Sparc, core) else { continue };
            for &cache in &six[0].caches {
                let means = Means::of(&six, cache, Penalty::default());
                let case = format!("mean of six, {}", cache_name(cache));
                let place = place("caches", &case, Some(core_name));
                for (metric, share) in [
                    ("cycles with AES", means.aes),
                    ("cycles with AES, a cycle a word", means.aes_ideal),
                    ("cycles with AES and packing", means.packed),
                    ("cycles with AES and packing, own order", means.placed),
                    ("AES cycles left", means.lines_left),
                ] {
                    self.push(&place, metric, "of plain", Better::Lower, share, &SWEPT);
                }
            }
            // Each behind the cache that the paper's rule gives it.
            let sized = six.iter().map(|measured| at(measured, measured.sized(LEAST_GAIN)));
            let sized: Vec<Cell> = sized.collect();
            let mean = |value: fn(&Cell) -> f64| Spread::of(sized.iter().map(value)).expect("six").mean;
            let place = place("caches", "mean of six, size by the rule", Some(core_name));
            for (metric, share) in [
                ("cycles with AES", mean(|cell| cell.aes.mean)),
                ("cycles with AES and packing", mean(|cell| cell.packed.mean)),
                ("AES cycles left", mean(|cell| cell.lines_left.mean)),
            ] {
                self.push(&place, metric, "of plain", Better::Lower, share, &SWEPT);
            }
        }
    }

    /// The worst cells, and why the worst order is so.
    fn worst(&mut self, measurement: &Measurement) {
        for (core, core_name) in Instructions::Sparc.cores().iter().enumerate() {
            let kinds = ["mean of orders", "order"].into_iter().zip(worst(measurement, core));
            for ((kind, worst), at_most) in kinds.zip(WORST_MAX) {
                let Some(worst) = worst else { continue };
                let case = format!("worst {kind} of any program and cache");
                let place = place("cells", &case, Some(core_name));
                self.wanted(&place, "beside AES alone", "", worst.share, at_most, &SWEPT);
                let seed = worst.seed.map_or(String::new(), |seed| format!(", order {seed}"));
                let words = format!("{}, {}{seed}", worst.program, cache_name(worst.cache));
                self.push(&place, "where", "", Better::Neither, Value::Text(words), &SWEPT);
            }
        }
        let Some(reason) = &measurement.reason else { return };
        let conflicts = reason.cause.conflicts.iter().take(CONFLICTS_NAMED).map(|conflict| {
            let lost = conflict.packed - conflict.plain;
            format!("lines of {} are lost to {} {lost} times more often", conflict.first, conflict.second)
        });
        let mut words = conflicts.collect::<Vec<_>>().join("; ");
        if words.is_empty() {
            words = "no lines are lost to others more often than unpacked".to_owned();
        }
        let case = "worst order of any program and cache";
        let place = place("cells", case, Some(Instructions::Sparc.cores()[0]));
        self.push(&place, "cause", "", Better::Neither, Value::Text(words), &BOUNDED);
    }

    /// Other ways to make code smaller, in the first order that was drawn.
    fn codes(&mut self, measurement: &Measurement, instructions: Instructions, table: &str) {
        for row in codes(measurement, instructions) {
            let name = way_name(row.way);
            let place = place(table, &name, None);
            for (count, ratio) in [("six", row.six), ("nine", row.nine)] {
                let Some(ratio) = ratio else { continue };
                self.percent(&place, &format!("compression ratio, mean of {count}"), ratio, &COMPRESSED);
            }
            if let Some(cycles) = row.cycles {
                let metric = "cycles with AES and this code, mean of six";
                self.push(&place, metric, "of plain", Better::Lower, cycles, &SWEPT);
            }
        }
        if let Some((best, ratio)) = best_on_fill(measurement, instructions) {
            let name = way_name(best);
            let place = place(table, "best code on fill", None);
            self.push(&place, "which", "", Better::Neither, Value::Text(name), &COMPRESSED);
            let metric = "compression ratio, mean of six";
            self.wanted(&place, metric, "of plain", ratio, ON_FILL_MAX, &COMPRESSED);
        }
    }

    /// All cells of a program, its bounds, and what the whole chain says of it.
    fn found(&mut self, found: &Found) {
        let suffix = if found.instructions == Instructions::Sparc { "" } else { "-rv32" };
        let (cells, caches) = (format!("cells{suffix}"), format!("caches{suffix}"));
        let cores = || found.measured.iter().zip(found.instructions.cores());
        for (measured, core) in cores() {
            for cache in 0..measured.caches.len() {
                let cell = measured.cell(cache, Penalty::default());
                let case = format!("{}, {}", measured.program, cache_name(cell.cache));
                let place = place(&cells, &case, Some(core));
                for (metric, share) in [
                    ("cycles with AES", cell.aes.mean),
                    ("cycles with AES and packing", cell.packed.mean),
                    ("beside AES alone, mean of orders", cell.packed_to_aes.mean),
                    ("beside AES alone, most of any order", cell.packed_to_aes.most),
                    ("AES cycles left", cell.lines_left.mean),
                ] {
                    self.push(&place, metric, "", Better::Lower, share, &SWEPT);
                }
            }
            let sized = measured.sized(LEAST_GAIN);
            let rule = place(&caches, &measured.program, Some(core));
            let bytes = sized.bytes;
            self.push(&rule, "size by the paper's rule", "bytes", Better::Neither, bytes, &SWEPT);
            for (name, cache) in [("the size by the rule", sized), ("any place in 1024 bytes", FULL)] {
                let cell = at(measured, cache);
                for (metric, share) in [
                    ("cycles with AES", cell.aes),
                    ("cycles with AES and packing", cell.packed),
                    ("AES cycles left", cell.lines_left),
                ] {
                    let metric = format!("{metric}, {name}");
                    self.push(&rule, &metric, "of plain", Better::Lower, share.mean, &SWEPT);
                }
            }
        }
        self.bounds(found, suffix);
        self.witnessed(found);
    }

    fn bounds(&mut self, found: &Found, suffix: &str) {
        let table = format!("bounds{suffix}");
        let place = place(&table, found.name(), Some(found.instructions.cores()[0]));
        let Bounds { direct, full, least, none, plain_missing } = found.bounds;
        for (metric, share) in [
            ("own order, direct-mapped", direct),
            ("own order, any place", full),
            ("own order, any place, the best line kept", least),
            ("own order, no line ever lacked", none),
            ("misses' share of plain cycles", plain_missing),
        ] {
            self.push(&place, metric, "of plain", Better::Lower, share, &BOUNDED);
        }
    }

    fn witnessed(&mut self, found: &Found) {
        for witnessed in &found.witnessed {
            let order = witnessed.seed.map_or("own order".to_owned(), |seed| format!("order {seed}"));
            let case = format!("{}, {}, {order}", found.name(), witnessed.input);
            let place = place("witness", &case, Some(witnessed.core));
            for (metric, unit, value) in [
                ("cycles, packed and sealed in the whole chain", "cycles", witnessed.found.cycles.into()),
                ("cycles, sweep", "cycles", witnessed.predicted.into()),
                ("equal, and the output a native build's", "", yes(witnessed.agrees())),
            ] {
                self.push(&place, metric, unit, Better::Neither, value, &CHAINED);
            }
        }
    }
}

/// A program behind one of the caches.
pub fn at(measured: &Measured, cache: Geometry) -> Cell {
    measured.cell_of(cache, Penalty::default()).expect("the paper's cache is swept")
}

/// The means over six at the paper's cache, if all six are there.
pub fn means(measurement: &Measurement, instructions: Instructions, core: usize) -> Option<Means> {
    let six = measurement.six(instructions, core)?;
    Some(Means::of(&six, CACHE, Penalty::default()))
}

/// A way over programs.
pub struct CodeRow {
    /// Which.
    pub way: Way,
    /// Its mean ratio over the paper's six, and over nine, where all are there.
    pub six: Option<f64>,
    /// See `six`.
    pub nine: Option<f64>,
    /// Mean cycles with AES over the six at the paper's cache, in parts of plain.
    pub cycles: Option<f64>,
}

/// Every way over programs.
pub fn codes(measurement: &Measurement, instructions: Instructions) -> Vec<CodeRow> {
    let found = measurement.found.iter().filter(|found| found.instructions == instructions);
    let found: Vec<&Found> = found.collect();
    let row = |(number, way): (usize, Way)| {
        let mean = |names: &[&str], value: &dyn Fn(&Found) -> f64| {
            let chosen: Vec<f64> = found
                .iter()
                .filter(|found| names.contains(&found.name()))
                .map(|found| value(found))
                .collect();
            (chosen.len() == names.len()).then(|| Spread::of(chosen).expect("there is a program").mean)
        };
        let ratio = |found: &Found| found.others[number].ratio();
        let cycles = |found: &Found| {
            let measured = &found.measured[0];
            let cache = measured.caches.iter().position(|&cache| cache == CACHE).expect("it is swept");
            measured.other(&found.others[number], cache, Penalty::default()).packed.mean
        };
        let six = &PROGRAMS[..SIX];
        CodeRow { way, six: mean(six, &ratio), nine: mean(&PROGRAMS, &ratio), cycles: mean(six, &cycles) }
    };
    match found.is_empty() {
        true => Vec::new(),
        false => super::measure::WAYS.into_iter().enumerate().map(row).collect(),
    }
}

/// The code on fill whose mean over six is the least, with that, if all six are there.
pub fn best_on_fill(measurement: &Measurement, instructions: Instructions) -> Option<(Way, f64)> {
    let rows = codes(measurement, instructions).into_iter();
    let on_fill = rows.filter(|row| matches!(row.way, Way::OnFill { .. }));
    let ratios = on_fill.filter_map(|row| Some((row.way, row.six?)));
    ratios.min_by(|a, b| a.1.total_cmp(&b.1))
}

/// The worst mean of a cell over all of SPARC's programs, and the worst order.
pub fn worst(measurement: &Measurement, core: usize) -> [Option<Worst<'_>>; 2] {
    let all = measurement.on(Instructions::Sparc, core);
    [Worst::mean(&all, Penalty::default()), Worst::order(&all, Penalty::default())]
}

/// The means of the bounds over six, as [`Bounds`] has them, if all six are there.
pub fn mean_bounds(measurement: &Measurement) -> Option<[f64; 5]> {
    let of_six =
        |found: &&Found| found.instructions == Instructions::Sparc && PROGRAMS[..SIX].contains(&found.name());
    let six: Vec<&Found> = measurement.found.iter().filter(of_six).collect();
    let mean = |of: fn(&Bounds) -> f64| Some(Spread::of(six.iter().map(|found| of(&found.bounds)))?.mean);
    let means = [
        mean(|bounds| bounds.direct)?,
        mean(|bounds| bounds.full)?,
        mean(|bounds| bounds.least)?,
        mean(|bounds| bounds.none)?,
        mean(|bounds| bounds.plain_missing)?,
    ];
    (six.len() == SIX).then_some(means)
}
