//! What Linux's calls move between a program's memory and its files, on every processor.
//!
//! Owns: names, reading and writing, and why a call is not done. Numbers of calls, registers, and what accesses of
//! memory are is for the room of each processor; what a file is, is `files`'.

use super::files::{EINVAL, Errno, Files};
use crate::limits::NAME_BYTES_MAX;

/// Why a call is not done.
pub(crate) enum Denied<K> {
    /// The program is told.
    Error(Errno),
    /// The run ends.
    Fault(K),
}

impl<K> From<Errno> for Denied<K> {
    fn from(error: Errno) -> Denied<K> {
        Denied::Error(error)
    }
}

/// A program that makes calls.
pub(crate) trait Caller {
    /// What ends a run.
    type Kind;

    /// A byte of its memory.
    fn byte(&mut self, address: u32) -> Result<u8, Denied<Self::Kind>>;

    /// Puts a byte into its memory.
    fn put_byte(&mut self, address: u32, byte: u8) -> Result<(), Denied<Self::Kind>>;

    /// Its files.
    fn files(&mut self) -> &mut Files;

    /// The name at an address, up to a zero.
    fn name(&mut self, address: u32) -> Result<String, Denied<Self::Kind>> {
        let mut bytes = Vec::new();
        for offset in 0..NAME_BYTES_MAX {
            match self.byte(address.wrapping_add(offset))? {
                0 => return String::from_utf8(bytes).map_err(|_| EINVAL.into()),
                byte => bytes.push(byte),
            }
        }
        Err(EINVAL.into())
    }

    /// Reads from a file into memory: how many bytes.
    fn read(&mut self, file: u32, address: u32, count: u32) -> Result<u32, Denied<Self::Kind>> {
        let bytes = self.files().read(file, count as usize)?;
        for (offset, &byte) in bytes.iter().enumerate() {
            self.put_byte(address.wrapping_add(offset as u32), byte)?;
        }
        Ok(bytes.len() as u32)
    }

    /// Writes from memory to a file: how many bytes.
    fn write(&mut self, file: u32, address: u32, count: u32) -> Result<u32, Denied<Self::Kind>> {
        let bytes: Result<Vec<u8>, Denied<Self::Kind>> =
            (0..count).map(|offset| self.byte(address.wrapping_add(offset))).collect();
        self.files().write(file, &bytes?)?;
        Ok(count)
    }

    /// Removes the file of a name.
    fn remove(&mut self, name: &str) -> Result<u32, Denied<Self::Kind>> {
        self.files().unlink(name)?;
        Ok(0)
    }
}
