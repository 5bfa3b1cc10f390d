//! Looks for linked programs, of SPARC and of RV32, on which the packer's reader or the packer panics or hangs; for
//! packed ones that are not the program that they were; and for words that a reader takes for what they are not.
//!
//! The bytes are read as a file; and they are a script of one whose headers, symbols and relocations are sound: which
//! instructions it has, and which of them have which part of which address.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use pack::check::check;
use pack::code::packet::Packet;
use pack::flow::Choice;
use pack::packing::Assignment;
use pack::program::Form;
use pack::{Program, Settings, Target, pack};

const CODE: u32 = 0x4000_1000;
/// So many that packing may gain.
const WORDS_MAX: usize = 400;

/// Instructions of each kind that the packer tells apart; those with a distance are given another.
const SPARC: [&str; 20] = [
    "add %g1, %g2, %g1",
    "add %g1, 1, %g1",
    "sethi %hi(0x40001000), %g1",
    "or %g1, 16, %g1",
    "ld [%g1], %g2",
    "st %g2, [%g1]",
    "subcc %g1, %g2, %g0",
    "addx %g1, %g2, %g3",
    "smul %g1, %g2, %g3",
    "rd %y, %g4",
    "save %sp, -96, %sp",
    "restore %g0, %g0, %g0",
    "jmp %g1 + 0",
    "retl",
    "ta 16",
    "nop",
    "be .+8",
    "bne,a .+8",
    "ba .+8",
    "call .+8",
];
const RV32: [&str; 18] = [
    "add a0, a0, a1",
    "addi a0, a0, 1",
    "lui a0, 0x40001",
    "auipc a0, 0",
    "lw a1, 0(a0)",
    "sw a1, 0(a0)",
    "mul a0, a1, a2",
    "slti a0, a1, 3",
    "jalr zero, 0(a0)",
    "jalr ra, 0(a0)",
    "ret",
    "ecall",
    "ebreak",
    "nop",
    "beq a0, a1, .+8",
    "bgeu a0, a1, .+8",
    "jal zero, .+8",
    "jal ra, .+8",
];

/// Relocations by their numbers, and the part of an address that each is of.
const SPARC_RELOCATIONS: [(u8, Form); 6] = [
    (3, Form::Word),
    (23, Form::Word),
    (7, Form::Distance),
    (8, Form::Distance),
    (9, Form::High22),
    (12, Form::Low10),
];
const RV32_RELOCATIONS: [(u8, Form); 8] = [
    (1, Form::Word),
    (16, Form::Distance),
    (17, Form::Distance),
    (26, Form::High20),
    (27, Form::Low12),
    (28, Form::Low12Stored),
    (18, Form::High20),
    (23, Form::High20),
];

static SPARC_WORDS: LazyLock<Vec<u32>> = LazyLock::new(|| {
    let word = |line: &&str| isa::sparc::text::parse(line).expect("it is written so").encode();
    SPARC.iter().map(|line| word(line).expect("it has a word")).collect()
});
static RV32_WORDS: LazyLock<Vec<u32>> = LazyLock::new(|| {
    let word = |line: &&str| isa::rv32::text::parse(line).expect("it is written so").encode();
    RV32.iter().map(|line| word(line).expect("it has a word")).collect()
});

/// A relocation: what it changes, its number, and the address that it says.
type Relocation = (u32, u8, u32);

/// Words and relocations of a script.
fn written(target: Target, script: &[u8]) -> (Vec<u32>, Vec<Relocation>) {
    let templates = if target == Target::Sparc { &*SPARC_WORDS } else { &*RV32_WORDS };
    let mut bytes = script.iter().copied();
    let mut next = || bytes.next();
    let count = next().unwrap_or(0) % 8;
    let told: Vec<[u8; 3]> = (0..count).map(|_| [0; 3].map(|_: u8| next().unwrap_or(0))).collect();
    let mut words = Vec::new();
    while let Some(byte) = next().filter(|_| words.len() < WORDS_MAX) {
        if byte == u8::MAX {
            words.push(u32::from_be_bytes([0; 4].map(|_: u8| next().unwrap_or(0))));
            continue;
        }
        let mut word = templates[usize::from(byte) % templates.len()];
        if target.is_branch(word) || target == Target::Sparc && word >> 30 == 1 {
            let words = i32::from(next().unwrap_or(2) as i8);
            let call = 1 << 30 | words as u32 & 0x3fff_ffff;
            word = target.with_distance(word, words).unwrap_or(call);
        }
        words.push(word);
    }
    words.resize(words.len().max(1), target.nop());
    let all = words.len();
    let mut relocations = Vec::new();
    for [kind, at, to] in told {
        let (at, to) = (usize::from(at) % all, CODE + 4 * (usize::from(to) % all) as u32);
        let place = CODE + 4 * at as u32;
        let (r_type, form) = match target {
            Target::Sparc => SPARC_RELOCATIONS[usize::from(kind & 0x7f) % SPARC_RELOCATIONS.len()],
            Target::Rv32 => RV32_RELOCATIONS[usize::from(kind & 0x7f) % RV32_RELOCATIONS.len()],
        };
        // Some are untrue.
        if kind & 0x80 == 0 {
            words[at] = form.patch(target, words[at], place, to).unwrap_or(words[at]);
        }
        relocations.push((place, r_type, to));
    }
    (words, relocations)
}

/// A linked program with two functions and these relocations.
fn linked(target: Target, code: &[u32], relocations: &[Relocation]) -> Vec<u8> {
    const NAMES: &[u8] = b"\0.text\0.rela.text\0.symtab\0.names\0f\0g\0";
    let put = |file: &mut Vec<u8>, words: &[u32]| {
        file.extend(words.iter().flat_map(|&word| target.bytes(word)));
    };
    let halves = |upper: u32, lower: u32| match target {
        Target::Sparc => upper << 16 | lower,
        Target::Rv32 => lower << 16 | upper,
    };
    let (machine, order) = if target == Target::Sparc { (2, 2) } else { (243, 1) };
    let code_bytes = 4 * code.len() as u32;
    let rela_bytes = 12 * relocations.len() as u32;
    let (text, names_bytes) = (84, NAMES.len() as u32);
    let rela = text + code_bytes;
    let symbols = rela + rela_bytes;
    let names = symbols + 48;
    let sections = (names + names_bytes).next_multiple_of(4);
    let mut file = b"\x7fELF\x01".to_vec();
    file.extend([order, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    put(&mut file, &[halves(2, machine), 1, CODE, 52, sections, 0]);
    put(&mut file, &[halves(52, 32), halves(1, 40), halves(5, 4)]);
    put(&mut file, &[1, text, CODE, CODE, code_bytes, code_bytes, 5, 4]);
    put(&mut file, code);
    for &(at, r_type, to) in relocations {
        put(&mut file, &[at, r_type.into(), to]);
    }
    // Functions are at the first word and in the middle: binding 1, type 2, in section 1.
    let info = if target == Target::Sparc { 0x1200_0001 } else { 0x0001_0012 };
    let middle = CODE + 4 * (code.len() as u32 / 2);
    put(&mut file, &[0, 0, 0, 0, 33, CODE, 0, info, 35, middle, 0, info]);
    file.extend(NAMES);
    file.resize(sections as usize, 0);
    put(&mut file, &[0; 10]);
    put(&mut file, &[1, 1, 6, CODE, text, code_bytes, 0, 0, 4, 0]);
    put(&mut file, &[7, 4, 0x40, 0, rela, rela_bytes, 3, 1, 4, 12]);
    put(&mut file, &[18, 2, 0, 0, symbols, 48, 4, 1, 4, 16]);
    put(&mut file, &[26, 3, 0, 0, names, names_bytes, 0, 0, 1, 0]);
    file
}

/// Packs what can be read, and compares it.
fn packed(bytes: &[u8]) {
    let Ok(program) = Program::parse(bytes) else { return };
    for assignment in [Assignment::Greedy, Assignment::Scheduled] {
        let settings = Settings { assignment, ..Settings::default() };
        // What is left as it is need not be followed.
        if let Ok(packed) = pack(&program, &[], &settings)
            && packed.report.nothing.is_none()
        {
            let faults = check(&program, &packed.image, &Choice::default());
            assert_eq!(faults, Ok(Vec::new()), "{assignment:?}");
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    packed(bytes);
    let Some((&first, script)) = bytes.split_first() else { return };
    let target = if first & 1 == 0 { Target::Sparc } else { Target::Rv32 };
    let (words, relocations) = written(target, script);
    for &word in &words {
        if let Some(packet) = Packet::of_word(target, word) {
            assert_eq!(packet.word(target), Some(word));
        }
        if let Some(instruction) = isa::sparc::Instruction::decode(word) {
            assert_eq!(instruction.encode(), Ok(word));
            assert_eq!(isa::sparc::text::parse(&instruction.to_string()), Ok(instruction));
        }
    }
    packed(&linked(target, &words, &relocations));
});
