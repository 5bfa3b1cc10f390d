//! Why stored waveforms cannot be exported to a file.
//!
//! Owns the list and its words. What an export is, is `collect`'s.

use std::fmt;
use std::path::Path;

use collect::export::Format;

/// Why a file cannot be exported to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFault {
    /// Its name says no format.
    Extension,
    /// There is one.
    Exists,
    /// It is a pipe or a device, and the format is not written from its begin to its end.
    Stream(Format),
}

impl ExportFault {
    /// The words for the file at `path`.
    pub(super) fn write(self, path: &Path, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = path.display();
        match self {
            ExportFault::Extension => {
                let extensions: Vec<_> =
                    Format::extensions().map(|extension| format!(".{extension}")).collect();
                write!(
                    f,
                    "the name of `{path}` says no format, expected one that ends in {}\nhelp: or say `--format`",
                    extensions.join(", ")
                )
            }
            ExportFault::Exists => {
                write!(f, "`{path}` exists, and is not replaced\nhelp: remove it, or name another file")
            }
            ExportFault::Stream(format) => {
                write!(f, "`{path}` is no file, which {} must be written to", format.name())
            }
        }
    }
}
