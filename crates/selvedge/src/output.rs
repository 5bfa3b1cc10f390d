//! Standard output: text for a person, or JSON for a machine with `--json`, never both.
//!
//! A reader that goes away (`selvedge ... | head`) has what it wanted: that is not an error.

use std::io::{self, Write};

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
        let mut out = io::stdout().lock();
        match out.write_all(line.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            result => result.map_err(Error::Output),
        }
    }
}
