//! Every number that bounds what the roof accepts, asserted against each other.
//!
//! Ranges of a deployment's values are written as a deployment writes them, lowest and highest, because they
//! appear in messages. Numbers that follow from a wire format (frame bytes, field widths) are here because a
//! deployment is checked against them; the formats themselves are drawn where their code lives, in
//! `collect::frame`, `firmware/node/frame.h` and `firmware/node/provision.h`.

/// Picoseconds in a second.
pub const PS_PER_SECOND: u64 = 1_000_000_000_000;
/// Picoseconds in a microsecond, the grain of the beacon's times.
pub const PS_PER_US: u64 = 1_000_000;

/// A deployment is written by a person; a larger file is a mistake.
pub const DEPLOYMENT_BYTES_MAX: u64 = 1 << 20;
/// The bytes of a recording that are read at most: a day at 10 kHz fits.
pub const RECORDING_BYTES_MAX: u64 = 8 << 30;
/// Samples of one recording.
pub const RECORDING_SAMPLES_MAX: usize = 1 << 30;

/// Bytes of one file of secrets: a key in PEM has a few hundred.
pub const SECRET_BYTES_MAX: usize = 16 << 10;

/// Cell time of a run: at most 20 days, so that no superframe number and no counter runs out.
pub const DURATION: [&str; 2] = ["1 ms", "480 h"];
/// Where in a recording a node may begin.
pub const START: [&str; 2] = ["0 s", "720 h"];
/// Sampling rates, of recordings and nodes.
pub const RATE: [&str; 2] = ["1 Hz", "100 kHz"];
/// One unit of a recording's raw value.
pub const SCALE: [&str; 2] = ["1 nV", "1 V"];
/// Shorter superframes leave no room for a beacon and its verification; in longer ones a node's clock is
/// disciplined too rarely.
pub const SUPERFRAME: [&str; 2] = ["1 ms", "10 s"];
/// Slot and guard: 16-bit fields of the beacon, in microseconds.
pub const SLOT: [&str; 2] = ["1 us", "65535 us"];
/// The longest slot, in picoseconds.
pub const SLOT_PS_MAX: u64 = 65_535 * PS_PER_US;
/// Superframes in which a node that has joined learns what its crystal's second is, and samples further off.
pub const SETTLED_SUPERFRAMES: u32 = 10;
/// Bit clock of the gateway.
pub const GATEWAY_BUS: [&str; 2] = ["1 kHz", "10 MHz"];
/// Silence after each byte of the gateway.
pub const BYTE_GAP: [&str; 2] = ["0 s", "1 ms"];
/// Probability that a bit is received wrong.
pub const BIT_ERRORS: [&str; 2] = ["0 ppb", "10 %"];
/// Mean time between drop-outs.
pub const DROP_OUT_INTERVAL: [&str; 2] = ["1 ms", "720 h"];
/// Length of a drop-out.
pub const DROP_OUT_DURATION: [&str; 2] = ["1 us", "1 h"];
/// CPU clocks: at the lower end a frame is only just sealed within a superframe; chips have their own upper
/// end below this one.
pub const CLOCK: [&str; 2] = ["1 MHz", "20 MHz"];
/// Crystals of such boards are sold as +-100 ppm or better, and the node's drift estimator is built for that.
pub const DRIFT: [&str; 2] = ["-100 ppm", "+100 ppm"];
/// The same in parts per billion.
pub const DRIFT_PPB_MAX: u32 = 100_000;
/// What a node's other interrupts may add to the start of a conversion.
pub const START_DELAY_CYCLES_MAX: u64 = 300;
/// Where the signal's 0 V lies at the converter.
pub const OFFSET: [&str; 2] = ["0 V", "5.5 V"];
/// Reference of the converter; chips have their own lower end.
pub const REFERENCE: [&str; 2] = ["1 V", "5.5 V"];
/// Amplification in front of the converter, in thousandths.
pub const GAIN_THOUSANDTHS_MAX: u64 = 1_000_000_000;
/// Single-ended inputs of the converter's multiplexer.
pub const CHANNEL_MAX: u64 = 7;
/// Epochs of a node's key: an 8-bit field of the frame.
pub const EPOCHS: u16 = 256;
/// Superframe numbers that one write to the key folder reserves: what a crash skips at most. At the shortest
/// superframe that is one write in a second of cell time.
pub const SUPERFRAME_BLOCK: u32 = 1024;
/// `counter_block` is a 16-bit field of the EEPROM.
pub const COUNTER_BLOCK_MAX: u64 = 65_535;
/// Most frames after which `epoch_frames` lets an epoch end.
pub const EPOCH_FRAMES_MAX: u64 = 65_535;

/// Slots that a beacon can hand out; firmware reserves room for these.
pub const SLOTS_MAX: u8 = 16;
/// Largest node frame, header and tag included.
pub const FRAME_BYTES_MAX: u64 = 256;
/// Clear header of a node frame: version and suite, node, epoch, counter.
pub const FRAME_HEADER_BYTES: u64 = 10;
/// What precedes the samples in the plaintext: kind, first index, count.
pub const SAMPLES_HEADER_BYTES: u64 = 6;
/// One sample on the wire.
pub const SAMPLE_BYTES: u64 = 2;
/// The longest tag of a suite.
pub const TAG_BYTES_MAX: u64 = 16;
/// What fits into a frame with the longest tag: the firmware lets a suite decide nothing else.
pub const SAMPLES_PER_SUPERFRAME_MAX: u64 =
    (NODE_SEND_BYTES_MAX - FRAME_HEADER_BYTES - SAMPLES_HEADER_BYTES - TAG_BYTES_MAX) / SAMPLE_BYTES;
/// The beacon without its slot map: 16 bytes of fields and a 16-byte tag.
pub const BEACON_FIXED_BYTES: u64 = 32;
/// One entry of the beacon's slot map.
pub const BEACON_ENTRY_BYTES: u64 = 4;

/// SPI clock dividers of the AVR: f/2 to f/128 (ATmega128 datasheet, "SPI Control Register").
pub const DIVIDER_MIN: u64 = 2;
/// See [`DIVIDER_MIN`].
pub const DIVIDER_MAX: u64 = 128;
/// An AVR SPI slave follows at most a quarter of its own clock (ATmega128 datasheet, "SPI: Slave Mode").
pub const SLAVE_DIVIDER_MIN: u64 = 4;
/// CPU cycles between two bytes that the node's receiver is written for, 8 * 16 + 2 (`firmware/node/link.h`).
pub const RECEIVE_BYTE_CYCLES_MIN: u64 = 130;

// Numbers of the node's firmware (`firmware/node/limits.h`); `tests/languages.rs` compares them.
/// What a byte costs a node that sends by polling beyond eight bit times.
pub const POLLED_BYTE_OVERHEAD_CYCLES: u64 = 24;
/// By a handler as avr-gcc compiles it.
pub const HANDLED_BYTE_OVERHEAD_CYCLES: u64 = 80;
/// By a handler that was written by hand.
pub const HANDLED_BY_HAND_BYTE_OVERHEAD_CYCLES: u64 = 28;
/// The longest frame that a node sends.
pub const NODE_SEND_BYTES_MAX: u64 = 255;
/// The longest frame that a node takes in.
pub const NODE_RECEIVE_BYTES_MAX: u64 = 96;
/// Between two samples beyond a conversion.
pub const SAMPLE_GAP_CYCLES_MIN: u64 = 1_500;
/// How long before its slot a node wants to have nothing else to do.
pub const SEND_LEAD_CYCLES: u64 = 3_600;
/// With less than this left before its slot a node sends first and verifies the beacon after.
pub const VERIFY_CYCLES_MAX: u64 = 80_000;
/// How long a woven filter asks for the first byte of what comes down.
pub const ASK_CYCLES_MAX: u32 = 4_096;
/// What that byte and the lead of SS take of it.
pub const FIRST_BYTE_CYCLES_MAX: u32 = 800;
/// The longest that a woven filter takes to seal or to open, the line included.
pub const SECURITY_CYCLES_MAX: u64 = 200_000;
/// Static bytes of an image whose filters are two at once by handlers.
pub const HANDLED_STATIC_BYTES_MAX: u64 = 3_200;
/// Static bytes of an image with woven filters.
pub const WOVEN_STATIC_BYTES_MAX: u64 = 3_840;
/// A node and its gateway together may be off by a superframe shifted right by this before their rates are
/// measured; a node whose guard does not cover it stays silent.
pub const DRIFT_SHIFT_UNMEASURED: u32 = 12;

/// Clock of the converter for full resolution (ATmega128 datasheet, "Prescaling and Conversion Timing").
pub const CONVERTER_HZ_MAX: u64 = 200_000;
/// Converter clocks of the longest conversion, the first one.
pub const CONVERSION_CLOCKS_MAX: u64 = 25;

/// Superframes that a cell may run ahead of its receipts; a batch that closes later would never be sent.
pub const WINDOW_SUPERFRAMES: u64 = 16;
/// Plaintext of one batch: the crypto device seals it at once.
pub const BATCH_BYTES_MAX: u64 = broker::limits::PLAINTEXT_BYTES_MAX as u64;
/// What precedes the frames in a batch's plaintext: their count.
pub const BATCH_HEADER_BYTES: u64 = 2;
/// What precedes each frame there.
pub const BATCH_ENTRY_BYTES: u64 = collect::limits::BATCH_ENTRY_BYTES as u64;
/// Plaintext of one batch that goes in a datagram.
pub const DATAGRAM_BATCH_BYTES_MAX: u64 = collect::limits::DATAGRAM_PLAINTEXT_BYTES_MAX as u64;
/// Partitions among which the servers behind NATS share the nodes.
pub const PARTITIONS_MAX: u64 = collect::limits::PARTITIONS_MAX as u64;
/// Threads of the server that open frames.
pub const SHARDS_MAX: u64 = 1_024;
/// Highest priority of a thread under SCHED_FIFO.
pub const PRIORITY_MAX: i64 = 99;
/// Longest deadline from arrival to durable, in microseconds.
pub const DEADLINE_US_MAX: i64 = (collect::limits::DEADLINE_NS_MAX / 1_000) as i64;

const _: () = {
    assert!(BEACON_FIXED_BYTES + BEACON_ENTRY_BYTES * SLOTS_MAX as u64 <= NODE_RECEIVE_BYTES_MAX);
    assert!(NODE_RECEIVE_BYTES_MAX <= FRAME_BYTES_MAX);
    assert!(DIVIDER_MIN.is_power_of_two() && DIVIDER_MAX.is_power_of_two() && DIVIDER_MIN < DIVIDER_MAX);
    assert!(SLAVE_DIVIDER_MIN >= DIVIDER_MIN && WINDOW_SUPERFRAMES > 0 && WINDOW_SUPERFRAMES < 256);
    // One superframe always fits a batch, and what the device seals and opens the server takes and sends.
    assert!(BATCH_HEADER_BYTES + SLOTS_MAX as u64 * (BATCH_ENTRY_BYTES + FRAME_BYTES_MAX) <= BATCH_BYTES_MAX);
    assert!(BATCH_BYTES_MAX <= collect::limits::BATCH_PLAINTEXT_BYTES_MAX as u64);
    assert!(DATAGRAM_BATCH_BYTES_MAX <= BATCH_BYTES_MAX);
    assert!(SLOTS_MAX as u64 * WINDOW_SUPERFRAMES <= collect::limits::BATCH_FRAMES_MAX as u64);
    assert!(collect::limits::RECEIPT_BYTES_MAX <= broker::limits::SEALED_BYTES_MAX as usize);
    assert!(collect::batch::HEADER_BYTES <= broker::limits::PARAMETER_BYTES_MAX as usize);
    assert!(SAMPLES_PER_SUPERFRAME_MAX <= u8::MAX as u64 && COUNTER_BLOCK_MAX == u16::MAX as u64);
};

/// A spool on disk: an hour of a full cell at four superframes a second, a thousand times over.
pub const SPOOL_BYTES_MAX: u64 = 16 << 30;
/// A spool's file; a longer one is closed, and removed when all of it has its receipt.
pub const SPOOL_FILE_BYTES: u64 = 4 << 20;
/// Bytes that a spool keeps for when the disk is full: what says of a file's batches that they have their receipt, and the
/// files of some starts.
pub const SPOOL_RESERVE_BYTES: u64 = 256 << 10;
/// Milliseconds between two looks whether a disk that was full has room.
pub const SPOOL_LOOK_MS: u64 = 1_000;
/// What a device may lose whole when power is cut while it is written: disks are 512e or 4Kn.
pub const SPOOL_SECTOR_BYTES: usize = 4096;
/// Batches that are sent before the first of them has its receipt.
pub const BATCHES_IN_FLIGHT_MAX: usize = 8;
/// Milliseconds that a bridge, asked to end, takes at most to say so to a server that has answered everything.
pub const LEAVE_MS_MAX: u64 = 2_000;
/// Milliseconds between two attempts to reach the broker or the server: at first, and at most.
pub const RETRY_MS_MIN: u64 = 20;
/// See [`RETRY_MS_MIN`].
pub const RETRY_MS_MAX: u64 = 1_000;

/// How many batches a cell runs ahead of the server's receipts. More than one, so that the batch in question is
/// always closed; enough that a server that is as fast as the cell is never waited for.
pub const ANSWER_LAG_BATCHES: u32 = 4;
/// The part of a run that the report's timelines show: two superframes of the usual length, after everyone joined.
pub const TIMELINE_PS: std::ops::Range<u64> = 2 * PS_PER_SECOND..2 * PS_PER_SECOND + PS_PER_SECOND / 2;

/// Seconds that a cell waits for a bridge that it cannot reach.
pub const BRIDGE_LOST_S_MAX: u64 = 120;

/// Seconds that a process of ours has to become ready: a cell's may have images to build first, and filters to weave.
pub const READY_S_MAX: u64 = 120;
/// Seconds that a process of ours has to end after it was asked to.
pub const STOP_S_MAX: u64 = 60;
/// How often a process of ours is started again after a crash.
pub const RESTARTS_MAX: u32 = 100;

const _: () = assert!(SPOOL_FILE_BYTES < SPOOL_BYTES_MAX);
// A batch takes a sector, and the record that it is freed less than a sixty-fourth of one.
const _: () = assert!(SPOOL_RESERVE_BYTES > SPOOL_FILE_BYTES / 64 + 16 * SPOOL_SECTOR_BYTES as u64);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::quantity::{self, DURATION as TIME, Dimension, FREQUENCY};

    fn grains([min, max]: [&str; 2], dimension: &Dimension) -> [i128; 2] {
        [min, max].map(|bound| quantity::parse(bound, dimension).expect("a limit is a quantity"))
    }

    #[test]
    fn times_fit_the_fields_that_carry_them() {
        let us = i128::from(PS_PER_US);
        assert!(grains(SLOT, &TIME)[1] == i128::from(u16::MAX) * us);
        assert!(grains(SUPERFRAME, &TIME)[1] <= i128::from(u32::MAX) * us);
        assert!(grains(SLOT, &TIME)[1] < grains(SUPERFRAME, &TIME)[1]);
        // Sums and small multiples of picoseconds stay clear of overflow.
        assert!(grains(DURATION, &TIME)[1] < i128::from(i64::MAX) / 2);
        assert!(grains(START, &TIME)[1] < i128::from(i64::MAX) / 2);
    }

    #[test]
    fn a_superframe_number_and_a_counter_outlast_a_run() {
        let superframes = grains(DURATION, &TIME)[1] / grains(SUPERFRAME, &TIME)[0];
        assert!(superframes < 1 << 31);
    }

    #[test]
    fn clocks_fit_the_field_that_carries_them() {
        assert!(grains(CLOCK, &FREQUENCY)[1] <= i128::from(u32::MAX));
        let highest = crate::link::CHIPS.iter().map(|chip| i128::from(chip.clock_hz_max)).max();
        assert_eq!(Some(grains(CLOCK, &FREQUENCY)[1]), highest);
    }
}
