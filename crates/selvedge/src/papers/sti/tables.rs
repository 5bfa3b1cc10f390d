//! Tables of what was measured, for a person: a case each, and the two best schemes side by side.

use report::paper::PaperRow;
use report::row::Value;
use report::table::{Column, Entry, Table};

use super::cells::{Case, Scheme};
use super::even::Even;
use super::measure::{Bench, Found, Measured};
use super::rows::{METRICS, Result};
use super::terms::Activity;

/// The cells of a case.
pub fn of_case(bench: &Bench, results: &[Result]) -> Table {
    let cycles = bench.alone.cycles_per_byte(&bench.case);
    let code = bench.alone.code_bytes;
    let title = format!("{} (alone {cycles:.1} cycles/byte, {code} bytes of code)", bench.case.name());
    let columns = ["scheme", "SPI"].map(Column::new).into_iter();
    let metrics = METRICS.iter();
    let metrics = metrics.map(|metric| Column::new(metric.name).unit(metric.unit).decimals(metric.decimals));
    let results: Vec<&Result> = results.iter().filter(|result| std::ptr::eq(result.bench, bench)).collect();
    let is_whole = results.iter().all(|result| result.measured().is_some());
    let why_not = (!is_whole).then(|| Column::new("why not"));
    let mut table = Table::new(title, columns.chain(metrics).chain(why_not));
    for result in results {
        let mut line: Vec<Entry> =
            vec![result.cell.scheme.name().into(), format!("f/{}", result.cell.divider).into()];
        let value = |of: fn(&Measured) -> Option<Value>| result.measured().and_then(of);
        line.extend(METRICS.iter().map(|metric| value(metric.of).map_or(Entry::Blank, Entry::from)));
        match &result.found {
            Found::Measured(_) if is_whole => {}
            Found::Measured(_) => line.push(Entry::Blank),
            Found::Not(words) => line.push(words.as_str().into()),
        }
        table.push(line);
    }
    table
}

/// What is printed, beside ours: narrower than the rows, which have it all.
pub fn of_printed(rows: &[PaperRow]) -> Table {
    let columns = ["cipher", "SPI", "what", "unit", "printed", "ours", "verdict"].map(Column::new);
    let mut table = Table::new("What the paper's text prints, beside ours", columns);
    for row in rows {
        let Some(printed) = row.printed() else { continue };
        let cipher = row.case().split(',').next().unwrap_or_default();
        let ours = row.ours().and_then(Value::number);
        table.push([
            cipher.into(),
            row.case().rsplit_once(", f/").map_or(Entry::Blank, |(_, divider)| format!("f/{divider}").into()),
            row.metric().into(),
            row.unit().into(),
            Entry::Literal(printed.literal().to_owned()),
            ours.map_or(Entry::Blank, |ours| Entry::Literal(format!("{ours:.0}"))),
            Entry::Verdict(row.verdict()),
        ]);
    }
    table
}

/// A woven cell and the best handler's at the same place.
pub struct Pair<'a> {
    /// What was woven.
    pub result: &'a Result<'a>,
    /// Woven.
    pub woven: &'a Measured,
    /// By hand.
    pub by_hand: &'a Measured,
}

impl Pair<'_> {
    /// How much more of the cipher's work the woven program does in a second, in percent.
    pub fn more_host(&self) -> f64 {
        100.0 * (self.woven.host_rate() / self.by_hand.host_rate() - 1.0)
    }

    /// How much more it sends or receives in a second, in percent.
    pub fn more_bus(&self) -> f64 {
        100.0 * (self.woven.bus_rate() / self.by_hand.bus_rate() - 1.0)
    }

    /// Registers that the handler has for itself.
    pub fn registers(&self) -> u32 {
        let Case { host, direction } = self.result.bench.case;
        host.registers.count(direction)
    }
}

/// Every woven cell beside its handler by hand.
pub fn pairs<'a>(results: &'a [Result<'a>]) -> Vec<Pair<'a>> {
    let woven = results.iter().filter(|result| result.cell.scheme == Scheme::Woven);
    let pair = |result: &'a Result<'a>| {
        let is_beside = |other: &&Result| {
            let (ours, theirs) = (result.cell, other.cell);
            (ours.case, ours.divider, Scheme::Reserved) == (theirs.case, theirs.divider, theirs.scheme)
        };
        let by_hand = results.iter().find(is_beside)?.measured()?;
        Some(Pair { result, woven: result.measured()?, by_hand })
    };
    woven.filter_map(pair).collect()
}

/// The pairs, a line each.
pub fn of_pairs(pairs: &[Pair]) -> Table {
    let rate = |name: &str| Column::new(name).unit("bytes/s").decimals(0);
    let columns = [
        Column::new("cipher"),
        Column::new("SPI"),
        rate("host, by hand"),
        rate("host, STI"),
        Column::new("more").unit("%").decimals(1),
        Column::new("more bus").unit("%").decimals(1),
        Column::new("jitter by hand").unit("cycles"),
        Column::new("registers by hand"),
    ];
    let mut table = Table::new("The best handler by hand, and woven", columns);
    for pair in pairs {
        table.push([
            pair.result.bench.case.name().into(),
            format!("f/{}", pair.result.cell.divider).into(),
            pair.by_hand.host_rate().into(),
            pair.woven.host_rate().into(),
            pair.more_host().into(),
            pair.more_bus().into(),
            (pair.by_hand.jitter_cycles() as i64).into(),
            pair.registers().into(),
        ]);
    }
    table
}

/// Break-even, a line for each case and handler.
pub fn of_evens(evens: &[Even]) -> Table {
    let cycles = |name: &str| Column::new(name).unit("cycles").decimals(1);
    let columns = [
        Column::new("cipher"),
        Column::new("beside"),
        cycles("T_ISR"),
        cycles("T_idle"),
        Column::new("more, computed"),
        Column::new("more, measured"),
    ];
    let mut table = Table::new("Break-even: where woven more of the cipher is done in a second", columns);
    for even in evens {
        table.push([
            even.bench.case.name().into(),
            even.handler.name().into(),
            even.isr_cycles.into(),
            even.idle_cycles.into(),
            even.computed().into(),
            even.measured().into(),
        ]);
    }
    table
}

/// What one byte takes, in the paper's terms: a column a scheme.
pub fn of_terms(results: &[&Result]) -> Table {
    let schemes = results.iter().map(|result| Column::new(result.cell.scheme.name()).unit("cycles"));
    let columns = [Column::new("term"), Column::new("what it is")].into_iter().chain(schemes);
    let mut table = Table::new("One byte, in the paper's terms", columns);
    let measured: Vec<&Measured> = results.iter().filter_map(|result| result.measured()).collect();
    for activity in Activity::ALL {
        let cycles = measured.iter().map(|found| found.terms.cycles(activity));
        let entries = cycles.map(|cycles| cycles.map_or(Entry::Blank, |cycles| (cycles as i64).into()));
        let words = [activity.term().into(), activity.words().into()];
        table.push(words.into_iter().chain(entries).collect::<Vec<Entry>>());
    }
    let handler = measured.iter().map(|found| {
        let parts = Activity::HANDLER.map(|activity| found.terms.cycles(activity));
        let isr: u64 = parts.into_iter().flatten().sum();
        if found.handler_cycles.is_some() { (isr as i64).into() } else { Entry::Blank }
    });
    let words = ["T_ISR".into(), "the handler as a whole".into()];
    table.push(words.into_iter().chain(handler).collect::<Vec<Entry>>());
    let periods = measured.iter().map(|found| (found.terms.period as i64).into());
    let words = ["period".into(), "from one byte to the next".into()];
    table.push(words.into_iter().chain(periods).collect::<Vec<Entry>>());
    table
}
