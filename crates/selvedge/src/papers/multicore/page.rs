//! The page: the tables and figure 11 again, with ours beside, and what they mean today. Computes nothing but the
//! words' ratios, from what `compared` has.

use report::chart::{Axis, Bars, Lines, Panels, Stand, Tone};
use report::page::{Figure, Page, Section};
use report::table::Table;

use super::Shown;
use super::cells::{Cell, How, Input, KEY_BYTES, Name, Part, SAMPLES, Width, aes};
use super::class::Class;
use super::compared::{Line, Printed};
use super::path::TERMS;
use super::tables;

const LEAD: &str = "A measurement server opens what many nodes seal. P. Bilski and W. Winiecki dealt AES to the four \
                    cores of a Core 2 Quad under a real-time system in two ways: blocks to cores, and the rows and \
                    columns of one block to cores. This page does both again on today's machine, beside what its \
                    instructions do.";

/// The page.
pub fn html(shown: &Shown) -> String {
    let mut page = Page::new("AES over cores: inside a block, or over blocks", LEAD);
    let sections = [
        meaning(shown),
        block(shown),
        expansion(shown),
        waveform(shown),
        figure(shown),
        path(shown),
        batches(shown),
        ratios(shown),
        Some(Section::new("Measured on").table(tables::of_machine(shown), "")),
    ];
    for section in sections.into_iter().flatten() {
        page = page.section(section);
    }
    page.provenance("command", shown.source.split("; ").next().unwrap_or(shown.source))
        .provenance("machine", shown.machine.words())
        .provenance("selvedge", env!("CARGO_PKG_VERSION"))
        .html()
}

fn filled(section: Section, table: Table, caption: &str) -> Option<Section> {
    (table.line_count() > 0).then(|| section.table(table, caption))
}

fn with_chart(section: Section, chart: Option<Bars>, caption: &str) -> Section {
    match chart {
        Some(chart) => section.chart(chart, caption),
        None => section,
    }
}

fn meaning(shown: &Shown) -> Option<Section> {
    if shown.lines.iter().all(|line| line.ours.is_none()) {
        return None;
    }
    let of = |case: &str, what: &str| {
        let mut lines = shown.lines.iter();
        lines.find(|line| line.case.starts_with(case) && line.what.starts_with(what))?.ours
    };
    let figures = [
        ("one block by threads that sleep, over one thread", of("AES-128, one block", "ICA over Basic"), "x"),
        ("one meeting of two threads that spin", of("AES-128, one block", "ICA, 2 threads that spin"), "ns"),
        ("one block by one thread, both ways", of("AES-128, one block", "Basic,"), "ns"),
        ("64 waveforms, all cores over one", of("AES-128, 64 x", "today, one core over all"), "x"),
        (
            "the paper's four cores over one of 64 waveforms on one core",
            of("AES-128, 1024", "the paper's ICA over one of").map(|times| times / 1e6),
            "million x",
        ),
    ];
    let figures: Vec<Figure> = figures
        .into_iter()
        .filter_map(|(label, value, unit)| value.map(|value| Figure::new(label, value, unit)))
        .collect();
    let text = format!(
        "In the paper a block took 75 to 119 ms in one thread, and four threads that share its rows and columns \
         took up to half of that away. Today a block takes less time than threads need to meet once in the kernel, \
         and those that share it meet 22 times in each way. So the paper's section 3.2 costs time on {} cores, in \
         every class, and even where threads spin. Its section 3.1 needs one meeting a waveform: whether that pays \
         is a matter of how much there is between two meetings, and of who else wants the cores.\n\nWhat helps \
         within a block is in the processor: its instructions take whole rounds, of several blocks at once. With \
         them the paper's waveform is over before a second core has begun with it; further cores are for many of them.",
        shown.machine.cores
    );
    let section = Section::new("What the numbers mean today").text(text);
    let section = if figures.is_empty() { section } else { section.figures(figures) };
    Some(match shown.machine.is_virtual {
        Some(false) => section,
        _ => section.note(
            "Greatest times are what was seen here, and bound nothing: a hypervisor may take a core away at any \
             time, and other programs ran.",
        ),
    })
}

fn ratios(shown: &Shown) -> Option<Section> {
    let caption = "Ratios of medians. Over 1 with ICA or ECA: threads made it slower. The paper's text says that a \
                   waveform takes 64 times a block; by its own tables it is 1.6 to 3.1 times that.";
    filled(Section::new("All ratios"), tables::of_ratios(shown), caption)
}

fn block(shown: &Shown) -> Option<Section> {
    let section = Section::new("Table 1: one block").text(
        "Encryption and then decryption of one block, its key expanded before. Basic is one thread. ICA leaves it \
         to the system where threads run, ECA pins them. Threads that sleep wait for each other in the kernel; \
         threads that spin look again and again. The printed time stands beside four threads that sleep under \
         SCHED_FIFO, which is nearest to the paper's real-time system.",
    );
    let caption = "How much longer than one thread. By the paper's numbers ICA takes 0.61 to 0.48 of Basic, \
                   ECA 1.5 to 1.6.";
    let section = with_chart(section, versions(shown, Part::Table1), caption);
    let caption = "Medians. Encryption, decryption, the middle half and the greatest time seen are of SCHED_FIFO \
                   where that is permitted. By deadlines threads that spin are left out: who gives a turn away \
                   waits for its next period. A pinned thread may have no deadlines.";
    filled(section, tables::of_cells(shown, Part::Table1), caption)
}

fn expansion(shown: &Shown) -> Option<Section> {
    let section = Section::new("Figure 4: the expansion of a key").text(
        "The paper deals the rows of the key's words to threads as well. A row needs only its own past, except where a \
         word is rotated and takes the row below: there the threads meet, and once before and once behind. The paper \
         prints no times of it. The last line of each key is today's: Key::new of the server, round keys for both ways, \
         by the CPU's instructions on one core.",
    );
    let caption =
        "Medians. The middle half and the greatest time seen are of SCHED_FIFO where that is permitted.";
    filled(section, tables::of_expansions(shown), caption)
}

fn waveform(shown: &Shown) -> Option<Section> {
    let section = Section::new("Table 2: a waveform of 1024 samples").text(
        "CBC in four chains, as the paper cuts it, with a thread for each row and column of a block, or for each \
         chain. The paper's samples have \"a double representation, i.e. requires 32 bits\": f32 has the bits, f64 \
         is the double.",
    );
    let section = with_chart(section, versions(shown, Part::Table2), "How much longer than one thread.");
    filled(section, tables::of_cells(shown, Part::Table2), "As in table 1.")
}

/// ICA and ECA over Basic, printed and ours.
fn versions(shown: &Shown, part: Part) -> Option<Bars> {
    let printed = Printed::read();
    let series = [("printed", Tone::Neutral), ("ours", Tone::Accent)];
    let title = format!(
        "{}: time over that of Basic",
        if part == Part::Table1 { "One block" } else { "1024 samples" }
    );
    let mut bars = Bars::new(title, Axis::linear("time over Basic", "x"), Stand::Grouped, series);
    let mut is_empty = true;
    for key_bytes in KEY_BYTES {
        for name in [Name::Ica, Name::Eca] {
            let theirs = |name| printed.ns(part, key_bytes, name);
            let is_it = |line: &&Line| {
                let inputs = if part == Part::Table1 { "one block" } else { "1024 samples" };
                line.case == format!("{}, {inputs}", aes(key_bytes))
                    && line.what.starts_with(&format!("{} over Basic", name.words()))
            };
            let ours = shown.lines.iter().find(is_it).and_then(|line| line.ours);
            is_empty &= ours.is_none();
            let group = format!("{}, {}", aes(key_bytes), name.words());
            bars = bars.group(group, [Some(theirs(name) / theirs(Name::Basic)), ours]);
        }
    }
    (!is_empty).then_some(bars)
}

fn figure(shown: &Shown) -> Option<Section> {
    let curves = tables::figure(shown);
    if curves.is_empty() {
        return None;
    }
    let mut lines = Lines::new(
        "Both ways, AES-128",
        Axis::log("samples of 32 bits", ""),
        Axis::log("wall time", "s"),
        Panels::Together,
    );
    // Today's first, so that it has the accent.
    for (how, points) in curves.iter().rev() {
        let points = points.iter().map(|&(samples, time_ns)| (samples as f64, time_ns / 1e9));
        lines = lines.series(how.words(), points.collect());
    }
    let printed = Printed::read();
    let theirs = Name::ALL.map(|name| (SAMPLES as f64, printed.ns(Part::Table2, 16, name) / 1e9));
    lines = lines.series("printed, table 2: ICA, Basic, ECA", theirs.to_vec());
    let section = Section::new("Figure 11: lengths of waveforms").text(
        "The paper's figure has no numbers that could be read again; what table 2 prints of it is the upright stroke \
         at 1024 samples, from ICA at its foot over Basic to ECA. Both axes are logarithmic: where each further block \
         costs the same, lines rise alike.",
    );
    let section = section.chart(lines, "Under SCHED_FIFO, 32-bit samples, four chains.");
    filled(section, tables::of_figure(shown), "Medians of encryption and decryption together.")
}

fn path(shown: &Shown) -> Option<Section> {
    let mut section = Section::new("Equation 7: a waveform on its way").text(
        "t_ovr = t_conv + t_enc + t_net + t_dec + t_conv, each term measured on each waveform: samples of a program \
         that computes in f64 become bytes, are encrypted, go over a TCP connection of the loopback interface to \
         another thread, and come back to samples there, where they are compared. t_net begins before the call that \
         sends, and ends when the last byte was read.",
    );
    let found = shown.paths.iter().filter(|result| result.case.class == Class::Fifo);
    let found: Vec<_> = found.filter_map(|result| Some((result, result.found.as_ref().ok()?))).collect();
    if !found.is_empty() {
        let tones = [Tone::Third, Tone::Accent, Tone::Neutral, Tone::Second, Tone::Fourth];
        let series = TERMS.into_iter().zip(tones);
        let title = "Today's way, little-endian, SCHED_FIFO";
        let mut bars = Bars::new(title, Axis::linear("wall time", "us"), Stand::Stacked, series);
        for (result, spreads) in &found {
            if result.case.how == How::Lanes && result.case.order == collect::convert::ByteOrder::Little {
                let terms = spreads[..tones.len()].iter().map(|spread| Some(spread.median_ns / 1e3));
                bars = bars.group(format!("1024 samples as {}", result.case.wire.words()), terms);
            }
        }
        section = section.chart(bars, "Medians of the terms.");
    }
    let tables = [Class::Fifo, Class::Other].map(|class| tables::of_paths(shown, class));
    let tables: Vec<Table> = tables.into_iter().filter(|table| table.line_count() > 0).collect();
    let is_empty = tables.is_empty();
    let section = tables.into_iter().fold(section, |section, table| section.table(table, ""));
    (!is_empty).then_some(section)
}

fn batches(shown: &Shown) -> Option<Section> {
    let section = Section::new("A server's batch").text(
        "What the server does with the waveforms of 64 nodes, each under its own key: CBC encryption of all of them \
         side by side in registers, decryption of each with several blocks at once, in place, on one core and on all.",
    );
    let basic = How::of_paper(Name::Basic);
    let input = Input::Waveform { samples: SAMPLES, width: Width::F32 };
    let cell = Cell { part: Part::Table2, input, key_bytes: 16, how: basic, class: Class::Other };
    let caption = match shown.measured.times(&cell) {
        Some(times) => format!("Beside {:.1} us for Basic, AES-128, both ways.", times.both.median_ns / 1e3),
        None => String::new(),
    };
    filled(section, tables::of_batches(shown), &caption)
}
