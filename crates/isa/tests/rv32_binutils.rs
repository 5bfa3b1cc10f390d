//! The RV32IM table against GNU binutils: every instruction form with its operands' extremes through `as`, and words
//! of every kind through `objdump`.

mod binutils;

use std::collections::HashMap;

use binutils::{folder, run};
use isa::rv32::table::{OPCODES, Operand};
use isa::rv32::text::{self, ALIASES};
use isa::rv32::{Instruction, Opcode};

const AS: &str = "riscv64-unknown-elf-as";
const OBJCOPY: &str = "riscv64-unknown-elf-objcopy";
const OBJDUMP: &str = "riscv64-unknown-elf-objdump";

/// Assembles lines, a word each.
fn assemble(lines: &[String], name: &str) -> Vec<u32> {
    let folder = folder(name);
    std::fs::write(folder.join("a.s"), lines.join("\n") + "\n").expect("write the source");
    run(AS, &["-march=rv32im_zicsr", "-mabi=ilp32", "-mno-relax", "a.s", "-o", "a.o"], &folder);
    run(OBJCOPY, &["-O", "binary", "-j", ".text", "a.o", "a.bin"], &folder);
    let bytes = std::fs::read(folder.join("a.bin")).expect("read what objcopy wrote");
    bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().expect("whole words"))).collect()
}

/// Every combination of some values of the fields of its operands, the ends among them.
fn combinations(opcode: Opcode, operands: &[Operand], base: Instruction) -> Vec<Instruction> {
    let mut found = vec![Instruction { opcode, ..base }];
    for &(field, range) in operands.iter().flat_map(|operand| operand.fields()) {
        let with = |from: &Instruction, value: i32| {
            let mut one = *from;
            one.set_field(field, value);
            one
        };
        let values = [range.first, range.first + range.step, 0, range.last];
        found = found.iter().flat_map(|from| values.map(|value| with(from, value))).collect();
    }
    found.sort_by_key(|instruction| instruction.encode().expect("extremes are encodable"));
    found.dedup();
    found
}

#[test]
fn every_form_encodes_as_gnu_as_encodes_it() {
    if !binutils::present(&[AS, OBJCOPY], "RV32IM encoding against as") {
        return;
    }
    let rows = OPCODES
        .iter()
        .flat_map(|&opcode| combinations(opcode, opcode.row().operands, Instruction::new(opcode)));
    let aliases = ALIASES
        .iter()
        .flat_map(|alias| combinations(alias.stands_for.opcode, alias.operands, alias.stands_for));
    // `as` has no word for a fence that orders nothing.
    let nothing = |i: &Instruction| i.opcode == Opcode::Fence && (i.k >> 4 == 0 || i.k & 15 == 0);
    let instructions: Vec<Instruction> = rows.chain(aliases).filter(|i| !nothing(i)).collect();
    assert!(instructions.len() > 1_500, "{}", instructions.len());
    let lines: Vec<String> = instructions.iter().map(ToString::to_string).collect();
    let theirs = assemble(&lines, "rv32-encode");
    assert_eq!(theirs.len(), lines.len());
    for ((instruction, line), their) in instructions.iter().zip(&lines).zip(theirs) {
        let ours = instruction.encode().expect("extremes are encodable");
        assert_eq!(ours, their, "{line}: {ours:#010x}, {their:#010x}");
        assert_eq!(text::parse(line).as_ref(), Ok(instruction), "{line}");
    }
    println!("{} forms", lines.len());
}

/// Words from a seed, spread over all opcodes of 32 bits and what tells their instructions apart.
fn words(seed: u64) -> Vec<u32> {
    let mut state = seed;
    let mut random = move || {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) as u32
    };
    let mut words = Vec::new();
    // Bits 4:2 of 111 begin a longer instruction.
    for opcode in (0..32_u32).filter(|opcode| opcode & 7 != 7) {
        for function in 0..8_u32 {
            for _ in 0..100 {
                let word = random() & 0xffff_8f80 | function << 12 | opcode << 2 | 3;
                // As it is, with the upper bits of the table's lines, and without registers.
                let low = word & 0x01ff_ffff;
                words.extend([
                    word,
                    low,
                    low | 1 << 25,
                    low | 1 << 30,
                    word & 0xfff0_707f,
                    word & 0x0ff0_707f,
                ]);
            }
        }
    }
    words
}

/// Address to text, with single blanks.
fn parse_listing(listing: &str) -> HashMap<u32, String> {
    let mut found = HashMap::new();
    for line in listing.lines() {
        let mut columns = line.splitn(3, '\t');
        let (Some(address), Some(_bytes), Some(text)) = (columns.next(), columns.next(), columns.next())
        else {
            continue;
        };
        let Ok(address) = u32::from_str_radix(address.trim().trim_end_matches(':'), 16) else { continue };
        let text = text.split(" #").next().unwrap_or_default();
        found.insert(address, text.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    found
}

#[test]
fn what_decodes_is_what_objdump_names_and_what_does_not_is_none_of_rv32im() {
    const SEED: u64 = 0x5eed_0032;
    if !binutils::present(&[OBJDUMP], "RV32IM decoding against objdump") {
        return;
    }
    println!("seed {SEED:#x}");
    let words = words(SEED);
    let folder = folder("rv32-decode");
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    std::fs::write(folder.join("all.bin"), bytes).expect("write the words");
    let options = ["-D", "-z", "-b", "binary", "-m", "riscv:rv32", "-M", "no-aliases", "all.bin"];
    let theirs = parse_listing(&run(OBJDUMP, &options, &folder));
    let (mut legal, mut same) = (0, 0);
    for (index, &word) in words.iter().enumerate() {
        let at = 4 * index as u32;
        let their = &theirs[&at];
        let unknown = their.starts_with('.') || their.starts_with("0x");
        let Some(ours) = Instruction::decode(word) else {
            assert!(unknown || is_excused(word, their), "{word:#010x}: they say `{their}`, we say none");
            continue;
        };
        legal += 1;
        assert!(!unknown, "{word:#010x}: we say `{ours}`, they say none");
        // State registers that there are not have names there and numbers here.
        if let Ok(again) = text::parse(&plain(their, at)) {
            assert_eq!(again, ours, "{word:#010x}: `{their}`, `{ours}`");
            same += 1;
        } else {
            assert!(their.starts_with("csr"), "{word:#010x}: we cannot read `{their}`");
        }
    }
    println!("{} words, {legal} legal, {same} of them with a text that both read alike", words.len());
    assert!(legal > 20_000 && same > 15_000, "{legal} {same}");
}

/// What `objdump` shows of words that only other processors have, or whose unused bits are not zero.
fn is_excused(word: u32, their: &str) -> bool {
    let name = their.split(' ').next().unwrap_or_default();
    let opcode = word & 0x7f;
    match opcode {
        // Floating-point numbers and atomic accesses.
        0x07 | 0x27 | 0x2f | 0x43 | 0x47 | 0x4b | 0x4f | 0x53 => true,
        0x0f => name.starts_with("fence"),
        // A count of 32 or more, for longer registers.
        0x13 => matches!(name, "slli" | "srli" | "srai") && word >> 25 & 1 == 1,
        // Supervisors and debuggers.
        0x73 => word >> 12 & 7 == 0 || word >> 12 & 7 == 4,
        _ => false,
    }
}

/// Their text as ours: distances instead of targets, and 0 for a fence that orders nothing.
fn plain(their: &str, at: u32) -> String {
    let name = their.split(' ').next().unwrap_or_default();
    let is_relative = name == "jal" || name.starts_with('b');
    match their.rsplit_once(',') {
        Some((rest, target)) if is_relative => {
            let digits = target.strip_prefix("0x").unwrap_or(target);
            let target = u64::from_str_radix(digits, 16).expect("a target") as u32;
            format!("{rest},.{:+}", target.wrapping_sub(at) as i32)
        }
        _ => their.replace("unknown", "0"),
    }
}
