//! A small assembler for tests: labels, I/O register names, one instruction a line, over the crate's own text
//! and words, so that no tool has to be installed.
#![allow(dead_code)] // each test file uses some of it

use std::collections::HashMap;

use isa::avr::table::Operand;
use isa::avr::{Chip, Image, Profile, Settings, text};

struct Labels<'a> {
    labels: &'a HashMap<String, i64>,
    profile: &'static Profile,
    /// Byte address behind the instruction.
    next: i64,
    first_pass: bool,
}

impl text::Resolve for Labels<'_> {
    type Error = String;

    fn value(&mut self, expression: &str, operand: Operand) -> Result<i64, String> {
        let distance = matches!(operand, Operand::Relative7 | Operand::Relative12);
        if let Ok(value) = text::Numbers.value(expression, operand) {
            return Ok(value);
        }
        if let Some(register) = self.profile.register(expression) {
            let io = matches!(operand, Operand::Io5 | Operand::Io6);
            return Ok(i64::from(register.address) - if io { 0x20 } else { 0 });
        }
        if let Some(inner) = expression.strip_prefix("lo8(").and_then(|rest| rest.strip_suffix(')')) {
            return Ok(self.value(inner, Operand::Address16)? & 0xff);
        }
        if let Some(inner) = expression.strip_prefix("hi8(").and_then(|rest| rest.strip_suffix(')')) {
            return Ok(self.value(inner, Operand::Address16)? >> 8 & 0xff);
        }
        match self.labels.get(expression) {
            Some(address) if distance => Ok(address - self.next),
            Some(address) => Ok(*address),
            None if self.first_pass => Ok(0),
            None => Err(format!("no label {expression}")),
        }
    }
}

/// The flash of a program. Lines are `label:`, `.org BYTES`, or an instruction; `;` begins a comment.
pub fn assemble(profile: &'static Profile, source: &str) -> Vec<u8> {
    let mut labels = HashMap::new();
    let mut flash = Vec::new();
    for first_pass in [true, false] {
        flash.clear();
        for line in source.lines().flat_map(|line| line.split(';').next().unwrap_or("").split('|')) {
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            if let Some(label) = line.strip_suffix(':') {
                labels.insert(label.to_owned(), flash.len() as i64);
                continue;
            }
            if let Some(to) = line.strip_prefix(".org ") {
                flash.resize(text::number(to).expect("a number") as usize, 0);
                continue;
            }
            let (mnemonic, operands) = text::split(line);
            // Only two-word instructions care which length is taken here, and theirs is known by name.
            let bytes = if matches!(mnemonic, "jmp" | "call" | "lds" | "sts") { 4 } else { 2 };
            let next = flash.len() as i64 + bytes;
            let mut resolver = Labels { labels: &labels, profile, next, first_pass };
            let instruction = text::parse_with(mnemonic, &operands, &mut resolver)
                .unwrap_or_else(|error| panic!("{line}: {error}"));
            let (first, second) = instruction.encode().expect("what was parsed is encodable");
            flash.extend(first.to_le_bytes());
            flash.extend(second.into_iter().flat_map(u16::to_le_bytes));
        }
    }
    flash
}

/// A chip with a program at address 0.
pub fn chip(profile: &'static Profile, source: &str) -> Chip {
    chip_with(profile, Settings::default(), source)
}

/// A chip in other than the default surroundings.
pub fn chip_with(profile: &'static Profile, settings: Settings, source: &str) -> Chip {
    let mut chip = Chip::with_settings(profile, settings);
    let image = Image::from_flash(profile.architecture, assemble(profile, source));
    chip.load(&image).expect("the program fits the chip");
    chip
}
