//! How long a node's firmware takes from the last sample of a superframe to a frame that can be sent, and from there
//! to the sampling of the next one.
//!
//! Owns the cost of each suite, one line each, and the order of `firmware/node/main.c` in which the costs add up:
//! the samples of a superframe are sealed when the last of them is converted and the downlink slot is over, while
//! the next superframe's samples and its beacon come in by interrupt; then the frame is sent; then, when the slot
//! was near, the beacon is verified; then the sampler gets the next superframe.
//!
//! Where filters are two at once the samples are sealed a slot earlier, beside the frame before theirs and until that is done:
//! that order is here. What came down may be opened there instead, which takes no longer, and the samples are sealed
//! beside what comes down next; the sampler gets the next superframe behind that. No deployment is checked for the
//! latter: the firmware does it only where the next beacon is `SECURITY_CYCLES_MAX` away, which no frame takes longer
//! than (a test here), and keeps to the former elsewhere. What a deployment must be for it is `schedule`'s.
//!
//! Invariant: the firmware takes at most what is said here, and not less than seven tenths of it; a test measures
//! the real image on both chips.

use cipher::Suite;

use super::filters::Filters;
use crate::limits::{
    BEACON_ENTRY_BYTES, BEACON_FIXED_BYTES, CONVERTER_HZ_MAX, FRAME_HEADER_BYTES, PS_PER_SECOND,
    SAMPLE_BYTES, SAMPLES_HEADER_BYTES, SEND_LEAD_CYCLES, VERIFY_CYCLES_MAX,
};

/// What one suite costs on an AVR; both chips take the same cycles.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// The suite.
    pub suite: Suite,
    /// Which of its variants is in the node's image (`firmware/node/suite.h`).
    pub variant: &'static str,
    /// Of a frame without text.
    pub fixed_cycles: u64,
    /// Of each begun block of [`BLOCK_BYTES`].
    pub block_cycles: u64,
}

/// Bytes that either suite takes at a time.
pub const BLOCK_BYTES: u64 = 16;

/// Every suite of the node link. About a twentieth more than what is measured where nothing interrupts.
pub static COSTS: [Cost; 2] = [
    Cost {
        suite: Suite::AsconAead128,
        variant: "ascon_aead128_avr",
        fixed_cycles: 21_000,
        block_cycles: 5_200,
    },
    Cost { suite: Suite::Aes128Ccm, variant: "aes128_ccm_avr", fixed_cycles: 14_900, block_cycles: 6_500 },
];

/// A sample that is taken meanwhile: the interrupt that starts it and the one that collects it.
pub const SAMPLE_CYCLES: u64 = 550;
/// A byte that is received meanwhile.
pub const RECEIVED_BYTE_CYCLES: u64 = 60;
/// From the verdict on a beacon to the next superframe's first instant at the latest: the grid is worked out, and the
/// sampler wants it a lead before (`firmware/node/sampler.c`).
const ARM_CYCLES: u64 = 6_000;
/// Converter clocks from the hold of a sample to its code, and from being started to the hold (datasheet, "ADC
/// Conversion Time", first conversion: 25 and 13.5), rounded up.
const CONVERT_CLOCKS: u64 = 12;
/// See [`CONVERT_CLOCKS`].
const HOLD_CLOCKS: u64 = 15;
/// What the server tells a node: that a frame is stored (`firmware/node/downlink.h`).
const ACKNOWLEDGE_BYTES: u64 = 5;
/// The tag of a beacon.
const BEACON_TAG_BYTES: u64 = 16;

/// Bytes of what comes down to a node.
pub fn heard_bytes(suite: Suite) -> u64 {
    FRAME_HEADER_BYTES + ACKNOWLEDGE_BYTES + suite.row().tag_bytes as u64
}

/// Cycles to seal or open `text_bytes` bytes while nothing interrupts.
///
/// # Panics
/// For a suite that is not of the node link, which no deployment can name.
pub fn undisturbed_cycles(suite: Suite, text_bytes: u64) -> u64 {
    let cost =
        COSTS.iter().find(|cost| cost.suite == suite).expect("every suite of the node link has a line");
    cost.fixed_cycles + cost.block_cycles * text_bytes.div_ceil(BLOCK_BYTES)
}

/// Cycles that `busy_cycles` of work take while a sample is taken every `step_cycles`.
///
/// # Panics
/// When sampling leaves no time for anything else.
pub fn disturbed_cycles(busy_cycles: u64, step_cycles: u64) -> u64 {
    assert!(step_cycles > SAMPLE_CYCLES, "sampling every {step_cycles} cycles is all that a node does");
    ((busy_cycles + SAMPLE_CYCLES) * step_cycles).div_ceil(step_cycles - SAMPLE_CYCLES)
}

/// Divider of the converter's clock: the fastest at which all its bits are right.
pub fn converter_divider(clock_hz: u64) -> u64 {
    let mut divider = 2;
    while clock_hz / divider > CONVERTER_HZ_MAX {
        divider *= 2;
    }
    divider
}

/// What decides when one node has done what.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// The node's suite.
    pub suite: Suite,
    /// Samples in a frame.
    pub samples: u64,
    /// Its chip's ([`super::chip::Chip`]).
    pub collect_cycles: u64,
    /// Nominal clock.
    pub clock_hz: u64,
    /// Error of its crystal.
    pub drift_ppb: i64,
    /// SPI clock divider of its transmissions.
    pub divider: u64,
    /// How its filters are made.
    pub filters: Filters,
    /// The node's slot.
    pub slot: u64,
    /// Highest slot of a node in the cell; the downlink's is the next.
    pub slots_used: u64,
    /// Period of the beacon.
    pub superframe_ps: u64,
    /// Length of a slot.
    pub slot_ps: u64,
    /// Silence at the start of a slot.
    pub guard_ps: u64,
    /// Time of one byte that the gateway sends.
    pub gateway_byte_ps: u64,
}

impl Work {
    /// When the frame can be sent, in picoseconds from the start of the superframe that it is sent in; negative when
    /// that is before its start.
    pub fn ready_ps(&self) -> i64 {
        if self.filters.are_beside() {
            let begun_ps = self.start_ps() as i64 - self.superframe_ps as i64;
            return begun_ps + self.span_ps(self.disturbed(self.send_cycles() + self.seal_cycles())) as i64;
        }
        let step_ps = self.superframe_ps / self.samples;
        let convert = CONVERT_CLOCKS * converter_divider(self.clock_hz) + self.collect_cycles;
        let filled_ps = self.span_ps(convert) as i64 - step_ps as i64;
        let begin_ps = filled_ps.max(self.free_ps());
        let seal = self.seal_cycles() + RECEIVED_BYTE_CYCLES * self.beacon_bytes();
        begin_ps + self.span_ps(self.disturbed(seal) + SEND_LEAD_CYCLES) as i64
    }

    /// When the node's transmission begins, if the frame is ready.
    pub fn start_ps(&self) -> u64 {
        self.slot * self.slot_ps + self.guard_ps
    }

    /// The latest that it can begin and still end a guard before the slot does: a frame that is ready after its
    /// slot's start is sent at once. Negative in a slot that it does not fit.
    pub fn latest_start_ps(&self) -> i64 {
        let end_ps = (self.slot + 1) * self.slot_ps - self.guard_ps;
        end_ps as i64 - self.span_ps(self.send_cycles()) as i64
    }

    /// When the sampler has what it needs for the next superframe, at the latest.
    pub fn armed_ps(&self) -> u64 {
        let heard_ps = self.beacon_bytes() * self.gateway_byte_ps;
        let decides_ps = self.ready_ps().max(heard_ps as i64) + self.span_ps(VERIFY_CYCLES_MAX) as i64;
        let covered_bytes = self.beacon_bytes() - BEACON_TAG_BYTES;
        let verify = if decides_ps > self.start_ps() as i64 {
            undisturbed_cycles(Suite::AsconAead128, covered_bytes)
        } else {
            0
        };
        let hold = HOLD_CLOCKS * converter_divider(self.clock_hz);
        let seal = if self.filters.are_beside() { self.seal_cycles() } else { 0 };
        let begins_ps = self.ready_ps().max(self.start_ps() as i64) as u64;
        begins_ps + self.span_ps(self.disturbed(self.send_cycles() + seal + verify) + ARM_CYCLES + hold)
    }

    /// When the node can listen to the downlink, at the latest, where what it seals beside its frame keeps it from that.
    pub fn free_after_ps(&self) -> u64 {
        let seal = if self.filters.are_beside() { self.seal_cycles() } else { 0 };
        self.start_ps() + self.span_ps(self.disturbed(self.send_cycles() + seal) + ARM_CYCLES)
    }

    /// When the downlink slot begins.
    pub fn downlink_ps(&self) -> u64 {
        (self.slots_used + 1) * self.slot_ps
    }

    /// Whether the node sends the samples of every superframe, and hears what comes down.
    pub fn is_in_time(&self) -> bool {
        self.ready_ps() <= self.latest_start_ps()
            && self.armed_ps() <= self.superframe_ps
            && (!self.filters.are_beside() || self.free_after_ps() <= self.downlink_ps())
    }

    /// When the downlink slot of the superframe before is over for the node, an acknowledgement opened.
    fn free_ps(&self) -> i64 {
        let downlink_ps = self.downlink_ps();
        let bytes = heard_bytes(self.suite);
        let open = self.disturbed(undisturbed_cycles(self.suite, ACKNOWLEDGE_BYTES));
        let opened_ps = downlink_ps + self.guard_ps + bytes * self.gateway_byte_ps + self.span_ps(open);
        (downlink_ps + self.slot_ps).max(opened_ps) as i64 - self.superframe_ps as i64
    }

    fn seal_cycles(&self) -> u64 {
        undisturbed_cycles(self.suite, SAMPLES_HEADER_BYTES + SAMPLE_BYTES * self.samples)
    }

    fn send_cycles(&self) -> u64 {
        let bytes = FRAME_HEADER_BYTES
            + SAMPLES_HEADER_BYTES
            + SAMPLE_BYTES * self.samples
            + self.suite.row().tag_bytes as u64;
        bytes * self.filters.byte_cycles(self.divider)
    }

    fn beacon_bytes(&self) -> u64 {
        BEACON_FIXED_BYTES + BEACON_ENTRY_BYTES * self.slots_used
    }

    fn disturbed(&self, busy_cycles: u64) -> u64 {
        let step_ps = u128::from(self.superframe_ps / self.samples);
        let step_cycles = step_ps * u128::from(self.clock_hz) / u128::from(PS_PER_SECOND);
        disturbed_cycles(busy_cycles, step_cycles as u64)
    }

    /// Cycles of the node's crystal at its slowest, as time.
    fn span_ps(&self, cycles: u64) -> u64 {
        let billion = 1_000_000_000_u128;
        let ps = u128::from(cycles)
            * u128::from(PS_PER_SECOND)
            * (billion + u128::from(self.drift_ppb.unsigned_abs()));
        ps.div_ceil(u128::from(self.clock_hz) * billion) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{
        ASK_CYCLES_MAX, CONVERSION_CLOCKS_MAX, FIRST_BYTE_CYCLES_MAX, NODE_SEND_BYTES_MAX,
        SAMPLE_GAP_CYCLES_MIN, SECURITY_CYCLES_MAX,
    };

    /// The example's fourth node under `suite`, in superframes that hold `samples` at 360 Hz.
    fn work(suite: Suite, samples: u64) -> Work {
        Work {
            suite,
            samples,
            collect_cycles: 1_400,
            clock_hz: 8_000_000,
            drift_ppb: -95_000,
            divider: 16,
            filters: Filters::Discrete,
            slot: 4,
            slots_used: 4,
            superframe_ps: samples * PS_PER_SECOND / 360,
            slot_ps: 4_000_000_000,
            guard_ps: 300_000_000,
            gateway_byte_ps: 16_250_000,
        }
    }

    #[test]
    fn every_suite_of_the_node_link_has_one_line() {
        for row in cipher::suites::SUITES.iter().filter(|row| row.node_number.is_some() && !row.is_legacy) {
            assert_eq!(COSTS.iter().filter(|cost| cost.suite == row.suite).count(), 1, "{}", row.name);
        }
    }

    #[test]
    fn a_later_slot_is_never_worse_for_the_frame_and_a_slower_suite_is() {
        let (ascon, ccm) = (work(Suite::AsconAead128, 90), work(Suite::Aes128Ccm, 90));
        assert!(ascon.ready_ps() < ccm.ready_ps());
        assert!(Work { slot: 5, ..ccm }.start_ps() > ccm.start_ps());
        assert!(Work { slot: 5, ..ccm }.latest_start_ps() > ccm.latest_start_ps());
        assert_eq!(Work { slot: 1, ..ccm }.ready_ps(), ccm.ready_ps());
        assert!(ascon.is_in_time() && !Work { slot: 1, ..ccm }.is_in_time());
    }

    #[test]
    fn no_frame_takes_longer_beside_what_comes_down_than_a_woven_node_allows_for() {
        for suite in COSTS.map(|cost| cost.suite) {
            let text_bytes = NODE_SEND_BYTES_MAX - FRAME_HEADER_BYTES - suite.row().tag_bytes as u64;
            // The slowest gateway whose first byte is waited for long enough, and no cycle of sealing meanwhile.
            let heard_byte_cycles = FIRST_BYTE_CYCLES_MAX * 8 / 10;
            let line_cycles = ASK_CYCLES_MAX + (heard_bytes(suite) as u32 + 1) * heard_byte_cycles;
            let worst = [1, 2, 4, 8, 16, 20].map(|mhz| {
                let step_cycles =
                    CONVERSION_CLOCKS_MAX * converter_divider(mhz * 1_000_000) + SAMPLE_GAP_CYCLES_MIN;
                disturbed_cycles(undisturbed_cycles(suite, text_bytes), step_cycles)
            });
            let worst = worst.into_iter().max().expect("several clocks") + u64::from(line_cycles);
            println!("{suite}: {worst} cycles of {SECURITY_CYCLES_MAX}");
            assert!(worst <= SECURITY_CYCLES_MAX, "{suite} takes {worst} cycles");
        }
    }

    #[test]
    fn a_frame_waits_for_the_end_of_a_downlink_slot_that_ends_late() {
        let sparse = work(Suite::AsconAead128, 90);
        let full = Work { slots_used: 60, ..sparse };
        assert!(full.ready_ps() > sparse.ready_ps());
    }
}
