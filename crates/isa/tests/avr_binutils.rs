//! The AVR table against GNU binutils: every instruction form with its operands' extremes through avr-as, and
//! all 65,536 first words through avr-objdump.

mod binutils;

use std::collections::HashMap;
use std::process::Command;

use binutils::{folder, run};
use isa::avr::Instruction;
use isa::avr::bits::Range;
use isa::avr::table::{ALIASES, Opcode, Operand, ROWS};
use isa::avr::text;

/// Whether binutils for AVR are here.
fn tools_present(what: &str) -> bool {
    binutils::present(&["avr-as", "avr-ld", "avr-objcopy", "avr-objdump"], what)
}

/// Assembles lines, each at its own address, and returns the words.
fn assemble(lines: &[String], name: &str) -> Vec<u16> {
    let folder = folder(name);
    // Room on both sides, so that every distance has a target.
    let source = format!(".skip 8192\nstart:\n{}\n.skip 8192\n", lines.join("\n"));
    std::fs::write(folder.join("a.s"), source).expect("write the source");
    run("avr-as", &["-mmcu=avr51", "-mno-link-relax", "a.s", "-o", "a.o"], &folder);
    run("avr-ld", &["-mavr51", "-Ttext=0", "-e", "0", "a.o", "-o", "a.elf"], &folder);
    run("avr-objcopy", &["-O", "binary", "-j", ".text", "a.elf", "a.bin"], &folder);
    let bytes = std::fs::read(folder.join("a.bin")).expect("read what objcopy wrote");
    let code = &bytes[8192..bytes.len() - 8192];
    code.chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect()
}

/// First, second, middle and last values of an operand.
fn extremes(operand: Operand) -> Vec<i32> {
    let Range { first, mut last, step } = operand.range();
    if operand == Operand::Address22 {
        last = 0xffff; // what avr51 has of flash
    }
    let middle = first + (last - first) / step / 2 * step;
    let mut values = vec![first, first + step, middle, last];
    values.dedup();
    if matches!(operand, Operand::Pointer(_)) { vec![0] } else { values }
}

/// Every combination of the operands' extremes.
fn combinations(opcode: Opcode) -> Vec<Instruction> {
    let mut found = vec![Instruction::new(opcode)];
    for &operand in opcode.row().operands {
        let values = extremes(operand);
        found = found
            .into_iter()
            .flat_map(|instruction| {
                values.iter().map(move |&value| {
                    let mut next = instruction;
                    next.set_operand(operand, value);
                    next
                })
            })
            .collect();
    }
    found
}

fn words(instruction: &Instruction) -> Vec<u16> {
    let (first, second) = instruction.encode().expect("extremes are encodable");
    std::iter::once(first).chain(second).collect()
}

#[test]
fn every_form_encodes_as_avr_as_encodes_it() {
    if !tools_present("encoding against avr-as") {
        return;
    }
    let instructions: Vec<Instruction> = ROWS.iter().flat_map(|row| combinations(row.opcode)).collect();
    assert!(instructions.len() > 500);
    let lines: Vec<String> = instructions.iter().map(ToString::to_string).collect();
    let theirs = assemble(&lines, "encode");
    let mut at = 0;
    for (instruction, line) in instructions.iter().zip(&lines) {
        let ours = words(instruction);
        assert_eq!(ours, theirs[at..at + ours.len()], "{line}");
        at += ours.len();
        assert_eq!(text::parse(line).as_ref(), Ok(instruction), "{line}");
    }
    assert_eq!(at, theirs.len());
}

#[test]
fn every_alias_encodes_as_avr_as_encodes_it() {
    if !tools_present("aliases against avr-as") {
        return;
    }
    let mut lines = Vec::new();
    for alias in ALIASES {
        let mut partial = vec![String::new()];
        for (index, &operand) in alias.operands.iter().enumerate() {
            let comma = if index == 0 { " " } else { ", " };
            let words: Vec<String> = extremes(operand).into_iter().map(|v| spell(operand, v)).collect();
            partial =
                partial.iter().flat_map(|p| words.iter().map(move |w| format!("{p}{comma}{w}"))).collect();
        }
        lines.extend(partial.into_iter().map(|operands| format!("{}{operands}", alias.mnemonic)));
    }
    let theirs = assemble(&lines, "aliases");
    assert_eq!(theirs.len(), lines.len());
    for (line, their) in lines.iter().zip(theirs) {
        let ours = text::parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(words(&ours), [their], "{line}");
    }
}

/// An operand's text, written without the printer under test.
fn spell(operand: Operand, value: i32) -> String {
    match operand {
        Operand::Rd | Operand::Rr | Operand::RdHigh => format!("r{value}"),
        Operand::Relative7 => format!(".{:+}", value * 2),
        Operand::Pointer(word) => word.to_owned(),
        _ => value.to_string(),
    }
}

#[test]
fn odd_spellings_read_as_avr_as_reads_them() {
    if !tools_present("spellings against avr-as") {
        return;
    }
    let lines = [
        "LDI R16,0X1F",
        "ldi r16,-1",
        "ldi r16,-128",
        "ldi  r17 , 017",
        "ldi r18, 0b101",
        "ldi r19, 'a'",
        "ldd r0, y + 5",
        "std z+0x3f ,r31",
        "ld r4 , x+",
        "st -x, r5",
        "movw r2,r30",
        "lpm",
        "LPM R5,Z+",
        "rjmp .",
        "brne .+2",
        "sbr r16, 1<<0+1",
        "adiw r26,1",
        "jmp 0x10",
    ]
    .map(String::from);
    let theirs = assemble(&lines, "spellings");
    let mut at = 0;
    for line in &lines {
        if line.contains("<<") {
            at += 1; // an expression: the business of a resolver that knows operators
            assert!(matches!(text::parse(line), Err(isa::avr::TextError::Expression { .. })), "{line}");
            continue;
        }
        let ours = words(&text::parse(line).unwrap_or_else(|error| panic!("{line}: {error}")));
        assert_eq!(ours, theirs[at..at + ours.len()], "{line}");
        at += ours.len();
    }
}

/// What binutils print for words of other cores. avr-objdump knows no limit to avr51, but avr-as does.
const OTHER_CORES: &[&str] = &["eijmp", "eicall", "des", "xch", "las", "lac", "lat"];

/// `spm Z+` is of AVRxm and AVRxt only (instruction set manual, SPM), though avr-as lets avr51 have it.
const AVRXM_ONLY: &str = "spm Z+";

#[test]
fn every_first_word_decodes_as_avr_objdump_decodes_it() {
    if !tools_present("decoding against avr-objdump") {
        return;
    }
    const SECOND: u16 = 0x1234;
    let folder = folder("decode");
    let bytes: Vec<u8> =
        (0..=0xffff_u16).flat_map(|first| [first, SECOND]).flat_map(u16::to_le_bytes).collect();
    std::fs::write(folder.join("all.bin"), bytes).expect("write the words");
    let listing = run("avr-objdump", &["-D", "-z", "-b", "binary", "-m", "avr:51", "all.bin"], &folder);
    let theirs = parse_listing(&listing);

    let mut legal = 0;
    for first in 0..=0xffff_u16 {
        let their = &theirs[&(u32::from(first) * 4)];
        match Instruction::decode(first, Some(SECOND)) {
            Some(ours) => {
                legal += 1;
                // objdump's hexadecimal digits are of either case, depending on the operand.
                assert!(ours.to_string().eq_ignore_ascii_case(their), "{first:#06x}: `{ours}`, `{their}`");
            }
            None => {
                let name = their.split(' ').next().unwrap_or_default();
                let excused = name == ".word" || OTHER_CORES.contains(&name) || their == AVRXM_ONLY;
                assert!(excused, "{first:#06x}: binutils say `{their}`, we say illegal");
            }
        }
    }
    assert!(legal > 60_000, "only {legal} words decode");
}

#[test]
fn avr_as_refuses_avr51_the_instructions_that_we_leave_out() {
    if !tools_present("instructions of other cores against avr-as") {
        return;
    }
    let folder = folder("refused");
    for line in ["eijmp", "eicall", "xch Z, r1", "las Z, r1", "lac Z, r1", "lat Z, r1"] {
        std::fs::write(folder.join("a.s"), format!("{line}\n")).expect("write the source");
        let output =
            Command::new("avr-as").args(["-mmcu=avr51", "a.s", "-o", "a.o"]).current_dir(&folder).output();
        assert!(!output.expect("avr-as runs").status.success(), "{line}");
        assert!(text::parse(line).is_err(), "{line}");
    }
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
        let address = address.trim().trim_end_matches(':');
        let Ok(address) = u32::from_str_radix(address, 16) else { continue };
        let text = text.split(';').next().unwrap_or_default();
        found.insert(address, text.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    found
}
