//! Frames that wait for the wire, and the stream of bytes that they are.

use std::collections::VecDeque;

use super::frame::Frame;

/// Frames in their order, and how far the wire has come.
#[derive(Default)]
pub(super) struct Outbox {
    frames: VecDeque<Frame>,
    /// What of the first one has gone.
    gone_bytes: usize,
    /// Bytes that were ever put in, and that have ever gone.
    pub(super) put_total: u64,
    pub(super) gone_total: u64,
}

impl Outbox {
    /// Puts a frame behind the others.
    pub(super) fn put(&mut self, frame: Frame) {
        self.put_total += frame.bytes.len() as u64;
        self.frames.push_back(frame);
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Bytes that wait.
    pub(super) fn len(&self) -> usize {
        (self.put_total - self.gone_total) as usize
    }

    /// Appends at most `room_bytes` of the stream to `wire`, and says how many of them are a PDU's.
    pub(super) fn go(&mut self, room_bytes: usize, wire: &mut Vec<u8>) -> usize {
        let (mut room_bytes, mut pdu_bytes) = (room_bytes, 0);
        while let Some(first) = self.frames.front().filter(|_| room_bytes > 0) {
            let (from, all) = (self.gone_bytes, first.bytes.len());
            let to = all.min(from + room_bytes);
            wire.extend_from_slice(&first.bytes[from..to]);
            pdu_bytes += to.min(first.pdu_bytes.end).saturating_sub(from.max(first.pdu_bytes.start));
            room_bytes -= to - from;
            self.gone_total += (to - from) as u64;
            self.gone_bytes = to;
            if to == all {
                self.frames.pop_front();
                self.gone_bytes = 0;
            }
        }
        pdu_bytes
    }
}
