//! The superframe numbers of a cell's key: what a run of the cell may put into its beacons.

use super::{next_text, parse_next, read, superframe_name};
use crate::error::{Error, KeyFault};
use crate::limits::{PS_PER_US, SUPERFRAME_BLOCK};
use crate::link::deployment::Cell;
use crate::link::folder::Folder;
use crate::link::keys::Keys;

/// The superframe numbers of one run of a cell, reserved a block ahead.
pub struct Superframes<'a> {
    folder: &'a Folder,
    name: String,
    first: u32,
    /// Numbers below are ours; no more than the run needs.
    reserved: u32,
    end: u32,
}

impl Keys {
    /// The numbers of the next `count` superframes of `cell`.
    ///
    /// # Errors
    /// [`Error::Key`], also when so many are not left, or [`Error::Io`].
    pub fn superframes(&self, cell: &Cell, count: u32) -> Result<Superframes<'_>, Error> {
        let (folder, name) = (self.folder(), superframe_name(cell.id));
        let first = read(folder, &name, parse_next)?;
        let free = superframes_max(cell).saturating_sub(first);
        if count > free {
            let fault = KeyFault::SuperframesUsedUp { free, wanted: count };
            return Err(Error::Key { path: folder.path(&name), fault });
        }
        Ok(Superframes { folder, name, first, reserved: first, end: first + count })
    }
}

/// Superframes of `cell` under one key: numbers, grid indexes and picoseconds of cell time must not run out.
fn superframes_max(cell: &Cell) -> u32 {
    let samples = cell.nodes.iter().map(|node| u32::from(node.samples_per_superframe)).max().unwrap_or(1);
    let in_time = u64::MAX / (u64::from(cell.superframe_us) * PS_PER_US);
    (u32::MAX / samples).min(u32::try_from(in_time).unwrap_or(u32::MAX))
}

impl Superframes<'_> {
    /// The first.
    pub fn first(&self) -> u32 {
        self.first
    }

    /// Reserves superframe `number`, which no beacon may carry before.
    ///
    /// # Errors
    /// [`Error::Key`] when somebody else numbers superframes under the same key at the same time, or [`Error::Io`].
    ///
    /// # Panics
    /// When the number is none of this run's.
    pub fn reserve(&mut self, number: u32) -> Result<(), Error> {
        assert!((self.first..self.end).contains(&number), "superframe {number} is none of this run's");
        while number >= self.reserved {
            let _lock = self.folder.lock()?;
            if read(self.folder, &self.name, parse_next)? != self.reserved {
                let path = self.folder.path(&self.name);
                return Err(Error::Key { path, fault: KeyFault::SuperframesShared });
            }
            let reserved = self.reserved.saturating_add(SUPERFRAME_BLOCK).min(self.end);
            self.folder.replace(&self.name, next_text(reserved).as_bytes())?;
            self.reserved = reserved;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ecg, fault};
    use super::*;

    #[test]
    fn superframes_go_on_and_a_crash_skips_at_most_a_block() {
        let (out, deployment) = (tempfile::tempdir().expect("a folder"), ecg());
        let cell = &deployment.cells[0];
        let keys = Keys::of(&deployment, out.path()).expect("keys are made");
        let wanted = SUPERFRAME_BLOCK + 10;
        let mut run = keys.superframes(cell, wanted).unwrap();
        (0..wanted).for_each(|number| run.reserve(number).unwrap());
        let mut run = keys.superframes(cell, wanted).unwrap();
        assert_eq!(run.first(), wanted, "a run that ends skips none");
        run.reserve(wanted).unwrap();
        let run = keys.superframes(cell, wanted).unwrap();
        assert_eq!(run.first(), wanted + SUPERFRAME_BLOCK);
    }

    #[test]
    fn two_runs_of_a_cell_at_once_share_no_number() {
        let (out, deployment) = (tempfile::tempdir().expect("a folder"), ecg());
        let keys = Keys::of(&deployment, out.path()).expect("keys are made");
        let mut runs = [(); 2].map(|()| keys.superframes(&deployment.cells[0], 10).unwrap());
        runs[0].reserve(0).unwrap();
        assert_eq!(fault(runs[1].reserve(0)), KeyFault::SuperframesShared);
    }

    #[test]
    fn superframes_end_before_the_sample_grid_does() {
        let (out, deployment) = (tempfile::tempdir().expect("a folder"), ecg());
        let (keys, cell) = (Keys::of(&deployment, out.path()).expect("keys are made"), &deployment.cells[0]);
        let all = u32::MAX / u32::from(cell.nodes[0].samples_per_superframe);
        assert!(keys.superframes(cell, all).is_ok());
        let expected = KeyFault::SuperframesUsedUp { free: all, wanted: all + 1 };
        assert_eq!(fault(keys.superframes(cell, all + 1)), expected);
    }
}
