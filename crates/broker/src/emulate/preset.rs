//! How long the wire of a real device takes, as data: a line each, and where its figures come from.
//!
//! Owns the figures only; what they do to a transaction is `clocked`'s.

use std::time::Duration;

use crate::limits::{FRAME_BYTES_MAX, TRANSFER_REQUESTS_MAX};
use crate::wire::Operation;
use crate::{Fit, Settings};

/// A device's wire and its computing.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// What to call it.
    pub name: &'static str,
    /// What the host waits for when it opens the device.
    pub open: Duration,
    /// What a transaction takes beside its bytes, a half before them and a half after. What is begun meanwhile follows
    /// without a pause.
    pub turnaround: Duration,
    /// How long the end of a transaction waits that fills no packet, and how long a packet is.
    pub latency_timer: Duration,
    /// See [`latency_timer`](Self::latency_timer).
    pub packet_bytes: usize,
    /// Cycles of the clock in a millisecond; 0 is a wire that takes no time.
    pub clock_khz: u64,
    /// Cycles that a byte takes.
    pub byte_cycles: u64,
    /// Cycles that a transaction takes beside its bytes.
    pub transaction_cycles: u64,
    /// Whether bytes go in and out one after the other.
    pub is_half_duplex: bool,
    /// How long it takes the host to see that the device has something.
    pub signal: Duration,
    /// Transactions that can be begun before the first is finished.
    pub depth: usize,
    /// Longest transaction.
    pub transaction_bytes_max: usize,
    /// Longest transfer that suits it: small requests wait for two.
    pub transfer_bytes_max: usize,
    /// What the device computes for.
    pub compute: &'static [Compute],
}

/// How long an operation takes the device.
#[derive(Clone, Copy, Debug)]
pub struct Compute {
    /// Which.
    pub operation: Operation,
    /// In any case.
    pub fixed_us: u64,
    /// For each 16 bytes of its payload or its answer's, whichever is longer.
    pub block_us: u64,
}

macro_rules! presets {
    ($($name:literal $open_us:literal $turnaround_us:literal $timer_us:literal $packet_bytes:literal
       $clock_khz:literal $byte_cycles:literal $transaction_cycles:literal $half:literal $signal_us:literal $depth:literal
       $transaction:literal $transfer:literal $compute:expr;)*) => {
        /// All of them.
        pub const PRESETS: &[Preset] = &[$(Preset {
            name: $name,
            open: Duration::from_micros($open_us),
            turnaround: Duration::from_micros($turnaround_us),
            latency_timer: Duration::from_micros($timer_us),
            packet_bytes: $packet_bytes,
            clock_khz: $clock_khz,
            byte_cycles: $byte_cycles,
            transaction_cycles: $transaction_cycles,
            is_half_duplex: $half,
            signal: Duration::from_micros($signal_us),
            depth: $depth,
            transaction_bytes_max: $transaction,
            transfer_bytes_max: $transfer,
            compute: $compute,
        },)*];
    };
}

// FT2232H by MPSSE: 60 MHz / 2; AN_135 opens with a sleep and a synchronisation (380 ms is what the MECHA paper's gain of
// 0.38 s an instance leaves for it); a request and its answer are two microframes of 125 us each; D2XX transfers have at
// most 64 KiB; AN232B-04: a short tail waits for the latency timer, 16 ms unless it is set, but not after SEND_IMMEDIATE;
// of a packet of 512 bytes, two are the chip's status. Its ready line is read by one more transaction. A small request
// waits for what is left of one transfer, another one, its own and its answer's: four of 3 KiB are less than two of 8 KiB.
// With a latency timer a transfer and two frames' own bytes fill seven packets.
//
// spidev: 4096 bytes a message (`bufsiz`); a clock of 16 MHz is Microchip's TA100's; the system call's cost is the
// socket's own. UART: ten bits a byte. I2C: nine bits a byte, an address with each direction, 8192 bytes a message in
// i2c-dev. ATECC608: cryptoauthlib's longest times for M0 (AES block 27 ms, SHA of 64 bytes 36 ms, random of 32 bytes
// 23 ms, read 5 ms, write 45 ms, ECDH 75 ms, verify 105 ms, sign and GenKey 115 ms, KDF 165 ms), 400 kHz, found out by
// polls 2 ms apart. TPM: tpm_tis_spi's frames of 64 bytes, each with a header of 4, a wait state and 5 us; the shortest
// command that is told of takes 10 ms, half of all ECDSA signatures take 200 ms and more; a clock of 10 MHz is ours.
//
// What no source gives is ours: the UART's and I2C's transfers, and the depth of 1 where a system call waits.
#[rustfmt::skip]
presets! {
  // name               open  turn.  timer packet    kHz byte extra  half  signal depth   max transfer compute
    "loopback"             0      0      0      1      0   8      0 false       0     2 65536    8192  NOTHING;
    "ftdi-30MHz"     380_000    250      0    510 30_000   8      0 false     250     2 65536    3072  NOTHING;
    "ftdi-30MHz-1ms" 380_000    250  1_000    510 30_000   8      0 false     250     2 65536    3538  NOTHING;
    "ftdi-30MHz-16ms" 380_000   250 16_000    510 30_000   8      0 false     250     2 65536    3538  NOTHING;
    "spidev"               0      0      0      1 16_000   8      0 false       0     1  4096    3840  NOTHING;
    "uart-115200"          0      0      0      1    115  10      0 false       0     2   512     256  NOTHING;
    "i2c-400k"             0      0      0      1    400   9     18 true        0     1  8192     512  NOTHING;
    "atecc608"             0      0      0      1    400   9     18 true    2_000     1    64      64  ATECC608;
    "tpm-spi"              0      5      0      1 10_000   8     40 false       0     1    64      64  TPM;
}

const NOTHING: &[Compute] = &[];

#[rustfmt::skip]
const ATECC608: &[Compute] = &[
    Compute { operation: Operation::Info,          fixed_us:   5_000, block_us:      0 },
    Compute { operation: Operation::FindKey,       fixed_us:   5_000, block_us:      0 },
    Compute { operation: Operation::Random,        fixed_us:       0, block_us: 11_500 },
    Compute { operation: Operation::SealAes256Gcm, fixed_us:       0, block_us: 27_000 },
    Compute { operation: Operation::OpenAes256Gcm, fixed_us:       0, block_us: 27_000 },
    Compute { operation: Operation::Encrypt,       fixed_us:       0, block_us: 27_000 },
    Compute { operation: Operation::Decrypt,       fixed_us:       0, block_us: 27_000 },
    Compute { operation: Operation::Seal,          fixed_us:       0, block_us: 27_000 },
    Compute { operation: Operation::Open,          fixed_us:       0, block_us: 27_000 },
    Compute { operation: Operation::Hash,          fixed_us:       0, block_us:  9_000 },
    Compute { operation: Operation::Derive,        fixed_us: 165_000, block_us:      0 },
    Compute { operation: Operation::Sign,          fixed_us: 115_000, block_us:      0 },
    Compute { operation: Operation::Verify,        fixed_us: 105_000, block_us:      0 },
    Compute { operation: Operation::Agree,         fixed_us:  75_000, block_us:      0 },
    Compute { operation: Operation::KeyGenerate,   fixed_us: 115_000, block_us:      0 },
    Compute { operation: Operation::KeyImport,     fixed_us:  45_000, block_us:      0 },
];

#[rustfmt::skip]
const TPM: &[Compute] = &[
    Compute { operation: Operation::Random,        fixed_us:  10_000, block_us:      0 },
    Compute { operation: Operation::SealAes256Gcm, fixed_us:  10_000, block_us:      0 },
    Compute { operation: Operation::OpenAes256Gcm, fixed_us:  10_000, block_us:      0 },
    Compute { operation: Operation::Encrypt,       fixed_us:  10_000, block_us:      0 },
    Compute { operation: Operation::Decrypt,       fixed_us:  10_000, block_us:      0 },
    Compute { operation: Operation::Hash,          fixed_us:  10_000, block_us:      0 },
    Compute { operation: Operation::Sign,          fixed_us: 200_000, block_us:      0 },
];

impl Preset {
    /// The preset of this name.
    pub fn named(name: &str) -> Option<Preset> {
        PRESETS.iter().copied().find(|preset| preset.name == name)
    }

    /// Cycles of the clock that a transaction of so many bytes takes.
    pub fn cycles(&self, bytes: usize) -> u64 {
        let times = if self.is_half_duplex { 2 } else { 1 };
        times * bytes as u64 * self.byte_cycles + self.transaction_cycles
    }

    /// How long so many cycles take.
    pub fn time(&self, cycles: u64) -> Duration {
        let ns = (cycles * 1_000_000).checked_div(self.clock_khz);
        Duration::from_nanos(ns.unwrap_or(0))
    }

    /// How long the end of a transaction of so many bytes waits in the bus.
    pub fn tail(&self, bytes: usize) -> Duration {
        if bytes.is_multiple_of(self.packet_bytes) { Duration::ZERO } else { self.latency_timer }
    }

    /// What a transaction is a multiple of whose end does not wait.
    pub fn filled_bytes(&self) -> usize {
        if self.latency_timer.is_zero() { 1 } else { self.packet_bytes }
    }

    /// How long the device computes for an operation whose longer payload has so many bytes.
    pub fn computes(&self, operation: Operation, payload_bytes: usize) -> Duration {
        let row = self.compute.iter().find(|row| row.operation == operation);
        let us = row.map_or(0, |row| row.fixed_us + row.block_us * payload_bytes.div_ceil(16) as u64);
        Duration::from_micros(us)
    }

    /// Longest piece of an answer.
    pub fn piece_bytes_max(&self) -> usize {
        self.transfer_bytes_max.min(FRAME_BYTES_MAX)
    }

    /// What suits such a device.
    pub fn fit(&self) -> Fit {
        Fit {
            is_cut: true,
            transfer_bytes_max: self.transfer_bytes_max,
            transfer_requests_max: TRANSFER_REQUESTS_MAX,
        }
    }

    /// What a broker is told that has such a device, and nothing else.
    pub fn settings(&self) -> Settings {
        Settings::default().fitting(self.fit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{FRAME_BYTES_MAX, TRANSACTION_BYTES_MAX};

    #[test]
    fn each_preset_can_be_served() {
        for preset in PRESETS {
            assert!((1..=TRANSACTION_BYTES_MAX).contains(&preset.transaction_bytes_max), "{}", preset.name);
            assert!(
                preset.piece_bytes_max() <= FRAME_BYTES_MAX && preset.packet_bytes > 0 && preset.depth > 0
            );
            assert!(Preset::named(preset.name).is_some_and(|found| found.name == preset.name));
        }
        assert!(Preset::named("parallel port").is_none());
    }

    #[test]
    fn a_wire_takes_the_time_that_is_known_of_it() {
        let time_us = |name: &str, bytes| {
            let preset = Preset::named(name).expect("it is in the table");
            preset.time(preset.cycles(bytes)).as_micros()
        };
        assert_eq!((time_us("ftdi-30MHz", 1024), time_us("ftdi-30MHz", 65_536)), (273, 17_476));
        // Ten bits at 115 kHz for 115.2; both directions of 64 bytes, and their addresses.
        assert_eq!((time_us("uart-115200", 115), time_us("i2c-400k", 64)), (10_000, 2925));
        assert_eq!(time_us("loopback", 65_536), 0);
    }
}
