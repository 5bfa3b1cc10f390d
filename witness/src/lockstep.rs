//! One program on our chip and on simavr, instruction by instruction.
//!
//! Owns: what is compared after every instruction (program counter, SREG, 32 registers, stack pointer, cycle)
//! and at the end (SRAM), and how a difference is told.

use std::fmt;

use isa::Cycles;
use isa::avr::{Chip, Image, Instruction, Opcode, Profile, Stop};

use crate::simavr::{Simavr, State};

/// What a program can see of a core, and the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Core {
    /// Byte address of the next instruction.
    pub pc: u32,
    /// Cycles since reset.
    pub cycle: Cycles,
    /// SREG.
    pub sreg: u8,
    /// The stack pointer.
    pub sp: u16,
    /// r0 to r31.
    pub registers: [u8; 32],
}

impl Core {
    /// Our chip's.
    #[inline]
    pub fn ours(chip: &Chip) -> Core {
        Core {
            pc: chip.pc(),
            cycle: chip.cycle(),
            sreg: chip.sreg(),
            sp: chip.sp(),
            registers: std::array::from_fn(|number| chip.register(number as u8)),
        }
    }

    /// simavr's.
    #[inline]
    pub fn theirs(simavr: &Simavr) -> Core {
        Core {
            pc: simavr.pc(),
            cycle: simavr.cycle(),
            sreg: simavr.sreg(),
            sp: simavr.sp(),
            registers: simavr.registers(),
        }
    }
}

/// Where the two part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Instructions that agreed before.
    pub agreed: u64,
    /// The instruction after which they differ.
    pub instruction: String,
    /// Both before it.
    pub before: Core,
    /// Our chip after it.
    pub ours: Core,
    /// simavr after it.
    pub theirs: Core,
    /// Why our run ended, when it did not just reach its limit.
    pub stop: Stop,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (before, ours, theirs) = (&self.before, &self.ours, &self.theirs);
        writeln!(
            f,
            "after {} instructions, `{}` at {:#x} (SREG {:#04x}, SP {:#06x}):",
            self.agreed, self.instruction, before.pc, before.sreg, before.sp
        )?;
        let mut line = |what: &str, before: u64, ours: u64, theirs: u64| {
            if ours == theirs {
                return Ok(());
            }
            writeln!(f, "  {what}: was {before:#x}, ours {ours:#x}, simavr {theirs:#x}")
        };
        line("pc", before.pc.into(), ours.pc.into(), theirs.pc.into())?;
        line("cycles", 0, ours.cycle - before.cycle, theirs.cycle - before.cycle)?;
        line("sreg", before.sreg.into(), ours.sreg.into(), theirs.sreg.into())?;
        line("sp", before.sp.into(), ours.sp.into(), theirs.sp.into())?;
        for number in 0..32 {
            let of = |core: &Core| u64::from(core.registers[number]);
            line(&format!("r{number}"), of(before), of(ours), of(theirs))?;
        }
        if self.stop != Stop::Reached {
            writeln!(f, "  our run stopped: {:?}", self.stop)?;
        }
        Ok(())
    }
}

/// Our chip and simavr with the same program.
pub struct Lockstep {
    /// Ours.
    pub chip: Chip,
    /// Theirs.
    pub simavr: Simavr,
    agreed: u64,
}

impl Lockstep {
    /// Both, with `image` in their flash, just reset.
    ///
    /// # Panics
    /// If the image does not fit.
    pub fn new(profile: &'static Profile, image: &Image) -> Lockstep {
        let mut chip = Chip::new(profile);
        chip.load(image).expect("the image fits the chip");
        let mut simavr = Simavr::new(&profile.name.to_lowercase(), chip.flash());
        // The ATmega128's stack pointer begins at 0, simavr's at the end of the RAM: see `known`.
        simavr.set_sp(chip.sp());
        Lockstep { chip, simavr, agreed: 0 }
    }

    /// Sets a byte of SRAM in both.
    pub fn set_memory(&mut self, address: u16, value: u8) {
        assert!(self.chip.set_memory(address, value), "the chip has no memory at {address:#x}");
        self.simavr.set_data(address, value);
    }

    /// Sets a register in both.
    pub fn set_register(&mut self, number: u8, value: u8) {
        self.chip.set_register(number, value);
        self.simavr.set_data(number.into(), value);
    }

    /// The instruction that comes next, on our chip.
    pub fn next(&self) -> Option<Instruction> {
        let flash = self.chip.flash();
        let word = |at: usize| flash.get(at..at + 2).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
        let at = self.chip.pc() as usize;
        Instruction::decode(word(at)?, word(at + 2))
    }

    /// Instructions that agreed since reset.
    pub fn agreed(&self) -> u64 {
        self.agreed
    }

    /// Runs one instruction in both and compares.
    ///
    /// # Errors
    /// Where they part.
    pub fn step(&mut self) -> Result<(), Box<Difference>> {
        let (before, next) = (Core::ours(&self.chip), self.next());
        let stop = self.chip.run_until(before.cycle + 1, &mut ());
        let state = self.simavr.step();
        let (ours, theirs) = (Core::ours(&self.chip), Core::theirs(&self.simavr));
        if ours != theirs || stop != Stop::Reached || state != State::Running {
            let instruction = next.map_or("no instruction".into(), |next| next.to_string());
            return Err(Box::new(Difference {
                agreed: self.agreed,
                instruction,
                before,
                ours,
                theirs,
                stop,
            }));
        }
        self.agreed += 1;
        Ok(())
    }

    /// Runs until the next instruction is an `opcode`, for at most `limit` instructions; `false` when they were
    /// not enough.
    ///
    /// # Errors
    /// Where they part.
    pub fn run_to(&mut self, opcode: Opcode, limit: u64) -> Result<bool, Box<Difference>> {
        for _ in 0..limit {
            if self.next().is_some_and(|next| next.opcode == opcode) {
                return Ok(true);
            }
            self.step()?;
        }
        Ok(false)
    }

    /// The first SRAM address whose bytes differ, and the bytes: ours, then theirs.
    pub fn memory_difference(&self) -> Option<(u16, u8, u8)> {
        let theirs = self.simavr.data();
        (0x100..theirs.len() as u16).find_map(|address| {
            let ours = self.chip.memory(address).expect("both chips have the same SRAM");
            let theirs = theirs[usize::from(address)];
            (ours != theirs).then_some((address, ours, theirs))
        })
    }
}
