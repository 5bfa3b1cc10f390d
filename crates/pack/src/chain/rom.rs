//! What is only read: instructions and constants as they stand in memory outside, sealed where they are.
//!
//! Owns: which bytes stand where, and which of their lines are sealed. Bringing and opening them is `fill`'s.

use std::ops::Range;

use super::cache::LINE_BYTES_MAX;
use crate::error::RunError;

/// A line of the cipher, in bytes.
pub const LINE_BYTES: u32 = 16;

/// Neighbouring bytes, whole cache lines of the longest kind: what nobody put there is zero.
#[derive(Clone, Debug)]
struct Bank {
    first: u32,
    bytes: Vec<u8>,
    /// By line of the cipher.
    sealed: Vec<bool>,
}

impl Bank {
    fn end(&self) -> u64 {
        u64::from(self.first) + self.bytes.len() as u64
    }
}

/// Memory that is only read.
#[derive(Clone, Debug)]
pub struct Rom {
    /// By ascending address.
    banks: Vec<Bank>,
    /// What was put there, by ascending address: first addresses and the ones behind.
    pieces: Vec<Range<u32>>,
}

impl Rom {
    /// Memory with these bytes, each piece with its first address.
    ///
    /// # Errors
    /// Pieces that overlap, or end behind memory.
    pub fn new(pieces: impl IntoIterator<Item = (u32, Vec<u8>)>) -> Result<Rom, RunError> {
        let mut pieces: Vec<(u32, Vec<u8>)> =
            pieces.into_iter().filter(|(_, bytes)| !bytes.is_empty()).collect();
        pieces.sort_by_key(|piece| piece.0);
        let mut rom = Rom { banks: Vec::new(), pieces: Vec::new() };
        for (first, bytes) in pieces {
            let end = u64::from(first) + bytes.len() as u64;
            let padded_end = end.next_multiple_of(LINE_BYTES_MAX.into());
            let overlaps = rom.pieces.last().is_some_and(|piece| piece.end > first);
            if overlaps || padded_end >= 1 << 32 {
                return Err(RunError::Sections { address: first });
            }
            rom.pieces.push(first..end as u32);
            let padded_first = first & !(LINE_BYTES_MAX - 1);
            if rom.banks.last().is_none_or(|bank| bank.end() < padded_first.into()) {
                rom.banks.push(Bank { first: padded_first, bytes: Vec::new(), sealed: Vec::new() });
            }
            let bank = rom.banks.last_mut().expect("there is one");
            let bank_bytes = (padded_end - u64::from(bank.first)) as usize;
            bank.bytes.resize(bank_bytes, 0);
            bank.sealed.resize(bank_bytes / LINE_BYTES as usize, false);
            let at = (first - bank.first) as usize;
            bank.bytes[at..at + bytes.len()].copy_from_slice(&bytes);
        }
        Ok(rom)
    }

    /// Says that the lines of a range are sealed.
    ///
    /// # Errors
    /// A range that is not whole lines of what is here.
    pub fn seal(&mut self, range: Range<u32>) -> Result<(), RunError> {
        let Range { start: first, end } = range;
        let wrong = RunError::SealedRange { first, end };
        if !first.is_multiple_of(LINE_BYTES) || !end.is_multiple_of(LINE_BYTES) || end < first {
            return Err(wrong);
        }
        let inside = |bank: &&mut Bank| first >= bank.first && u64::from(end) <= bank.end();
        let bank = self.banks.iter_mut().find(inside).ok_or(wrong)?;
        let lines = (first - bank.first) / LINE_BYTES..(end - bank.first) / LINE_BYTES;
        bank.sealed[lines.start as usize..lines.end as usize].fill(true);
        Ok(())
    }

    /// Bytes as they stand outside, and for each line whether it is sealed; `None` where not all of them are here.
    /// They begin with a line and are whole lines.
    pub fn lines(&self, first: u32, bytes: u32) -> Option<(&[u8], &[bool])> {
        debug_assert!(first.is_multiple_of(LINE_BYTES) && bytes.is_multiple_of(LINE_BYTES));
        self.banks.iter().find_map(|bank| {
            let at = first.checked_sub(bank.first)? as usize;
            let found = bank.bytes.get(at..at + bytes as usize)?;
            let line = at / LINE_BYTES as usize;
            Some((found, &bank.sealed[line..line + (bytes / LINE_BYTES) as usize]))
        })
    }

    /// Bytes as they stand outside; `None` where not all of them are here.
    pub fn bytes(&self, first: u32, bytes: u32) -> Option<&[u8]> {
        self.banks.iter().find_map(|bank| {
            let at = first.checked_sub(bank.first)? as usize;
            bank.bytes.get(at..at.checked_add(bytes as usize)?)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_in_one_line_are_read_as_one_and_gaps_are_zero() {
        let rom = Rom::new([(0x1004, vec![1; 4]), (0x2000, vec![3; 64]), (0x100c, vec![2; 4])]);
        let rom = rom.expect("nothing overlaps");
        let (bytes, sealed) = rom.lines(0x1000, 16).expect("it is there");
        assert_eq!((bytes, sealed), (&[0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 2, 2, 2, 2][..], &[false][..]));
        assert_eq!((rom.lines(0x1040, 16), rom.lines(0x0ff0, 16)), (None, None));
        assert_eq!(rom.pieces, [0x1004..0x1008, 0x100c..0x1010, 0x2000..0x2040]);
    }

    #[test]
    fn lines_are_sealed_one_by_one() {
        let mut rom = Rom::new([(0x1000, vec![0; 100])]).expect("nothing overlaps");
        rom.seal(0x1010..0x1030).expect("it is there");
        assert_eq!(rom.lines(0x1000, 64).expect("it is there").1, [false, true, true, false]);
        for range in [0x1008..0x1010, 0x1000..0x100c, 0x1000..0x1090, 0xff0..0x1010] {
            let Range { start: first, end } = range;
            assert_eq!(rom.seal(first..end), Err(RunError::SealedRange { first, end }));
        }
    }

    #[test]
    fn pieces_that_overlap_or_end_behind_memory_are_named() {
        let wrong = |pieces: Vec<(u32, Vec<u8>)>| Rom::new(pieces).map(|_| ());
        let expected = Err(RunError::Sections { address: 0x1008 });
        assert_eq!(wrong(vec![(0x1008, vec![0; 4]), (0x1000, vec![0; 12])]), expected);
        let address = 0xffff_fff0;
        assert_eq!(wrong(vec![(address, vec![0; 32])]), Err(RunError::Sections { address }));
    }
}
