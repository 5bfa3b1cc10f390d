//! What the ciphers of `firmware/crypto` cost on a chip, in cycles: a table, and for each goal a line that
//! `scripts/bench.sh` collects. Cycles are counted by our simulator and are the same in every run; that they are
//! a second simulator's cycles too is tested in `witness/`.

#[path = "../tests/variants/mod.rs"]
mod variants;

use std::path::{Path, PathBuf};

use isa::Cycles;
use isa::avr::Profile;
use report::table::{Column, Table};
use variants::{Bench, CHIPS, Call, VARIANTS, Variant};

/// A message about as long as a frame can be.
const MESSAGE_BYTES: usize = 200;
/// Those of a node frame's header.
const AD_BYTES: usize = 10;
/// Cycles per byte.
const ASCON_GOAL: f64 = 450.0;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

struct Cost {
    seal_cycles: Cycles,
    open_cycles: Cycles,
    flash_bytes: usize,
}

impl Cost {
    fn per_byte(&self) -> f64 {
        self.seal_cycles as f64 / MESSAGE_BYTES as f64
    }
}

fn measure(variant: &Variant, profile: &'static Profile, scratch: &Path) -> Cost {
    let Some(image) = variants::build(&root(), scratch, variant, profile) else {
        eprintln!("error: nothing to measure without avr-gcc\nhelp: run scripts/install.sh test");
        std::process::exit(3);
    };
    let bench = Bench::new(&image, profile);
    let row = variant.suite.row();
    let seal = Call {
        open: false,
        shift: 0,
        key: vec![1; row.key_bytes],
        nonce: vec![2; row.nonce_bytes],
        ad: vec![3; AD_BYTES],
        message: vec![4; MESSAGE_BYTES],
        tag: Vec::new(),
    };
    let (sealed, seal_cycles) = bench.call(&seal);
    let open =
        Call { open: true, message: sealed.message, tag: sealed.tag[..row.tag_bytes].to_vec(), ..seal };
    let (opened, open_cycles) = bench.call(&open);
    assert_eq!((opened.status, opened.message), (1, vec![4; MESSAGE_BYTES]), "{} opens", variant.name);
    let flash_bytes = image.flash.iter().map(|segment| segment.bytes.len()).sum();
    Cost { seal_cycles, open_cycles, flash_bytes }
}

fn main() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let title = format!("{MESSAGE_BYTES} bytes sealed and opened, with {AD_BYTES} associated, node's flags");
    let mut table = Table::new(
        title,
        [
            Column::new("chip"),
            Column::new("variant"),
            Column::new("seal").unit("cycles"),
            Column::new("seal").unit("cycles/byte").decimals(1),
            Column::new("open").unit("cycles"),
            Column::new("bench image").unit("bytes"),
        ],
    );
    let mut goals = Vec::new();
    for profile in CHIPS {
        let mut costs = Vec::new();
        for variant in &VARIANTS {
            let cost = measure(variant, profile, scratch.path());
            table.push([
                profile.name.into(),
                variant.name.into(),
                cost.seal_cycles.into(),
                cost.per_byte().into(),
                cost.open_cycles.into(),
                cost.flash_bytes.into(),
            ]);
            costs.push((variant.name, cost.per_byte()));
        }
        let of = |name: &str| costs.iter().find(|cost| cost.0 == name).expect("it is a variant").1;
        goals.push(format!(
            "goal\tAscon-AEAD128 on the {}, cycles/byte of {MESSAGE_BYTES}\t{:.1}\tplain C (c8)\t{:.1}\t<= {ASCON_GOAL}",
            profile.name,
            of("ascon_aead128_avr"),
            of("ascon_aead128_c8"),
        ));
    }
    println!("{}", table.text(None));
    goals.iter().for_each(|goal| println!("{goal}"));
}
