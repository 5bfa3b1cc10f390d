//! The page: the paper's figures drawn again from what was measured. Computes nothing but shares of rows.

use report::chart::{Axis, Bars, Stand, Timeline, Tone};
use report::page::{Page, Section};
use report::paper::PaperRow;
use report::table::Table as Lines;

use super::cells::{Build, CHOSEN_DIVIDER, Cipher, Direction, Scheme, Table};
use super::even::Even;
use super::measure::Bench;
use super::rows::Result;
use super::system;
use super::tables::{self, Pair};
use super::terms::Activity;

/// The schemes that the figures show, with their tones.
const SHOWN: [(Scheme, Tone); 4] = [
    (Scheme::BusyWait, Tone::Neutral),
    (Scheme::Compiled, Tone::Second),
    (Scheme::Reserved, Tone::Third),
    (Scheme::Woven, Tone::Accent),
];

/// What a page shows.
pub struct Shown<'a> {
    /// The cases.
    pub benches: &'a [Bench],
    /// Their cells.
    pub results: &'a [Result<'a>],
    /// Whole nodes.
    pub systems: &'a [system::shown::Result],
    /// The rows of all.
    pub rows: &'a [PaperRow],
    /// What gives them again.
    pub source: &'a str,
}

impl Shown<'_> {
    /// The page.
    pub fn html(&self) -> String {
        let lead = "A sensor node that encrypts what it sends has one processor for both. It can wait for each byte, be \
                    interrupted for each, or run one program that was woven of the two, which writes each byte at \
                    its cycle. This page measures all of them on the simulated ATmega128, as P. Ganesan and \
                    A. G. Dean did in 2004.";
        let mut page = Page::new("A cipher beside SPI: waiting, interrupts, woven threads", lead);
        let printed = tables::of_printed(self.rows);
        if printed.line_count() > 0 {
            page = page.section(printed_section(printed));
        }
        for section in [
            self.speeds(),
            self.sizes(),
            self.timelines(),
            self.close(),
            self.modern(),
            system::shown::section(self.systems),
        ] {
            page = section.into_iter().fold(page, Page::section);
        }
        let mut numbers = Section::new("All cells");
        for bench in self.benches {
            numbers = numbers.table(tables::of_case(bench, self.results), "");
        }
        if !self.benches.is_empty() {
            page = page.section(numbers);
        }
        page.provenance("command", self.source)
            .provenance(
                "chip",
                "ATmega128, simulated; rates are those of a 16 MHz clock, a whole node's of its own",
            )
            .provenance("selvedge", env!("CARGO_PKG_VERSION"))
            .html()
    }

    fn cases(&self, is_wanted: impl Fn(&Bench) -> bool) -> impl Iterator<Item = &Bench> {
        self.benches.iter().filter(move |bench| is_wanted(bench))
    }

    fn result(&self, bench: &Bench, scheme: Scheme, divider: u32) -> Option<&Result<'_>> {
        self.results.iter().find(|result| {
            std::ptr::eq(result.bench, bench)
                && (result.cell.scheme, result.cell.divider) == (scheme, divider)
        })
    }

    /// Speed ratios: figures 8 and 9.
    fn speeds(&self) -> Option<Section> {
        let mut section = Section::new("Figures 8 and 9: how fast a cipher is beside the bus").text(
            "Bytes of the cipher's message that are finished for each byte on the bus, from the first byte of 256 to \
             the last. With 100 % the cipher keeps up with the line, with more there is time for other work, with \
             less some of its work must be done before or after. The message is longer than the exchange, so that the \
             cipher always has work.",
        );
        let mut is_empty = true;
        for bench in self.cases(|bench| bench.case.host.table == Table::Paper) {
            let case = bench.case;
            if case.direction != Direction::Send || case.host.cipher == Cipher::Rc4Line {
                continue;
            }
            let number = if case.host.cipher == Cipher::Rc4 { 8 } else { 9 };
            let is_papers = case.host.build == Build::TextbookO0;
            let dividers: Vec<u32> =
                self.dividers(bench).into_iter().filter(|&divider| is_papers || divider <= 16).collect();
            if dividers.is_empty() {
                continue;
            }
            is_empty = false;
            let caption = match is_papers {
                true => format!(
                    "After figure {number}: the kind of code that the paper measured. The one ratio that its text \
                     prints is named; its bars have no numbers."
                ),
                false => format!("As figure {number}, {}, where time is short.", case.host.build.name()),
            };
            section = section.chart(self.ratios(bench, &dividers), caption);
        }
        (!is_empty).then_some(section)
    }

    fn dividers(&self, bench: &Bench) -> Vec<u32> {
        let of_case = self.results.iter().filter(|result| std::ptr::eq(result.bench, bench));
        let mut dividers: Vec<u32> = of_case.map(|result| result.cell.divider).collect();
        dividers.sort_unstable();
        dividers.dedup();
        dividers
    }

    fn ratios(&self, bench: &Bench, dividers: &[u32]) -> Bars {
        let series = SHOWN.iter().map(|&(scheme, tone)| (scheme.name(), tone));
        let axis = Axis::linear("host bytes per byte on the bus", "%");
        let mut bars = Bars::new(bench.case.name(), axis, Stand::Grouped, series);
        for &divider in dividers {
            let share = |scheme| {
                let found = self.result(bench, scheme, divider)?.measured()?;
                Some(100.0 * found.share)
            };
            let ours = SHOWN.iter().map(|&(scheme, _)| share(scheme));
            let case = format!("{}, STI, f/{divider}", bench.case.name());
            let name = match self.printed(&case, "host bytes per byte") {
                Some(printed) => format!("f/{divider} (printed: STI {printed})"),
                None => format!("f/{divider}"),
            };
            bars = bars.group(name, ours);
        }
        bars
    }

    fn printed(&self, case: &str, metric: &str) -> Option<f64> {
        self.rows.iter().find(|row| row.case() == case && row.metric() == metric)?.printed()?.number()
    }

    /// Code sizes: figures 10 and 11.
    fn sizes(&self) -> Option<Section> {
        let mut section = Section::new("Figures 10 and 11: code").text(
            "Bytes of flash for cipher and exchange, without main and the start. Polling adds a loop; a handler saves \
             and restores; a woven program has copies of the cipher's loops for different phases of the clock, and \
             padding. The handler by hand lies in the vector table, over vectors that are not used.",
        );
        let mut is_empty = true;
        for (cipher, number) in [(Cipher::Rc4, 10), (Cipher::Rc5, 11)] {
            let wanted =
                |bench: &Bench| bench.case.host.cipher == cipher && bench.case.direction == Direction::Send;
            let small = (Scheme::WovenSmall, Tone::Fourth);
            let schemes: Vec<(Scheme, Tone)> = SHOWN.into_iter().chain([small]).collect();
            let series = schemes.iter().map(|&(scheme, tone)| (scheme.name(), tone));
            let title = format!("{}, encrypt and transmit, f/{CHOSEN_DIVIDER}", cipher.name());
            let mut bars = Bars::new(title, Axis::linear("flash", "bytes"), Stand::Grouped, series);
            let mut groups = 0;
            for bench in self.cases(wanted) {
                let size = |scheme| {
                    let found = self.result(bench, scheme, CHOSEN_DIVIDER)?.measured()?;
                    Some(found.code_bytes as f64)
                };
                let sizes: Vec<Option<f64>> = schemes.iter().map(|&(scheme, _)| size(scheme)).collect();
                if sizes.iter().any(Option::is_some) {
                    bars = bars.group(bench.case.host.build.name(), sizes);
                    groups += 1;
                }
            }
            if groups > 0 {
                is_empty = false;
                section =
                    section.chart(bars, format!("After figure {number}. The paper's bars have no numbers."));
            }
        }
        (!is_empty).then_some(section)
    }

    /// What a byte takes: figures 1 to 3.
    fn timelines(&self) -> Option<Section> {
        let bench = self.benches.first()?;
        let dividers = self.dividers(bench);
        let divider = dividers
            .iter()
            .copied()
            .find(|&divider| divider == CHOSEN_DIVIDER)
            .or(dividers.first().copied())?;
        let shown: Vec<&Result> = [Scheme::Compiled, Scheme::Reserved, Scheme::BusyWait, SHOWN[3].0]
            .into_iter()
            .filter_map(|scheme| self.result(bench, scheme, divider))
            .filter(|result| result.measured().is_some())
            .collect();
        let mut section = Section::new("Figures 1 to 3: where the time of a byte goes").text(format!(
            "{} at f/{divider}, two bytes of the trace. The processor above, the bus below.",
            bench.case.name()
        ));
        for result in &shown {
            section = section.chart(timeline(result), "");
        }
        let caption = "From the write of a byte to the write of the next, on the simulated chip. Entry of an interrupt is \
                       part of T_load. In a woven program T_byte is the instruction that writes SPDR alone: what else \
                       keeps time stands between the cipher's instructions.";
        (!shown.is_empty()).then(|| section.table(tables::of_terms(&shown), caption))
    }

    /// What is left of the advantage.
    fn close(&self) -> Option<Section> {
        let pairs = tables::pairs(self.results);
        let of_paper: Vec<Pair> =
            pairs.into_iter().filter(|pair| pair.result.bench.case.host.table == Table::Paper).collect();
        let table = tables::of_pairs(&of_paper);
        if of_paper.is_empty() {
            return None;
        }
        let section = Section::new("Where a handler by hand comes close, and what is left")
            .text(words(&of_paper))
            .table(table, "Woven programs of up to ten times both functions' own size.");
        let evens = Even::all(self.benches, self.results);
        let caption = "The last of these dividers is the break-even, unless no slower one was measured. Computed: beside a \
                       handler a byte takes T_trans + T_idle, all of which is the cipher's but T_ISR, as at the \
                       slowest divider; woven, the cipher has what its schedule leaves it before anything has run.";
        Some(section.table(tables::of_evens(&evens), caption))
    }

    /// Ciphers of today.
    fn modern(&self) -> Option<Section> {
        let mut section = Section::new("Ciphers of today").text(
            "The same for Ascon-AEAD128, AES-128 in counter mode and ChaCha20. In assembly they use every register: the \
             handler by hand has to save what it uses.",
        );
        let mut is_empty = true;
        let wanted =
            |bench: &Bench| bench.case.host.table == Table::Modern && bench.case.direction == Direction::Send;
        for bench in self.cases(wanted) {
            let dividers = self.dividers(bench);
            if !dividers.is_empty() {
                is_empty = false;
                section = section.chart(self.ratios(bench, &dividers), "");
            }
        }
        (!is_empty).then_some(section)
    }
}

fn printed_section(table: Lines) -> Section {
    Section::new("Beside the paper")
        .text(
            "The paper's code is not published. Ours is textbook C at -O0 of the same ciphers, of about the same speed; \
             the handler is compiled at -O0, too. A gain over the handler is given for each byte and for each second, \
             since the paper's text does not say which: beside a handler a byte takes longer than the bus needs for \
             it, and that time is the cipher's as well.",
        )
        .table(table, "Numbers of section 5 of the paper. Everything else in its figures is a bar without a number.")
}

fn timeline(result: &Result) -> Timeline {
    let title = format!("{}, f/{}", result.cell.scheme.name(), result.cell.divider);
    let mut chart = Timeline::new(title, Axis::linear("cycles", ""));
    let terms = &result.measured().expect("only such are shown").terms;
    let is_there = |activity: &Activity| terms.spans.iter().any(|span| span.0 == *activity);
    let there: Vec<Activity> = Activity::ALL.into_iter().filter(is_there).collect();
    let mut kinds = Vec::new();
    for &activity in &there {
        // What looks alike stands in the legend once.
        let alike: Vec<Activity> =
            there.iter().copied().filter(|&other| tone(other) == tone(activity)).collect();
        if alike[0] == activity {
            let terms: Vec<&str> = alike.iter().map(|other| other.term()).collect();
            let kind = chart.kind(terms.join(", "), tone(activity));
            kinds.extend(alike.into_iter().map(|other| (other, kind)));
        }
    }
    let lanes = [chart.lane("processor"), chart.lane("bus")];
    for (activity, span) in &terms.spans {
        let kind = kinds.iter().find(|kind| kind.0 == *activity).expect("it is there").1;
        let lane = lanes[usize::from(activity.is_bus())];
        chart.interval(lane, kind, span.start as f64, span.end as f64, activity.term());
    }
    chart
}

fn tone(activity: Activity) -> Tone {
    match activity {
        Activity::Cipher => Tone::Accent,
        Activity::Load | Activity::Return => Tone::Fifth,
        Activity::Push => Tone::Second,
        Activity::Pop => Tone::Fourth,
        Activity::Byte | Activity::Code => Tone::Third,
        Activity::BusyWait => Tone::Fifth,
        Activity::Transfer => Tone::Neutral,
        Activity::Idle => Tone::Quiet,
    }
}

/// The least and the greatest of some numbers.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
}

/// `12`, or `12 to 16`.
fn between((low, high): (f64, f64)) -> String {
    if low == high { format!("{low:.0}") } else { format!("{low:.0} to {high:.0}") }
}

fn words(pairs: &[Pair]) -> String {
    let handler = range(pairs.iter().filter_map(|pair| pair.by_hand.handler_cycles));
    let host = range(pairs.iter().map(Pair::more_host));
    let ahead = pairs.iter().filter(|pair| pair.more_host() > 0.0).count();
    let bus = range(pairs.iter().map(Pair::more_bus));
    let registers = range(pairs.iter().map(|pair| f64::from(pair.registers())));
    let jitter = pairs.iter().map(|pair| pair.by_hand.jitter_cycles()).max().unwrap_or(0);
    let woven = pairs.iter().map(|pair| pair.woven.jitter_cycles()).max().unwrap_or(0);
    format!(
        "An interrupt does not have to be slow. A handler in assembly that has registers for itself takes {} \
         cycles a byte, entry and return included. In a second a woven program does {:+.0} % to {:+.0} % more of the \
         cipher's work than beside it, and more at all in {ahead} of {} cells: where, the last table says.\n\n\
         What is left: the bus carries {:+.1} % to {:+.1} % more bytes, because a byte is written every 8N + 2 cycles. \
         The interval between two bytes varies by {woven} cycles, with the handler by up to {jitter}. No register is \
         reserved, where the handler takes {} of all code that runs beside it. And the time of \
         every byte is proved before the program runs.",
        between(handler),
        host.0,
        host.1,
        pairs.len(),
        bus.0,
        bus.1,
        between(registers)
    )
}
