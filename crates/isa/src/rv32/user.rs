//! A program under Linux, as far as a C library without threads asks for it.
//!
//! Owns: where a program begins, and the calls that it makes by ECALL (number in a7, arguments from a0 on, the answer
//! in a0, negative for an error). What calls do with memory and files is `crate::linux::calls`' and `files`', the stack
//! that it finds `crate::linux::stack`'s. The kernel's work takes no cycles. There is no heap to ask for: the C library
//! of a program here has one of its own.

use super::bus::{Bus, Refusal, Width};
use super::error::{FaultKind, ImageError};
use super::image::Image;
use super::machine::{self, Machine};
use super::memory::Memory;
use super::pipeline::Pipeline;
use super::sequential::Sequential;
use super::timing::Timing;
use super::trap::Trap;
use crate::elf::{self, Order};
use crate::linux::calls::{Caller, Denied};
use crate::linux::files::{EBADF, EFAULT, EINVAL, Files, How};
use crate::linux::stack::{self, Place};
use crate::region::Region;
use crate::{Cycles, Observer};

/// What a program runs in.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What takes how long.
    pub timing: Timing,
    /// First address behind the stack, a multiple of 16.
    pub stack_end: u32,
    /// How far the stack can grow.
    pub stack_bytes: u32,
}

impl Default for Settings {
    /// Ibex' cycles, and the stack where qemu-riscv32 has it.
    fn default() -> Settings {
        Settings { timing: Timing::ibex(), stack_end: 0x4080_1000, stack_bytes: 8 << 20 }
    }
}

/// Why a run came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The cycle that was asked for is reached.
    Reached,
    /// The program ended, with this status.
    Exit(u8),
    /// The program did what ends its run.
    Fault(super::error::Fault),
}

const STACK_POINTER: u8 = 2;
/// Where answers and first arguments are.
const A0: u8 = 10;
/// Where the number of a call is.
const A7: u8 = 17;
/// What stands for the working folder where a call wants one; others are never opened.
const FOLDER: u32 = -100_i32 as u32;

/// Linux's calls by their number on RISC-V (`asm-generic/unistd.h`).
mod call {
    pub const UNLINKAT: u32 = 35;
    pub const OPENAT: u32 = 56;
    pub const CLOSE: u32 = 57;
    pub const LLSEEK: u32 = 62;
    pub const READ: u32 = 63;
    pub const WRITE: u32 = 64;
    pub const EXIT: u32 = 93;
    pub const EXIT_GROUP: u32 = 94;
}

/// What a program finds when it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Its first instruction.
    pub entry: u32,
    /// Its stack pointer, with the number of its arguments there and the arguments above.
    pub stack_pointer: u32,
}

/// What a program has in memory, with its stack and its arguments, regions that can be written first; and where it
/// begins.
///
/// # Errors
/// What does not fit.
pub fn furnish(
    mut regions: Vec<Region>,
    entry: u32,
    arguments: &[&str],
    settings: &Settings,
) -> Result<(Vec<Region>, Start), ImageError> {
    let (end, bytes) = (settings.stack_end, settings.stack_bytes);
    let place = Place { end, bytes, window_bytes: 0, alignment: 16, order: Order::Little };
    let (stack, stack_pointer) = stack::stack(arguments, place)?;
    regions.sort_by_key(|region| !region.writable);
    regions.insert(regions.iter().filter(|region| region.writable).count(), stack);
    elf::check_apart(regions.iter().map(|region| (region.first, region.bytes.len() as u64)))?;
    Ok((regions, Start { entry, stack_pointer }))
}

/// What the kernel finds where it cannot access what a program told it.
fn no_address(refusal: Refusal) -> Denied<FaultKind> {
    match refusal {
        // Where it executes, a program cannot store: so it is told.
        Refusal::Fault(FaultKind::StoredToCode { .. }) | Refusal::Trap(_) => Denied::Error(EFAULT),
        Refusal::Fault(kind) => Denied::Fault(kind),
    }
}

/// A program that runs.
#[derive(Clone, Debug)]
pub struct User<B, P = Sequential> {
    /// The core and its bus.
    pub machine: Machine<B, P>,
    /// The program's files.
    pub files: Files,
    exit: Option<u8>,
}

impl User<Memory> {
    /// A program in plain memory.
    ///
    /// # Errors
    /// What does not fit.
    pub fn new(
        image: &Image,
        arguments: &[&str],
        files: Files,
        settings: Settings,
    ) -> Result<Self, ImageError> {
        let (regions, start) = furnish(image.regions(), image.entry, arguments, &settings)?;
        let memory = Memory::new(regions, image.code_first, image.code_bytes);
        Ok(User::with_bus(memory, start, files, settings.timing))
    }
}

impl<B: Bus> User<B> {
    /// A program behind a bus, in which there is what [`furnish`] makes.
    pub fn with_bus(bus: B, start: Start, files: Files, timing: Timing) -> User<B> {
        User::with_pipeline(bus, Sequential::new(timing), start, files)
    }
}

impl<B: Bus, P: Pipeline> User<B, P> {
    /// The same on a core with any pipeline.
    pub fn with_pipeline(bus: B, pipeline: P, start: Start, files: Files) -> User<B, P> {
        let mut machine = Machine::with_pipeline(bus, pipeline, start.entry);
        machine.set_register(STACK_POINTER, start.stack_pointer);
        User { machine, files, exit: None }
    }

    /// Runs until a cycle is reached, or the program ends before.
    pub fn run<O: Observer>(&mut self, until: Cycles, o: &mut O) -> Stop {
        loop {
            if let Some(status) = self.exit {
                return Stop::Exit(status);
            }
            let kind = match self.machine.run(until, o) {
                machine::Stop::Reached => return Stop::Reached,
                machine::Stop::Fault(fault) => return Stop::Fault(fault),
                machine::Stop::Trap(Trap::EnvironmentCall) => match self.system_call() {
                    Ok(()) => continue,
                    Err(kind) => kind,
                },
                machine::Stop::Trap(trap) => FaultKind::Unanswered { trap },
            };
            // It stands still, and the next turn says why.
            self.machine.fail(kind);
        }
    }

    /// Does what the kernel does.
    fn system_call(&mut self) -> Result<(), FaultKind> {
        let number = self.machine.register(A7);
        let arguments: [u32; 5] = std::array::from_fn(|index| self.machine.register(A0 + index as u8));
        let [a, b, c, ..] = arguments;
        if let call::EXIT | call::EXIT_GROUP = number {
            self.exit = Some(a as u8);
            return Ok(());
        }
        let answer = match number {
            call::OPENAT => self.open(a, b, c),
            call::UNLINKAT => self.unlink(a, b),
            call::CLOSE => self.files.close(a).map(|()| 0).map_err(Denied::from),
            call::LLSEEK => self.seek(arguments),
            call::READ => self.read(a, b, c),
            call::WRITE => self.write(a, b, c),
            _ => return Err(FaultKind::SystemCall { number }),
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(Denied::Error(error)) => error.wrapping_neg(),
            Err(Denied::Fault(kind)) => return Err(kind),
        };
        self.machine.set_register(A0, answer);
        self.machine.skip();
        Ok(())
    }

    /// A name in a folder.
    fn name_in(&mut self, folder: u32, address: u32) -> Result<String, Denied<FaultKind>> {
        let name = self.name(address)?;
        if folder == FOLDER || name.starts_with('/') { Ok(name) } else { Err(EBADF.into()) }
    }

    fn open(&mut self, folder: u32, name: u32, flags: u32) -> Result<u32, Denied<FaultKind>> {
        let name = self.name_in(folder, name)?;
        Ok(self.files.open(&name, How::of_riscv(flags))?)
    }

    fn unlink(&mut self, folder: u32, name: u32) -> Result<u32, Denied<FaultKind>> {
        let name = self.name_in(folder, name)?;
        self.remove(&name)
    }

    /// Offsets are 64 bits wide, of which a file here needs fewer; the answer goes where the fourth argument says.
    fn seek(&mut self, [file, high, low, answer, from]: [u32; 5]) -> Result<u32, Denied<FaultKind>> {
        let offset = i64::from(high as i32) << 32 | i64::from(low);
        let offset = i32::try_from(offset).map_err(|_| EINVAL)?;
        let at = self.files.seek(file, offset, from)?;
        for (offset, byte) in u64::from(at).to_le_bytes().into_iter().enumerate() {
            self.put_byte(answer.wrapping_add(offset as u32), byte)?;
        }
        Ok(0)
    }
}

impl<B: Bus, P: Pipeline> Caller for User<B, P> {
    type Kind = FaultKind;

    fn byte(&mut self, address: u32) -> Result<u8, Denied<FaultKind>> {
        self.machine.bus.examine(address, Width::Byte).map(|value| value as u8).map_err(no_address)
    }

    fn put_byte(&mut self, address: u32, byte: u8) -> Result<(), Denied<FaultKind>> {
        self.machine.bus.deposit(address, Width::Byte, byte.into()).map_err(no_address)
    }

    fn files(&mut self) -> &mut Files {
        &mut self.files
    }
}
