//! Programs for tests, from a few lines of assembly, and the chip to run them on.

#![allow(dead_code)] // each test file uses its part

use std::collections::HashMap;

use isa::avr::text::number;
use isa::avr::{ATMEGA128, Chip, CoreType, Image, Instruction, Opcode, Stop};
use weave::directive::Parameters;
use weave::program::{Callee, Flow, Point, Program};
use weave::source::Source;

/// The program of a text: its functions are the labels that do not begin with `.`, in their order.
pub fn program(text: &str) -> Program {
    let labels = text.lines().filter_map(|line| line.trim().split_once(':'));
    let roots: Vec<&str> = labels.map(|(label, _)| label).filter(|label| !label.starts_with('.')).collect();
    let source = Source::parse("test.s", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let read = Program::read(&[source], &roots, &Parameters::new(), Some(CoreType::AvrePc2));
    read.unwrap_or_else(|error| panic!("{error}\n{text}")).0
}

/// Where symbols are put when a program is run: each at an address of its own.
pub type Places = HashMap<String, u16>;

/// A program in a chip: the first function is called, and `break` is behind the call.
pub struct Machine {
    /// The chip, before the call, with the stack set up.
    pub chip: Chip,
    /// The byte address of each instruction.
    pub addresses: Vec<u32>,
}

/// Puts the program into a chip that is about to call the function `name`.
pub fn machine(program: &Program, name: &str, places: &Places) -> Machine {
    // ldi, out, ldi, out for the stack, break, call, break.
    const START_WORDS: u32 = 8;
    let mut words = START_WORDS;
    let mut addresses = Vec::new();
    for step in &program.code {
        addresses.push(words * 2);
        words += step.instruction.opcode.words();
    }
    let entry = addresses[program.function(name).expect("the function is there").entry];
    let start = ["ldi r16, 0x00", "out 0x3d, r16", "ldi r16, 0x10", "out 0x3e, r16", "break"];
    let mut code: Vec<Instruction> =
        start.iter().map(|line| isa::avr::text::parse(line).expect("it is an instruction")).collect();
    code.push(isa::avr::text::parse(&format!("call {entry}")).expect("a call"));
    code.push(isa::avr::text::parse("break").expect("it is an instruction"));
    for (point, step) in program.code.iter().enumerate() {
        let mut i = step.instruction;
        let here = addresses[point] / 2 + i.opcode.words();
        let at = |target: &Point| addresses[*target] / 2;
        let target = match &step.flow {
            Flow::Branch(target) | Flow::Jump(target) => Some(at(target)),
            Flow::Call(Callee::Known(target)) | Flow::TailCall(Callee::Known(target)) => Some(at(target)),
            _ => None,
        };
        let is_flow = target.is_some();
        if let Some(target) = target {
            let absolute = matches!(i.opcode, Opcode::Jmp | Opcode::Call);
            i.k = if absolute { target as i32 } else { target as i32 - here as i32 };
        }
        if let Some(expression) = step.expression.as_ref().filter(|_| !is_flow) {
            i.k = linked(expression, places);
        }
        code.push(i);
    }
    let words = code.iter().flat_map(|i| {
        let (first, second) = i.encode().unwrap_or_else(|why| panic!("{i}: {why:?}"));
        std::iter::once(first).chain(second)
    });
    let flash = words.flat_map(u16::to_le_bytes).collect();
    let mut chip = Chip::new(&ATMEGA128);
    chip.load(&Image::from_flash(ATMEGA128.architecture, flash)).expect("it fits");
    assert_eq!(chip.run_until(100, &mut ()), Stop::Break);
    Machine { chip, addresses }
}

/// What the linker makes of an operand.
fn linked(expression: &str, places: &Places) -> i32 {
    let inner = expression.trim_start_matches("lo8(").trim_start_matches("hi8(");
    let negated = inner.starts_with("-(");
    let name: String = inner
        .trim_start_matches("-(")
        .chars()
        .take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '.'))
        .collect();
    let rest = inner.trim_start_matches("-(")[name.len()..].trim_end_matches(')');
    let address =
        i32::from(places[&name]) + if rest.is_empty() { 0 } else { number(rest).expect("an offset") as i32 };
    let value = if negated { -address } else { address };
    match expression.get(..3) {
        Some("lo8") => value & 0xff,
        Some("hi8") => value >> 8 & 0xff,
        _ => value,
    }
}
