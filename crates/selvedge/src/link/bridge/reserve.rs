//! Room on the disk that is taken before it is needed: a file beside the spool's that says nothing.
//!
//! Owns that file. When the disk is full `spool` gives it up for what makes room again, which is the only thing that must be
//! written then: that batches have their receipt, and the file that a start begins.

use std::io;

use collect::disk::{Disk, is_full};

const NAME: &str = "reserve";
/// As much, for a moment: whether it would fit.
const LOOKED: &str = "reserve.look";

/// Takes `bytes`, unless an earlier process did. False when there is no room.
///
/// # Errors
/// What the disk says otherwise.
pub(super) fn take<D: Disk>(disk: &mut D, bytes: u64) -> io::Result<bool> {
    let names = disk.list()?;
    for left in [LOOKED, NAME].into_iter().filter(|left| names.iter().any(|name| name == left)) {
        // What an earlier process had not finished.
        if left == NAME && disk.read_at(NAME, 0, bytes)?.len() as u64 == bytes {
            return Ok(true);
        }
        disk.remove(left)?;
    }
    let is_taken = write(disk, NAME, bytes)?;
    disk.sync_dir()?;
    Ok(is_taken)
}

/// Gives it up.
///
/// # Errors
/// What the disk says.
pub(super) fn give_up<D: Disk>(disk: &mut D) -> io::Result<()> {
    disk.remove(NAME)?;
    // A file system that keeps removed blocks until the name is gone for good has them then.
    disk.sync_dir()
}

/// Whether as much again would fit.
///
/// # Errors
/// What the disk says otherwise.
pub(super) fn has_room_beside<D: Disk>(disk: &mut D, bytes: u64) -> io::Result<bool> {
    let has_room = write(disk, LOOKED, bytes)?;
    if has_room {
        disk.remove(LOOKED)?;
    }
    disk.sync_dir()?;
    Ok(has_room)
}

/// Writes a file of zeroes. False, and nothing of it is left, when there is no room.
fn write<D: Disk>(disk: &mut D, name: &str, bytes: u64) -> io::Result<bool> {
    let mut file = match disk.create(name) {
        Ok(file) => file,
        Err(cause) if is_full(&cause) => return Ok(false),
        Err(cause) => return Err(cause),
    };
    let zeroes = vec![0; bytes as usize];
    match disk.append(&mut file, &zeroes).and_then(|()| disk.sync(&mut file)) {
        Ok(()) => Ok(true),
        Err(cause) if is_full(&cause) => disk.remove(name).map(|()| false),
        Err(cause) => Err(cause),
    }
}
