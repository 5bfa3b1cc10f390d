//! How `firmware/kernel/slots.c` is built: by the build of the node, with its flags, and with its filters woven or not.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use selvedge::link::Chip;
use selvedge::toolchain::{Besides, Compiler, Line, Sealer};

use super::plan::BYTE_CYCLES;
use super::tasks::root;
use super::{FRAME_BYTES, KEY, MAY_WAIT_SLOTS, NODE, SLOT_CYCLES, SLOTS, TEXT_BYTES, rig, tree};

/// Besides the filters'.
const SOURCES: [&str; 6] = ["main.c", "controller.c", "policy.c", "frame.c", "kernel.S", "stand_clear.S"];
/// What slots.c's filters are woven for: it sends at f/32, and nothing is sampled.
pub const LINE: Line = Line {
    sealer: Sealer::Ascon,
    divider_log2: 5,
    sent_bytes: FRAME_BYTES,
    heard_bytes: FRAME_BYTES,
    heard_byte_cycles: BYTE_CYCLES,
    next_sample_cycles: SLOT_CYCLES as u32,
};

/// How slots.c is built.
pub struct Variant {
    pub name: &'static str,
    is_woven: bool,
    /// For the preprocessor: how many frames have room.
    places: &'static [&'static str],
    /// Filters that run in some plan of a few, and filters that run in none.
    pub ran: &'static [usize],
    pub never: &'static [usize],
}

pub const VARIANTS: [Variant; 3] = [
    Variant {
        name: "The node's filters, larger pipes",
        is_woven: true,
        places: &[
            "-DPLAIN_FRAMES_MAX=3",
            "-DSEALED_FRAMES_MAX=2",
            "-DHEARD_FRAMES_MAX=2",
            "-DOPENED_FRAMES_MAX=2",
            "-DSENT_BYTES_MAX=64",
        ],
        ran: &[0, 1, 2, 3, 4, 5, 6, 7, 8],
        never: &[],
    },
    // With room for one sealed frame, there is seldom any while the line receives.
    Variant {
        name: "The node's filters",
        is_woven: true,
        places: &[],
        ran: &[0, 1, 2, 3, 4, 5, 6, 8],
        never: &[],
    },
    Variant {
        name: "The node's discrete filters",
        is_woven: false,
        places: &[],
        ran: &[0, 1, 2, 3, 6],
        never: &[4, 5, 7, 8],
    },
];

impl Variant {
    /// By the build of the node, in a tree of its own, whose program is slots.c.
    fn elf(&self, compiler: &Compiler) -> Vec<u8> {
        let tree = tree::copied();
        let node = tree.path().join("firmware/node");
        fs::copy(root().join("firmware/kernel/slots.c"), node.join("main.c")).expect("it can be copied");
        let key = KEY.map(|byte| byte.to_string()).join(",");
        let [plain, heard] = MAY_WAIT_SLOTS;
        let defines = [
            format!("-DSLOT_CYCLES={SLOT_CYCLES}U"),
            format!("-DPLAN_SLOTS={SLOTS}"),
            format!("-DNODE={NODE}"),
            format!("-DTEXT_BYTES={TEXT_BYTES}"),
            format!("-DKEY_BYTES={key}"),
            format!("-DPLAIN_SLOTS={plain}"),
            format!("-DHEARD_SLOTS={heard}"),
            format!("-DWOVEN={}", u8::from(self.is_woven)),
        ];
        if !self.is_woven {
            let list = node.join("filters_ascon.txt");
            let filters = fs::read_to_string(&list).expect("the list");
            let discrete: Vec<&str> = filters.lines().filter(|line| !line.starts_with("woven ")).collect();
            fs::write(&list, discrete.join("\n")).expect("it can be written");
        }
        let list = node.join("sources.txt");
        let nodes = fs::read_to_string(&list).expect("the list");
        // Flags are the node's.
        let nodes = nodes.lines().filter(|line| !line.starts_with("source ")).map(str::to_owned);
        let flags = self.places.iter().copied().chain(defines.iter().map(String::as_str));
        let own = flags.map(|flag| format!("flag {flag}"));
        let sources = SOURCES.iter().map(|source| format!("source {source}"));
        let lines: Vec<String> = nodes.chain(own).chain(sources).collect();
        fs::write(&list, lines.join("\n") + "\n").expect("it can be written");
        let chip = Chip::find("atmega128").expect("it is one of them");
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("selvedge");
        let built = compiler.node_image(tree.path(), chip, Besides::Woven(LINE), Some(&cache));
        built.unwrap_or_else(|error| panic!("{}", error.lines())).elf
    }
}

/// The ELF of each variant; none after saying that there is no avr-gcc.
pub fn elves() -> Option<&'static [Vec<u8>; VARIANTS.len()]> {
    static ELVES: OnceLock<Option<[Vec<u8>; VARIANTS.len()]>> = OnceLock::new();
    let all = || {
        let compiler = rig::compiler("the thread controller")?;
        Some(VARIANTS.each_ref().map(|variant| variant.elf(&compiler)))
    };
    ELVES.get_or_init(all).as_ref()
}
