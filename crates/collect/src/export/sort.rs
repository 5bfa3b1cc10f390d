//! Sorting more than memory holds: parts are sorted, put aside in files that have no name, and merged.
//!
//! An entry is a string of bytes, and entries are in order of their bytes; what they mean is the caller's.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::limits::{SORT_ENTRY_BYTES_MAX, SORT_FILES_MAX};

/// Takes entries in any order.
pub struct Sorter {
    folder: PathBuf,
    held_bytes_max: usize,
    held: Vec<Vec<u8>>,
    held_bytes: usize,
    /// Sorted files; each level's are merged into one of the next when there are many.
    levels: Vec<Vec<Source>>,
}

/// Gives the entries in order.
pub struct Sorted {
    sources: Vec<Source>,
    /// The next entry of each source, the lowest first.
    heads: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
}

enum Source {
    Memory(std::vec::IntoIter<Vec<u8>>),
    File(BufReader<Box<dyn Read + Send>>),
}

impl Sorter {
    /// Holds at most `held_bytes_max` bytes in memory, and the rest in `folder`.
    pub fn new(folder: &Path, held_bytes_max: usize) -> Sorter {
        let folder = folder.to_owned();
        Sorter { folder, held_bytes_max, held: Vec::new(), held_bytes: 0, levels: Vec::new() }
    }

    /// Takes an entry.
    ///
    /// # Errors
    /// What the system says of the files.
    pub fn push(&mut self, entry: Vec<u8>) -> io::Result<()> {
        assert!(entry.len() <= SORT_ENTRY_BYTES_MAX, "an entry of {} bytes", entry.len());
        self.held_bytes += entry.len() + size_of::<Vec<u8>>();
        self.held.push(entry);
        if self.held_bytes < self.held_bytes_max {
            return Ok(());
        }
        self.held_bytes = 0;
        let held = self.take_held();
        let mut file = self.put_aside(held)?;
        for level in 0.. {
            if self.levels.len() == level {
                self.levels.push(Vec::new());
            }
            self.levels[level].push(file);
            if self.levels[level].len() < SORT_FILES_MAX {
                return Ok(());
            }
            let sources = std::mem::take(&mut self.levels[level]);
            file = self.put_aside(Sorted::new(sources)?)?;
        }
        unreachable!("some level has room")
    }

    /// Ends with the entries in order.
    ///
    /// # Errors
    /// What the system says of the files.
    pub fn finish(mut self) -> io::Result<Sorted> {
        let held: Vec<Vec<u8>> = self.take_held().map(|entry| entry.expect("it is in memory")).collect();
        let mut sources: Vec<Source> = self.levels.into_iter().flatten().collect();
        sources.push(Source::Memory(held.into_iter()));
        Sorted::new(sources)
    }

    fn take_held(&mut self) -> impl Iterator<Item = io::Result<Vec<u8>>> + use<> {
        let mut held = std::mem::take(&mut self.held);
        held.sort_unstable();
        held.into_iter().map(Ok)
    }

    fn put_aside(&self, entries: impl Iterator<Item = io::Result<Vec<u8>>>) -> io::Result<Source> {
        let mut writer = BufWriter::new(tempfile::tempfile_in(&self.folder)?);
        for entry in entries {
            let entry = entry?;
            writer.write_all(&(entry.len() as u32).to_le_bytes())?;
            writer.write_all(&entry)?;
        }
        let mut file = writer.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        Ok(Source::File(BufReader::with_capacity(64 << 10, Box::new(file))))
    }
}

impl Source {
    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        match self {
            Source::Memory(entries) => Ok(entries.next()),
            Source::File(file) => {
                let mut length = [0; 4];
                match file.read_exact(&mut length) {
                    Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
                    read => read?,
                }
                let mut entry = vec![0; u32::from_le_bytes(length) as usize];
                file.read_exact(&mut entry)?;
                Ok(Some(entry))
            }
        }
    }
}

impl Sorted {
    fn new(mut sources: Vec<Source>) -> io::Result<Sorted> {
        let mut heads = BinaryHeap::new();
        for (number, source) in sources.iter_mut().enumerate() {
            heads.extend(source.next()?.map(|entry| Reverse((entry, number))));
        }
        Ok(Sorted { sources, heads })
    }
}

impl Iterator for Sorted {
    type Item = io::Result<Vec<u8>>;

    fn next(&mut self) -> Option<io::Result<Vec<u8>>> {
        let Reverse((entry, number)) = self.heads.pop()?;
        match self.sources[number].next() {
            Ok(next) => self.heads.extend(next.map(|entry| Reverse((entry, number)))),
            Err(cause) => {
                self.heads.clear();
                return Some(Err(cause));
            }
        }
        Some(Ok(entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn entries_come_in_order_however_little_is_held(
            entries in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..300),
            held_bytes_max in 1_usize..2000,
        ) {
            let folder = tempfile::tempdir().unwrap();
            let mut sorter = Sorter::new(folder.path(), held_bytes_max);
            for entry in &entries {
                sorter.push(entry.clone()).unwrap();
            }
            let found: Vec<_> = sorter.finish().unwrap().map(Result::unwrap).collect();
            let mut expected = entries;
            expected.sort();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn nothing_lies_in_the_folder_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let mut sorter = Sorter::new(folder.path(), 1);
        sorter.push(vec![1, 2, 3]).unwrap();
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
        assert_eq!(sorter.finish().unwrap().count(), 1);
    }
}
