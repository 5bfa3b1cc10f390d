//! What VexRiscv has begun behind a load that is about to be thrown away with it.
//!
//! Owns: the cycles between a load's decode and its second fetch, played through stage by stage. At most three
//! instructions have begun, none of which has a result of the load. What they leave behind is a line that fetch has
//! begun to fill, and where decode is stuck in the last cycle.

use super::{FiveStage, KINDS, Kind, sources};
use crate::Cycles;
use crate::rv32::bits::Instruction;
use crate::rv32::bus::Bus;
use crate::rv32::exec;
use crate::rv32::pipeline::Ahead;

/// What is left.
pub(super) struct Shadow {
    /// Whether decode is stuck in the last cycle.
    pub is_stuck: bool,
    /// When fetch may go on, if it has to wait for a line.
    pub filled: Cycles,
}

/// The stages behind the load.
struct Stages {
    /// What is in decode, and whether it has come in this cycle.
    decode: Option<u32>,
    is_new: bool,
    /// The second step of fetch, and what the first one begins.
    fetched: Option<u32>,
    next: u32,
    execute: Option<(u32, Instruction)>,
    memory: Option<Instruction>,
}

/// Whether an instruction in execute or memory has a result that is not bypassed from there.
fn holds(i: Instruction, register: usize, kinds: &[Kind]) -> bool {
    register != 0 && usize::from(i.rd) == register && kinds.contains(&KINDS[i.opcode as usize])
}

/// Where decode sends fetch.
fn followed(pc: u32, i: Instruction) -> Option<u32> {
    let is_followed = match KINDS[i.opcode as usize] {
        Kind::Jump => true,
        Kind::Branch => i.k < 0,
        _ => false,
    };
    is_followed.then(|| pc.wrapping_add(i.k as u32))
}

/// Where execute sends fetch.
fn left(pc: u32, i: Instruction, registers: &[u32; 32]) -> Option<u32> {
    let get = |number: u8| registers[usize::from(number & 31)];
    match KINDS[i.opcode as usize] {
        Kind::JumpRegister => Some(get(i.rs1).wrapping_add(i.k as u32) & !1),
        Kind::Branch => {
            let is_taken = exec::holds(i.opcode, get(i.rs1), get(i.rs2));
            let to = if is_taken { i.k as u32 } else { 4 };
            (is_taken != (i.k < 0)).then(|| pc.wrapping_add(to))
        }
        _ => None,
    }
}

impl FiveStage {
    /// Plays what is behind the load until a cycle. Write-back is stuck from a cycle on, if it is.
    pub(super) fn shadow<B: Bus>(
        &mut self,
        stuck_from: Option<Cycles>,
        last: Cycles,
        ahead: &Ahead<'_, B>,
    ) -> Shadow {
        let behind = self.pc.wrapping_add(4);
        let mut stages = Stages {
            decode: Some(behind),
            is_new: true,
            fetched: Some(behind.wrapping_add(4)),
            next: behind.wrapping_add(8),
            execute: None,
            memory: None,
        };
        let load = ahead.instruction(self.pc);
        let mut shadow = Shadow { is_stuck: false, filled: 0 };
        for cycle in self.d + 1..=last {
            if let Some(pc) = stages.decode.filter(|&pc| stages.is_new && !self.has_instruction(pc)) {
                shadow.filled = self.fill_instructions(pc, cycle);
                (stages.decode, stages.fetched) = (None, None);
            }
            let decoded = stages.decode.and_then(|pc| Some((pc, ahead.instruction(pc)?)));
            let waits = decoded.is_some_and(|(_, i)| {
                let on_load = load.filter(|_| cycle <= self.m).map_or(0, |load| usize::from(load.rd));
                self.waits(i, cycle, ahead.units)
                    || sources(i, ahead.units).into_iter().any(|register| {
                        let late =
                            [Kind::Late, Kind::Last, Kind::Load, Kind::Divide, Kind::Csr, Kind::Custom];
                        register != 0 && register == on_load
                            || stages.execute.is_some_and(|(_, i)| holds(i, register, &late))
                            || stages.memory.is_some_and(|i| holds(i, register, &late[1..3]))
                    })
            });
            let in_execute = stages.execute.map(|(_, i)| KINDS[i.opcode as usize]);
            let in_memory = stages.memory.map(|i| KINDS[i.opcode as usize]);
            // The load keeps CSRs from being accessed and units from being asked.
            let stuck_above =
                matches!(in_execute, Some(Kind::Csr | Kind::Custom)) || in_memory == Some(Kind::Divide);
            shadow.is_stuck = waits || stuck_above;
            let is_frozen = self.free(cycle) != cycle || stuck_from.is_some_and(|from| cycle >= from);
            stages.step(decoded, waits, stuck_above || is_frozen, shadow.filled != 0, ahead.registers);
        }
        shadow
    }
}

impl Stages {
    /// From one cycle to the next. Where a division, a CSR or a unit is stuck, what is behind them no longer matters here.
    fn step(
        &mut self,
        decoded: Option<(u32, Instruction)>,
        waits: bool,
        is_stuck: bool,
        is_filling: bool,
        registers: &[u32; 32],
    ) {
        let leaves = self.execute.and_then(|(pc, i)| left(pc, i, registers));
        if is_stuck {
            self.is_new = false;
            if let Some(target) = leaves {
                (self.decode, self.fetched, self.next) = (None, None, target);
            }
            return;
        }
        self.memory = self.execute.take().map(|(_, i)| i);
        if let Some(target) = leaves {
            let (fetched, next) = if waits { (None, target) } else { (Some(target), target.wrapping_add(4)) };
            (self.decode, self.fetched, self.next) = (None, fetched, next);
        } else if waits {
            self.is_new = false;
            return;
        } else {
            self.execute = decoded;
            self.is_new = true;
            match decoded.and_then(|(pc, i)| followed(pc, i)) {
                Some(target) => {
                    (self.decode, self.fetched, self.next) = (None, Some(target), target.wrapping_add(4));
                }
                None => {
                    (self.decode, self.fetched) = (self.fetched, Some(self.next));
                    self.next = self.next.wrapping_add(4);
                }
            }
        }
        if is_filling {
            self.fetched = None;
        }
    }
}
