//! The waveform of a simulated node as a file that appears whole or not at all.
//!
//! Owns the file. What is drawn is `cell`'s.

use crate::error::Error;
use cell::node::Node;
use std::fs::Permissions;
use std::io::BufWriter;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A waveform that is being written beside its place. Dropped unfinished, nothing of it stays.
pub struct Waveform {
    path: PathBuf,
    file: NamedTempFile,
}

impl Waveform {
    /// Begins to draw what `node` does, for the file `path`.
    ///
    /// # Errors
    /// The environment's.
    pub fn begin(path: &Path, node: &mut Node) -> Result<Waveform, Error> {
        let failed = |cause| Error::io("write", path, cause);
        let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
        // As any other file that a program makes: what the umask leaves.
        let mode = Permissions::from_mode(0o666);
        let file = tempfile::Builder::new().prefix(".waveform-").permissions(mode).tempfile_in(folder);
        let file = file.map_err(failed)?;
        node.trace(Box::new(BufWriter::new(file.reopen().map_err(failed)?))).map_err(failed)?;
        Ok(Waveform { path: path.to_owned(), file })
    }

    /// Puts the file in its place, whole.
    ///
    /// # Errors
    /// The environment's, since the waveform began.
    pub fn finish(self, node: &mut Node) -> Result<(), Error> {
        let Waveform { path, file } = self;
        let written = node.finish_trace().and_then(|()| file.as_file().sync_data());
        written.map_err(|cause| Error::io("write", &path, cause))?;
        file.persist(&path).map_err(|fault| Error::io("write", &path, fault.error))?;
        Ok(())
    }
}
