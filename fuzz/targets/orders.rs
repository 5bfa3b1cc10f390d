//! Looks for lines that a person's program can send to a running server on which it panics, does part of what it
//! refuses, or says that it did what it forgets.
#![no_main]
#![allow(dead_code)] // of the plant, which other targets share

mod plant;

use collect::batch::{Entry, entries_to_bytes};
use collect::frame::Samples;
use collect::orders::{Reply, Request, Told};
use collect::shard::{Now, Shard};
use collect::sim::{Dice, SimDisk};
use collect::waveform::Waveform;
use collect::{Collector, Event};
use libfuzzer_sys::fuzz_target;

fn told(collector: &mut Collector<SimDisk, Dice>) -> Vec<Told> {
    match collector.ask(Now::default(), &Request::Status).expect("the disk works") {
        Reply::Done(told) => told,
        refused => panic!("the status is {refused:?}"),
    }
}

fuzz_target!(|lines: &[u8]| {
    let requests: Vec<Request> =
        lines.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    if requests.is_empty() {
        return;
    }
    let (ring, disk) = (plant::ring(), plant::disk());
    let mut collector = plant::collector(&disk, &ring).expect("an empty disk is a store");
    // All nodes but the first were heard.
    let samples = Samples { first: 0, channel: 0, waveform: Waveform::of_codes(&[7; 8]) };
    let frames: Vec<_> =
        (1..plant::NODES).map(|node| plant::frame(node, 1, 5, &samples.to_bytes())).collect();
    let entry = |frame| Entry { superframe: 1, slot: 2, received_ps: 3, frame };
    let entries: Vec<_> = frames.iter().map(|frame| entry(frame.as_slice())).collect();
    for opened in Shard::new(ring.clone()).open(vec![plant::arrived(0, &entries_to_bytes(&entries))]) {
        collector.step(Now::default(), Event::Opened(opened)).expect("the disk works");
    }
    collector.step(Now::default(), Event::Commit).expect("the disk works");
    for request in &requests {
        let before = told(&mut collector);
        let reply = collector.ask(Now::default(), request).expect("the disk works");
        // What is refused is not done with the next group either.
        collector.step(Now::default(), Event::Commit).expect("the disk works");
        if matches!(reply, Reply::Refused(_)) {
            assert_eq!(told(&mut collector), before, "{request:?} was refused");
        }
    }
    let after = told(&mut collector);
    drop(collector);
    let mut again = plant::collector(&disk, &ring).expect("a store that was closed is opened again");
    assert_eq!(told(&mut again), after);
});
