//! The SPARC table against GNU binutils: every instruction form with its operands' extremes through `as`, and words
//! of every kind through `objdump`.

mod binutils;

use std::collections::HashMap;

use binutils::{folder, run};
use isa::sparc::bits::{CONSTANT, Field};
use isa::sparc::table::{OPCODES, Operand};
use isa::sparc::text::{self, ALIASES};
use isa::sparc::{Instruction, Opcode};

/// Whether binutils for SPARC are here.
fn tools_present(what: &str) -> bool {
    binutils::present(
        &["sparc64-linux-gnu-as", "sparc64-linux-gnu-objcopy", "sparc64-linux-gnu-objdump"],
        what,
    )
}

/// Assembles lines, a word each.
fn assemble(lines: &[String], name: &str) -> Vec<u32> {
    let folder = folder(name);
    std::fs::write(folder.join("a.s"), lines.join("\n") + "\n").expect("write the source");
    run("sparc64-linux-gnu-as", &["-32", "-Av8", "-no-relax", "a.s", "-o", "a.o"], &folder);
    run("sparc64-linux-gnu-objcopy", &["-O", "binary", "-j", ".text", "a.o", "a.bin"], &folder);
    let bytes = std::fs::read(folder.join("a.bin")).expect("read what objcopy wrote");
    bytes.chunks(4).map(|word| u32::from_be_bytes(word.try_into().expect("whole words"))).collect()
}

/// Every combination of some values of the fields of its operands, the ends among them.
fn combinations(opcode: Opcode, operands: &[Operand], base: Instruction) -> Vec<Instruction> {
    let mut found = vec![Instruction { opcode, ..base }];
    for &(field, range) in operands.iter().flat_map(|operand| operand.fields()) {
        // `as` resolves no distance as far as a word goes without a place to go to.
        let (first, last) =
            if field == Field::Low && range.first < 0 { (-4096, 8188) } else { (range.first, range.last) };
        let mut next = Vec::new();
        for from in &found {
            for value in [first, first + range.step, last] {
                let mut one = *from;
                match field {
                    Field::Rd | Field::Annul => one.rd = value as u8,
                    Field::Rs1 => one.rs1 = value as u8,
                    Field::Rs2 => one.rs2 = value as u8,
                    Field::Second => (one.rs2, one.k) = (CONSTANT, value),
                    Field::Middle | Field::Low => one.k = value,
                }
                next.push(one);
            }
            if field == Field::Second {
                next.extend([0, 1, 31].map(|rs2| Instruction { rs2, k: 0, ..*from }));
            }
        }
        found = next;
    }
    found.dedup();
    found
}

/// What other units compute has no names in our text, and `as` has no numbers for it.
fn is_operation_of_other_unit(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::Fpop1 | Opcode::Fpop2 | Opcode::Cpop1 | Opcode::Cpop2)
}

#[test]
fn every_form_encodes_as_gnu_as_encodes_it() {
    if !tools_present("SPARC encoding against as") {
        return;
    }
    let opcodes = OPCODES.iter().filter(|&&opcode| !is_operation_of_other_unit(opcode));
    let rows =
        opcodes.flat_map(|&opcode| combinations(opcode, opcode.row().operands, Instruction::new(opcode)));
    let aliases = ALIASES
        .iter()
        .flat_map(|alias| combinations(alias.stands_for.opcode, alias.operands, alias.stands_for));
    let instructions: Vec<Instruction> = rows.chain(aliases).collect();
    assert!(instructions.len() > 5_000, "{}", instructions.len());
    let lines: Vec<String> = instructions.iter().map(ToString::to_string).collect();
    let theirs = assemble(&lines, "sparc-encode");
    assert_eq!(theirs.len(), lines.len());
    for ((instruction, line), their) in instructions.iter().zip(&lines).zip(theirs) {
        let ours = instruction.encode().expect("extremes are encodable");
        assert_eq!(ours, their, "{line}: {ours:#010x}, {their:#010x}");
        assert_eq!(text::parse(line).as_ref(), Ok(instruction), "{line}");
    }
}

/// Words from a seed, spread over all instructions: each group of the table, with random fields.
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
    for group in 0..256_u32 {
        for _ in 0..120 {
            let place = if group < 64 { (group & 7) << 22 } else { (group & 63) << 19 };
            let mask = if group < 64 { 7 << 22 } else { 63 << 19 };
            let word = group >> 6 << 30 | random() & 0x3fff_ffff & !mask | place;
            // Both with and without bits where a register stands.
            words.extend([word, word & !0x1fe0]);
        }
    }
    words
}

/// Address to text, without comments and with single blanks.
fn parse_listing(listing: &str) -> HashMap<u32, String> {
    let mut found = HashMap::new();
    for line in listing.lines() {
        let mut columns = line.splitn(3, '\t');
        let (Some(address), Some(_bytes), Some(text)) = (columns.next(), columns.next(), columns.next())
        else {
            continue;
        };
        let Ok(address) = u32::from_str_radix(address.trim().trim_end_matches(':'), 16) else { continue };
        let text = text.split('!').next().unwrap_or_default();
        found.insert(address, text.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    found
}

#[test]
fn what_decodes_is_what_objdump_names_and_what_does_not_is_none_of_v8() {
    const SEED: u64 = 0x5eed_5bac;
    if !tools_present("SPARC decoding against objdump") {
        return;
    }
    println!("seed {SEED:#x}");
    let words = words(SEED);
    let folder = folder("sparc-decode");
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    std::fs::write(folder.join("all.bin"), bytes).expect("write the words");
    let listing = run(
        "sparc64-linux-gnu-objdump",
        &["-D", "-z", "-b", "binary", "-EB", "-m", "sparc", "all.bin"],
        &folder,
    );
    let theirs = parse_listing(&listing);
    let (mut legal, mut same) = (0, 0);
    for (index, &word) in words.iter().enumerate() {
        let their = &theirs[&(4 * index as u32)];
        let unknown = their.starts_with(".word") || their.starts_with("unknown");
        let Some(ours) = Instruction::decode(word) else {
            assert!(unknown || is_excused(word, their), "{word:#010x}: they say `{their}`, we say none");
            continue;
        };
        legal += 1;
        let nameless = is_operation_of_other_unit(ours.opcode);
        assert!(!unknown || nameless, "{word:#010x}: we say `{ours}`, they say none");
        // Their names for what we print by another one are theirs; where both have the name, it is the same.
        if let Ok(again) = text::parse(&plain(their, 4 * index as i64)) {
            assert!(again == ours || differs_in_zero(again, ours), "{word:#010x}: `{their}`, `{ours}`");
            same += usize::from(again == ours);
        }
    }
    println!("{} words, {legal} legal, {same} of them with a text that both read alike", words.len());
    assert!(legal > 20_000 && same > 15_000, "{legal} {same}");
}

/// Whether they differ in nothing but how a second operand of zero is said: `objdump` leaves it out in either form, and
/// calls moves what adds it.
fn differs_in_zero(a: Instruction, b: Instruction) -> bool {
    let sources = |i: Instruction| if i.rs2 == CONSTANT && i.k == 0 { [i.rs1, 0] } else { [i.rs1, i.rs2] };
    let sorted = |mut sources: [u8; 2]| {
        sources.sort_unstable();
        sources
    };
    (a.opcode, a.rd, a.k, sorted(sources(a))) == (b.opcode, b.rd, b.k, sorted(sources(b)))
}

/// What `objdump` shows of words that only other processors have, or whose unused bits are not zero.
fn is_excused(word: u32, their: &str) -> bool {
    let (name, operands) = their.split_once(' ').unwrap_or((their, ""));
    let (rd, constant, unused) = (word >> 25 & 31, word >> 13 & 1 == 1, word >> 5 & 0xff);
    match name {
        "casa" | "umac" | "smac" | "pwr" => true,
        "flush" => rd != 0,
        "ldda" | "stda" => rd % 2 == 1,
        "ldd" | "std" => rd % 2 == 1 || !constant && unused != 0 || operands.contains("q,") && rd != 0,
        "ld" | "st" => !constant && unused != 0 || operands.contains("sr") && rd != 0,
        // V8 keeps %asr1 to %asr15 to itself.
        "rd" | "wr" => operands.contains("%asr"),
        _ => name.starts_with('t') && (rd & 16 != 0 || word & if constant { 0x1f80 } else { 0x1fe0 } != 0),
    }
}

/// Their text as ours: blanks in brackets, absolute targets, address spaces in parentheses.
fn plain(their: &str, at: i64) -> String {
    let text = their.replace("[ ", "[").replace(" ]", "]").replace("b,a ", "ba,a ");
    let text = if let Some(rest) = text.strip_prefix("b ") { format!("ba {rest}") } else { text };
    let Some((name, target)) = text.split_once(' ') else { return text };
    let is_relative =
        name == "call" || name.starts_with('b') || name.starts_with("fb") || name.starts_with("cb");
    match target.strip_prefix("0x").and_then(|digits| i64::from_str_radix(digits, 16).ok()) {
        Some(target) if is_relative => format!("{name} .{:+}", (target - at) as i32),
        _ => text,
    }
}
