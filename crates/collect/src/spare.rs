//! Epochs that are taken for nodes before they are told them, each used once.
//!
//! Owns whom they are asked of, and that nobody who cannot be asked is waited for again and again. When a node is told is
//! `epochs`' to say.

use std::collections::HashMap;
use std::io;

use crate::disk::is_full;
use crate::error::Error;
use crate::keys::KeyRing;
use crate::nats::Fence;

/// What a fence gives; nothing where it cannot be asked now. It is not asked again in the same group: each would wait.
pub(crate) fn ask<T>(is_away: &mut bool, request: impl FnOnce() -> io::Result<T>) -> Option<T> {
    if *is_away {
        return None;
    }
    let given = request();
    *is_away = given.as_ref().is_err_and(|cause| !is_full(cause));
    given.ok()
}

/// An epoch after `epoch` for a change of the node's, which is kept until the change is durable; `None` when there is none,
/// or cannot be had now: nobody can be asked who gives it out, or there is no room to note that it was taken.
pub(crate) fn spare_epoch(
    keys: &KeyRing,
    spare: &mut HashMap<u32, Option<u8>>,
    fence: Option<(&mut (dyn Fence + 'static), &mut bool)>,
    node: u32,
    epoch: u8,
) -> Result<Option<u8>, Error> {
    if let Some(&kept) = spare.get(&node).filter(|spare| spare.is_none_or(|spare| spare > epoch)) {
        return Ok(kept);
    }
    let mut take = || keys.epoch_after(node, epoch);
    let next = match fence {
        None => match take() {
            Err(cause) if is_full(&cause) => return Ok(None),
            taken => taken.map_err(Error::io("take", "an epoch"))?,
        },
        // Who cannot be asked now is asked with the next batch.
        Some((fence, is_away)) => match ask(is_away, || fence.change(node, epoch, &mut take)).flatten() {
            Some(next) => Some(next),
            None => return Ok(None),
        },
    };
    spare.insert(node, next);
    Ok(next)
}
