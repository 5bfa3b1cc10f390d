//! The woven function as text, with its frame.
//!
//! Owns: the layout in words (and what is too far for its form), saving registers, moving the guest's parameters to
//! their homes, and the `.s` text with its directives as comments and as records. Decides nothing about time.

use std::collections::BTreeMap;
use std::fmt::Write;

use isa::avr::table::Operand;
use isa::avr::{Instruction, Opcode, Set};

use crate::directive::{Directive, Thread};
use crate::error::Refusal;
use crate::item::{Item, Label, Line};
use crate::product::{Far, Woven};
use crate::program::{self, Function, Text};
use crate::rename::{CALL_CLOBBERED, Homes, Store};
use crate::vacate::Move;

/// What surrounds the woven code.
pub struct Frame<'a> {
    /// The woven function's symbol.
    pub name: &'a str,
    /// The host.
    pub host: &'a Function,
    /// Bytes of the host's parameters.
    pub host_arguments: &'a [u32],
    /// Bytes of the guest's, which follow them.
    pub guest_arguments: &'a [u32],
    /// What the output says of itself: chip, clock, period.
    pub says: &'a [Directive],
    /// Registers of the host that are others than its callers expect.
    pub moves: &'a [Move],
    /// What lives at the entry of the host as it is written.
    pub given: Set,
    /// Where the guest's lines and the host's are written.
    pub texts: [&'a [Text]; 2],
}

/// The registers of each parameter, lowest register first (avr-gcc's ABI: from r25 down, each at an even register).
/// `None` when they run out.
pub fn parameter_registers(bytes: &[u32]) -> Option<Vec<u8>> {
    let mut next = 26_u32;
    bytes
        .iter()
        .map(|bytes| {
            next = next.checked_sub(bytes + bytes % 2)?;
            (next >= 8).then_some(next as u8)
        })
        .collect()
}

/// Where a result may be (avr-gcc's ABI).
const RESULTS: std::ops::RangeInclusive<u8> = 18..=25;

/// The whole function: frame and woven code.
///
/// # Errors
/// [`Refusal::Arguments`] when the parameters do not fit the ABI's registers.
pub fn framed(frame: &Frame, homes: &Homes, woven: &Woven) -> Result<Vec<Item>, Refusal> {
    let saved: Vec<u8> =
        homes.used.registers().filter(|register| !CALL_CLOBBERED.contains(register)).collect();
    let register =
        |opcode, d: u8, r: u8| Item::Line(Line::added(Instruction { d, r, ..Instruction::new(opcode) }));
    let mut items: Vec<Item> = saved.iter().map(|&saved| register(Opcode::Push, 0, saved)).collect();
    items.extend(moves(frame, homes)?);
    items.extend(woven.items.iter().cloned());
    items.push(Item::Label(woven.end));
    let results = frame.moves.iter().filter(|found| RESULTS.contains(&found.from));
    items.extend(results.map(|found| register(Opcode::Mov, found.from, found.to)));
    items.extend(saved.iter().rev().map(|&saved| register(Opcode::Pop, saved, 0)));
    items.push(Item::Line(Line::added(Instruction::new(Opcode::Ret))));
    for item in &mut items {
        if let Item::Line(Line { target: Some(target), .. }) = item {
            while let Some(&other) = woven.aliases.get(target) {
                *target = other;
            }
        }
    }
    Ok(items)
}

/// From the registers in which the guest's parameters arrive to their homes, in an order that loses none.
fn moves(frame: &Frame, homes: &Homes) -> Result<Vec<Item>, Refusal> {
    let lacking = |function: &str| Refusal::Arguments { function: function.to_owned() };
    let all = [frame.host_arguments, frame.guest_arguments].concat();
    let arrive = parameter_registers(&all).ok_or_else(|| lacking(&frame.host.name))?;
    let own = parameter_registers(frame.guest_arguments).ok_or_else(|| lacking(&frame.host.name))?;
    let (mut open, mut stores) = (Vec::new(), Vec::new());
    for (index, &bytes) in frame.guest_arguments.iter().enumerate() {
        for byte in 0..bytes as u8 {
            let from = arrive[frame.host_arguments.len() + index] + byte;
            match homes.store(own[index] + byte) {
                Some(Store::Register(to)) if to != from => open.push((from, to)),
                Some(Store::Memory(offset)) => stores.push(homes.access(Opcode::Sts, from, offset)),
                _ => {}
            }
        }
    }
    for (&bytes, &low) in frame.host_arguments.iter().zip(&arrive) {
        let own = frame.moves.iter().filter(|found| {
            (low..low + bytes as u8).contains(&found.from) && frame.given.contains(Set::register(found.from))
        });
        open.extend(own.map(|found| (found.from, found.to)));
    }
    let line = |opcode, d, r| Item::Line(Line::added(Instruction { d, r, ..Instruction::new(opcode) }));
    let mut ordered = Vec::new();
    while !open.is_empty() {
        match open.iter().position(|&(_, to)| open.iter().all(|&(from, _)| from != to)) {
            Some(index) => {
                let (from, to) = open.remove(index);
                ordered.push(line(Opcode::Mov, to, from));
            }
            None => {
                // Homes in a circle: two change places, since every register may be somebody's home by now.
                let (from, to) = open.remove(0);
                ordered.extend([(to, from), (from, to), (to, from)].map(|(d, r)| line(Opcode::Eor, d, r)));
                for (source, _) in &mut open {
                    *source = if *source == from {
                        to
                    } else if *source == to {
                        from
                    } else {
                        *source
                    };
                }
                open.retain(|(from, to)| from != to);
            }
        }
    }
    // Memory first: what goes there is not overwritten yet.
    Ok([stores, ordered].concat())
}

/// Words between two checks of which both are too far from where they go and only one is made longer at a time.
const ISLAND_DISTANCE_WORDS: i64 = 80;

/// What does not reach its target in its short form.
pub fn too_far(items: &[Item], known: &Far) -> Far {
    let mut at = BTreeMap::new();
    let mut word: i64 = 0;
    for item in items {
        match item {
            Item::Label(label) => {
                at.insert(*label, word);
            }
            Item::Line(line) => word += i64::from(line.instruction.opcode.words()),
            Item::Says(_) => {}
        }
    }
    let mut far = known.clone();
    // What is made longer brings others nearer.
    let mut last = -ISLAND_DISTANCE_WORDS;
    let mut word: i64 = 0;
    for item in items {
        let Item::Line(line) = item else { continue };
        word += i64::from(line.instruction.opcode.words());
        let Some(target) = line.target else { continue };
        let distance = at[&target] - word;
        match line.instruction.opcode {
            Opcode::Brbs | Opcode::Brbc if !(-64..=63).contains(&distance) => match line.origin {
                Some(_) if line.thread.is_none() && word - last < ISLAND_DISTANCE_WORDS => {}
                Some(origin) => {
                    if line.thread.is_none() {
                        last = word;
                    }
                    let branch = (line.thread, origin);
                    let longer =
                        if known.branches.contains(&branch) { &mut far.farther } else { &mut far.branches };
                    longer.insert(branch);
                }
                None => unreachable!("branches that weaving adds are short"),
            },
            Opcode::Rjmp | Opcode::Rcall if !(-2048..=2047).contains(&distance) => far.jumps = true,
            _ => {}
        }
    }
    far
}

/// The text of the function.
pub fn text(frame: &Frame, homes: &Homes, items: &[Item]) -> String {
    let name = frame.name;
    let mut out = String::new();
    if homes.memory_bytes > 0 {
        let _ = writeln!(out, "\t.local {0}\n\t.comm {0},{1}", homes.memory, homes.memory_bytes);
    }
    let _ = writeln!(out, "\t.section .text.{name},\"ax\",@progbits");
    let _ = writeln!(out, "\t.global {name}\n\t.type {name}, @function\n{name}:");
    for directive in frame.says {
        says(&mut out, directive);
        if let Some(symbol) = needs(directive) {
            let _ = writeln!(out, "\t.reloc ., R_AVR_NONE, {symbol}");
        }
    }
    let mut written = None;
    for item in items {
        match item {
            Item::Label(label) => {
                let _ = writeln!(out, "{}:", local(name, *label));
            }
            Item::Says(directive) => says(&mut out, directive),
            Item::Line(line) => {
                written = frame.written(line).or(written);
                if let Some((file, number)) = written {
                    let _ = writeln!(out, "# {number} \"{file}\"");
                }
                let _ = out.write_char('\t');
                write_line(&mut out, name, line, frame.spelled(line));
                let _ = out.write_char('\n');
            }
        }
    }
    let _ = writeln!(out, "\t.size {name}, .-{name}");
    out
}

/// The symbol that a program must have for code that was timed for one chip or clock: the woven function's header
/// defines it where they are the same, so that nothing else links.
pub fn needs(directive: &Directive) -> Option<String> {
    match directive {
        Directive::Chip(name) => Some(format!("weave_needs_{name}")),
        Directive::Frequency(hertz) => Some(format!("weave_needs_f_cpu_{hertz}")),
        _ => None,
    }
}

impl Frame<'_> {
    /// The file and line of an instruction of either thread; what weaving adds has none of its own.
    fn written(&self, line: &Line) -> Option<(&str, u32)> {
        program::written(self.texts_of(line)?, line.origin?)
    }

    fn texts_of(&self, line: &Line) -> Option<&[Text]> {
        let [guest, host] = self.texts;
        Some(if line.thread? == Thread::Guest { guest } else { host })
    }

    /// An instruction of either thread as its author spells it.
    fn spelled(&self, line: &Line) -> Spelling {
        match (self.texts_of(line), line.origin) {
            (Some(texts), Some(origin)) => program::spelled(texts, origin, &line.instruction),
            _ => line.instruction.form(),
        }
    }
}

/// A mnemonic and its operands.
type Spelling = (&'static str, &'static [Operand]);

/// A directive as a record, which the reader of the text knows as well.
fn says(out: &mut String, directive: &Directive) {
    let _ = writeln!(
        out,
        "7701: .pushsection .weave,\"\",@progbits $ .long 7701b $ .asciz \"{directive}\" $ .popsection"
    );
}

fn local(name: &str, label: Label) -> String {
    format!(".Lweave_{name}_{label}")
}

fn write_line(out: &mut String, name: &str, line: &Line, form: Spelling) {
    let written = line.instruction.write_form(form, out, &mut |out, operand| {
        let is_place = matches!(operand, Operand::Relative7 | Operand::Relative12 | Operand::Address22);
        match (&line.expression, line.target) {
            (_, Some(target)) if is_place => out.write_str(&local(name, target)).map(|()| true),
            (Some(expression), None) if !matches!(operand, Operand::Bit | Operand::Flag) => {
                out.write_str(expression).map(|()| true)
            }
            _ => Ok(false),
        }
    });
    written.expect("a string takes everything");
}
