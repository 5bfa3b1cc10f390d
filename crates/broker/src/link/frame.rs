//! One frame: its bytes, and the reading of a header. The drawing is in the parent.

use std::ops::Range;

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::error::Fault;
use crate::limits::{CRC_BYTES, FRAME_BYTES_MAX, FRAME_HEADER_BYTES, SLOTS_MAX};
use crate::wiped::Wiped;

/// What a frame begins with: not a filler byte, and not what an idle line reads as.
pub(super) const SYNC: u8 = 0xA5;
/// The payload of a frame that opens a session: its number.
const SESSION_BYTES: usize = 8;
/// A frame that opens a session, as a whole.
pub(super) const OPEN_FRAME_BYTES: usize = FRAME_HEADER_BYTES + SESSION_BYTES + CRC_BYTES;

macro_rules! kinds {
    ($($number:literal $kind:ident $meaning:literal)*) => {
        /// What a frame is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Kind {
            /// A piece of the PDU that is put together in this slot.
            Piece(u8),
            $(#[doc = $meaning] $kind,)*
        }

        impl Kind {
            const fn number(self) -> u8 {
                match self { Kind::Piece(slot) => slot, $(Kind::$kind => $number,)* }
            }

            const fn from_number(number: u8) -> Option<Kind> {
                match number {
                    $($number => Some(Kind::$kind),)*
                    slot if (slot as usize) < SLOTS_MAX => Some(Kind::Piece(slot)),
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    0x42 Broken "The sender has lost its place, and takes nothing before the next session."
    0x4F Open   "A session begins; its number is the payload."
    0x50 Probe  "Of the host: say something. Of the device: here I am. It shows what was lost before it."
}

impl Kind {
    /// Whether it is of one session and has a place in its sequence.
    pub(super) const fn is_numbered(self) -> bool {
        matches!(self, Kind::Piece(_) | Kind::Probe)
    }

    const fn takes(self, payload_bytes: usize) -> bool {
        match self {
            Kind::Piece(_) => 0 < payload_bytes && payload_bytes <= FRAME_BYTES_MAX,
            Kind::Open => payload_bytes == SESSION_BYTES,
            Kind::Probe | Kind::Broken => payload_bytes == 0,
        }
    }
}

/// The drawing, as the compiler sees it.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Header {
    sync: u8,
    kind: u8,
    sequence: U16,
    payload_bytes: U16,
    waiting_bytes: U16,
    crc: U32,
}

const _: () = assert!(size_of::<Header>() == FRAME_HEADER_BYTES);

/// What comes before the checksum.
const FIELDS_BYTES: usize = FRAME_HEADER_BYTES - CRC_BYTES;

/// What a header says whose checksum fits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Announced {
    pub(super) kind: Kind,
    pub(super) sequence: u16,
    pub(super) payload_bytes: usize,
    pub(super) waiting_bytes: usize,
}

fn seed(kind: Kind, session: u64) -> u32 {
    if kind.is_numbered() { crc32c::crc32c(&session.to_le_bytes()) } else { 0 }
}

impl Announced {
    /// Reads a header of this session.
    pub(super) fn parse(header: &[u8], session: u64) -> Result<Announced, Fault> {
        let fields = Header::ref_from_bytes(header).expect("the caller has a whole header");
        let kind = Kind::from_number(fields.kind).ok_or(Fault::Frame { field: "kind" })?;
        let crc = crc32c::crc32c_append(seed(kind, session), &header[..FIELDS_BYTES]);
        if fields.sync != SYNC || crc != fields.crc.get() {
            return Err(Fault::Crc);
        }
        let payload_bytes = usize::from(fields.payload_bytes.get());
        if !kind.takes(payload_bytes) {
            return Err(Fault::Frame { field: "payload_bytes" });
        }
        let (sequence, waiting_bytes) = (fields.sequence.get(), fields.waiting_bytes.get().into());
        Ok(Announced { kind, sequence, payload_bytes, waiting_bytes })
    }

    /// The whole frame's length.
    pub(super) fn frame_bytes(&self) -> usize {
        FRAME_HEADER_BYTES + self.payload_bytes + CRC_BYTES
    }
}

/// The payload of a whole frame, if its checksum fits. The header was read and fits.
pub(super) fn payload(frame: &[u8]) -> Result<&[u8], Fault> {
    let (body, crc) = frame.split_at(frame.len() - CRC_BYTES);
    let (header, payload) = body.split_at(FRAME_HEADER_BYTES);
    let begun =
        u32::from_le_bytes(header[FIELDS_BYTES..].try_into().expect("a header ends with its checksum"));
    // The header's checksum covers the session, and this one goes on from there.
    if crc32c::crc32c_append(begun, payload).to_le_bytes() != *crc {
        return Err(Fault::Crc);
    }
    Ok(payload)
}

/// The number of the session that these bytes open, if they are the frame that does.
pub(super) fn opened_session(frame: &[u8]) -> Option<u64> {
    let announced = Announced::parse(frame.get(..FRAME_HEADER_BYTES)?, 0).ok()?;
    if announced.kind != Kind::Open || announced.frame_bytes() != frame.len() {
        return None;
    }
    payload(frame).ok()?.try_into().ok().map(u64::from_le_bytes)
}

/// What each frame that opens a session begins with.
pub(super) fn open_prefix() -> [u8; FIELDS_BYTES] {
    let fields = fields(Kind::Open, 0, SESSION_BYTES, 0);
    fields.as_bytes()[..FIELDS_BYTES].try_into().expect("a header is longer")
}

fn fields(kind: Kind, sequence: u16, payload_bytes: usize, waiting_bytes: usize) -> Header {
    Header {
        sync: SYNC,
        kind: kind.number(),
        sequence: sequence.into(),
        payload_bytes: U16::new(u16::try_from(payload_bytes).expect("the caller cuts")),
        waiting_bytes: U16::new(u16::try_from(waiting_bytes).unwrap_or(u16::MAX)),
        crc: U32::ZERO,
    }
}

/// Bytes for the wire, and which of them are a PDU's.
pub(super) struct Frame {
    pub(super) bytes: Wiped,
    pub(super) pdu_bytes: Range<usize>,
}

impl Frame {
    /// A frame of a session.
    pub(super) fn new(
        kind: Kind,
        session: u64,
        sequence: u16,
        waiting_bytes: usize,
        payload: &[u8],
    ) -> Frame {
        let mut header = fields(kind, sequence, payload.len(), waiting_bytes);
        let crc = crc32c::crc32c_append(seed(kind, session), &header.as_bytes()[..FIELDS_BYTES]);
        header.crc.set(crc);
        // Once, to the exact size: a buffer that grows leaves copies behind.
        let mut bytes = Wiped::new(Vec::with_capacity(FRAME_HEADER_BYTES + payload.len() + CRC_BYTES));
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(payload);
        bytes.extend_from_slice(&crc32c::crc32c_append(crc, payload).to_le_bytes());
        let is_piece = matches!(kind, Kind::Piece(_));
        let to = FRAME_HEADER_BYTES + if is_piece { payload.len() } else { 0 };
        Frame { bytes, pdu_bytes: FRAME_HEADER_BYTES..to }
    }

    /// The frame that opens a session.
    pub(super) fn open(session: u64) -> Frame {
        Frame::new(Kind::Open, session, 0, 0, &session.to_le_bytes())
    }

    /// As many zeros as complete any frame of which the rest was lost, so that its receiver finds that out.
    pub(super) fn filler() -> Frame {
        let bytes = FRAME_HEADER_BYTES + FRAME_BYTES_MAX + CRC_BYTES;
        Frame { bytes: Wiped::new(vec![0; bytes]), pdu_bytes: 0..0 }
    }
}
