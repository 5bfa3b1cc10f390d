//! What a gap among stored counters takes of memory. Alone in its process: nothing else is to be counted.

use std::fs;

use collect::replay::{Admission, Replay};

const RANGES: u32 = 1 << 22;
/// Of a page of memory.
const PAGE_BYTES: u64 = 4096;

fn resident_bytes() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * PAGE_BYTES
}

#[test]
fn a_gap_takes_no_more_memory_than_is_said() {
    let mut replay = Replay::new(usize::MAX);
    let before = resident_bytes();
    for counter in (0..2 * RANGES).step_by(2) {
        assert_eq!(replay.admit(1, 0, counter), Admission::New);
        replay.depart();
        replay.commit();
    }
    assert_eq!(replay.ranges(), RANGES as usize);
    let bytes = (resident_bytes() - before) as f64 / f64::from(RANGES);
    println!("{bytes:.1} bytes of memory for a range of counters");
    assert!((8.0..24.0).contains(&bytes), "{bytes}");
}
