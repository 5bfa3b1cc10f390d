//! The files of a program that runs here: names and bytes in memory, and what it has open.
//!
//! Owns: what Linux's calls do with them, which errors they answer, and the bits of `open` on each processor. How a
//! program makes a call is for the room of its processor. There are no folders: a name is a name, whatever slashes are
//! in it.

use std::collections::BTreeMap;

use crate::limits::{FILE_BYTES_MAX, FILES_BYTES_MAX, FILES_MAX, OPEN_MAX};

/// Linux's number of an error.
pub type Errno = u32;

/// No such file.
pub const ENOENT: Errno = 2;
/// No such open file, or it is not open for that.
pub const EBADF: Errno = 9;
/// An address that is not the program's.
pub const EFAULT: Errno = 14;
/// The file is there already.
pub const EEXIST: Errno = 17;
/// An argument without a meaning.
pub const EINVAL: Errno = 22;
/// Too many open files.
pub const EMFILE: Errno = 24;
/// The file would become too long.
pub const EFBIG: Errno = 27;
/// There is no room for more files, or for more in them.
pub const ENOSPC: Errno = 28;
/// The file cannot be sought in.
pub const ESPIPE: Errno = 29;

const ACCESS_MODE: u32 = 3;
const WRITE_ONLY: u32 = 1;

/// How a file is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct How {
    /// Reading (0), writing (1) or both (2), as everywhere.
    pub access: u32,
    /// What is written goes behind what is there.
    pub appends: bool,
    /// It is made if it is not there.
    pub creates: bool,
    /// What is in it is dropped.
    pub truncates: bool,
    /// It must not be there when it is to be made.
    pub exclusive: bool,
}

impl How {
    /// From the flags of `open` on SPARC (Linux, `arch/sparc/include/uapi/asm/fcntl.h`).
    pub fn of_sparc(flags: u32) -> How {
        How::of(flags, [0x8, 0x200, 0x400, 0x800])
    }

    /// From the flags of `open` on RISC-V, which has what most processors have (Linux, `asm-generic/fcntl.h`).
    pub fn of_riscv(flags: u32) -> How {
        How::of(flags, [0x400, 0x40, 0x200, 0x80])
    }

    fn of(flags: u32, [append, create, truncate, exclusive]: [u32; 4]) -> How {
        How {
            access: flags & ACCESS_MODE,
            appends: flags & append != 0,
            creates: flags & create != 0,
            truncates: flags & truncate != 0,
            exclusive: flags & exclusive != 0,
        }
    }
}

/// Where a number of an open file leads.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Open {
    Input { at: usize },
    Output,
    Errors,
    File { name: String, at: usize, reads: bool, writes: bool, appends: bool },
}

/// A program's files.
#[derive(Clone, Debug)]
pub struct Files {
    /// By name.
    pub named: BTreeMap<String, Vec<u8>>,
    /// Standard input.
    pub input: Vec<u8>,
    /// What was written to standard output.
    pub output: Vec<u8>,
    /// What was written to standard error output.
    pub errors: Vec<u8>,
    open: Vec<Option<Open>>,
}

impl Default for Files {
    /// No files, and the three streams open.
    fn default() -> Files {
        let open = vec![Some(Open::Input { at: 0 }), Some(Open::Output), Some(Open::Errors)];
        Files { named: BTreeMap::new(), input: Vec::new(), output: Vec::new(), errors: Vec::new(), open }
    }
}

impl Files {
    /// These files by their names, and this as standard input.
    pub fn new(named: BTreeMap<String, Vec<u8>>, input: Vec<u8>) -> Files {
        Files { named, input, ..Files::default() }
    }

    fn opened(&mut self, number: u32) -> Result<&mut Open, Errno> {
        self.open.get_mut(number as usize).and_then(Option::as_mut).ok_or(EBADF)
    }

    /// Opens a file; the lowest number that is free.
    ///
    /// # Errors
    /// `ENOENT`, `EEXIST`, `EMFILE`, `EINVAL`, `ENOSPC`.
    pub fn open(&mut self, name: &str, how: How) -> Result<u32, Errno> {
        let access = how.access;
        if access == ACCESS_MODE {
            return Err(EINVAL);
        }
        match (self.named.contains_key(name), how.creates) {
            (false, false) => return Err(ENOENT),
            (true, true) if how.exclusive => return Err(EEXIST),
            (false, true) if self.named.len() >= FILES_MAX => return Err(ENOSPC),
            _ => {}
        }
        let free = self.open.iter().position(Option::is_none).unwrap_or(self.open.len());
        if free >= OPEN_MAX {
            return Err(EMFILE);
        }
        let bytes = self.named.entry(name.to_owned()).or_default();
        if how.truncates && access != 0 {
            bytes.clear();
        }
        if free == self.open.len() {
            self.open.push(None);
        }
        self.open[free] = Some(Open::File {
            name: name.to_owned(),
            at: 0,
            reads: access != WRITE_ONLY,
            writes: access != 0,
            appends: how.appends,
        });
        Ok(free as u32)
    }

    /// Closes a file.
    ///
    /// # Errors
    /// `EBADF`.
    pub fn close(&mut self, number: u32) -> Result<(), Errno> {
        self.opened(number)?;
        self.open[number as usize] = None;
        Ok(())
    }

    /// Removes a name. What has it open finds an empty file.
    ///
    /// # Errors
    /// `ENOENT`.
    pub fn unlink(&mut self, name: &str) -> Result<(), Errno> {
        self.named.remove(name).map(|_| ()).ok_or(ENOENT)
    }

    /// The next bytes of an open file, at most so many.
    ///
    /// # Errors
    /// `EBADF`.
    pub fn read(&mut self, number: u32, count: usize) -> Result<Vec<u8>, Errno> {
        let open = self.open.get_mut(number as usize).and_then(Option::as_mut).ok_or(EBADF)?;
        let (bytes, at) = match open {
            Open::Input { at } => (&self.input[..], at),
            Open::File { name, at, reads: true, .. } => (self.named.get(name).map_or(&[][..], |b| b), at),
            _ => return Err(EBADF),
        };
        let from = (*at).min(bytes.len());
        let found = bytes[from..from + count.min(bytes.len() - from)].to_vec();
        *at += found.len();
        Ok(found)
    }

    /// Writes bytes to an open file.
    ///
    /// # Errors
    /// `EBADF`, `EFBIG`, `ENOSPC`.
    pub fn write(&mut self, number: u32, bytes: &[u8]) -> Result<(), Errno> {
        let all_bytes = self.all_bytes();
        let open = self.open.get_mut(number as usize).and_then(Option::as_mut).ok_or(EBADF)?;
        let (to, at) = match open {
            Open::Output => (&mut self.output, None),
            Open::Errors => (&mut self.errors, None),
            Open::File { name, at, writes: true, appends, .. } => {
                let to = self.named.entry(name.clone()).or_default();
                if *appends {
                    *at = to.len();
                }
                (to, Some(at))
            }
            _ => return Err(EBADF),
        };
        let from = at.as_deref().copied().unwrap_or(to.len());
        let end = from.checked_add(bytes.len()).filter(|&end| end <= FILE_BYTES_MAX).ok_or(EFBIG)?;
        if end > to.len() {
            if all_bytes + (end - to.len()) > FILES_BYTES_MAX {
                return Err(ENOSPC);
            }
            to.resize(end, 0);
        }
        to[from..end].copy_from_slice(bytes);
        if let Some(at) = at {
            *at = end;
        }
        Ok(())
    }

    /// How much is in all files together.
    fn all_bytes(&self) -> usize {
        let named: usize = self.named.values().map(Vec::len).sum();
        named + self.output.len() + self.errors.len()
    }

    /// Moves in an open file: from its beginning (0), from where it is (1), from its end (2).
    ///
    /// # Errors
    /// `EBADF`, `EINVAL`, `ESPIPE`.
    pub fn seek(&mut self, number: u32, offset: i32, from: u32) -> Result<u32, Errno> {
        let open = self.open.get_mut(number as usize).and_then(Option::as_mut).ok_or(EBADF)?;
        let Open::File { name, at, .. } = open else { return Err(ESPIPE) };
        let base = match from {
            0 => 0,
            1 => *at,
            2 => self.named.get(name).map_or(0, Vec::len),
            _ => return Err(EINVAL),
        };
        let to = base as i64 + i64::from(offset);
        *at = usize::try_from(to).ok().filter(|&to| to <= i32::MAX as usize).ok_or(EINVAL)?;
        Ok(*at as u32)
    }

    /// Whether an open number is a file, and how long that is.
    ///
    /// # Errors
    /// `EBADF`.
    pub fn status(&mut self, number: u32) -> Result<Option<usize>, Errno> {
        let named = match self.opened(number)? {
            Open::File { name, .. } => Some(name.clone()),
            _ => None,
        };
        Ok(named.map(|name| self.named.get(&name).map_or(0, Vec::len)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: How = How { access: 0, appends: false, creates: false, truncates: false, exclusive: false };
    const WRITE: How = How { access: WRITE_ONLY, ..READ };
    const MAKE: How = How { creates: true, ..WRITE };

    #[test]
    fn flags_are_those_of_the_processor() {
        let all = How { access: 2, appends: true, creates: true, truncates: true, exclusive: true };
        assert_eq!((How::of_sparc(0xe0a), How::of_riscv(0x6c2)), (all, all));
        assert_eq!((How::of_sparc(0x201), How::of_riscv(0x41)), (MAKE, MAKE));
        assert_eq!((How::of_sparc(0x409).creates, How::of_riscv(0x601).creates), (false, false));
    }

    #[test]
    fn what_is_written_is_read_and_sought() {
        let mut files = Files::default();
        assert_eq!(files.open("a", READ), Err(ENOENT));
        let number = files.open("a", How { access: 2, ..MAKE }).expect("it is made");
        assert_eq!((number, files.write(number, b"abcdef")), (3, Ok(())));
        assert_eq!(files.seek(number, -4, 2), Ok(2));
        assert_eq!(files.read(number, 3), Ok(b"cde".to_vec()));
        assert_eq!(files.seek(number, -6, 1), Err(EINVAL));
        assert_eq!(files.status(number), Ok(Some(6)));
        assert_eq!(files.open("a", How { exclusive: true, ..MAKE }), Err(EEXIST));
        let other = files.open("a", How { truncates: true, ..WRITE }).expect("it is there");
        assert_eq!((files.read(other, 1), files.read(number, 1)), (Err(EBADF), Ok(vec![])));
        assert_eq!((files.close(number), files.close(number)), (Ok(()), Err(EBADF)));
        assert_eq!((files.unlink("a"), files.unlink("a")), (Ok(()), Err(ENOENT)));
    }

    #[test]
    fn what_is_sought_past_the_end_and_written_is_zeros_before() {
        let mut files = Files::default();
        let number = files.open("a", MAKE).expect("it is made");
        assert_eq!((files.seek(number, 3, 0), files.write(number, b"x")), (Ok(3), Ok(())));
        assert_eq!(files.named["a"], b"\0\0\0x");
        let appending = files.open("a", How { appends: true, ..WRITE }).expect("it is there");
        assert_eq!((files.write(appending, b"y"), files.named["a"].len()), (Ok(()), 5));
        assert_eq!(files.seek(1, 0, 0), Err(ESPIPE));
    }

    #[test]
    fn all_files_together_have_a_limit_in_bytes_and_in_number() {
        let mut files = Files::default();
        // What is sought past is never touched, so that a great file costs nothing.
        for (name, expected) in [("a", Ok(())), ("b", Ok(())), ("c", Err(ENOSPC))] {
            let number = files.open(name, MAKE).expect("it is made");
            assert_eq!(files.seek(number, FILE_BYTES_MAX as i32 - 1, 0), Ok(FILE_BYTES_MAX as u32 - 1));
            assert_eq!(files.write(number, b"x"), expected, "{name}");
            assert_eq!(files.close(number), Ok(()));
        }
        assert_eq!(files.write(1, b"x"), Err(ENOSPC));
        assert_eq!((files.unlink("a"), files.write(1, b"x")), (Ok(()), Ok(())));
        for number in files.named.len()..FILES_MAX {
            files.named.insert(number.to_string(), Vec::new());
        }
        assert_eq!((files.open("another", MAKE), files.open("b", MAKE)), (Err(ENOSPC), Ok(3)));
    }

    #[test]
    fn no_more_files_are_open_than_the_limit() {
        let mut files = Files::default();
        for expected in 3..OPEN_MAX as u32 {
            assert_eq!(files.open("a", MAKE), Ok(expected));
        }
        assert_eq!(files.open("a", MAKE), Err(EMFILE));
        assert_eq!((files.close(9), files.open("a", READ)), (Ok(()), Ok(9)));
    }
}
