//! Every number that bounds the collector, and the proof that the numbers fit each other.
//!
//! A limit that follows from the layout of a frame or a batch is a constant. A limit that a deployment may
//! choose is a field of [`Limits`], whose defaults are checked by [`Limits::check`] like any other choice.

use std::time::Duration;

use crate::batch::{ANSWER_HEADER_BYTES, NONCE_BYTES, RECEIPT_HEAD_BYTES, TAG_BYTES};
use crate::error::Error;

/// Longest frame of a node of a bus in bytes: one TDMA slot carries no more.
pub const SLOT_FRAME_BYTES_MAX: usize = 256;
/// Longest frame in bytes: 2,000 samples of eight bytes with what is around them.
pub const FRAME_BYTES_MAX: usize = 16 << 10;
/// Clear header of a node frame in bytes.
pub const FRAME_HEADER_BYTES: usize = 10;
/// Longest tag of a node suite in bytes.
pub const TAG_BYTES_MAX: usize = 16;
/// Bytes of an uplink plaintext before its codes of a converter.
pub const SAMPLES_HEADER_BYTES: usize = 6;
/// Most codes that fit one slot's frame, with the shortest tag (8 bytes, CCM).
pub const SAMPLES_MAX: usize = (SLOT_FRAME_BYTES_MAX - FRAME_HEADER_BYTES - 8 - SAMPLES_HEADER_BYTES) / 2;
/// Bytes of an uplink plaintext before its waveform.
pub const WAVEFORM_HEADER_BYTES: usize = 10;
/// Most bytes of samples of one frame, with the shortest tag.
pub const WAVEFORM_BYTES_MAX: usize = FRAME_BYTES_MAX - FRAME_HEADER_BYTES - 8 - WAVEFORM_HEADER_BYTES;
/// Counts use the low 31 bits of the counter field.
pub const COUNT_MAX: u32 = 0x7fff_ffff;

/// Most frames of one batch. A cell has at most 16 slots, so this is 32 superframes in one batch; and its receipt, with the
/// longest downlink for each of them, is what a crypto device opens at once.
pub const BATCH_FRAMES_MAX: usize = 512;
/// Bytes of a batch's plaintext before each frame: superframe, slot, arrival at the bridge, length.
pub const BATCH_ENTRY_BYTES: usize = 4 + 1 + 8 + 2;
/// Longest plaintext of a batch in bytes: as many frames of a bus as a batch may have, or 64 waveforms of 4 KiB.
pub const BATCH_PLAINTEXT_BYTES_MAX: usize = 320 << 10;
/// Longest message on a connection in bytes: kind, header, nonce, sealed plaintext, tag.
pub const MESSAGE_BYTES_MAX: usize = 1 + 20 + 12 + BATCH_PLAINTEXT_BYTES_MAX + 16;
/// Longest request or reply on the control socket in bytes: each of 10,000 nodes with what it is told.
pub const CONTROL_BYTES_MAX: u64 = 4 << 20;
/// Bytes that are read and forgotten when a connection is closed.
pub const LINGER_BYTES_MAX: u64 = 16 * MESSAGE_BYTES_MAX as u64;
/// Highest ADC channel that a frame can name: eight inputs.
pub const CHANNEL_MAX: u8 = 7;
/// Plaintext of a setting in bytes: kind, acknowledged count, first sample, channel, stride.
pub const SETTING_BYTES: usize = 1 + 4 + 4 + 1 + 1;
/// Plaintext of a change of the epoch in bytes: kind, acknowledged count, epoch, key, iv.
pub const CHANGE_BYTES: usize = 1 + 4 + 1 + 16 + 16;
/// Longest downlink frame in bytes: a change of the epoch, with the longest tag.
pub const DOWNLINK_BYTES_MAX: usize = FRAME_HEADER_BYTES + CHANGE_BYTES + TAG_BYTES_MAX;
/// Bytes of a receipt for each reason why frames will never be stored: status, frames.
pub const RECEIPT_REASON_BYTES: usize = 2 + 2;
/// Most bytes of a receipt for each frame of its batch: it is answered with a downlink, or counted under a reason.
pub const RECEIPT_FRAME_BYTES_MAX: usize = 2 + DOWNLINK_BYTES_MAX;
/// Bytes of a receipt message that says nothing of any frame: kind, header, nonce, plaintext, tag.
pub const RECEIPT_EMPTY_BYTES: usize = 1 + 18 + 12 + 36 + 16;
/// Longest receipt message in bytes.
pub const RECEIPT_BYTES_MAX: usize = RECEIPT_EMPTY_BYTES + BATCH_FRAMES_MAX * RECEIPT_FRAME_BYTES_MAX;

/// Bytes of a stored frame's record before its samples.
pub const RECORD_HEAD_BYTES: usize = 72;
/// Longest sealed body of a log record in bytes: the fields of a stored frame and its samples.
pub const RECORD_BODY_BYTES_MAX: usize = RECORD_HEAD_BYTES + WAVEFORM_BYTES_MAX;
/// Longest datagram over IPv4 in bytes.
pub const DATAGRAM_BYTES_MAX: usize = 65_535 - 20 - 8;
/// Longest plaintext of a batch that one datagram carries.
pub const DATAGRAM_PLAINTEXT_BYTES_MAX: usize =
    DATAGRAM_BYTES_MAX - (MESSAGE_BYTES_MAX - BATCH_PLAINTEXT_BYTES_MAX) - 4;
/// Milliseconds after which a batch without a receipt is sent again in another datagram: at first, and doubled each
/// time, at most. Who has not measured a path waits a second (RFC 8085 section 3.1.1).
pub const RESEND_MS: (u64, u64) = (1_000, 30_000);

/// Milliseconds after which a batch that the cluster of NATS has is published again when no receipt comes: at first, and
/// doubled each time, at most. A receipt is seldom lost, and a server that is away has it after it comes back.
pub const RECEIPT_MS: (u64, u64) = (15_000, 300_000);
/// Pause after something could not be accepted: descriptors are short, or a socket is broken for good, and neither may
/// make the server spin.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(10);
/// Pause after no datagram could be received; it is shorter, since a socket of datagrams keeps little meanwhile.
pub const RECEIVE_PAUSE: Duration = Duration::from_millis(1);
/// Pause after the cluster of NATS could not hand out anything.
pub const NATS_FETCH_PAUSE: Duration = Duration::from_millis(200);
/// Pause before the next look for a cluster that is not there yet, or has no stream.
pub const NATS_START_PAUSE: Duration = Duration::from_millis(100);
/// Pause before a replica that was behind is asked again for a number.
pub const NATS_BEHIND_PAUSE: Duration = Duration::from_millis(5);
/// Milliseconds that a request to the cluster may take.
pub const NATS_REQUEST_MS_MAX: u64 = 5_000;
/// Milliseconds for which a server waits at its start for a cluster that is not there yet.
pub const NATS_START_MS_MAX: u64 = 30_000;
/// Bytes that the cluster holds of batches; then it refuses more, and they wait in the spools of the bridges.
pub const NATS_STREAM_BYTES_MAX: u64 = 1 << 30;
/// Lease times in which a batch that was handed to a server must be acknowledged, or it is handed out again: whoever is
/// silent for so long has lost the lease. A sync is faster.
pub const NATS_ACKNOWLEDGE_LEASES: u32 = 2;
/// For how long a batch may wait, stored and answered, for others that are acknowledged with it. Each of the three servers
/// syncs what its log of a consumer is told, and what is told together it syncs once: `selvedge collect bench nats` stores
/// 0.76 of what a consumer reaches that does not store when each goes by itself, 0.80 with 100 ms, 0.83 with 400.
pub const NATS_ACKNOWLEDGE_PAUSE: Duration = Duration::from_millis(400);
/// Batches that wait so at most: a quarter of those that the cluster hands out unacknowledged
/// ([`Limits::group_batches_max`]).
pub const NATS_ACKNOWLEDGE_BATCHES_MAX: usize = 64;
/// Milliseconds after which a batch is handed out again for which a disk was full.
pub const NATS_DISK_FULL_MS: u64 = 5_000;
/// Most partitions.
pub const PARTITIONS_MAX: u16 = 256;

/// Bytes of a record around its body: length, tag.
pub const RECORD_OVERHEAD_BYTES: usize = 4 + 16;
/// Longest record in the log in bytes.
pub const RECORD_BYTES_MAX: usize = RECORD_BODY_BYTES_MAX + RECORD_OVERHEAD_BYTES;
/// Longest record in bytes of what joins a group beside its frames: an order.
pub const SMALL_RECORD_BYTES_MAX: usize = 12 + RECORD_OVERHEAD_BYTES;

/// Nanoseconds after which a group notes what the store's clock says: who ends without a word takes no more of it along.
pub const CLOCK_NOTE_NS: u64 = 60_000_000_000;

/// How often a store's names are listed while one of them is gone when it is read. Each time its writer has removed a
/// segment meanwhile, which takes a sync at least; a name that is there and never a file ends with the error.
pub const LISTINGS_MAX: usize = 64;

/// Most ranges of stored counters that may be remembered: a segment begins with them, eight bytes each, and has half of its
/// longest file for that.
pub const COUNTER_RANGES_MAX: u64 = SEGMENT_FILE_BYTES_MAX / 2 / 16;

/// Longest segment file in bytes: half of it for what it begins with.
pub const SEGMENT_FILE_BYTES_MAX: u64 = 4 << 30;

/// Samples that are kept of a node that somebody looks at.
pub const LIVE_SAMPLES_MAX: usize = 2048;
/// Columns that they are drawn in.
pub const LIVE_COLUMNS_MAX: usize = 480;
/// Nodes whose samples are kept at once: more than a screen has room for.
pub const LIVE_NODES_MAX: usize = 64;
/// People who wait to look, and metrics.
pub const LIVE_LOOKS_MAX: usize = 16;
/// Milliseconds between two snapshots, at least.
pub const LIVE_MS_MIN: u64 = 250;
/// Milliseconds for which somebody who has looked at a node is taken to look at it still: a page pauses for two seconds at
/// most, and may wait five for its answer.
pub const LIVE_WANTED_MS: u64 = 8_000;
/// Milliseconds between two totals that are kept.
pub const LIVE_TICK_MS: u64 = 1_000;
/// Totals that are kept: those of ten minutes.
pub const LIVE_PAST_MAX: usize = 600;
/// A node is silent after so many superframes, twice those of the longest batch, or after so many milliseconds.
pub const SILENT_SUPERFRAMES: u64 = 32;
/// See [`SILENT_SUPERFRAMES`].
pub const SILENT_MS_MIN: u64 = 10_000;

/// Bytes of records that an export sorts in memory; more are put aside in files.
pub const SORT_BYTES_MAX: usize = 64 << 20;
/// Files of one level that an export has put aside before they are merged into one: each takes a descriptor and a buffer.
pub const SORT_FILES_MAX: usize = 32;
/// Longest entry that is sorted in bytes: a record and its place.
pub const SORT_ENTRY_BYTES_MAX: usize = RECORD_BODY_BYTES_MAX + 64;
/// Rows of a Parquet row group.
pub const EXPORT_ROWS_MAX: usize = 1 << 16;
/// Bytes of a chunk of an HDF5 dataset.
pub const EXPORT_CHUNK_BYTES: usize = 64 << 10;
/// Bytes of values after which a TDMS segment ends.
pub const EXPORT_SEGMENT_BYTES: usize = 1 << 20;

// The frame layout must hold the largest samples field, and one byte must count it.
const _: () = assert!(SAMPLES_MAX <= u8::MAX as usize);
const _: () =
    assert!(2 + BATCH_FRAMES_MAX * (BATCH_ENTRY_BYTES + SLOT_FRAME_BYTES_MAX) <= BATCH_PLAINTEXT_BYTES_MAX);
const _: () = assert!(2 + BATCH_ENTRY_BYTES + FRAME_BYTES_MAX <= BATCH_PLAINTEXT_BYTES_MAX);
// Frame lengths, frame counts and downlink counts travel as 16 bits.
const _: () = assert!(FRAME_BYTES_MAX <= u16::MAX as usize);
const _: () = assert!(BATCH_FRAMES_MAX <= u16::MAX as usize);
// Both directions fit the 32-bit length before a message.
const _: () = assert!(MESSAGE_BYTES_MAX <= u32::MAX as usize);
const _: () = assert!(RECEIPT_BYTES_MAX <= MESSAGE_BYTES_MAX);
const _: () = assert!(DOWNLINK_BYTES_MAX <= SLOT_FRAME_BYTES_MAX);
const _: () = assert!(RECEIPT_REASON_BYTES <= RECEIPT_FRAME_BYTES_MAX);
const _: () =
    assert!(RECEIPT_EMPTY_BYTES == 1 + ANSWER_HEADER_BYTES + NONCE_BYTES + RECEIPT_HEAD_BYTES + TAG_BYTES);

/// What a deployment may choose. [`Limits::default`] is the sourced choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bridges served at once; a further one is refused after its hello.
    pub connections_max: usize,
    /// Connections that have not said hello yet; for a further one the oldest of them is closed. They are nobody's so
    /// far, and take nothing from the bridges that are served.
    pub handshakes_max: usize,
    /// Batches of one connection that wait for their answer; then the connection is not read (TCP pushes
    /// back).
    pub connection_batches_max: usize,
    /// Batches of all connections that wait to be opened.
    pub queue_batches_max: usize,
    /// Frames of one batch; a larger batch is refused.
    pub batch_frames_max: usize,
    /// Bytes of one batch's plaintext; a larger batch is refused.
    pub batch_bytes_max: usize,
    /// Batches that are opened, or committed, together.
    pub group_batches_max: usize,
    /// A group is closed when its records reach this many bytes. It is that long only when batches wait, and then 1 MiB
    /// stores the most: `docs/collect.md` has other sizes.
    pub group_bytes_max: usize,
    /// A segment is closed when its groups, without what it begins with, would pass this many bytes.
    pub segment_bytes_max: u64,
    /// Oldest segments are removed when all of them would have more bytes than this, a spare with them if it is at least
    /// four times a segment.
    pub retain_bytes_max: u64,
    /// Segments are removed so long after their end, in nanoseconds in which somebody had the store open.
    pub retain_ns_max: u64,
    /// Alignment of groups in bytes: the unit that a device may lose whole when power is cut while it is
    /// written. 4096 covers disks of both kinds (512e and 4Kn).
    pub sector_bytes: usize,
    /// Ranges of stored counters that are remembered, of all nodes and epochs together: each lost frame begins one. When
    /// there are more, the lowest of the node and epoch that has the most are forgotten. One takes about 20 bytes of memory
    /// (`cargo test -p collect --test memory` says how many), and eight at the begin of each segment: with all of them that
    /// is twice a segment, and as much is written again with each.
    pub counter_ranges_max: usize,
    /// Downlink counters reserved by one record of the log.
    pub downlink_block: u32,
    /// Milliseconds after which a group moves the note of how far the store has come ([`anchor`](crate::anchor)). A note
    /// takes one more sync of data, in place: with one for each group a disk makes half as many groups, and one a second is
    /// about a thousandth of its time.
    pub anchor_ms_max: u64,
    /// Milliseconds for a TLS handshake and for the hello that follows.
    pub handshake_ms_max: u64,
    /// Milliseconds without any message after which a connection is closed.
    pub idle_ms_max: u64,
    /// Milliseconds that a peer may take to read its answers.
    pub write_ms_max: u64,
    /// Milliseconds for which a connection that is closed is still read.
    pub linger_ms_max: u64,
    /// Milliseconds that the batches in flight are given at shutdown.
    pub drain_ms_max: u64,
    /// Milliseconds after which a partition's lease that nobody renews may be taken by another server.
    pub lease_ms: u64,
    /// Threads that open frames; 0 = one for each core.
    pub shards: usize,
    /// Nanoseconds from the arrival of a batch until it should be durable: who is later is counted, and answered all the
    /// same. `None` = it is not counted.
    pub deadline_ns: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections_max: 256,
            handshakes_max: 64,
            connection_batches_max: 32,
            queue_batches_max: 1024,
            batch_frames_max: BATCH_FRAMES_MAX,
            batch_bytes_max: BATCH_PLAINTEXT_BYTES_MAX,
            group_batches_max: 256,
            group_bytes_max: 1 << 20,
            segment_bytes_max: 64 << 20,
            retain_bytes_max: u64::MAX,
            retain_ns_max: u64::MAX,
            sector_bytes: 4096,
            counter_ranges_max: 1 << 24,
            downlink_block: 256,
            anchor_ms_max: 1_000,
            handshake_ms_max: 10_000,
            idle_ms_max: 300_000,
            write_ms_max: 30_000,
            linger_ms_max: 2_000,
            drain_ms_max: 30_000,
            lease_ms: 6_000,
            shards: 0,
            deadline_ns: None,
        }
    }
}

/// Bytes that the heaps of all threads are filled with before these begin, where memory is locked; two threads for each core and
/// four more have a share each. While a disk is away four bridges may wait with 32 batches of 64 frames of 4 KiB each: as
/// messages, as plaintexts and as records, 32 MiB each time. With 16 MiB for each thread a soak grew by up to 10 %, with
/// 35 MiB by nothing (`selvedge collect bench soak --lock-memory`).
pub const HEAP_FILLED_BYTES: usize = 280 << 20;
/// In pieces of so many bytes, each short enough for the heap.
pub const HEAP_CHUNK_BYTES: usize = 64 << 10;

/// Sectors are a power of two between these.
pub const SECTOR_BYTES: std::ops::RangeInclusive<usize> = 512..=65_536;
/// Longest deadline in nanoseconds: a minute.
pub const DEADLINE_NS_MAX: u64 = 60_000_000_000;
/// More threads than this are a mistake in the deployment.
pub const SHARDS_MAX: usize = 1024;

impl Limits {
    /// Longest group in bytes: the threshold may be passed by one batch (its records, its reservations, the
    /// padding to a sector).
    pub fn group_bytes_hard(&self) -> u64 {
        // What a frame is around its samples is in its record's place; each may need a reservation, a change and an order.
        let around = RECORD_HEAD_BYTES + RECORD_OVERHEAD_BYTES + 3 * SMALL_RECORD_BYTES_MAX;
        let batch = self.batch_bytes_max + self.batch_frames_max * around;
        // And what the store's clock says.
        (self.group_bytes_max + batch + SMALL_RECORD_BYTES_MAX + 2 * self.sector_bytes) as u64
    }

    /// Refuses limits that contradict each other.
    pub fn check(&self) -> Result<(), Error> {
        let refuse = |name, found: u64, low: u64, high: u64| {
            if (low..=high).contains(&found) { Ok(()) } else { Err(Error::Limit { name, found, low, high }) }
        };
        let (low, high) = (*SECTOR_BYTES.start() as u64, *SECTOR_BYTES.end() as u64);
        refuse("sector_bytes", self.sector_bytes as u64, low, high)?;
        refuse("sector_bytes (bits set)", u64::from(self.sector_bytes.count_ones()), 1, 1)?;
        refuse("group_bytes_max", self.group_bytes_max as u64, 1, 64 << 20)?;
        refuse("batch_frames_max", self.batch_frames_max as u64, 1, BATCH_FRAMES_MAX as u64)?;
        refuse("batch_bytes_max", self.batch_bytes_max as u64, 1, BATCH_PLAINTEXT_BYTES_MAX as u64)?;
        let segment_low = self.group_bytes_hard() + self.sector_bytes as u64;
        refuse("segment_bytes_max", self.segment_bytes_max, segment_low, SEGMENT_FILE_BYTES_MAX / 2)?;
        refuse("retain_bytes_max", self.retain_bytes_max, 2 * self.segment_bytes_max, u64::MAX)?;
        refuse("connections_max", self.connections_max as u64, 1, 65_536)?;
        refuse("handshakes_max", self.handshakes_max as u64, 1, 65_536)?;
        refuse(
            "connection_batches_max",
            self.connection_batches_max as u64,
            1,
            self.queue_batches_max as u64,
        )?;
        refuse("group_batches_max", self.group_batches_max as u64, 1, self.queue_batches_max as u64)?;
        refuse("counter_ranges_max", self.counter_ranges_max as u64, 1, COUNTER_RANGES_MAX)?;
        refuse("downlink_block", u64::from(self.downlink_block), 1, 1 << 20)?;
        refuse("handshake_ms_max", self.handshake_ms_max, 1, self.idle_ms_max)?;
        refuse("lease_ms", self.lease_ms, 100, 600_000)?;
        refuse("deadline_ns", self.deadline_ns.unwrap_or(1), 1, DEADLINE_NS_MAX)?;
        refuse("shards", self.shards as u64, 0, SHARDS_MAX as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_agree_with_each_other() {
        Limits::default().check().unwrap();
    }

    #[test]
    fn a_segment_that_cannot_hold_one_group_is_refused() {
        let limits = Limits { segment_bytes_max: 4096, ..Limits::default() };
        assert!(matches!(limits.check(), Err(Error::Limit { name: "segment_bytes_max", .. })));
    }

    #[test]
    fn a_sector_that_is_no_power_of_two_is_refused() {
        let limits = Limits { sector_bytes: 1000, ..Limits::default() };
        assert!(matches!(limits.check(), Err(Error::Limit { .. })));
    }
}
