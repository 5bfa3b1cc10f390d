//! A host that leaves a register free which takes constants.
//!
//! Owns: moving what a host keeps in a register that it never loads with a constant into one that no constant can be
//! loaded to, throughout its code. Parameters and results stay where callers expect them: who frames the woven
//! function copies those that have moved, on its way in and out.

use std::collections::BTreeMap;

use isa::avr::Set;
use isa::avr::table::Operand;

use crate::host::Host;
use crate::program::{Point, Program};
use crate::rename::named_registers;

/// A register of the host and the one that holds its values instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// Where callers expect it.
    pub from: u8,
    /// Where the host has it now.
    pub to: u8,
}

/// What the host's code asks of a register.
#[derive(Clone, Copy, Default)]
struct Asked {
    /// That it is this one, or one like it.
    fixed: bool,
    /// That it is half of a pair.
    paired: bool,
}

/// The host's code with one or two registers moved; `taken` are those that it uses. `None` when a register that takes
/// constants is free already, or none can be.
pub fn vacated(program: &Program, hosts: &BTreeMap<Point, Host>, taken: Set) -> Option<(Program, Vec<Move>)> {
    let is_free = |number: u8| !taken.contains(Set::register(number));
    if (16..32).any(is_free) {
        return None;
    }
    let asked = asked(program, hosts);
    let is_movable = |number: u8| !asked[usize::from(number)].fixed;
    let is_single = |number: u8| is_movable(number) && !asked[usize::from(number)].paired;
    // Those that a callee need not save come first; r0 is where guests' parameters wait.
    let order = || (18..26).chain([16, 17]).chain(26..32);
    let home = (2..16).find(|&number| is_free(number));
    let pair = (2..16).step_by(2).find(|&low| is_free(low) && is_free(low + 1));
    let single = order().find(|&number| is_single(number)).zip(home);
    let double = order()
        .filter(|number| number % 2 == 0)
        .find(|&low| is_movable(low) && is_movable(low + 1))
        .zip(pair);
    let moves = match (single, double) {
        (Some((from, to)), _) => vec![Move { from, to }],
        (None, Some((from, to))) => vec![Move { from, to }, Move { from: from + 1, to: to + 1 }],
        (None, None) => return None,
    };
    Some((moved(program, hosts, &moves), moves))
}

fn asked(program: &Program, hosts: &BTreeMap<Point, Host>) -> [Asked; 32] {
    let mut asked = [Asked::default(); 32];
    for point in hosts.values().flat_map(|host| host.function.entry..host.function.end) {
        let instruction = program.code[point].instruction;
        let mut named = Set::EMPTY;
        for &operand in instruction.opcode.row().operands {
            let number = instruction.operand(operand) as usize & 31;
            match operand {
                Operand::Rd | Operand::Rr => named = named | Set::register(number as u8),
                Operand::RdPair | Operand::RrPair => {
                    for half in [number, number + 1] {
                        asked[half].paired = true;
                        named = named | Set::register(half as u8);
                    }
                }
                _ => {}
            }
        }
        let all = instruction.reads() | instruction.writes();
        let others = all.registers().chain(named_registers(&instruction));
        for number in others.filter(|&number| !named.contains(Set::register(number))) {
            asked[usize::from(number)].fixed = true;
        }
    }
    asked
}

fn moved(program: &Program, hosts: &BTreeMap<Point, Host>, moves: &[Move]) -> Program {
    let mut program = program.clone();
    for point in hosts.values().flat_map(|host| host.function.entry..host.function.end) {
        let instruction = &mut program.code[point].instruction;
        for &operand in instruction.opcode.row().operands {
            if matches!(operand, Operand::Rd | Operand::Rr | Operand::RdPair | Operand::RrPair) {
                let number = instruction.operand(operand) as u8;
                if let Some(found) = moves.iter().find(|found| found.from == number) {
                    instruction.set_operand(operand, found.to.into());
                }
            }
        }
    }
    program
}
