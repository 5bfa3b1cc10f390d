//! Instructions of one's own, in the opcodes that the manual leaves for them (chapter "Extending RISC-V", custom-0 to
//! custom-3), from a table that a machine is given.
//!
//! Owns: a line of that table ([`Unit`]), which words are whose, the state that units share, and what a unit may use.
//! The forms are those that GNU as has for `.insn`:
//!
//! ```text
//!  31       27 26  25 24      20 19      15 14  12 11       7 6        0
//! |      funct7      |   rs2    |   rs1    | funct3 |   rd    |  opcode  |   r    .insn r  CUSTOM_0, f3, f7, rd, rs1, rs2
//! |    immediate, 12 bits       |   rs1    | funct3 |   rd    |  opcode  |   i    .insn i  CUSTOM_0, f3, rd, rs1, imm
//! | immediate, upper |   rs2    |   rs1    | funct3 |  lower  |  opcode  |   s    .insn s  CUSTOM_0, f3, rs2, imm(rs1)
//! |   rs3     |funct2|   rs2    |   rs1    | funct3 |   rd    |  opcode  |   r4   .insn r4 CUSTOM_0, f3, f2, rd, rs1, rs2, rs3
//! ```
//!
//! # Time
//! A unit's latency is the cycles from its operands to its result, 0 where both are in one cycle, on each core that has
//! hardware of its own. All units of a machine stand behind one socket, which has one request at a time, takes the next
//! in the cycle of a result at the earliest, and gives one result in a cycle. `pico` waits for it at its co-processor interface. `vex5` asks from
//! execute, when nothing in memory or write-back does more than compute, and takes the result in memory. What the port
//! takes beside the latency is the bus'. The sockets of neither core's hardware have a port to memory: what a unit that uses one would
//! take there is ours to say and not witnessed, as is what `vex5` does for all but custom-0 in the form r.
//!
//! No unit ships: [`UNITS`] is empty, and who has some makes a table with [`Units::new`].

use super::bits::Instruction;
use super::bus::{Refusal, Width};
use super::error::UnitError;
use super::table::Opcode;

/// Which of the four opcodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Space {
    /// 0001011.
    Custom0,
    /// 0101011.
    Custom1,
    /// 1011011.
    Custom2,
    /// 1111011.
    Custom3,
}

impl Space {
    /// All of them.
    pub const ALL: [Space; 4] = [Space::Custom0, Space::Custom1, Space::Custom2, Space::Custom3];

    /// The lowest seven bits of its words.
    pub const fn bits(self) -> u32 {
        [0b000_1011, 0b010_1011, 0b101_1011, 0b111_1011][self as usize]
    }

    fn of(word: u32) -> Option<Space> {
        Space::ALL.into_iter().find(|space| space.bits() == word & 0x7f)
    }
}

/// How operands stand in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Two registers to one.
    R,
    /// A register and a constant to a register.
    I,
    /// Two registers and a constant, and nothing comes back.
    S,
    /// Three registers to one.
    R4,
}

impl Form {
    /// How many bits above funct3 tell instructions apart, and where the lowest of them is.
    const fn function(self) -> (u32, u32) {
        match self {
            Form::R => (7, 25),
            Form::R4 => (2, 25),
            Form::I | Form::S => (0, 25),
        }
    }

    /// As GNU as spells it behind `.insn`.
    pub const fn name(self) -> &'static str {
        match self {
            Form::R => "r",
            Form::I => "i",
            Form::S => "s",
            Form::R4 => "r4",
        }
    }
}

/// The cycles from a unit's operands to its result, by the core that it is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    /// At a core that does one instruction at a time.
    pub pico_cycles: u8,
    /// At a core with five stages.
    pub vex5_cycles: u8,
}

/// How many registers of 128 bits units share.
pub const STATE_COUNT: usize = 8;

/// What units keep from one instruction to another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The registers.
    pub registers: [u128; STATE_COUNT],
}

/// A unit's way to memory.
pub trait Port {
    /// What is at `address`, a multiple of the width.
    ///
    /// # Errors
    /// As of a load.
    fn load(&mut self, address: u32, width: Width) -> Result<u32, Refusal>;

    /// Puts the lowest bits of `value` there.
    ///
    /// # Errors
    /// As of a store.
    fn store(&mut self, address: u32, width: Width, value: u32) -> Result<(), Refusal>;
}

/// What a unit is given.
pub struct Call<'a> {
    /// rs1.
    pub a: u32,
    /// rs2, 0 in the form i.
    pub b: u32,
    /// rs3, 0 in all but the form r4.
    pub c: u32,
    /// The constant of the forms i and s, else 0.
    pub immediate: i32,
    state: Option<&'a mut State>,
    port: Option<&'a mut dyn Port>,
}

impl<'a> Call<'a> {
    /// The shared registers.
    ///
    /// # Panics
    /// If the unit's line does not say that it uses them.
    pub fn state(&mut self) -> &mut State {
        self.state.as_mut().expect("a unit says that it uses state")
    }

    /// Memory.
    ///
    /// # Panics
    /// If the unit's line does not say that it uses it.
    pub fn port(&mut self) -> &mut (dyn Port + 'a) {
        &mut **self.port.as_mut().expect("a unit says that it uses memory")
    }
}

/// An instruction: a line of the table.
#[derive(Clone, Copy, Debug)]
pub struct Unit {
    /// How it is called.
    pub name: &'static str,
    /// Its opcode.
    pub space: Space,
    /// Its operands.
    pub form: Form,
    /// Bits 14 to 12.
    pub funct3: u8,
    /// Bits 31 to 25 in the form r, 26 to 25 in r4; 0 in the others.
    pub funct7: u8,
    /// What it takes.
    pub latency: Latency,
    /// Whether it uses the shared registers.
    pub uses_state: bool,
    /// Whether it uses memory, at addresses that rs1 and the constant make.
    pub uses_memory: bool,
    /// What it does. The result goes to rd, if the form has one. Where memory is refused, nothing else is done.
    pub execute: fn(&mut Call<'_>) -> Result<u32, Refusal>,
}

impl Unit {
    /// The bits of a word that are the same in all of its words, and what they are.
    const fn fixed(&self) -> (u32, u32) {
        let (count, at) = self.form.function();
        let function = (1 << count) - 1;
        let mask = 0x7f | 7 << 12 | function << at;
        (mask, self.space.bits() | (self.funct3 as u32) << 12 | (self.funct7 as u32) << at)
    }

    /// Whether a word may be of both.
    fn meets(&self, other: &Unit) -> bool {
        let ((mask, value), (other_mask, other_value)) = (self.fixed(), other.fixed());
        (value ^ other_value) & mask & other_mask == 0
    }

    /// Its word with these operands: rd, rs1, rs2, rs3, and a constant of -2048 to 2047. What the form has not, is left
    /// out.
    pub const fn word(&self, [rd, rs1, rs2, rs3]: [u8; 4], immediate: i32) -> u32 {
        let (_, value) = self.fixed();
        let (rd, rs1, rs2, rs3) = ((rd & 31) as u32, (rs1 & 31) as u32, (rs2 & 31) as u32, (rs3 & 31) as u32);
        let k = immediate as u32;
        value
            | rs1 << 15
            | match self.form {
                Form::R => rd << 7 | rs2 << 20,
                Form::I => rd << 7 | k << 20,
                Form::S => (k & 31) << 7 | rs2 << 20 | (k >> 5) << 25,
                Form::R4 => rd << 7 | rs2 << 20 | rs3 << 27,
            }
    }

    /// Whether its result goes to a register.
    pub const fn has_result(&self) -> bool {
        !matches!(self.form, Form::S)
    }

    /// Does it.
    ///
    /// # Errors
    /// What memory refuses.
    pub fn call(
        &self,
        i: Instruction,
        registers: &[u32; 32],
        state: &mut State,
        port: &mut dyn Port,
    ) -> Result<u32, Refusal> {
        let get = |number: u8| registers[usize::from(number & 31)];
        let immediate = match self.form {
            Form::I => i.k >> 20,
            Form::S => i.k >> 25 << 5 | i.k >> 7 & 31,
            Form::R | Form::R4 => 0,
        };
        let mut call = Call {
            a: get(i.rs1),
            b: get(i.rs2),
            c: get(third(i, self.form)),
            immediate,
            state: self.uses_state.then_some(state),
            port: if self.uses_memory { Some(port) } else { None },
        };
        (self.execute)(&mut call)
    }
}

/// The third register that an instruction reads, x0 for none.
fn third(i: Instruction, form: Form) -> u8 {
    if form == Form::R4 { (i.k as u32 >> 27) as u8 } else { 0 }
}

/// The units that ship.
pub const UNITS: &[Unit] = &[];

/// The most units of a machine: what an instruction has bits for.
const UNITS_MAX: usize = 32;

/// The units of a machine.
#[derive(Clone, Debug, Default)]
pub struct Units(Vec<Unit>);

impl Units {
    /// These.
    ///
    /// # Errors
    /// The first line that cannot be, or cannot be beside another.
    pub fn new(lines: &[Unit]) -> Result<Units, UnitError> {
        if lines.len() > UNITS_MAX {
            return Err(UnitError::Count { found: lines.len(), limit: UNITS_MAX });
        }
        for (index, line) in lines.iter().enumerate() {
            let (found, last) = ((line.funct3, line.funct7), (7, (1 << line.form.function().0) - 1));
            if found.0 > last.0 || found.1 > last.1 {
                return Err(UnitError::Function { name: line.name, found, last });
            }
            if let Some(other) = lines[..index].iter().find(|other| other.meets(line)) {
                return Err(UnitError::Ambiguous { first: other.name, second: line.name });
            }
        }
        Ok(Units(lines.to_vec()))
    }

    /// The lines.
    pub fn as_slice(&self) -> &[Unit] {
        &self.0
    }

    /// The instruction of a word: one of these, or one of RV32IM.
    pub fn decode(&self, word: u32) -> Option<Instruction> {
        let Some(space) = Space::of(word) else { return Instruction::decode(word) };
        let index = self.0.iter().position(|unit| {
            let (mask, value) = unit.fixed();
            word & mask == value
        })?;
        let field = |at: u32| (word >> at & 31) as u8;
        let (rd, rs2) = match self.0[index].form {
            Form::R | Form::R4 => (field(7), field(20)),
            Form::I => (field(7), 0),
            Form::S => (0, field(20)),
        };
        // The word, with what it names in place of its opcode.
        let k = (word & !0x7f | (space as u32) << 5 | index as u32) as i32;
        Some(Instruction { opcode: Opcode::Custom, rd, rs1: field(15), rs2, k })
    }

    /// The unit of an instruction that [`Units::decode`] made.
    pub fn unit(&self, i: Instruction) -> Option<&Unit> {
        if i.opcode == Opcode::Custom { self.0.get(i.k as usize & (UNITS_MAX - 1)) } else { None }
    }

    /// The registers that such an instruction reads, x0 for none.
    pub fn sources(&self, i: Instruction) -> [u8; 3] {
        let third = self.unit(i).map_or(0, |unit| third(i, unit.form));
        [i.rs1, i.rs2, third]
    }
}

/// The word of a custom instruction.
pub(super) fn encode(i: Instruction) -> u32 {
    let k = i.k as u32;
    k & !0x7f | Space::ALL[(k >> 5 & 3) as usize].bits()
}
