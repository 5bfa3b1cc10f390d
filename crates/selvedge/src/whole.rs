//! Files that get their names only when they are whole, so that nothing half-written stays.

use std::io::Write;
use std::path::Path;

use selvedge::error::Error;

/// Writes a file.
///
/// # Errors
/// [`Error::Io`]; then there is no file, or the one that was there before.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let failed = |source| Error::io("write", path, source);
    let mut fresh = tempfile::Builder::new().permissions(plain()).tempfile_in(folder).map_err(failed)?;
    fresh.write_all(bytes).map_err(failed)?;
    fresh.persist(path).map(drop).map_err(|error| failed(error.error))
}

/// What a file that a compiler writes may be done with, before the user's mask.
fn plain() -> std::fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o666)
}
