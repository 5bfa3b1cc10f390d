//! The link to a device that is nothing but a wire: bytes go to it and come from it, and any of them may be lost, damaged
//! or never meant.
//!
//! Owns the frames that carry PDUs in pieces, and both ends as functions over bytes: [`HostEnd`] and [`DeviceEnd`]. Whose
//! bytes go next is the core's on the way to the device, and [`DeviceEnd`]'s on the way back; how bytes travel is
//! `device`'s.
//!
//! ```text
//!  0  1  sync            0xA5
//!  1  1  kind            0 to 64: a piece of the PDU that is put together in this slot;
//!                        table `Kind` for the others
//!  2  2  sequence        counts pieces and probes of this sender, from 0 in each session; else 0
//!  4  2  payload_bytes   at most 4096
//!  6  2  waiting_bytes   what else the sender has ready, frames included, at most 65 535; 0 from the host
//!  8  4  CRC-32C of the above, begun with that of the session's number unless the kind is open or broken
//! 12  n  payload
//!     4  CRC-32C of the above and the payload, begun in the same way
//! ```
//!
//! Between two frames there may be any number of zeros: the host clocks bytes out while it has nothing to say, and so does
//! the device while it is clocked. The host opens a session with a number that nobody knows; the device forgets all it
//! had, and opens the same. From then on, each end takes what it expects and nothing else. What it does not expect makes
//! it broken, which it says if it can, and from then on it looks for the next session in whatever comes.
//!
//! Invariant: what an end delivers was sent in this session, and in this order, with nothing left out before it.
//! Invariant: no payload opens a session at an end that is whole, and none at the host's, which alone knows the number.

mod device;
mod frame;
mod host;
mod outbox;
mod receiver;

pub use device::DeviceEnd;
pub use host::{HostEnd, Rest};
