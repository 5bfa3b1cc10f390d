//! Records and stores for the tests of what is read out of them.

#![allow(dead_code)] // each program that includes it uses some of it

use std::num::NonZeroU32;
use std::path::Path;

use cipher::{Key, OsRandomness, StoreMaster, Suite};
use collect::batch::BatchId;
use collect::disk::RealDisk;
use collect::keys::{Grid, StoreKeys};
use collect::limits::Limits;
use collect::record::{Body, Record};
use collect::store::{Commit, Store};
use collect::waveform::{Format, Kind, Waveform};

/// The store's key.
pub fn keys() -> StoreKeys {
    StoreMaster::from(Key::copied_from(&[9; 32])).into()
}

/// A grid.
pub fn grid(superframe_ps: u64, samples_per_superframe: u32) -> Grid {
    let samples_per_superframe = NonZeroU32::new(samples_per_superframe).expect("some samples");
    Grid { superframe_ps, samples_per_superframe, uncertainty_ns: 0 }
}

/// A record of node 1 with a few codes, at an index of a grid of a millisecond.
pub fn small(counter: u32, codes: &[u16]) -> Record {
    let first = u64::from(counter) * 10;
    Record {
        node: 1,
        epoch: 0,
        counter,
        suite: Suite::Aes128Ccm,
        batch: BatchId { cell: 7, spool: 2, number: 3 },
        superframe: counter,
        slot: 1,
        received_ps: 0,
        arrived_ns: 1_700_000_000_000_000_000 + u64::from(counter),
        first,
        sample_ps: first * 1_000_000_000,
        uncertainty_ns: 40,
        channel: 0,
        stride: 1,
        waveform: Waveform::of_codes(codes),
    }
}

/// A sample of a node, as a value of its kind.
pub fn sample(node: u32, kind: Kind, index: u64) -> f64 {
    let phase = index as f64 * 0.37 + f64::from(node);
    match kind {
        Kind::Code => ((index * 7 + u64::from(node)) % 1024) as f64,
        Kind::I16 => (phase.sin() * 32_000.0).trunc(),
        Kind::I32 => (phase.sin() * 2e9).trunc(),
        Kind::F32 => f64::from(phase.sin() as f32),
        Kind::F64 => phase.sin(),
    }
}

/// The waveform of these values.
pub fn waveform(format: Format, values: &[f64]) -> Waveform {
    let mut bytes = Vec::new();
    for &value in values {
        let mut sample = match format.kind {
            Kind::Code => (value as u16).to_le_bytes().to_vec(),
            Kind::I16 => (value as i16).to_le_bytes().to_vec(),
            Kind::I32 => (value as i32).to_le_bytes().to_vec(),
            Kind::F32 => (value as f32).to_le_bytes().to_vec(),
            Kind::F64 => value.to_le_bytes().to_vec(),
        };
        if format.is_big_endian {
            sample.reverse();
        }
        bytes.extend(sample);
    }
    Waveform::new(format, bytes).expect("whole samples")
}

/// A store that is written by the test.
pub struct Log(Store<RealDisk, OsRandomness>);

impl Log {
    pub fn open(folder: &Path, limits: &Limits) -> Log {
        let disk = RealDisk::lock(folder).unwrap();
        Log(Store::open(disk, keys(), limits, OsRandomness, |_| Ok(())).unwrap())
    }

    /// Stores records as one group.
    pub fn commit(&mut self, records: &[Record]) {
        let bodies: Vec<_> = records.iter().map(|record| Body::Frame(record.clone()).to_bytes()).collect();
        assert_eq!(self.0.commit(&bodies, 0, Vec::new).unwrap(), Commit::Durable);
    }
}
