//! What kept models say of the stack is what the compiler says of frames, which it knows without running anything: a routine
//! takes its frame, and when it calls another one its frame or, where it gives its place up, nothing. And what the source
//! counts as a leaf, so that it is nobody's caller natively, calls nobody there.

mod compiled;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use explore::image::{COMPILER, Choice, Leaves, OPTIONS};
use explore::model::Stack;
use explore::native::ROUTINES;
use isa::rv32::Profile;

use compiled::kept;

/// Folders of the library, and whether their files have limbs.
const FOLDERS: [(&str, bool); 6] = [
    ("mp", true),
    ("modular", true),
    ("curve", true),
    ("primitives", true),
    ("block", false),
    ("hash", false),
];

fn firmware() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware")
}

/// What the compiler says of the frames of a file's functions, all of which have one size.
fn frames(source: &Path, limb_bits: Option<u8>, folder: &Path) -> BTreeMap<String, u32> {
    let mut compile = Command::new(COMPILER);
    compile.args(OPTIONS.split_whitespace()).arg(Choice::of(Leaves::Plain).level).arg("-fstack-usage");
    compile.arg("-I").arg(firmware()).arg("-I").arg(firmware().join("crypto"));
    compile.args(limb_bits.map(|bits| format!("-DLIMB_BITS={bits}")));
    compile.arg("-c").arg(source).args(["-o", "file.o"]).current_dir(folder);
    let output = compile.output().expect("the compiler made an image");
    assert!(output.status.success(), "{}: {}", source.display(), String::from_utf8_lossy(&output.stderr));
    let text = fs::read_to_string(folder.join("file.su")).expect("it was asked for");
    let frame = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [place, bytes, kind] = fields[..] else { panic!("{line}") };
        assert_eq!(kind, "static", "{line}");
        let name = place.rsplit(':').next().expect("it has a name").to_owned();
        (name, bytes.parse().expect("bytes are a number"))
    };
    text.lines().map(frame).collect()
}

/// The files of a folder of the library in C or its headers.
fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(firmware().join("crypto").join(folder)).expect("it is there");
    let files = files.map(|file| file.expect("it can be read").path().canonicalize().expect("it is there"));
    files.filter(|file| file.extension().is_some_and(|found| found == extension)).collect()
}

/// The frames of all functions that models of the plain leaves are of.
fn all_frames() -> BTreeMap<String, u32> {
    let folder = tempfile::tempdir().expect("there is room");
    let mut known = BTreeMap::new();
    for (name, has_limbs) in FOLDERS {
        for file in files(name, "c").iter().filter(|file| !file.ends_with("mpn_unrolled.c")) {
            let widths = if has_limbs { vec![Some(16), Some(32)] } else { vec![None] };
            widths.into_iter().for_each(|bits| known.extend(frames(file, bits, folder.path())));
        }
    }
    known
}

#[test]
fn a_routine_takes_the_frame_that_the_compiler_gave_it() {
    let models = [Profile::Pico, Profile::Vex5].map(kept);
    if compiled::image_of_models(&models[0]).is_none() {
        return;
    }
    let known = all_frames();
    for models in models {
        let name = &models.origin.profile;
        let (mut compared, mut coming_back) = (0, 0);
        for model in models.routines.iter().flatten() {
            let Stack { own_bytes, callee_bytes } = model.stack.as_ref().expect("it was measured");
            // Assembly has no frames that a compiler tells of.
            let Some(&frame) = known.get(&model.routine) else { continue };
            assert_eq!(*own_bytes, frame, "{name}: {}", model.routine);
            for &(callee, bytes) in callee_bytes {
                let callee = &ROUTINES[callee].name;
                assert!([0, frame].contains(&bytes), "{name}: {} calls {callee}: {bytes}", model.routine);
            }
            coming_back += usize::from(frame > 0 && callee_bytes.iter().any(|(_, bytes)| *bytes == frame));
            compared += 1;
        }
        println!("{name}: {compared} routines, {coming_back} of which others come back to");
        assert!(compared > 300 && coming_back > 100, "{compared}, {coming_back}");
    }
}

#[test]
fn what_is_counted_as_a_leaf_calls_none() {
    let models = kept(Profile::Vex5);
    let mut leaves = BTreeSet::new();
    for file in ["c", "h"].into_iter().flat_map(|extension| files("mp", extension)) {
        let text = fs::read_to_string(&file).expect("it can be read");
        for line in text.lines().map(str::trim_start) {
            let counted = line.strip_prefix("COUNT_LEAF(").or_else(|| line.strip_prefix("COUNT_BY_BLOCKS("));
            leaves
                .extend(counted.map(|rest| rest.split(',').next().expect("a name").replacen("mpn_", "", 1)));
        }
    }
    assert!(leaves.len() > 20, "{leaves:?}");
    for model in models.routines.iter().flatten() {
        let Some(name) = ["mpn16_", "mpn32_"].iter().find_map(|prefix| model.routine.strip_prefix(prefix))
        else {
            continue;
        };
        let stack = model.stack.as_ref().expect("it was measured");
        assert!(!leaves.contains(name) || stack.callee_bytes.is_empty(), "{}: {stack:?}", model.routine);
    }
}
