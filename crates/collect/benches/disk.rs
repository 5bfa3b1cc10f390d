//! How long a disk takes to have a group of a segment: written past the page cache from large pages, as the store does it,
//! from small ones, and through the cache; to a file that becomes longer, and over what it holds. `cargo bench -p collect
//! --bench disk [FOLDER]` asks the disk of that folder [default: the one of temporary files], and writes some 2 GB there,
//! which are removed. All ways take turns.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::Instant;

use collect::disk::{Disk, RealDisk, RealFile, begin_direct};

/// Bytes of a group: a batch of 64 frames of 4 KiB, and four.
const GROUPS_BYTES: [usize; 2] = [264 << 10, 1056 << 10];
const SECTOR_BYTES: usize = 4096;
/// Groups that a file is written of in a turn, and turns. No file is removed before the end: a disk may be busy with that.
const GROUPS: usize = 64;
const TURNS: usize = 9;

/// How a group comes to the disk.
#[derive(Clone, Copy)]
enum Way {
    Cache,
    SmallPages,
    LargePages,
}

const WAYS: [(Way, &str); 3] = [
    (Way::Cache, "through the page cache"),
    (Way::SmallPages, "past it, from small pages"),
    (Way::LargePages, "past it, from large pages"),
];

/// A group, and where it begins in its memory.
fn group(way: Way, bytes: usize) -> (Vec<u8>, usize) {
    let mut memory = Vec::new();
    let first = match way {
        Way::LargePages => begin_direct(&mut memory, bytes),
        Way::Cache | Way::SmallPages => {
            memory.reserve(bytes + SECTOR_BYTES + 1);
            // What begins in the middle of a sector cannot go past the cache.
            memory.as_ptr().align_offset(SECTOR_BYTES) + usize::from(matches!(way, Way::Cache))
        }
    };
    memory.resize(first, 0);
    memory.extend((0..bytes).map(|at| (at % 251) as u8));
    (memory, first)
}

/// Writes a file of groups, each synced; microseconds of each.
fn write(disk: &mut RealDisk, file: &mut RealFile, group: &[u8]) -> Vec<f64> {
    let once = |_| {
        let begin = Instant::now();
        disk.append(file, group).and_then(|()| disk.sync(file)).expect("the disk takes it");
        begin.elapsed().as_secs_f64() * 1e6
    };
    (0..GROUPS).map(once).collect()
}

fn main() {
    let folder = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let folder = folder.map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = tempfile::tempdir_in(folder).expect("the folder can be written");
    let mut disk = RealDisk::lock(folder.path()).expect("nobody else has it");
    let mut direct = OpenOptions::new();
    direct.write(true).create_new(true).custom_flags(libc::O_DIRECT);
    if let Err(cause) = direct.open(folder.path().join("direct")) {
        println!("skip: {}: found no way past its page cache: {cause}", folder.path().display());
        return;
    }
    let large = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    println!("large pages: {}", large.as_deref().unwrap_or("the system does not say").trim());
    println!("written and synced, us: the 10th, 50th, 90th and 99th in a hundred");
    for bytes in GROUPS_BYTES {
        let groups = WAYS.map(|(way, _)| group(way, bytes));
        let mut times = [const { [const { Vec::new() }; 2] }; WAYS.len()];
        for turn in 0..TURNS {
            for place in 0..WAYS.len() {
                // Each goes first as often as the others.
                let way = (place + turn) % WAYS.len();
                let ((memory, first), name) = (&groups[way], format!("{bytes}-{turn}-{way}"));
                let mut file = disk.create(&name).expect("it is new");
                times[way][0].extend(write(&mut disk, &mut file, &memory[*first..]));
                let mut file = disk.reuse(&name).expect("it was written");
                times[way][1].extend(write(&mut disk, &mut file, &memory[*first..]));
            }
        }
        for ((_, words), times) in WAYS.iter().zip(&mut times) {
            for (times, file) in times.iter_mut().zip(["becomes longer", "is written over"]) {
                times.sort_by(f64::total_cmp);
                let [p10, p50, p90, p99] =
                    [0.1, 0.5, 0.9, 0.99].map(|share| times[(times.len() as f64 * share) as usize]);
                println!("{words:27}{:>5} KiB, {file:16}{p10:8.0}{p50:8.0}{p90:8.0}{p99:8.0}", bytes >> 10);
            }
        }
    }
}
