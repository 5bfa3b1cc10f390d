//! A program under Linux, as far as a C library without threads asks for it.
//!
//! Owns: the stack that a program finds, the calls that it makes by `ta 0x10` (number in %g1, arguments from %o0 on,
//! the answer in %o0, carry for an error), and who spills and fills windows. What calls do with memory and files is
//! `crate::linux::calls`' and `files`'. Time stands still, so that every run is the same. The kernel's work takes no
//! cycles.

use super::bus::{Bus, Refusal, Width};
use super::error::{FaultKind, ImageError};
use super::files::{EBADF, EFAULT, EINVAL, Files, How};
use super::image::Image;
use super::machine::{self, Machine};
use super::memory::{Memory, Region};
use super::observer::Observer;
use super::trap::Trap;
use crate::Cycles;
use crate::elf::{self, Order};
use crate::linux::calls::{Caller, Denied};
use crate::linux::stack::{self, Place};

/// Who answers window overflow and underflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Windows {
    /// The environment, at no cost, like qemu-sparc: one window at a time.
    Environment,
    /// The image: its table of traps is at this address, and its handlers are executed and counted.
    Image {
        /// The table's address.
        table: u32,
    },
}

/// What a program runs in.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The core.
    pub machine: machine::Settings,
    /// Who answers window traps.
    pub windows: Windows,
    /// First address behind the stack.
    pub stack_end: u32,
    /// How far the stack can grow.
    pub stack_bytes: u32,
    /// How far the heap can grow that `brk` gives.
    pub heap_bytes: u32,
    /// The time that stands still, in seconds since 1970.
    pub time_s: u32,
}

impl Default for Settings {
    /// The stack is below the program, where qemu-sparc has it.
    fn default() -> Settings {
        Settings {
            machine: machine::Settings::default(),
            windows: Windows::Environment,
            stack_end: 0x4000_0000,
            stack_bytes: 8 << 20,
            heap_bytes: 16 << 20,
            time_s: 1,
        }
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

/// The trap of `ta 0x10`.
const SYSTEM_CALL: Trap = Trap::software(0x10);
/// The trap of `ta 3`: every window but the current one goes to its stack.
const FLUSH_WINDOWS: Trap = Trap::software(3);
const STACK_POINTER: u8 = 14;
/// Where answers and first arguments are.
const O0: u8 = 8;
/// Room for a window above every stack pointer.
const WINDOW_BYTES: u32 = 64;
const PAGE_BYTES: u32 = 4096;
const PROCESS: u32 = 1;

/// Linux's calls by their number on SPARC (`asm/unistd.h`).
mod call {
    pub const EXIT: u32 = 1;
    pub const READ: u32 = 3;
    pub const WRITE: u32 = 4;
    pub const OPEN: u32 = 5;
    pub const CLOSE: u32 = 6;
    pub const UNLINK: u32 = 10;
    pub const BRK: u32 = 17;
    pub const LSEEK: u32 = 19;
    pub const GETPID: u32 = 20;
    pub const IOCTL: u32 = 54;
    pub const FSTAT: u32 = 62;
    pub const GETTIMEOFDAY: u32 = 116;
    pub const EXIT_GROUP: u32 = 188;
    pub const TIME: u32 = 231;
}

/// What a program finds when it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Its first instruction.
    pub entry: u32,
    /// Its stack pointer, with arguments above the room for a window.
    pub stack_pointer: u32,
    /// The end of its variables, from which the heap grows.
    pub break_first: u32,
    /// How far.
    pub break_limit: u32,
}

/// Memory with a program, its stack and its arguments, and where it begins.
///
/// # Errors
/// What does not fit.
pub fn load(image: &Image, arguments: &[&str], settings: &Settings) -> Result<(Memory, Start), ImageError> {
    let (regions, start) = furnish(image.regions(), image.entry, arguments, settings)?;
    Ok((Memory::new(regions, image.code_first, image.code_bytes), start))
}

/// What a program has in memory, with room for its heap, its stack and its arguments. Regions that can be written come
/// first.
///
/// # Errors
/// What does not fit.
pub fn furnish(
    mut regions: Vec<Region>,
    entry: u32,
    arguments: &[&str],
    settings: &Settings,
) -> Result<(Vec<Region>, Start), ImageError> {
    regions.sort_by_key(|region| !region.writable);
    let data = regions.iter_mut().filter(|region| region.writable).max_by_key(|region| region.first);
    let (mut break_first, mut break_limit) = (0, 0);
    if let Some(data) = data {
        let end = (u64::from(data.first) + data.bytes.len() as u64).next_multiple_of(PAGE_BYTES.into());
        let (first, limit) = (data.first, (1 << 32) - u64::from(PAGE_BYTES) - u64::from(settings.heap_bytes));
        if end > limit {
            return Err(ImageError::Outside { first, bytes: end - u64::from(first), limit });
        }
        break_first = end as u32;
        break_limit = break_first + settings.heap_bytes;
        // Memory that nobody touches is never made.
        let mut grown = vec![0; (break_limit - data.first) as usize];
        grown[..data.bytes.len()].copy_from_slice(&data.bytes);
        data.bytes = grown;
    }
    let (stack, stack_pointer) = stack(arguments, settings)?;
    // The heap may have grown onto what lies above it.
    let ranges = regions.iter().chain([&stack]).map(|region| (region.first, region.bytes.len() as u64));
    elf::check_apart(ranges)?;
    regions.insert(regions.iter().filter(|region| region.writable).count(), stack);
    Ok((regions, Start { entry, stack_pointer, break_first, break_limit }))
}

/// The stack, with room for a window above every stack pointer.
fn stack(arguments: &[&str], settings: &Settings) -> Result<(Region, u32), ImageError> {
    let (end, bytes) = (settings.stack_end, settings.stack_bytes);
    let place = Place { end, bytes, window_bytes: WINDOW_BYTES, alignment: 8, order: Order::Big };
    stack::stack(arguments, place)
}

/// What the kernel finds where it cannot access what a program told it.
fn no_address(refusal: Refusal) -> Denied<FaultKind> {
    match refusal {
        // Where it executes, a program cannot store: so it is told.
        Refusal::Fault(FaultKind::StoredToCode { .. }) | Refusal::Trap(_) | Refusal::IllegalPrivileged => {
            Denied::Error(EFAULT)
        }
        Refusal::Fault(kind) => Denied::Fault(kind),
    }
}

/// A program that runs.
#[derive(Clone, Debug)]
pub struct User<B> {
    /// The core and its bus.
    pub machine: Machine<B>,
    /// The program's files.
    pub files: Files,
    break_now: u32,
    start: Start,
    time_s: u32,
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
        let (memory, start) = load(image, arguments, &settings)?;
        Ok(User::with_bus(memory, start, files, settings))
    }
}

impl<B: Bus> User<B> {
    /// A program behind a bus, in which [`load`] or its like has put what a program finds.
    pub fn with_bus(bus: B, start: Start, files: Files, settings: Settings) -> User<B> {
        let mut machine = Machine::new(bus, settings.machine, start.entry);
        let by_image = |trap: Trap| {
            let is_window = matches!(trap, Trap::WINDOW_OVERFLOW | Trap::WINDOW_UNDERFLOW);
            matches!(settings.windows, Windows::Image { .. })
                && (is_window || trap.interrupt_level().is_some())
        };
        (0..=u8::MAX).map(Trap).filter(|&trap| !by_image(trap)).for_each(|trap| machine.answer(trap));
        match settings.windows {
            // As qemu-sparc begins: nobody returns from the first window, so it needs no frame.
            Windows::Environment => machine.set_wim(1),
            Windows::Image { table } => {
                machine.set_tbr(table);
                machine.set_wim(2);
            }
        }
        machine.supervisor = false;
        machine.enable_traps = true;
        machine.set_register(STACK_POINTER, start.stack_pointer);
        User { machine, files, break_now: start.break_first, start, time_s: settings.time_s, exit: None }
    }

    /// Runs until a cycle is reached, or the program ends before.
    pub fn run<O: Observer>(&mut self, until: Cycles, o: &mut O) -> Stop {
        loop {
            if let Some(status) = self.exit {
                return Stop::Exit(status);
            }
            let trap = match self.machine.run(until, o) {
                machine::Stop::Reached => return Stop::Reached,
                machine::Stop::Fault(fault) => return Stop::Fault(fault),
                machine::Stop::Trap(trap) => trap,
            };
            if let Err(kind) = self.answer(trap) {
                let machine::Stop::Fault(fault) = self.machine.fail(kind) else { continue };
                return Stop::Fault(fault);
            }
        }
    }

    /// Does what the kernel does.
    fn answer(&mut self, trap: Trap) -> Result<(), FaultKind> {
        let machine = &mut self.machine;
        let windows = machine.windows();
        let (wim, mask) = (machine.wim(), machine.window_mask());
        match trap {
            Trap::WINDOW_OVERFLOW => {
                // The window inside is invalid; the one inside it is the oldest that is not on its stack.
                let oldest = (machine.cwp + windows - 2) % windows;
                machine.spill(oldest)?;
                machine.set_wim(wim >> 1 | wim << (windows - 1) & mask);
            }
            Trap::WINDOW_UNDERFLOW => {
                machine.fill((machine.cwp + 1) % windows)?;
                machine.set_wim((wim << 1 | wim >> (windows - 1)) & mask);
            }
            FLUSH_WINDOWS => {
                let outside = (1..windows).map(|distance| (machine.cwp + distance) % windows);
                for window in outside.take_while(|&window| wim >> window & 1 == 0).collect::<Vec<_>>() {
                    machine.spill(window)?;
                }
                machine.set_wim(1 << ((machine.cwp + 1) % windows));
                machine.skip();
            }
            SYSTEM_CALL => self.system_call()?,
            trap => return Err(FaultKind::Unanswered { trap }),
        }
        Ok(())
    }

    fn system_call(&mut self) -> Result<(), FaultKind> {
        let number = self.machine.register(1);
        let arguments = [0, 1, 2].map(|index| self.machine.register(O0 + index));
        let [a, b, c] = arguments;
        if let call::EXIT | call::EXIT_GROUP = number {
            self.exit = Some(arguments[0] as u8);
            return Ok(());
        }
        let answer = match number {
            call::READ => self.read(a, b, c),
            call::WRITE => self.write(a, b, c),
            call::OPEN => self.open(arguments),
            call::CLOSE => self.files.close(arguments[0]).map(|()| 0).map_err(Denied::from),
            call::UNLINK => self.unlink(arguments[0]),
            call::BRK => Ok(self.set_break(arguments[0])),
            call::LSEEK => {
                let [file, offset, from] = arguments;
                self.files.seek(file, offset as i32, from).map_err(Denied::from)
            }
            call::GETPID => Ok(PROCESS),
            // What a C library asks a terminal; there is none.
            call::IOCTL => Err(EINVAL.into()),
            call::FSTAT => self.status(arguments[0], arguments[1]),
            call::GETTIMEOFDAY => self.put_words(arguments[0], &[self.time_s, 0]),
            call::TIME if arguments[0] == 0 => Ok(self.time_s),
            call::TIME => self.put_words(arguments[0], &[self.time_s]).map(|_| self.time_s),
            _ => return Err(FaultKind::SystemCall { number }),
        };
        let (carry, answer) = match answer {
            Ok(answer) => (false, answer),
            Err(Denied::Error(error)) => (true, error),
            Err(Denied::Fault(kind)) => return Err(kind),
        };
        self.machine.set_carry(carry);
        self.machine.set_register(O0, answer);
        self.machine.skip();
        Ok(())
    }

    fn open(&mut self, [name, flags, _]: [u32; 3]) -> Result<u32, Denied<FaultKind>> {
        let name = self.name(name)?;
        Ok(self.files.open(&name, How::of_sparc(flags))?)
    }

    fn unlink(&mut self, name: u32) -> Result<u32, Denied<FaultKind>> {
        let name = self.name(name)?;
        self.remove(&name)
    }

    fn put(&mut self, address: u32, width: Width, value: u64) -> Result<(), Denied<FaultKind>> {
        self.machine.bus.deposit(address, width, value).map_err(no_address)
    }

    fn put_words(&mut self, address: u32, words: &[u32]) -> Result<u32, Denied<FaultKind>> {
        if !address.is_multiple_of(4) {
            return Err(EFAULT.into());
        }
        for (index, &word) in words.iter().enumerate() {
            self.put(address.wrapping_add(4 * index as u32), Width::Word, word.into())?;
        }
        Ok(0)
    }

    /// Moves the end of the heap, if it can be there; and says where it is.
    fn set_break(&mut self, to: u32) -> u32 {
        if (self.start.break_first..=self.start.break_limit).contains(&to) {
            self.break_now = to;
        }
        self.break_now
    }

    /// Linux's `struct stat` on SPARC (`asm/stat.h`), of which a C library reads mode, size and block size.
    fn status(&mut self, file: u32, address: u32) -> Result<u32, Denied<FaultKind>> {
        const WORDS: usize = 16;
        const CHARACTERS: u32 = 0o020_666;
        const REGULAR: u32 = 0o100_666;
        const BLOCK_BYTES: u32 = 1024;
        let size = self.files.status(file).map_err(|_| EBADF)?;
        let mut words = [0; WORDS];
        // Mode and number of links share a word.
        words[2] = if size.is_some() { REGULAR } else { CHARACTERS } << 16 | 1;
        words[5] = size.unwrap_or(0) as u32;
        words[12] = BLOCK_BYTES;
        self.put_words(address, &words)
    }
}

impl<B: Bus> Caller for User<B> {
    type Kind = FaultKind;

    fn byte(&mut self, address: u32) -> Result<u8, Denied<FaultKind>> {
        self.machine.bus.examine(address, Width::Byte).map(|value| value as u8).map_err(no_address)
    }

    fn put_byte(&mut self, address: u32, byte: u8) -> Result<(), Denied<FaultKind>> {
        self.put(address, Width::Byte, byte.into())
    }

    fn files(&mut self) -> &mut Files {
        &mut self.files
    }
}
