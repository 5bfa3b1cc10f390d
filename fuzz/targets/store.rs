//! Looks for what a disk can make of a store, and what can stand in authentic records, on which who reads, checks or
//! opens it panics or hangs, or reads a record that was not written.
#![no_main]
#![allow(dead_code)] // of the plant, which other targets share

mod plant;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use collect::Event;
use collect::batch::{Entry, entries_to_bytes};
use collect::disk::Disk;
use collect::frame::Samples;
use collect::keys::StoreKeys;
use collect::read::{Filter, Records, verify_disk};
use collect::record::Record;
use collect::segment::{Before, Header, Segment, file_name};
use collect::shard::{Now, Shard};
use collect::sim::SimDisk;
use collect::waveform::Waveform;
use libfuzzer_sys::fuzz_target;

const FRAMES: u32 = 12;
const SECTOR_BYTES: usize = 512;

/// A file: its name and its bytes.
type Written = (String, Vec<u8>);

/// The files of a store that was written by a server, run twice.
static WRITTEN: LazyLock<(Vec<Written>, Vec<Record>)> = LazyLock::new(|| {
    let (ring, disk) = (plant::ring(), plant::disk());
    for run in 0..2 {
        let mut collector = plant::collector(&disk, &ring).expect("it is a store");
        for counter in 0..FRAMES {
            let counter = run * FRAMES + counter;
            let samples =
                Samples { first: (counter * 8).into(), channel: 0, waveform: Waveform::of_codes(&[7; 8]) };
            let frame = plant::frame(counter % plant::NODES, 1, counter, &samples.to_bytes());
            let entries = [Entry { superframe: 1, slot: 2, received_ps: 3, frame: &frame }];
            let arrived = plant::arrived(counter.into(), &entries_to_bytes(&entries));
            for opened in Shard::new(ring.clone()).open(vec![arrived]) {
                collector.step(Now::default(), Event::Opened(opened)).expect("the disk works");
            }
            collector.step(Now::default(), Event::Commit).expect("the disk works");
        }
    }
    let names = disk.list().expect("the disk works");
    let file = |name: String| {
        let bytes = disk.read(&name, 1 << 20).expect("the disk works");
        (name, bytes)
    };
    let records = Records::new(disk.clone(), plant::store_master(), Filter::default()).expect("a store");
    (names.into_iter().map(file).collect(), records.map(|record| record.expect("sound")).collect())
});

fn disk_with<'a>(files: impl IntoIterator<Item = (&'a str, Vec<u8>)>) -> SimDisk {
    let mut disk = plant::disk();
    for (name, bytes) in files {
        let mut file = disk.create(name).expect("the names differ");
        // In two parts: what comes as a whole segment the disk reads as a witness, and believes.
        let (first, rest) = bytes.split_at(bytes.len().min(1));
        for part in [first, rest] {
            disk.append(&mut file, part).expect("the disk works");
        }
        disk.sync(&mut file).expect("the disk works");
    }
    disk.sync_dir().expect("the disk works");
    disk
}

/// All that anybody does with a store. Returns what could be read.
fn use_store(disk: &SimDisk) -> Vec<Record> {
    let _ = verify_disk(disk, plant::store_master());
    let records = Records::new(disk.clone(), plant::store_master(), Filter::default());
    let read = records.map(|records| records.map_while(Result::ok).collect());
    let _ = plant::collector(disk, &plant::ring());
    read.unwrap_or_default()
}

/// The real store with what a script does to it: a file, a place and a mask, or a cut, or two sectors exchanged.
fn damaged(script: &[u8]) -> SimDisk {
    let mut files = WRITTEN.0.clone();
    for command in script.chunks_exact(5) {
        let index = usize::from(command[1]) % files.len();
        let file = &mut files[index].1;
        let at = usize::from(u16::from_le_bytes([command[2], command[3]])) % file.len().max(1);
        match command[0] & 3 {
            0 | 1 if !file.is_empty() => file[at] ^= command[4],
            2 => file.truncate(at),
            3 => {
                let (from, to) = (at / SECTOR_BYTES * SECTOR_BYTES, usize::from(command[4]) * SECTOR_BYTES);
                if from + SECTOR_BYTES <= file.len() && to + SECTOR_BYTES <= file.len() {
                    file.copy_within(from..from + SECTOR_BYTES, to);
                }
            }
            _ => {}
        }
    }
    disk_with(files.iter().map(|(name, bytes)| (name.as_str(), bytes.clone())))
}

/// A store of one segment whose groups have these bodies.
fn of_bodies(mut script: &[u8]) -> SimDisk {
    let header = Header {
        sector_bytes: SECTOR_BYTES,
        key: 0,
        id: [5; 32],
        store: [6; 16],
        number: 0,
        oldest: 0,
        before: Before::default(),
        made_ns: 1,
    };
    let segment = Segment::new(header, &StoreKeys::from(plant::store_master()));
    let (mut file, mut chain) = (segment.header_sector(), segment.chain());
    let mut index = 0;
    while let Some((&length, rest)) = script.split_first() {
        let (body, rest) = rest.split_at(usize::from(length).min(rest.len()));
        script = rest;
        chain = segment.seal_group(index, &[body], &chain, &mut file);
        index += 1;
    }
    disk_with([(file_name(0).as_str(), file)])
}

fuzz_target!(|script: &[u8]| {
    let Some((kind, script)) = script.split_first() else { return };
    if kind & 1 == 0 {
        let read = use_store(&damaged(script));
        let written: BTreeSet<_> = WRITTEN.1.iter().map(|record| (record.node, record.counter)).collect();
        let mut names = BTreeSet::new();
        for record in &read {
            assert!(WRITTEN.1.contains(record), "{record:?} was not written");
            assert!(names.insert((record.node, record.counter)), "{record:?} is read twice");
        }
        assert!(names.is_subset(&written));
    } else {
        use_store(&of_bodies(script));
    }
});
