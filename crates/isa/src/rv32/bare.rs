//! The bare machine: a core, memory, and four registers behind it. Programs are measured on it, here and on the cores'
//! own hardware (`rtl/tb/`), and each agrees with the other on this:
//!
//! | address | what is there |
//! |---|---|
//! | `0000_0000` | 4 MiB of memory; reset goes to 0 |
//! | `8000_0000` | exit: a word stored there ends the run and is its status |
//! | `8000_0004` | console: the lowest byte of a word stored there is printed |
//! | `8000_0008` | mark: the cycle of a word stored there is noted, with the word |
//! | `8000_000c` | core: what has to be written to CSR bc0 before custom instructions, or 0 where nothing has |
//!
//! Everything else is a trap that nothing answers. Numbers are little-endian. What a program is given lies in its
//! memory before it begins ([`Program::place`]). `firmware/bench/rv32/` has the same addresses for C, the way from reset
//! to `main`, and where an image lies.
//!
//! Owns: the machine's addresses, programs for it, and its run. Cycles count from the first instruction on; a mark's is
//! that of the store on the bus, so that two of them differ by what is between, here as on hardware. A program may
//! store where it executes, as `pico` would have it; `vex5` would need a FENCE.I in between, which is not here.

use std::sync::Arc;

use super::bits::Instruction;
use super::bus::{Bus, Fetched, Refusal, Width};
use super::custom::Units;
use super::error::{Fault, FaultKind, ImageError};
use super::image::Image;
use super::machine::{self, Machine, Spent};
use super::pipeline::Pipeline;
use super::profile::Profile;
use super::sequential::Sequential;
use super::timing::Timing;
use super::trap::Trap;
use super::vex5::FiveStage;
use crate::{Cycles, Observer};

/// Memory, from address 0 on.
pub const MEMORY_BYTES: u32 = 4 << 20;
/// Ends the run.
pub const EXIT: u32 = 0x8000_0000;
/// Prints.
pub const CONSOLE: u32 = 0x8000_0004;
/// Notes the cycle.
pub const MARK: u32 = 0x8000_0008;
/// Tells of the core.
pub const CORE: u32 = 0x8000_000c;

/// A program for the machine, as memory is before it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    bytes: Vec<u8>,
}

impl Program {
    /// These bytes, from 0 on.
    ///
    /// # Errors
    /// More than there is memory.
    pub fn flat(bytes: Vec<u8>) -> Result<Program, ImageError> {
        let limit_bytes = MEMORY_BYTES.into();
        if bytes.len() as u64 > limit_bytes {
            return Err(ImageError::TooLarge { found_bytes: bytes.len() as u64, limit_bytes });
        }
        Ok(Program { bytes })
    }

    /// A linked program that begins at 0.
    ///
    /// # Errors
    /// What is not in memory, or another entry.
    pub fn of_image(image: &Image) -> Result<Program, ImageError> {
        if image.entry != 0 {
            return Err(ImageError::Entry { found: image.entry });
        }
        let mut program = Program { bytes: Vec::new() };
        for segment in &image.segments {
            program.place(segment.first, &segment.bytes)?;
        }
        Ok(program)
    }

    /// Puts bytes where the program finds them.
    ///
    /// # Errors
    /// Where there is no memory.
    pub fn place(&mut self, first: u32, bytes: &[u8]) -> Result<(), ImageError> {
        let (end, limit) = (u64::from(first) + bytes.len() as u64, MEMORY_BYTES.into());
        if end > limit {
            return Err(ImageError::Outside { first, bytes: bytes.len() as u64, limit });
        }
        let (first, end) = (first as usize, end as usize);
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        self.bytes[first..end].copy_from_slice(bytes);
        Ok(())
    }

    /// Memory from 0 on; what is behind is zero.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// A moment that the program told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// What it stored.
    pub number: u32,
    /// When.
    pub cycle: Cycles,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The program ended it, with this status.
    Exit(u32),
    /// The program did what nothing answers.
    Fault(Fault),
    /// The cycle that was asked for is reached.
    Reached,
}

/// What a run was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended.
    pub end: End,
    /// When: the cycle of the store that ended it, if it did.
    pub cycle: Cycles,
    /// What it printed.
    pub console: Vec<u8>,
    /// What it noted.
    pub marks: Vec<Mark>,
    /// What its cycles were for.
    pub spent: Spent,
}

impl Outcome {
    /// The cycles between the first mark of one number and the next one of another.
    pub fn between(&self, from: u32, to: u32) -> Option<Cycles> {
        between(&self.marks, from, to)
    }
}

/// The cycles between the first mark of one number and the next one of another.
pub fn between(marks: &[Mark], from: u32, to: u32) -> Option<Cycles> {
    let first = marks.iter().position(|mark| mark.number == from)?;
    let last = marks[first + 1..].iter().find(|mark| mark.number == to)?;
    Some(last.cycle - marks[first].cycle)
}

/// What is around the core.
#[derive(Clone, Debug)]
pub struct Board {
    memory: Vec<u8>,
    /// The words of the program that were executed; `None` is one that was not, or was stored to, or is none.
    code: Vec<Option<Instruction>>,
    units: Arc<Units>,
    core: u32,
    console: Vec<u8>,
    marks: Vec<Mark>,
    exit: Option<(u32, Cycles)>,
}

impl Board {
    /// With a program, for a core with instructions of one's own that have to be switched on by this word, 0 where
    /// nothing has.
    pub fn new(program: &Program, units: Arc<Units>, core: u32) -> Board {
        let mut memory = vec![0; MEMORY_BYTES as usize];
        memory[..program.bytes.len()].copy_from_slice(&program.bytes);
        let code = vec![None; program.bytes.len().div_ceil(4)];
        Board { memory, code, units, core, console: Vec::new(), marks: Vec::new(), exit: None }
    }

    fn word(&self, address: u32) -> Option<u32> {
        let bytes = self.memory.get(address as usize..)?.get(..4)?;
        Some(u32::from_le_bytes(bytes.try_into().expect("four bytes")))
    }

    /// What is executed for the first time.
    #[cold]
    fn decode(&mut self, pc: u32) -> Result<Instruction, Refusal> {
        if !pc.is_multiple_of(4) {
            return Err(Trap::InstructionMisaligned.into());
        }
        let word = self.word(pc).ok_or(Trap::InstructionAccess)?;
        let Some(instruction) = self.units.decode(word) else {
            if Instruction::is_compressed(word) {
                return Err(Refusal::Fault(FaultKind::Compressed { half: word as u16 }));
            }
            return Err(Trap::IllegalInstruction.into());
        };
        if let Some(place) = self.code.get_mut(pc as usize / 4) {
            *place = Some(instruction);
        }
        Ok(instruction)
    }

    #[cold]
    fn load_outside(&self, address: u32) -> Result<u32, Refusal> {
        if address == CORE { Ok(self.core) } else { Err(Trap::LoadAccess.into()) }
    }

    #[cold]
    fn store_outside(&mut self, address: u32, value: u32, cycle: Cycles) -> Result<(), Refusal> {
        match address {
            CONSOLE => self.console.push(value as u8),
            MARK => self.marks.push(Mark { number: value, cycle }),
            EXIT => {
                // The run comes back, with the core at this store.
                self.exit = Some((value, cycle));
                return Err(Trap::StoreAccess.into());
            }
            _ => return Err(Trap::StoreAccess.into()),
        }
        Ok(())
    }
}

impl Bus for Board {
    const SLOTS: bool = false;

    #[inline(always)]
    fn fetch(&mut self, pc: u32, _cycle: Cycles, _wait: &mut u32) -> Result<Fetched, Refusal> {
        // Rotated, an address inside a word is far behind the code.
        let instruction = match self.code.get(pc.rotate_right(2) as usize) {
            Some(&Some(instruction)) => instruction,
            _ => self.decode(pc)?,
        };
        Ok(Fetched { instruction, next: pc.wrapping_add(4) })
    }

    fn peek(&self, pc: u32) -> Option<Instruction> {
        self.units.decode(self.word(pc)?)
    }

    #[inline(always)]
    fn load(&mut self, address: u32, width: Width, _cycle: Cycles, _wait: &mut u32) -> Result<u32, Refusal> {
        let at = address as usize;
        let Some(bytes) = self.memory.get(at..at + width.bytes() as usize) else {
            return self.load_outside(address);
        };
        Ok(width.read(bytes))
    }

    #[inline(always)]
    fn store(
        &mut self,
        address: u32,
        width: Width,
        value: u32,
        cycle: Cycles,
        _wait: &mut u32,
    ) -> Result<(), Refusal> {
        let at = address as usize;
        let Some(bytes) = self.memory.get_mut(at..at + width.bytes() as usize) else {
            return self.store_outside(address, value, cycle);
        };
        width.write(bytes, value);
        if let Some(place) = self.code.get_mut(at / 4) {
            *place = None;
        }
        Ok(())
    }
}

/// A program on a core, about to begin.
pub fn machine<P: Pipeline>(program: &Program, pipeline: P, units: &Arc<Units>) -> Machine<Board, P> {
    let core = if units.as_slice().is_empty() { 0 } else { pipeline.switched_on_by() };
    let board = Board::new(program, Arc::clone(units), core);
    Machine::with_pipeline(board, pipeline, 0).with_units(Arc::clone(units))
}

/// Runs a program on a core until it ends, or a cycle is reached.
pub fn run<O: Observer>(
    program: &Program,
    profile: Profile,
    units: &Arc<Units>,
    until: Cycles,
    o: &mut O,
) -> Outcome {
    match profile {
        Profile::Ibex => finish(machine(program, Sequential::new(Timing::ibex()), units), until, o),
        Profile::Pico => finish(machine(program, Sequential::new(Timing::pico()), units), until, o),
        Profile::Vex5 => finish(machine(program, FiveStage::cached(), units), until, o),
        Profile::Vex5Tcm => finish(machine(program, FiveStage::tightly_coupled(), units), until, o),
    }
}

/// Runs a machine until its program ends, or a cycle is reached.
pub fn finish<P: Pipeline, O: Observer>(mut machine: Machine<Board, P>, until: Cycles, o: &mut O) -> Outcome {
    let stop = machine.run(until, o);
    let exit = machine.bus.exit;
    let (end, cycle) = match (stop, exit) {
        (_, Some((status, cycle))) => (End::Exit(status), cycle),
        (machine::Stop::Reached, None) => (End::Reached, machine.cycle()),
        (machine::Stop::Fault(fault), None) => (End::Fault(fault), machine.cycle()),
        (machine::Stop::Trap(trap), None) => {
            machine.fail(FaultKind::Unanswered { trap });
            (End::Fault(machine.fault().expect("it has just failed")), machine.cycle())
        }
    };
    let spent = machine.spent();
    Outcome { end, cycle, console: machine.bus.console, marks: machine.bus.marks, spent }
}
