//! The waveform of a simulated node as a file that appears whole or not at all.
//!
//! Owns the file. What is drawn is `cell`'s.

use std::io::BufWriter;
use std::path::{Path, PathBuf};

use cell::node::Node;

use crate::error::Error;
use crate::whole::WholeFile;

/// A waveform that is being written beside its place. Dropped unfinished, nothing of it stays.
pub struct Waveform {
    path: PathBuf,
    file: WholeFile,
}

impl Waveform {
    /// Begins to draw what `node` does, for the file `path`.
    ///
    /// # Errors
    /// The environment's.
    pub fn begin(path: &Path, node: &mut Node) -> Result<Waveform, Error> {
        let file = WholeFile::begin(path)?;
        let drawn = node.trace(Box::new(BufWriter::new(file.writer()?)));
        drawn.map_err(|cause| Error::io("write", path, cause))?;
        Ok(Waveform { path: path.to_owned(), file })
    }

    /// Puts the file in its place, whole.
    ///
    /// # Errors
    /// The environment's, since the waveform began.
    pub fn finish(self, node: &mut Node) -> Result<(), Error> {
        node.finish_trace().map_err(|cause| Error::io("write", &self.path, cause))?;
        self.file.finish()
    }
}
