//! What a boot takes, before the program's first instruction.
//!
//! Owns: which lines a boot reads, and the cycles of that ([`cycles`]). It reads the dictionary into the decompressor,
//! or the model into the decoder, and initialisers into memory. Their lines come over the same bus and through the same
//! decipher and checks as those that a cache lacks, 64 bytes in one go, each of these when the one before is open.
//!
//! Not counted, because it is another core's or a program's in its own memory: unwrapping the image's key, checking the
//! description, and storing what was read.

use isa::Cycles;

use super::cache::LINE_BYTES_MAX;
use super::fill::{Fill, Straight, Unsound};
use super::rom::LINE_BYTES;
use crate::container::Container;
use crate::error::RunError;
use crate::image::{Image, Kind};
use crate::lines::Role;

/// Lines of 16 bytes that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The first one's address.
    pub first: u32,
    /// How many there are.
    pub lines: u32,
}

const fn is_read(kind: Kind) -> bool {
    matches!(kind, Kind::Data | Kind::Model)
}

/// What a boot reads of a container.
pub fn of_container(container: &Container) -> Vec<Piece> {
    let entries = container.entries().iter().filter(|entry| match entry.role {
        Role::Program(kind) => is_read(kind),
        Role::Dictionary => true,
        Role::Tags => false,
    });
    pieces(entries.map(|entry| (entry.first, entry.bytes)))
}

/// What a boot reads of an image that is not sealed; its dictionary is not in its memory.
pub fn of_image(image: &Image) -> Vec<Piece> {
    let sections = image.sections.iter().filter(|section| is_read(section.kind));
    pieces(sections.map(|section| (section.first, section.bytes.len() as u32)))
}

/// The lines of what ascends, each once.
fn pieces(ranges: impl Iterator<Item = (u32, u32)>) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for (first, bytes) in ranges.filter(|range| range.1 > 0) {
        let (from, last) = (first / LINE_BYTES, (first + (bytes - 1)) / LINE_BYTES);
        match pieces.last_mut().filter(|before| before.first / LINE_BYTES + before.lines >= from) {
            Some(before) => before.lines = before.lines.max(last + 1 - before.first / LINE_BYTES),
            None => pieces.push(Piece { first: from * LINE_BYTES, lines: last + 1 - from }),
        }
    }
    pieces
}

/// The cycles until all of them are read, opened and checked.
///
/// # Errors
/// A line that is not what was sealed.
pub fn cycles(mut fill: Straight, pieces: &[Piece]) -> Result<Cycles, RunError> {
    let unsound = |Unsound { line }: Unsound| RunError::BootCheck { line };
    let (mut now, mut room) = (0, [0; LINE_BYTES_MAX as usize]);
    for piece in pieces {
        let mut left_bytes = u64::from(piece.lines) * u64::from(LINE_BYTES);
        let mut at = piece.first;
        while left_bytes > 0 {
            let bytes = left_bytes.min(LINE_BYTES_MAX.into()) as u32;
            now = fill.fill(at, &mut room[..bytes as usize], now).map_err(unsound)?;
            left_bytes -= u64::from(bytes);
            at = at.wrapping_add(bytes);
        }
    }
    fill.settle(now).map_err(unsound)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::chain::decipher::Timing;
    use crate::chain::rom::Rom;
    use crate::chain::{MemoryTiming, Unsealed, Work};

    /// 240 bytes, of which all lines are sealed.
    fn straight(work: Option<Work>) -> Straight {
        let mut rom = Rom::new([(0x1000, vec![0; 240])]).expect("nothing overlaps");
        rom.seal(0x1000..0x10f0).expect("it is there");
        let fill = Straight::new(rom, MemoryTiming::default());
        match work {
            Some(work) => fill.deciphered(Arc::new(Unsealed(work)), Timing::default()),
            None => fill,
        }
    }

    #[test]
    fn lines_that_are_shared_are_read_once() {
        let piece = |first, lines| Piece { first, lines };
        assert_eq!(pieces([].into_iter()), []);
        let ranges = [(0x1004, 4), (0x100c, 8), (0x1020, 1), (0x1040, 0), (0x2000, 17), (0xffff_fff8, 8)];
        let expected = [piece(0x1000, 3), piece(0x2000, 2), piece(0xffff_fff0, 1)];
        assert_eq!(pieces(ranges.into_iter()), expected);
    }

    #[test]
    fn a_boot_takes_what_its_lines_take_one_after_the_other() {
        let lines = [Piece { first: 0x1000, lines: 5 }, Piece { first: 0x10e0, lines: 1 }];
        // Four lines, one line, and another: 80 cycles each, and 4 for each line that follows in one go.
        assert_eq!(cycles(straight(None), &lines), Ok(80 + 3 * 4 + 80 + 80));
        // Blocks of 40 cycles go through the unit one behind the other, from when the first line is there.
        assert_eq!(cycles(straight(Some(Work::Block)), &lines), Ok(80 + 4 * 40 + 120 + 120));
        assert_eq!(cycles(straight(None), &[]), Ok(0));
    }
}
