//! A host that leaves registers free.
//!
//! Owns: moving what a host keeps in a register into another one, throughout its code: into one that is never needed
//! at the same time ([`joined`]), and what is never loaded with a constant into one that no constant can be loaded to
//! ([`vacated`]). Parameters and results stay where callers expect them: who frames the woven function copies those
//! that have moved, on its way in and out.

use std::collections::BTreeMap;

use isa::avr::Set;
use isa::avr::table::Operand;

use crate::host::Host;
use crate::program::{Point, Program};
use crate::registers;
use crate::rename::named_registers;

/// A register of the host and the one that holds its values instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// Where callers expect it.
    pub from: u8,
    /// Where the host has it now.
    pub to: u8,
}

/// Moves, and then others.
pub fn behind(first: &[Move], then: Vec<Move>) -> Vec<Move> {
    let last = |to: u8| then.iter().find(|later| later.from == to).map_or(to, |later| later.to);
    let all = first.iter().map(|&Move { from, to }| Move { from, to: last(to) });
    all.chain(then.iter().copied()).collect()
}

/// What the host's code asks of a register.
#[derive(Clone, Copy, Default)]
struct Asked {
    /// That it is this one, or one like it.
    fixed: bool,
    /// That it is half of a pair.
    paired: bool,
}

/// The host's code with registers moved into others that it uses, where the two never hold something at the same
/// time; `taken` are those that it uses. `None` when that frees none.
pub fn joined(program: &Program, hosts: &BTreeMap<Point, Host>, taken: Set) -> Option<(Program, Vec<Move>)> {
    let asked = asked(program, hosts);
    let mut beside = beside(program, hosts);
    let is_taken = |number: u8| taken.contains(Set::register(number));
    let mut moves: Vec<Move> = Vec::new();
    for low in PAIRS.into_iter().filter(|&low| is_taken(low) || is_taken(low + 1)) {
        let is_pair = [low, low + 1].iter().any(|&half| asked[usize::from(half)].paired);
        let units = if is_pair { vec![vec![low, low + 1]] } else { vec![vec![low], vec![low + 1]] };
        for from in units {
            let is_fixed = |number: &u8| asked[usize::from(*number)].fixed || !is_taken(*number);
            if from.iter().any(is_fixed) || moves.iter().any(|found| from.contains(&found.to)) {
                continue;
            }
            let is_open = |to: &u8| {
                let mut pairs = from.iter().zip(*to..);
                pairs.all(|(&from, to)| {
                    let is_moved = moves.iter().any(|found| found.from == to);
                    from != to
                        && is_taken(to)
                        && !is_moved
                        && !beside[usize::from(from)].contains(Set::register(to))
                })
            };
            let Some(to) = (0..32).step_by(from.len()).find(is_open) else { continue };
            for (from, to) in from.into_iter().zip(to..) {
                moves.push(Move { from, to });
                let with = beside[usize::from(from)];
                beside[usize::from(to)] = beside[usize::from(to)] | with;
                for number in with.registers() {
                    beside[usize::from(number)] = beside[usize::from(number)] | Set::register(to);
                }
            }
        }
    }
    (!moves.is_empty()).then(|| (moved(program, hosts, &moves), moves))
}

/// Pairs that are worth being freed, by their lower halves: those first that take constants and need no saving.
const PAIRS: [u8; 15] = [18, 20, 22, 24, 26, 30, 16, 28, 2, 4, 6, 8, 10, 12, 14];

/// For each register those that hold something while it is written, or that live where it does at the host's entry.
fn beside(program: &Program, hosts: &BTreeMap<Point, Host>) -> [Set; 32] {
    let mut beside = [Set::EMPTY; 32];
    let mut meet = |written: Set, live: Set| {
        for one in written.registers() {
            for other in live.registers().filter(|&other| other != one) {
                beside[usize::from(one)] = beside[usize::from(one)] | Set::register(other);
                beside[usize::from(other)] = beside[usize::from(other)] | Set::register(one);
            }
        }
    };
    for host in hosts.values() {
        let entry = host.live.first().copied().unwrap_or(Set::EMPTY);
        meet(entry, entry);
        for (point, &live) in (host.function.entry..).zip(&host.live_behind) {
            let written = registers::writes(program, point);
            meet(written, live | written);
        }
    }
    beside
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
        let all = registers::reads(program, point) | registers::writes(program, point);
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
