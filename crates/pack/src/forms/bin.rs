//! Raw memory, from the first address of an image to its last; gaps are filled with [`FILLER`].

use crate::container::Container;
use crate::error::SealError;
use crate::limits::IMAGE_BYTES_MAX;
use crate::lines::FILLER;

/// The first address, and the bytes from there on.
///
/// # Errors
/// [`SealError::Gaps`] when its parts lie so far from each other that the gaps are too large.
pub fn bin(container: &Container) -> Result<(u32, Vec<u8>), SealError> {
    let spans = container.spans();
    let first = spans.first().map_or(0, |span| span.first);
    let end = spans.last().map_or(0, |span| span.extent().end);
    let found = end - u64::from(first);
    if found > IMAGE_BYTES_MAX {
        return Err(SealError::Gaps { found, limit: IMAGE_BYTES_MAX });
    }
    let mut bytes = vec![FILLER; found as usize];
    for span in spans {
        let from = (span.first - first) as usize;
        bytes[from..from + span.bytes.len()].copy_from_slice(&span.bytes);
    }
    Ok((first, bytes))
}
