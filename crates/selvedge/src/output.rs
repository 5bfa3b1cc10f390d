//! Standard output: text for a person, or JSON for a machine with `--json`, never both.
//!
//! A reader that goes away (`selvedge ... | head`) has what it wanted: that is not an error.

use std::io::{self, Write};

use report::row::{Row, ndjson};
use report::table::Table;
use selvedge::error::Error;
use serde::Serialize;

/// Where a verb's answer goes.
pub struct Output {
    json: bool,
}

impl Output {
    /// Prints JSON if `json`.
    pub fn new(json: bool) -> Self {
        Output { json }
    }

    /// Prints rows: a table titled `title` for a person, NDJSON for a machine.
    ///
    /// # Errors
    /// [`Error::Output`] if they cannot be written.
    pub fn rows(&self, title: &str, rows: &[Row]) -> Result<(), Error> {
        if self.json {
            self.write(ndjson(rows).as_bytes())
        } else {
            self.write(Table::of_rows(title, rows).text(None).as_bytes())
        }
    }

    /// Whether JSON is wanted.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Prints text as it is.
    ///
    /// # Errors
    /// [`Error::Output`] if it cannot be written.
    pub fn text(&self, text: &str) -> Result<(), Error> {
        self.write(text.as_bytes())
    }

    /// Prints bytes as they are.
    ///
    /// # Errors
    /// [`Error::Output`] if they cannot be written.
    pub fn bytes(&self, bytes: &[u8]) -> Result<(), Error> {
        self.write(bytes)
    }

    /// Prints one answer: `text` for a person, `value` as one line of JSON.
    ///
    /// # Errors
    /// [`Error::Output`] if it cannot be written.
    pub fn put(&self, text: &str, value: &impl Serialize) -> Result<(), Error> {
        let mut line =
            if self.json { serde_json::to_string(value).expect("our values are JSON") } else { text.into() };
        if !line.ends_with('\n') {
            line.push('\n');
        }
        self.write(line.as_bytes())
    }

    fn write(&self, bytes: &[u8]) -> Result<(), Error> {
        let mut out = io::stdout().lock();
        match out.write_all(bytes).and_then(|()| out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            result => result.map_err(Error::Output),
        }
    }
}
