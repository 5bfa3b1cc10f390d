//! The committed recordings are what their documents say: checksum, length, resolution.

use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

#[test]
fn the_electrocardiogram_is_the_one_that_its_script_made() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/ecg");
    let csv = fs::read(folder.join("ecg.csv")).expect("the recording is committed");
    let sidecar = fs::read_to_string(folder.join("ecg.csv.sha256")).expect("so is its checksum");
    let found: String = Sha256::digest(&csv).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(format!("{found}  ecg.csv\n"), sidecar, "help: data/ecg/convert.py makes the recording again");

    let text = String::from_utf8(csv).expect("the recording is text");
    let (header, samples) = text.split_once('\n').expect("a header line");
    assert_eq!(header, "mlii");
    let samples: Vec<u16> = samples.lines().map(|line| line.parse().expect("a raw sample")).collect();
    assert_eq!(samples.len(), 5 * 60 * 360, "five minutes at 360 Hz");
    assert!(samples.iter().all(|sample| *sample < 1 << 11), "11 bits");
    // What SciPy's documentation prints of this recording, in units of 1/200 mV with 1024 for zero.
    assert_eq!(
        samples[..3].iter().map(|raw| f64::from(*raw) - 1024.0).collect::<Vec<_>>(),
        [-49.0, -43.0, -37.0]
    );
    let mean_mv =
        samples.iter().map(|raw| (f64::from(*raw) - 1024.0) / 200.0).sum::<f64>() / samples.len() as f64;
    assert!((mean_mv - -0.165_108_75).abs() < 1e-9, "found a mean of {mean_mv} mV");
}
