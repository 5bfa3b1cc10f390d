//! Looks for records, and for what a deployment says of their nodes, that an export panics on, hangs on, or writes otherwise
//! than it counts: each format is written to a file in memory, of whatever records can be read from the input.
#![no_main]

use std::num::NonZeroU32;
use std::sync::LazyLock;

use collect::export::{Catalogue, Export, Format, Meaning, Target, sink};
use collect::keys::Grid;
use collect::record::Body;
use libfuzzer_sys::fuzz_target;

/// In memory, since every input makes files.
static FOLDER: LazyLock<tempfile::TempDir> =
    LazyLock::new(|| tempfile::tempdir_in("/dev/shm").expect("there is a folder in memory"));
/// So few bytes are held that most inputs are sorted by way of files.
const HELD_BYTES: usize = 512;

fn number(bytes: &mut &[u8]) -> Option<u64> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*first))
}

/// What is known of node 1, as the input has it.
fn catalogue(bytes: &mut &[u8]) -> Option<Catalogue> {
    let mut catalogue = Catalogue::default();
    let flags = number(bytes)?;
    if flags & 1 == 1 {
        let superframe_ps = number(bytes)?.max(1);
        let numbers = number(bytes)?;
        let samples_per_superframe = NonZeroU32::new(numbers as u32).unwrap_or(NonZeroU32::MIN);
        let grid = Grid { superframe_ps, samples_per_superframe, uncertainty_ns: (numbers >> 32) as u32 };
        catalogue.grids.insert(1, grid);
    }
    if flags & 2 == 2 {
        let meaning = Meaning {
            unit: String::from_utf8_lossy(&number(bytes)?.to_le_bytes()).into_owned(),
            scale: f64::from_bits(number(bytes)?),
            offset: f64::from_bits(number(bytes)?),
        };
        catalogue.meanings.insert((1, 0), meaning);
    }
    if flags & 4 == 4 {
        let name = String::from_utf8_lossy(&number(bytes)?.to_le_bytes()).into_owned();
        catalogue.cells.insert(1, name);
    }
    Some(catalogue)
}

fuzz_target!(|input: &[u8]| {
    let Some((&choice, mut rest)) = input.split_first() else { return };
    let Some(catalogue) = catalogue(&mut rest) else { return };
    let format = Format::all().nth(usize::from(choice) % Format::all().count()).expect("it is one of them");
    let mut export = Export::holding(FOLDER.path(), HELD_BYTES);
    let (mut records, mut samples) = (0, 0);
    while let Some((length, after)) = rest.split_first_chunk() {
        let length = usize::from(u16::from_le_bytes(*length)).min(after.len());
        let (bytes, after) = after.split_at(length);
        rest = after;
        if let Some(Body::Frame(record)) = Body::parse(bytes) {
            (records, samples) = (records + 1, samples + record.waveform.len() as u64);
            export.push(record).expect("there is room in memory");
        }
    }
    let path = FOLDER.path().join("export");
    let file = std::fs::File::create(&path).expect("there is room in memory");
    let sink =
        sink(format, Target::File(&path, Box::new(file))).expect("there is room").expect("it is a file");
    match export.finish(&catalogue, sink, |_| {}) {
        Ok(written) => {
            assert_eq!((written.records, written.samples), (records, samples));
            assert_eq!(written.runs, written.channels + written.gaps, "between two runs is a gap");
        }
        Err(collect::error::Error::NothingWanted) => assert_eq!(records, 0),
        Err(error) => panic!("{format:?}: {error}"),
    }
});
