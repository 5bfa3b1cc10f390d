//! The page: figure 5 drawn again from what was found, and what decides it. Computes nothing but ratios of rows.

use broker::simulation::sharing::Sharing;
use report::chart::{Axis, Lines, Panels};
use report::page::{Figure, Page, Section};
use report::paper::PaperRow;

use super::explain::Explained;
use super::sweep::{DEVICES, Gain, PDU_BYTES, Swept, name, timer, work};
use super::tables;
use super::witness::{TOLERANCE, Witnessed};

const CAPTION: &str = "Re-open cost: what gives 1.91 s at 5. With it, the time and the rate at 80, both printed as 82.8 %. Behind \
                       that, the costs that would give 82.8 % by either reading; none, where less time than that is saved when \
                       opening costs nothing.";

/// What a page shows.
pub struct Shown<'a> {
    /// What was simulated.
    pub swept: &'a Swept,
    /// The settings.
    pub explained: &'a [Explained],
    /// What processes say.
    pub witnessed: &'a [Witnessed],
    /// The rows of all.
    pub rows: &'a [PaperRow],
}

impl Shown<'_> {
    /// The page.
    pub fn html(&self) -> String {
        let lead = "Many applications want one crypto device behind USB and SPI. Each can open it, have its 64 KiB \
                    answered and close it; they can pass a lock around a handle that stays open; or ask a broker. This \
                    page measures these ways on an emulated FTDI link with a clock of 30 MHz, as P. Derry and others did in \
                    the MECHA paper.";
        let mut page = Page::new("One crypto device, many applications: figure 5 again", lead);
        for section in [self.beside(), self.figure(), self.settings(), self.wire(), self.witness()] {
            page = section.into_iter().fold(page, Page::section);
        }
        page.section(self.numbers())
            .provenance("command", "selvedge paper mecha")
            .provenance("device", "ftdi-30MHz of selvedge broker device, emulated")
            .provenance("selvedge", env!("CARGO_PKG_VERSION"))
            .html()
    }

    fn beside(&self) -> Option<Section> {
        let table = tables::of_printed(self.rows);
        let figures =
            self.swept.figure(DEVICES[0]).last().map(|(count, [theirs, lock, one_by_one, ours])| {
                let times = |other: &f64| format!("{:.1}", other / ours);
                [
                    Figure::new(format!("{count} x 64 KiB, this broker"), *ours, "s"),
                    Figure::new("re-opening takes", times(theirs), "times as long"),
                    Figure::new("a lock takes", times(lock), "times as long"),
                    Figure::new("one request at a time takes", times(one_by_one), "times as long"),
                ]
            })?;
        let section = Section::new("Beside the paper").figures(figures);
        Some(match table.line_count() {
            0 => section,
            _ => section.table(
                table,
                "Two numbers of section 4, the second read as time and as rate. Ours are with a re-open cost of 380 ms \
                 and SEND_IMMEDIATE.",
            ),
        })
    }

    fn figure(&self) -> Option<Section> {
        let figure = self.swept.figure(DEVICES[0]);
        let section = Section::new("Figure 5").text(
            "The time until all applications have their answers. Each sends 64 KiB at the same instant. The axis of time is \
             logarithmic, so that ratios can be read: two curves a step of the grid apart differ tenfold.",
        );
        let mut lines = Lines::new(
            "Until the last answer",
            Axis::linear("applications with 64 KiB each", ""),
            Axis::log("simulated time", "s"),
            Panels::Together,
        );
        // Ours first, so that it has the accent.
        for (index, sharing) in Sharing::ALL.into_iter().enumerate().rev() {
            let points = figure.iter().map(|(count, times)| (*count as f64, times[index]));
            lines = lines.series(name(sharing), points.collect());
        }
        let caption = "After figure 5. The paper's \"conventional\" is to re-open; what it calls MECHA comes near to one \
                       request at a time, as the settings below say.";
        (figure.len() > 1).then(|| section.chart(lines, caption).table(tables::of_figure(self.swept), ""))
    }

    fn settings(&self) -> Option<Section> {
        let table = tables::of_settings(self.explained);
        let section = Section::new("Which settings give the printed numbers").text(
            "The paper prints neither what opening its device cost nor what its broker did with a request. Here the saving \
             of 1.91 s at 5 applications gives the cost of opening, for each latency timer of the USB chip, each length \
             of requests, and a broker that sends one request at a time or this one. With that cost, the second \
             number follows, by both readings of \"82.8 % faster\".",
        );
        (table.line_count() > 0).then(|| section.table(table, CAPTION))
    }

    /// What the wire is used for.
    fn wire(&self) -> Option<Section> {
        let mut section = Section::new("What a small request costs").text(
            "A library that waits for each answer pays for two turns of the bus with each request, 250 us each, and for the \
             latency timer if nothing is done about it. This broker sends what has come while the wire is busy, so that \
             turns cost nothing, and fills USB's packets where there is a timer.",
        );
        let mut is_empty = true;
        for device in DEVICES {
            let mut lines = Lines::new(
                format!("80 applications, {}", timer(device)),
                Axis::log("length of a request", "bytes"),
                Axis::log("simulated time for 64 KiB of each", "s"),
                Panels::Together,
            );
            for sharing in Sharing::ALL.into_iter().rev() {
                let time = |pdu_bytes| self.swept.time_s(device, sharing, work(80, pdu_bytes), None);
                let points = PDU_BYTES.into_iter().filter_map(|bytes| Some((bytes as f64, time(bytes)?)));
                let points: Vec<(f64, f64)> = points.collect();
                is_empty &= points.len() < 2;
                lines = lines.series(name(sharing), points);
            }
            section = section.chart(lines, "");
        }
        let goals = tables::of_goals(self.swept);
        if goals.line_count() > 0 && !Gain::all(self.swept).is_empty() {
            section = section.table(
                goals,
                "Possible: what the other way takes for a request, over what a request takes on the wire, its frame \
                 included.",
            );
        }
        (!is_empty).then_some(section)
    }

    fn witness(&self) -> Option<Section> {
        let table = tables::of_witness(self.witnessed);
        let section = Section::new("The same by processes").text(format!(
            "A device process that keeps the wire's time, a broker, and a process for each application, in wall time: the \
             second witness. It must agree with simulated time to {:.0} %, which is what sockets and processes may add. \
             Context switches are those of applications and broker; each one that a process made of itself ends with a \
             wake-up.",
            100.0 * TOLERANCE
        ));
        (table.line_count() > 0).then(|| section.table(table, ""))
    }

    fn numbers(&self) -> Section {
        let mut section = Section::new("All numbers");
        for table in tables::of_lengths(self.swept).into_iter().chain([tables::of_opens(self.swept)]) {
            if table.line_count() > 0 {
                section = section.table(table, "");
            }
        }
        section
    }
}
