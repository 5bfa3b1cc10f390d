//! Files that get their names only when they are whole, so that nothing half-written stays; and whether two names are of
//! one file.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::Error;

/// A file that is being written. Dropped unfinished, nothing of it stays, and what had its name still has it.
pub struct WholeFile {
    path: PathBuf,
    kind: Kind,
}

enum Kind {
    /// Written beside its place, where a link leads to if the name is one, and moved there.
    Plain { fresh: NamedTempFile, place: PathBuf },
    /// A device or a pipe is written to: moved into its place, a file would end it for everybody.
    Device(File),
}

impl WholeFile {
    /// Begins the file that will be `path`.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn begin(path: &Path) -> Result<WholeFile, Error> {
        let kind = match path.metadata() {
            Ok(found) if !found.is_file() && !found.is_dir() => {
                OpenOptions::new().write(true).open(path).map(Kind::Device)
            }
            _ => beside(path),
        };
        Ok(WholeFile { path: path.to_owned(), kind: kind.map_err(|cause| Error::io("write", path, cause))? })
    }

    /// What is written into.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn writer(&self) -> Result<File, Error> {
        match &self.kind {
            Kind::Plain { fresh, .. } => fresh.reopen(),
            Kind::Device(device) => device.try_clone(),
        }
        .map_err(|cause| Error::io("write", &self.path, cause))
    }

    /// Where it is written meanwhile, for who must open it itself; `None` = a device or a pipe.
    pub fn beside(&self) -> Option<&Path> {
        match &self.kind {
            Kind::Plain { fresh, .. } => Some(fresh.path()),
            Kind::Device(_) => None,
        }
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    /// [`Error::Io`]; then there is no file, or the one that was there before.
    pub fn finish(self) -> Result<(), Error> {
        match self.kind {
            Kind::Plain { fresh, place } => {
                let synced = fresh.as_file().sync_data();
                synced.and_then(|()| fresh.persist(place).map(drop).map_err(|fault| fault.error))
            }
            Kind::Device(_) => Ok(()),
        }
        .map_err(|cause| Error::io("write", &self.path, cause))
    }
}

fn beside(path: &Path) -> io::Result<Kind> {
    let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = place.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    // As any other file that a program makes: what the user's mask leaves.
    let mode = Permissions::from_mode(0o666);
    let fresh = tempfile::Builder::new().prefix(".unfinished-").permissions(mode).tempfile_in(folder)?;
    Ok(Kind::Plain { fresh, place })
}

/// Writes a file.
///
/// # Errors
/// [`Error::Io`]; then there is no file, or the one that was there before.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let file = WholeFile::begin(path)?;
    file.writer()?.write_all(bytes).map_err(|cause| Error::io("write", path, cause))?;
    file.finish()
}

/// Whether two paths are of one file, through links of either kind. A device is written to, and not in its place.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    match (fs::metadata(one), fs::metadata(other)) {
        (Ok(one), Ok(other)) => one.is_file() && (one.dev(), one.ino()) == (other.dev(), other.ino()),
        (Err(_), Err(_)) => place(one) == place(other),
        _ => false,
    }
}

/// Where a file would be that is not there yet.
fn place(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.into());
    path.file_name().map_or_else(|| folder.clone(), |name| folder.join(name))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileTypeExt, symlink};

    use super::*;

    #[test]
    fn what_is_not_finished_leaves_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept");
        write(&path, b"before").unwrap();
        let file = WholeFile::begin(&path).unwrap();
        file.writer().unwrap().write_all(b"half").unwrap();
        drop(file);
        assert_eq!(fs::read(&path).unwrap(), b"before");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, b"before").unwrap();
        symlink(&file, &link).unwrap();
        write(&link, b"after").unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"after");
    }

    #[test]
    fn a_device_is_written_to_and_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("null");
        symlink("/dev/null", &link).unwrap();
        write(&link, b"anything").unwrap();
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    }

    #[test]
    fn a_pipe_receives_what_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe).unwrap()
        });
        write(&pipe, b"through").unwrap();
        assert_eq!(reader.join().unwrap(), b"through");
        assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
    }
}
