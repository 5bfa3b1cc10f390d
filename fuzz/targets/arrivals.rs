//! Looks for what nodes and a gateway can say, keys and all, on which the server panics, stores what nobody sent, stores
//! something twice, or forgets something that it acknowledged when it is opened again.
#![no_main]
#![allow(dead_code)] // of the plant, which other targets share

mod plant;

use std::collections::BTreeSet;

use collect::batch::{Answer, Entry, entries_to_bytes};
use collect::read::{Filter, Records};
use collect::shard::{Now, Shard};
use collect::{Action, Event};
use libfuzzer_sys::fuzz_target;

/// Cut off the script for a frame: node, epoch, counter, fault, bytes of plaintext.
type Head = [u8; 5];
/// Frames, by batch.
type Batches = Vec<Vec<Vec<u8>>>;
/// What names a frame: node, epoch, counter.
type Name = (u32, u8, u32);

/// The frames that a script says, in batches, and the names of those that are sound.
fn frames(mut script: &[u8]) -> (Batches, BTreeSet<Name>) {
    let (mut batches, mut sound) = (vec![Vec::new()], BTreeSet::new());
    while let Some((&head, rest)) = script.split_first_chunk() {
        let [node, epoch, counter, fault, bytes]: Head = head;
        let (plaintext, rest) = rest.split_at(usize::from(bytes).min(rest.len()));
        script = rest;
        let (node, counter) = (u32::from(node) % (plant::NODES + 1), u32::from(counter) << (fault >> 3 & 24));
        let (epoch, is_forged) = (epoch % 16, fault & 3 == 3);
        let mut frame = plant::frame(node, epoch, counter, plaintext);
        if is_forged {
            let at = usize::from(fault >> 2) % frame.len();
            frame[at] ^= 0x10;
        } else {
            sound.insert((node, epoch, counter));
        }
        batches.last_mut().expect("there is one").push(frame);
        if fault & 4 != 0 {
            batches.push(Vec::new());
        }
    }
    (batches, sound)
}

fuzz_target!(|script: &[u8]| {
    let (ring, disk) = (plant::ring(), plant::disk());
    let mut collector = plant::collector(&disk, &ring).expect("an empty disk is a store");
    let mut shard = Shard::new(ring.clone());
    let (batches, sound) = frames(script);
    let mut receipts = 0;
    for (number, frames) in (0..).zip(&batches) {
        let entry = |frame| Entry { superframe: 1, slot: 2, received_ps: 3, frame };
        let entries: Vec<_> = frames.iter().map(|frame| entry(frame.as_slice())).collect();
        for opened in shard.open(vec![plant::arrived(number, &entries_to_bytes(&entries))]) {
            collector.step(Now::default(), Event::Opened(opened)).expect("the disk works");
        }
        let actions = collector.step(Now::default(), Event::Commit).expect("the disk works");
        let is_receipt = |Action::Send { answer, .. }: &Action| matches!(answer, Answer::Receipt { .. });
        receipts += actions.iter().filter(|action| is_receipt(action)).count();
    }
    assert_eq!(receipts, batches.len(), "every authentic batch has a receipt");
    let stored = collector.stats().frames_stored;
    drop(collector);
    let records =
        Records::new(disk.clone(), plant::store_master(), Filter::default()).expect("a sound store");
    let mut names = BTreeSet::new();
    for record in records {
        let record = record.expect("a sound record");
        let name = (record.node, record.epoch, record.counter);
        assert!(sound.contains(&name), "{name:?} was not sent");
        assert!(names.insert(name), "{name:?} is stored twice");
    }
    assert_eq!(names.len() as u64, stored, "all that was acknowledged is there");
    plant::collector(&disk, &ring).expect("a store that was closed is opened again");
});
