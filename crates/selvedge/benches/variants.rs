//! What the ciphers of `firmware/crypto` cost on a chip, in cycles: a table, and for each goal a line that
//! `scripts/bench.sh` collects. Cycles are counted by our simulator and are the same in every run; that they are
//! a second simulator's cycles too is tested in `witness/`.

#[path = "../../cipher/tests/hosts/mod.rs"]
mod hosts;
#[allow(dead_code)] // seeds are for tests
#[path = "../../cipher/tests/seeded/mod.rs"]
mod seeded;
#[path = "../tests/variants/mod.rs"]
mod variants;

use std::path::{Path, PathBuf};

use hosts::{Cipher, HOSTS, Host};
use isa::Cycles;
use isa::avr::Profile;
use report::table::{Column, Table};
use variants::record::{self, Crypt};
use variants::{Bench, CHIPS, Call, VARIANTS, Variant};

/// A message about as long as a frame can be.
const MESSAGE_BYTES: usize = 200;
/// Those of a node frame's header.
const AD_BYTES: usize = 10;
/// Between two such lengths lies what a byte of a long message costs.
const LONG_BYTES: [usize; 2] = [128, 256];
/// Cycles per byte of the whole seal, and of a long message's bytes.
const ASCON_GOAL: f64 = 450.0;
const ASCON_LONG_GOAL: f64 = 373.0;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

struct Cost {
    seal_cycles: Cycles,
    /// Cycles per further byte.
    long_per_byte: f64,
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
        no_compiler();
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
    let open = Call {
        open: true,
        message: sealed.message,
        tag: sealed.tag[..row.tag_bytes].to_vec(),
        ..seal.clone()
    };
    let (opened, open_cycles) = bench.call(&open);
    assert_eq!((opened.status, opened.message), (1, vec![4; MESSAGE_BYTES]), "{} opens", variant.name);
    let long = LONG_BYTES.map(|length| bench.call(&Call { message: vec![4; length], ..seal.clone() }).1);
    let long_per_byte = (long[1] - long[0]) as f64 / (LONG_BYTES[1] - LONG_BYTES[0]) as f64;
    let flash_bytes = image.flash.iter().map(|segment| segment.bytes.len()).sum();
    Cost { seal_cycles, long_per_byte, open_cycles, flash_bytes }
}

/// What is wanted of a host, in cycles per byte of [`HOST_MESSAGE_BYTES`], beside what others have published.
struct Wanted {
    name: &'static str,
    level: &'static str,
    peer: &'static str,
    peer_cycles: &'static str,
    goal: f64,
}

/// A message of many blocks of every host, and one of few.
const HOST_MESSAGE_BYTES: usize = 256;
const HOST_SHORT_BYTES: usize = 64;

#[rustfmt::skip]
const WANTED: [Wanted; 7] = [
    Wanted { name: "rc4_textbook",   level: "-O0", peer: "as in 2004 (RTAS)",             peer_cycles: "350",   goal: 350.0 },
    Wanted { name: "rc4_c8",         level: "-O2", peer: "as in 2004 (RTAS)",             peer_cycles: "350",   goal: 36.5 },
    Wanted { name: "rc4_avr",        level: "-O2", peer: "no record found",               peer_cycles: "-",     goal: 23.0 },
    Wanted { name: "rc4_avr32",      level: "-O2", peer: "no record found",               peer_cycles: "-",     goal: 18.5 },
    Wanted { name: "rc5_avr",        level: "-O2", peer: "as in 2004 (RTAS)",             peer_cycles: "1600",  goal: 178.0 },
    Wanted { name: "aes128_ctr_avr", level: "-O2", peer: "AVR-AES-faster, one block in C", peer_cycles: "131.0", goal: 131.0 },
    Wanted { name: "chacha20_avr",   level: "-O2", peer: "chacha-avr, one block",         peer_cycles: "212",   goal: 212.0 },
];

/// Cycles of one call, the same for every key where crypto.h says so.
fn host_cycles(bench: &Bench, host: &Host, length: usize, decrypt: bool) -> Cycles {
    let (key_bytes, nonce_bytes) = match host.cipher {
        Cipher::Rc4 => (16, 0),
        Cipher::Rc5 => (8, 0),
        Cipher::Aes128Ctr => (16, 16),
        Cipher::ChaCha20 => (32, 16),
        Cipher::Crc16 => (0, 2),
    };
    // Where cycles depend on them, neither key nor message should be special: these are the digits of nothing.
    let bytes = |length: usize, step: usize| (0..length).map(|at| (17 + 101 * at * step / 3) as u8).collect();
    let nonce = vec![0; nonce_bytes];
    let call = Crypt { decrypt, shift: 0, key: bytes(key_bytes, 5), nonce, message: bytes(length, 7) };
    let (answer, cycles) = bench.call(&call);
    if !decrypt {
        let (message, after) = hosts::expected(host.cipher, &call);
        assert_eq!((&answer.message, &answer.tag[..after.len()]), (&message, &after[..]), "{}", host.name);
    }
    cycles
}

fn host_table(scratch: &Path) -> (Table, Vec<String>) {
    let title = "hosts, without key setup: cycles per byte of a message";
    let mut table = Table::new(
        title,
        [
            Column::new("chip"),
            Column::new("variant"),
            Column::new("level"),
            Column::new(format!("{HOST_MESSAGE_BYTES} bytes")).unit("cycles/byte").decimals(1),
            Column::new(format!("{HOST_SHORT_BYTES} bytes")).unit("cycles/byte").decimals(1),
            Column::new(format!("{HOST_MESSAGE_BYTES} bytes decrypted")).unit("cycles/byte").decimals(1),
            Column::new("code and tables").unit("bytes"),
        ],
    );
    let mut goals = Vec::new();
    for profile in CHIPS {
        for (host, level) in HOSTS.iter().flat_map(|host| host.levels.iter().map(move |&level| (host, level)))
        {
            let image = variants::build_sources(
                &root(),
                scratch,
                host.sources,
                &host.defines(),
                Some(level),
                profile,
            );
            let bench = Bench::new(&image.unwrap_or_else(|| no_compiler()), profile);
            let per_byte =
                |length, decrypt| host_cycles(&bench, host, length, decrypt) as f64 / length as f64;
            let long = per_byte(HOST_MESSAGE_BYTES, false);
            let decrypted = match host.cipher {
                Cipher::Rc5 => per_byte(HOST_MESSAGE_BYTES, true).into(),
                // The same function, or none.
                _ => "-".into(),
            };
            table.push([
                profile.name.into(),
                host.name.into(),
                level.into(),
                long.into(),
                per_byte(HOST_SHORT_BYTES, false).into(),
                decrypted,
                variants::code_bytes(&root(), scratch, host.sources, level, profile).into(),
            ]);
            let wanted = WANTED.iter().filter(|wanted| (wanted.name, wanted.level) == (host.name, level));
            goals.extend(wanted.map(|wanted| {
                format!(
                    "goal\t{} {level} on the {}, cycles/byte of {HOST_MESSAGE_BYTES}\t{long:.1}\t{}\t{}\t<= {}",
                    host.name, profile.name, wanted.peer, wanted.peer_cycles, wanted.goal,
                )
            }));
        }
    }
    (table, goals)
}

fn no_compiler() -> ! {
    eprintln!("error: nothing to measure without avr-gcc\nhelp: run scripts/install.sh test");
    std::process::exit(3);
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
            Column::new("long message").unit("cycles/byte").decimals(1),
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
                cost.long_per_byte.into(),
                cost.open_cycles.into(),
                cost.flash_bytes.into(),
            ]);
            if variant.name == "ascon_aead128_avr" {
                goals.push(format!(
                    "goal\tAscon-AEAD128 on the {}, cycles/byte of a long message\t{:.1}\tascon-c, avr -Os\t373\t<= {ASCON_LONG_GOAL}",
                    profile.name, cost.long_per_byte,
                ));
            }
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
    let (table, host_goals) = host_table(scratch.path());
    println!("{}", table.text(None));
    goals.extend(host_goals);
    goals.iter().for_each(|goal| println!("{goal}"));
}
