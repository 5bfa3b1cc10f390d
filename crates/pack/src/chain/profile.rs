//! How often each instruction of a program is executed.
//!
//! Owns: counting by execution, in plain memory. What a profile is used for is the codes'.

use isa::sparc::{self, Files};
use isa::{Cycles, elf, rv32};

use crate::error::RunError;

/// Counts by address, SPARC's annulled instructions with them: they are fetched like the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    first: u32,
    counts: Vec<u64>,
}

impl Counted {
    /// Nothing counted yet of a program's instructions.
    pub fn of<const MACHINE: u16>(program: &elf::Image<MACHINE>) -> Counted {
        Counted { first: program.code_first, counts: vec![0; (program.code_bytes / 4) as usize] }
    }

    fn count(&mut self, address: u32) {
        if let Some(count) = self.counts.get_mut((address.wrapping_sub(self.first) / 4) as usize) {
            *count += 1;
        }
    }

    /// The addresses of what was fetched and how often, ascending.
    pub fn by_address(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let counts = self.counts.iter().zip((self.first..).step_by(4));
        counts.filter(|(count, _)| **count > 0).map(|(&count, address)| (address, count))
    }
}

impl isa::Observer for Counted {
    fn fetch(&mut self, _cycle: Cycles, pc: u32) {
        self.count(pc);
    }
}

impl sparc::Observer for Counted {
    fn annulled(&mut self, _cycle: Cycles, pc: u32) {
        self.count(pc);
    }
}

/// Runs a program under Linux' calls in plain memory and adds what it executes; how it ended.
///
/// # Errors
/// What does not fit.
pub fn count(
    program: &sparc::Image,
    arguments: &[&str],
    files: Files,
    settings: sparc::user::Settings,
    counted: &mut Counted,
) -> Result<sparc::user::Stop, RunError> {
    let mut run = sparc::User::new(program, arguments, files, settings)?;
    Ok(run.run(Cycles::MAX, counted))
}

/// The same of RV32.
///
/// # Errors
/// What does not fit.
pub fn count_rv32(
    program: &rv32::Image,
    arguments: &[&str],
    files: Files,
    settings: rv32::user::Settings,
    counted: &mut Counted,
) -> Result<rv32::user::Stop, RunError> {
    let mut run = rv32::User::new(program, arguments, files, settings)?;
    Ok(run.run(Cycles::MAX, counted))
}
