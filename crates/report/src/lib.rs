//! Measured values, and the tables, charts and pages that show them.
//!
//! A measurement is a [`row::Row`]; a [`printed::PrintedCell`] of a paper beside ours is a [`paper::PaperRow`].
//! Everything else is a pure function of such values: [`table::Table`] prints text, Markdown, CSV, JSON and
//! HTML, [`chart::Chart`] draws SVG, [`page::Page`] lays both out as one self-contained HTML file.
//! This crate measures nothing, opens no file and knows neither ciphers nor processors.
//!
//! Invariant: equal values give equal bytes; nothing here reads a clock, a locale or the environment.

pub mod chart;
pub mod error;
pub mod limits;
pub mod number;
pub mod page;
pub mod paper;
pub mod printed;
pub mod row;
pub mod table;
