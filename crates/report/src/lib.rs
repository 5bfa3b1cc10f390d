//! Measured values, and the tables, charts and pages that show them.
//!
//! A measurement is a [`row::Row`]; a [`printed::PrintedCell`] of a paper beside ours is a [`paper::PaperRow`].
//! Everything else is a pure function of such values: [`table::Table`] prints text, Markdown, CSV, JSON and
//! HTML, [`chart::Chart`] draws SVG, [`page::Page`] lays both out as one self-contained HTML file.
//! This crate measures nothing, opens no file and knows neither ciphers nor processors.
//!
//! Invariant: equal values give equal bytes; nothing here reads a clock, a locale or the environment.
//!
//! ```
//! use report::chart::{Axis, Distribution, Form};
//! use report::page::{Page, Section};
//! use report::row::{Clock, Experiment};
//! use report::table::Table;
//!
//! let experiment = Experiment::new("link", "selvedge run ecg.toml --seed 7");
//! let rows = [
//!     experiment.row("node 1", "frames", 480_u32, "", Clock::None),
//!     experiment.row("node 1", "latency_p99", 12.5, "ms", Clock::Wall),
//! ];
//! let table = Table::pivot("Nodes", &rows);
//! assert!(table.markdown().contains("| node 1 | 480 | 12.5 |"));
//!
//! let latency = Distribution::new("Latency", Axis::log("latency, wall time", "ms"), Form::Tail)
//!     .series("node 1", vec![3.1, 3.4, 2.9, 12.5])
//!     .mark(250.0, "deadline");
//! let page = Page::new("One link", "What a heartbeat costs on its way.")
//!     .section(Section::new("Nodes").table(table, "").chart(latency, "Until the sample is durable."));
//! assert!(page.html().starts_with("<!DOCTYPE html>"));
//! ```

pub mod chart;
pub mod error;
pub mod limits;
pub mod number;
pub mod page;
pub mod paper;
pub mod printed;
pub mod row;
pub mod table;
