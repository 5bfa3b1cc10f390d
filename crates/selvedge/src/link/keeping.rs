//! The key of a device's key store: where it comes from, and what is checked before it is believed.
//!
//! Owns the sources, as flags name them, their words in `status`, and reading a file with a secret wherever it lies. What
//! is sealed is `broker::engine::store`'s.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use broker::engine::store::SealingKey;
use cipher::Key;
use rustix::fs::OFlags;
use rustix::process::geteuid;
use zeroize::Zeroizing;

use crate::error::{Error, KeyFault};
use crate::limits::SECRET_BYTES_MAX;

/// Where a store's key comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A credential that systemd hands to the unit, by its name.
    Credential(String),
    /// A file that only its owner can read.
    File(PathBuf),
    /// A passphrase, from an open descriptor.
    Passphrase(u32),
}

impl FromStr for Source {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Source, &'static str> {
        const FORMS: &str = "expected credential:NAME, file:PATH or passphrase-fd:N";
        match text.split_once(':') {
            Some(("credential", name)) if !name.is_empty() && !name.contains('/') => {
                Ok(Source::Credential(name.to_owned()))
            }
            Some(("file", path)) if !path.is_empty() => Ok(Source::File(path.into())),
            Some(("passphrase-fd", number)) => number.parse().map(Source::Passphrase).map_err(|_| FORMS),
            _ => Err(FORMS),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Credential(name) => write!(f, "credential {name}"),
            Source::File(path) => write!(f, "file {}", path.display()),
            Source::Passphrase(_) => f.write_str("passphrase"),
        }
    }
}

impl Source {
    /// Reads the key. `credentials` is systemd's `$CREDENTIALS_DIRECTORY`, if there is one.
    ///
    /// # Errors
    /// [`Error::Key`] when there is none or it must not be believed; [`Error::Io`].
    pub fn read(&self, credentials: Option<&Path>) -> Result<SealingKey, Error> {
        let of_file = |path: &Path, content: &[u8]| {
            let key = Key::from_key_file(content);
            let fault = |fault| Error::Key { path: path.to_owned(), fault: KeyFault::Content(fault) };
            Ok(SealingKey::new(key.map_err(fault)?, self.to_string()))
        };
        match self {
            Source::Credential(name) => {
                let fault = || Error::Key { path: name.into(), fault: KeyFault::NoCredentials };
                // Who may read it there is systemd's doing.
                let path = credentials.ok_or_else(fault)?.join(name);
                of_file(&path, &content(File::open(&path), &path)?)
            }
            Source::File(path) => of_file(path, &read_private(path)?),
            Source::Passphrase(number) => {
                let path = PathBuf::from(format!("/dev/fd/{number}"));
                let mut passphrase = content(File::open(&path), &path)?;
                if passphrase.last() == Some(&b'\n') {
                    passphrase.pop();
                }
                if passphrase.is_empty() {
                    return Err(Error::Key { path, fault: KeyFault::NoPassphrase });
                }
                Ok(SealingKey::passphrase(passphrase))
            }
        }
    }
}

/// The content of a file that only its owner, who runs us, can read or write.
///
/// # Errors
/// [`Error::Key`] when it must not be believed; [`Error::Io`].
pub fn read_private(path: &Path) -> Result<Zeroizing<Vec<u8>>, Error> {
    content(open_private(path)?, path)
}

/// Opens a file of ours that nobody else can read or write; what was opened is what is checked.
fn open_private(path: &Path) -> Result<io::Result<File>, Error> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path);
    let fault = |fault| Err(Error::Key { path: path.to_owned(), fault });
    let file = match opened {
        Err(cause) if cause.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            return fault(KeyFault::Symlink);
        }
        Err(cause) => return Ok(Err(cause)),
        Ok(file) => file,
    };
    let metadata = match file.metadata() {
        Err(cause) => return Ok(Err(cause)),
        Ok(metadata) => metadata,
    };
    let (mode, owner, own) = (metadata.mode() & 0o7777, metadata.uid(), geteuid().as_raw());
    if !metadata.is_file() {
        fault(KeyFault::NotAFile)
    } else if mode & 0o077 != 0 {
        fault(KeyFault::Mode { found: mode, expected: 0o600 })
    } else if owner != own {
        fault(KeyFault::Owner { found: owner, expected: own })
    } else {
        Ok(Ok(file))
    }
}

fn content(file: io::Result<File>, path: &Path) -> Result<Zeroizing<Vec<u8>>, Error> {
    let failed = |source| Error::Io { action: "read", path: path.to_owned(), source };
    // Room for everything at once: a vector that grows leaves copies behind.
    let mut content = Zeroizing::new(Vec::with_capacity(SECRET_BYTES_MAX + 1));
    let file = file.map_err(failed)?.take(SECRET_BYTES_MAX as u64 + 1);
    { file }.read_to_end(&mut content).map_err(failed)?;
    if content.len() > SECRET_BYTES_MAX {
        return Err(Error::Key { path: path.to_owned(), fault: KeyFault::TooLong });
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::io::{Seek, Write};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn fault(read: Result<SealingKey, Error>) -> KeyFault {
        match read {
            Err(Error::Key { fault, .. }) => fault,
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("it was believed"),
        }
    }

    #[test]
    fn a_source_is_what_its_flag_says() {
        let read = |text: &str| text.parse::<Source>();
        assert_eq!(read("credential:store"), Ok(Source::Credential("store".to_owned())));
        assert_eq!(read("file:a:b"), Ok(Source::File("a:b".into())));
        assert_eq!(read("passphrase-fd:3"), Ok(Source::Passphrase(3)));
        for wrong in ["", "file", "file:", "credential:", "credential:../x", "passphrase-fd:x", "key:1"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_key_file_is_ours_alone_or_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("key"), folder.path().join("link"));
        let digits = "5a".repeat(32);
        fs::write(&path, &digits).unwrap();
        symlink(&path, &link).unwrap();
        let source = Source::File(path.clone());
        for mode in [0o640, 0o604, 0o620] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            assert_eq!(fault(source.read(None)), KeyFault::Mode { found: mode, expected: 0o600 });
        }
        fs::set_permissions(&path, Permissions::from_mode(0o400)).unwrap();
        assert_eq!(source.read(None).unwrap().source(), format!("file {}", path.display()));
        assert_eq!(fault(Source::File(link).read(None)), KeyFault::Symlink);
        assert_eq!(fault(Source::File(folder.path().into()).read(None)), KeyFault::NotAFile);
        let missing = Source::File(folder.path().join("none")).read(None);
        assert!(matches!(missing, Err(Error::Io { .. })));
    }

    #[test]
    fn a_credential_is_where_systemd_says() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("store"), "5a".repeat(32)).unwrap();
        fs::write(folder.path().join("short"), "5a").unwrap();
        let source = |name: &str| Source::Credential(name.to_owned());
        assert_eq!(source("store").read(Some(folder.path())).unwrap().source(), "credential store");
        assert_eq!(fault(source("store").read(None)), KeyFault::NoCredentials);
        assert!(matches!(fault(source("short").read(Some(folder.path()))), KeyFault::Content(_)));
    }

    #[test]
    fn a_passphrase_is_a_line_of_a_descriptor() {
        let mut file = tempfile::tempfile().unwrap();
        let read = |file: &File| Source::Passphrase(file.as_raw_fd() as u32).read(None);
        assert_eq!(fault(read(&file)), KeyFault::NoPassphrase);
        file.write_all(b"correct horse\n").unwrap();
        file.rewind().unwrap();
        let key = read(&file).unwrap();
        assert!(key.is_passphrase());
        assert_eq!(key.source(), "passphrase");
    }
}
