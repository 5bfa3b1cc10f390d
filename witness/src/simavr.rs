//! simavr as a chip with the same doors as ours: load, step, look.
//!
//! Owns: every unsafe call. The version is that which `simavr-ffi` builds from the sources it carries (2026);
//! the 1.6 of distributions gives every SPI byte 100 us and is of no use here.
//!
//! A chip is made anew for every program: resetting an ATmega128 a second time crashes simavr (its watchdog's
//! interrupt has vector 0, which belongs to no pool).
//!
//! Invariant: between two calls simavr stands between two instructions.

use std::ffi::CString;

use isa::Cycles;
use simavr_ffi as ffi;

/// Data-space addresses that are the same on every chip here.
const SPL: u16 = 0x5d;
const SPH: u16 = 0x5e;

/// What simavr says of itself after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The core runs.
    Running,
    /// It sleeps.
    Sleeping,
    /// It sleeps with interrupts off.
    Done,
    /// It did what simavr does not take.
    Crashed,
}

/// A simulated chip.
pub struct Simavr {
    avr: *mut ffi::avr_t,
    data_bytes: usize,
}

impl Simavr {
    /// A chip, by avr-gcc's name of it, with `flash` in it, reset.
    ///
    /// # Panics
    /// If simavr does not know the chip, or if `flash` is not as long as the chip's.
    pub fn new(mcu: &str, flash: &[u8]) -> Simavr {
        let name = CString::new(mcu).expect("a chip's name has no zero byte");
        let mut flash = flash.to_vec();
        // SAFETY: the name ends with a zero byte and is only read; a chip that is made is valid until it is
        // terminated, and is initialised before anything else is done to it. simavr copies as many bytes as
        // its flash has, which is the length of `flash`, and does not keep the pointer.
        let avr = unsafe {
            let avr = ffi::avr_make_mcu_by_name(name.as_ptr());
            assert!(!avr.is_null(), "simavr does not know the {mcu}");
            (*avr).frequency = 8_000_000;
            assert_eq!(ffi::avr_init(avr), 0, "simavr initialises the {mcu}");
            // Its logger would write into the tests' output.
            (*avr).set_log(0);
            assert_eq!(flash.len(), (*avr).flashend as usize + 1, "the image fills the flash");
            ffi::avr_loadcode(avr, flash.as_mut_ptr(), flash.len() as u32, 0);
            (*avr).codeend = (*avr).flashend;
            avr
        };
        // SAFETY: the chip is valid.
        let data_bytes = usize::from(unsafe { (*avr).ramend }) + 1;
        let mut simavr = Simavr { avr, data_bytes };
        simavr.set_burst(1);
        simavr
    }

    /// How many cycles simavr may run at a stretch when no peripheral is due, up to a thousand; 1 is one
    /// instruction. Holds from the second step on.
    pub fn set_burst(&mut self, cycles: Cycles) {
        // SAFETY: the chip is valid; this is a plain field, which simavr bounds by its own limit whenever it has
        // looked at its peripherals.
        unsafe { (*self.avr).run_cycle_limit = cycles };
    }

    /// Runs one burst: one instruction unless [`set_burst`](Self::set_burst) was told otherwise.
    ///
    /// # Panics
    /// If simavr enters a state that only its debugger has.
    #[inline]
    pub fn step(&mut self) -> State {
        // SAFETY: the chip is valid and nobody else runs it.
        let state = unsafe { ffi::avr_run(self.avr) };
        match state as u32 {
            ffi::cpu_Running => State::Running,
            ffi::cpu_Sleeping => State::Sleeping,
            ffi::cpu_Done => State::Done,
            ffi::cpu_Crashed => State::Crashed,
            other => panic!("simavr is in state {other}"),
        }
    }

    /// Byte address of the next instruction.
    #[inline]
    pub fn pc(&self) -> u32 {
        // SAFETY: the chip is valid.
        unsafe { (*self.avr).pc }
    }

    /// Cycles since reset.
    #[inline]
    pub fn cycle(&self) -> Cycles {
        // SAFETY: the chip is valid.
        unsafe { (*self.avr).cycle }
    }

    /// SREG.
    #[inline]
    pub fn sreg(&self) -> u8 {
        // SAFETY: the chip is valid.
        let bits = unsafe { (*self.avr).sreg };
        bits.iter().enumerate().fold(0, |sreg, (bit, &value)| sreg | (value & 1) << bit)
    }

    /// The stack pointer.
    #[inline]
    pub fn sp(&self) -> u16 {
        u16::from_le_bytes([self.data()[usize::from(SPL)], self.data()[usize::from(SPH)]])
    }

    /// Sets the stack pointer.
    pub fn set_sp(&mut self, sp: u16) {
        let [low, high] = sp.to_le_bytes();
        self.set_data(SPL, low);
        self.set_data(SPH, high);
    }

    /// The registers.
    #[inline]
    pub fn registers(&self) -> [u8; 32] {
        self.data()[..32].try_into().expect("32 bytes are 32 bytes")
    }

    /// Data space as simavr keeps it: registers, I/O registers as they were last written, SRAM.
    #[inline]
    pub fn data(&self) -> &[u8] {
        // SAFETY: simavr allocates ramend + 1 bytes and never moves them.
        unsafe { std::slice::from_raw_parts((*self.avr).data, self.data_bytes) }
    }

    /// Changes a byte of data space without telling any peripheral.
    ///
    /// # Panics
    /// If the chip has no such address.
    pub fn set_data(&mut self, address: u16, value: u8) {
        let address = usize::from(address);
        assert!(address < self.data_bytes, "address {address:#x} is past the memory");
        // SAFETY: the address lies in the allocation, as just checked.
        unsafe { *(*self.avr).data.add(address) = value };
    }
}

impl Drop for Simavr {
    fn drop(&mut self) {
        // SAFETY: the chip is valid and not used again. (simavr keeps the few hundred bytes of the chip's
        // description itself.)
        unsafe { ffi::avr_terminate(self.avr) };
    }
}
