//! Tables of what was measured, for a person.

use report::table::{Column, Entry, Table};

use super::Shown;
use super::batch::NODES;
use super::cells::{Cell, How, Input, KEY_BYTES, Name, Part, aes};
use super::class::Class;
use super::compared::Printed;
use super::expansion;
use super::measure::{Found, Result};
use super::path::{self, TERMS, order_words};

/// All of them.
pub fn all(shown: &Shown) -> Vec<Table> {
    let mut tables = vec![of_cells(shown, Part::Table1), of_expansions(shown)];
    tables.extend([of_cells(shown, Part::Table2), of_figure(shown)]);
    tables.push(of_batches(shown));
    tables.extend([Class::Fifo, Class::Other].map(|class| of_paths(shown, class)));
    tables.extend([of_ratios(shown), of_machine(shown)]);
    tables.retain(|table| table.line_count() > 0);
    tables
}

/// Table 1 or 2, a line for each length of keys, width of samples and way.
pub fn of_cells(shown: &Shown, part: Part) -> Table {
    let (title, unit, unit_ns) = match part {
        Part::Table1 => ("Table 1: one block, encryption and decryption", "ms", 1e6),
        _ => ("Table 2: 1024 samples, encryption and decryption", "s", 1e9),
    };
    let is_waveform = part != Part::Table1;
    let us = |name: &str| Column::new(name).unit("us");
    let mut columns = vec![Column::new("key")];
    columns.extend(is_waveform.then(|| Column::new("samples")));
    columns.extend([Column::new("version"), Column::new("printed").unit(unit).decimals(2)]);
    columns.extend(Class::ALL.map(|class| us(class.name())));
    columns.extend([us("encryption"), us("decryption"), us("middle half"), us("maximum seen")]);
    let mut table = Table::new(title, columns);
    let printed = Printed::read();
    let of_part: Vec<&Result> =
        shown.measured.results.iter().filter(|result| result.cell.part == part).collect();
    for key_bytes in KEY_BYTES {
        // The cells of the first class are all that there are of the others.
        let is_line =
            |result: &&&Result| (result.cell.key_bytes, result.cell.class) == (key_bytes, Class::ALL[0]);
        for &result in of_part.iter().filter(is_line) {
            let Cell { input, how, .. } = result.cell;
            let mut line = vec![Entry::from(aes(key_bytes))];
            if let Input::Waveform { width, .. } = input {
                line.push(width.words().into());
            }
            let beside = result.cell.printed().map(|name| printed.ns(part, key_bytes, name) / unit_ns);
            line.extend([how.words().into(), beside.map_or(Entry::Blank, Entry::from)]);
            let of = |class| {
                let is_it = |other: &&&Result| other.cell == Cell { class, ..result.cell };
                of_part.iter().find(is_it).map(|other| &other.found)
            };
            line.extend(Class::ALL.map(|class| of(class).map_or(Entry::Blank, both)));
            line.extend(details([of(Class::Fifo), of(Class::Other)]));
            table.push(line);
        }
    }
    table
}

/// Figure 4, a line for each length of keys and way.
pub fn of_expansions(shown: &Shown) -> Table {
    let us_of = |name: &str| Column::new(name).unit("us");
    let mut columns = ["key", "version", "meetings"].map(Column::new).to_vec();
    columns.extend(Class::ALL.map(|class| us_of(class.name())));
    columns.extend([us_of("middle half"), us_of("maximum seen")]);
    let mut table = Table::new("Figure 4: the expansion of a key", columns);
    let all = shown.measured.expansions;
    let mut seen: Vec<(usize, How)> = Vec::new();
    for &expansion::Result { case, .. } in all {
        if seen.contains(&(case.key_bytes, case.how)) {
            continue;
        }
        seen.push((case.key_bytes, case.how));
        let of = |class| {
            let is_it = |other: &&expansion::Result| other.case == expansion::Case { class, ..case };
            all.iter().find(is_it).map(|result| result.found.as_ref())
        };
        let is_alone = [How::of_paper(Name::Basic), How::Lanes].contains(&case.how);
        let meetings = if is_alone { Entry::Blank } else { expansion::meetings(case.key_bytes).into() };
        let mut line = vec![Entry::from(aes(case.key_bytes)), case.how.words().into(), meetings];
        line.extend(Class::ALL.map(|class| match of(class) {
            Some(Ok((_, spread))) => us(spread.median_ns),
            Some(Err(words)) => words.split(':').next().unwrap_or(words).into(),
            None => Entry::Blank,
        }));
        let spread =
            [of(Class::Fifo), of(Class::Other)].into_iter().flatten().find_map(std::result::Result::ok);
        line.extend(match spread {
            Some((_, spread)) => [us(spread.middle_half_ns()), us(spread.maximum_ns)],
            None => [const { Entry::Blank }; 2],
        });
        table.push(line);
    }
    table
}

/// The median of both ways in microseconds, or why there is none, in short: the rows have the reason.
fn both(found: &Found) -> Entry {
    match found {
        Found::Measured(times) => us(times.both.median_ns),
        Found::Not(words) => words.split(':').next().unwrap_or(words).into(),
    }
}

fn us(time_ns: f64) -> Entry {
    (time_ns / 1e3).into()
}

/// Of the first class that is there.
fn details(founds: [Option<&Found>; 2]) -> [Entry; 4] {
    match founds.into_iter().flatten().find_map(Found::times) {
        Some(times) => [
            us(times.encryption.median_ns),
            us(times.decryption.median_ns),
            us(times.both.middle_half_ns()),
            us(times.both.maximum_ns),
        ],
        None => [const { Entry::Blank }; 4],
    }
}

/// The ways of figure 11, and the median of both directions at each length, in nanoseconds.
pub fn figure(shown: &Shown) -> Vec<(How, Vec<(usize, f64)>)> {
    let mut curves: Vec<(How, Vec<(usize, f64)>)> = Vec::new();
    for Result { cell, found } in shown.measured.results {
        let (Part::Figure11, Input::Waveform { samples, .. }, Some(times)) =
            (cell.part, cell.input, found.times())
        else {
            continue;
        };
        let point = (samples, times.both.median_ns);
        match curves.iter_mut().find(|curve| curve.0 == cell.how) {
            Some(curve) => curve.1.push(point),
            None => curves.push((cell.how, vec![point])),
        }
    }
    curves
}

/// Figure 11.
pub fn of_figure(shown: &Shown) -> Table {
    let curves = figure(shown);
    let columns = curves.iter().map(|curve| Column::new(curve.0.words()).unit("us"));
    let columns = [Column::new("samples").decimals(0)].into_iter().chain(columns);
    let mut table = Table::new("Figure 11: AES-128, waveforms of f32, SCHED_FIFO", columns);
    let lengths = curves.first().map_or(&[][..], |curve| &curve.1);
    for (at, &(samples, _)) in lengths.iter().enumerate() {
        let times = curves.iter().map(|curve| us(curve.1[at].1));
        table.push([samples.into()].into_iter().chain(times));
    }
    table
}

/// What a server does today.
pub fn of_batches(shown: &Shown) -> Table {
    let us_each = |name: &str| Column::new(name).unit("us");
    let columns = [
        Column::new("key"),
        Column::new("cores"),
        us_each("encryption"),
        us_each("decryption"),
        us_each("both"),
        us_each("middle half"),
        Column::new("repetitions"),
    ];
    let title =
        format!("A batch of {NODES} waveforms of 1024 f32, keys of their own, SCHED_OTHER: each of them");
    let mut table = Table::new(title, columns);
    for result in shown.measured.batches {
        let Some(times) = result.found.times() else { continue };
        let each = |time_ns: f64| us(time_ns / NODES as f64);
        table.push([
            aes(result.case.key_bytes).into(),
            result.case.cores.get().into(),
            each(times.encryption.median_ns),
            each(times.decryption.median_ns),
            each(times.both.median_ns),
            each(times.both.middle_half_ns()),
            times.both.repetitions.into(),
        ]);
    }
    table
}

/// Equation 7 in a class.
pub fn of_paths(shown: &Shown, class: Class) -> Table {
    let terms = TERMS.map(|term| Column::new(term).unit("us").decimals(2));
    let columns =
        [Column::new("AES-128"), Column::new("samples"), Column::new("order")].into_iter().chain(terms);
    let title = format!("Equation 7: the path of a waveform of 1024 samples, {}, medians", class.name());
    let mut table = Table::new(title, columns);
    for path::Result { case, found } in shown.paths.iter().filter(|result| result.case.class == class) {
        let Ok(spreads) = found else { continue };
        let names = [case.how.words(), case.wire.words().to_owned(), order_words(case.order).to_owned()];
        let terms = spreads.iter().map(|spread| us(spread.median_ns));
        table.push(names.map(Entry::from).into_iter().chain(terms));
    }
    table
}

/// What they mean.
pub fn of_ratios(shown: &Shown) -> Table {
    let columns = ["of", "what", "unit", "of printed numbers", "ours"].map(Column::new);
    let mut table = Table::new("What the numbers mean", columns);
    for line in shown.lines {
        let entry = |value: Option<f64>| value.map_or(Entry::Blank, Entry::from);
        table.push([
            line.case.as_str().into(),
            line.what.as_str().into(),
            line.unit.into(),
            entry(line.printed),
            entry(line.ours),
        ]);
    }
    table
}

/// The machine.
pub fn of_machine(shown: &Shown) -> Table {
    let mut table = Table::new("Measured on", ["what", "value", "unit"].map(Column::new));
    for (what, unit, value) in shown.machine.facts() {
        table.push([what.into(), Entry::Value(value), unit.into()]);
    }
    table
}
