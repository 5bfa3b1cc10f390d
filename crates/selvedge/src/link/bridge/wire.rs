//! What a cell and the bridge say to each other on their Unix socket.
//!
//! ```text
//! 0 4 length of what follows | 4 1 kind | 5 n body                                      little-endian
//! cell to bridge    1 hello     version 2 | cell 2 | session 8
//!                   2 frame     superframe 4 | slot 1 | received_ps 8 | frame
//!                   3 close     superframe 4          everything of that superframe was sent
//!                   4 end                             the cell has finished
//! bridge to cell 0x81 counted   superframes 4         all before this one are synced in the spool
//!                0x82 downlink  superframe 4 | frame  to be sent down; came with the receipt for this superframe
//!                0x83 answered  superframes 4         all before this one have their receipt, and their downlinks
//!                                                     were sent
//!                0x84 drained                         nothing waits for a receipt any more
//!                0x85 full      superframes 4         the spool is: this one and all behind it are refused for now
//! ```
//! Owns these bytes. A cell that connects again repeats what was not counted; the bridge knows what it has. It says that its
//! spool is full once each time, and to each cell that connects meanwhile. What a cell sends then stays unread, and is counted
//! when there is room: a cell that cannot keep it that long is the one that knows what it loses.

use super::record::{Frame, superframe_of};
use std::io::{self, Read};
use tokio::io::{AsyncRead, AsyncReadExt};

/// The version that both sides speak.
pub const VERSION: u8 = 2;
/// The longest message after its length: a frame of the bus and its place.
const MESSAGE_BYTES_MAX: usize = 14 + cell::limits::FRAME_BYTES_MAX;

/// A message from a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromCell {
    /// The first message.
    Hello {
        /// The cell.
        cell: u16,
        /// Tells one run of a cell from the next.
        session: u64,
    },
    /// A frame came off the bus.
    Frame(Frame),
    /// Everything of this superframe was sent.
    Close(u32),
    /// The cell has finished.
    End,
}

/// A message to a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToCell {
    /// All superframes before this one are synced in the spool.
    Counted(u32),
    /// A frame to be sent down.
    Downlink {
        /// The last superframe of the batch with whose receipt it came.
        superframe: u32,
        /// Its bytes.
        frame: Vec<u8>,
    },
    /// All superframes before this one have their receipt.
    Answered(u32),
    /// Nothing waits for a receipt any more.
    Drained,
    /// The spool is full: this superframe and those behind it are refused until there is room.
    Full(u32),
}

impl FromCell {
    /// The message as it travels, length and all.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            FromCell::Hello { cell, session } => {
                message(1, &[&[VERSION], &cell.to_le_bytes(), &session.to_le_bytes()])
            }
            FromCell::Frame(frame) => message(2, &[&frame.encode()]),
            FromCell::Close(superframe) => message(3, &[&superframe.to_le_bytes()]),
            FromCell::End => message(4, &[]),
        }
    }

    /// Reads the kind and body of a message. `None` when it is none that a cell sends.
    pub fn parse(bytes: &[u8]) -> Option<FromCell> {
        let (kind, body) = bytes.split_first()?;
        match kind {
            1 => {
                let (version, body) = body.split_first()?;
                let (cell, session) = body.split_first_chunk()?;
                let session = u64::from_le_bytes(session.try_into().ok()?);
                (*version == VERSION).then_some(FromCell::Hello { cell: u16::from_le_bytes(*cell), session })
            }
            2 => Frame::parse(body).map(FromCell::Frame),
            3 => superframe_of(body.try_into().ok()?).map(FromCell::Close),
            4 => body.is_empty().then_some(FromCell::End),
            _ => None,
        }
    }
}

impl ToCell {
    /// The message as it travels, length and all.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            ToCell::Counted(superframes) => message(0x81, &[&superframes.to_le_bytes()]),
            ToCell::Downlink { superframe, frame } => message(0x82, &[&superframe.to_le_bytes(), frame]),
            ToCell::Answered(superframes) => message(0x83, &[&superframes.to_le_bytes()]),
            ToCell::Drained => message(0x84, &[]),
            ToCell::Full(superframes) => message(0x85, &[&superframes.to_le_bytes()]),
        }
    }

    /// Reads the kind and body of a message. `None` when it is none that a bridge sends.
    pub fn parse(bytes: &[u8]) -> Option<ToCell> {
        let (kind, body) = bytes.split_first()?;
        match kind {
            0x81 => Some(ToCell::Counted(u32::from_le_bytes(body.try_into().ok()?))),
            0x82 => {
                let (superframe, frame) = body.split_first_chunk()?;
                Some(ToCell::Downlink { superframe: u32::from_le_bytes(*superframe), frame: frame.to_vec() })
            }
            0x83 => Some(ToCell::Answered(u32::from_le_bytes(body.try_into().ok()?))),
            0x84 => body.is_empty().then_some(ToCell::Drained),
            0x85 => Some(ToCell::Full(u32::from_le_bytes(body.try_into().ok()?))),
            _ => None,
        }
    }
}

fn message(kind: u8, parts: &[&[u8]]) -> Vec<u8> {
    let body_bytes: usize = parts.iter().map(|part| part.len()).sum();
    let mut bytes = Vec::with_capacity(5 + body_bytes);
    bytes.extend((body_bytes as u32 + 1).to_le_bytes());
    bytes.push(kind);
    parts.iter().for_each(|part| bytes.extend(*part));
    bytes
}

/// Reads the kind and body of the next message; `None` at a clean end.
///
/// # Errors
/// The socket's, and `InvalidData` for a length that no message has.
pub async fn next(socket: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match socket.read_exact(&mut length).await {
        Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    };
    let mut bytes = vec![0; checked_length(length)?];
    socket.read_exact(&mut bytes).await?;
    Ok(Some(bytes))
}

/// [`next`], for a thread that waits.
///
/// # Errors
/// As [`next`].
pub fn next_blocking(socket: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match socket.read_exact(&mut length) {
        Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    };
    let mut bytes = vec![0; checked_length(length)?];
    socket.read_exact(&mut bytes)?;
    Ok(Some(bytes))
}

fn checked_length(length: [u8; 4]) -> io::Result<usize> {
    let length = u32::from_le_bytes(length) as usize;
    if (1..=MESSAGE_BYTES_MAX).contains(&length) {
        return Ok(length);
    }
    let words = format!("found a message of {length} bytes, expected 1 to {MESSAGE_BYTES_MAX}");
    Err(io::Error::new(io::ErrorKind::InvalidData, words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn from_cell() -> impl Strategy<Value = FromCell> {
        let bytes = proptest::collection::vec(any::<u8>(), 0..256);
        prop_oneof![
            (any::<u16>(), any::<u64>()).prop_map(|(cell, session)| FromCell::Hello { cell, session }),
            (0..u32::MAX, any::<u8>(), any::<u64>(), bytes).prop_map(
                |(superframe, slot, received_ps, bytes)| {
                    FromCell::Frame(Frame { superframe, slot, received_ps, bytes })
                }
            ),
            (0..u32::MAX).prop_map(FromCell::Close),
            Just(FromCell::End),
        ]
    }

    fn to_cell() -> impl Strategy<Value = ToCell> {
        let frame = proptest::collection::vec(any::<u8>(), 0..256);
        prop_oneof![
            any::<u32>().prop_map(ToCell::Counted),
            any::<u32>().prop_map(ToCell::Answered),
            (any::<u32>(), frame).prop_map(|(superframe, frame)| ToCell::Downlink { superframe, frame }),
            Just(ToCell::Drained),
            any::<u32>().prop_map(ToCell::Full),
        ]
    }

    proptest! {
        #[test]
        fn a_message_reads_back_as_it_was_written(up in from_cell(), down in to_cell()) {
            let read = |bytes: Vec<u8>| next_blocking(&mut &bytes[..]).unwrap().unwrap();
            prop_assert_eq!(FromCell::parse(&read(up.encode())), Some(up));
            prop_assert_eq!(ToCell::parse(&read(down.encode())), Some(down));
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = (FromCell::parse(&bytes), ToCell::parse(&bytes), next_blocking(&mut &bytes[..]));
        }
    }
}
