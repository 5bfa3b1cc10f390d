//! What takes how many cycles on which core, from data files.
//!
//! Owns: the classes that the table sorts instructions into, and the files of Ibex and PicoRV32. When a cycle is spent
//! is `sequential`'s, and the form of the files is `crate::costs`'. A core is in order and issues one instruction at a
//! time; what it waits for beyond what its class, a taken branch, a divisor of zero and a load just before say, is its
//! bus' or cannot be told here.
//!
//! Ibex here is its default: two stages, the fast multiplier, no branch target ALU, memory that answers at once.
//! PicoRV32 has the fast multiplier, the divider, the barrel shifter and the second port of its registers, and memory
//! that answers in the cycle in which it is asked: `rtl/tb/pico.v`.

use super::error::TimingError;
use super::table::{OPCODE_COUNT, Opcode};
use crate::costs;

macro_rules! classes {
    ($($(#[$doc:meta])* $name:ident $word:literal)*) => {
        /// What instructions of the table cost the same.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Class { $($(#[$doc])* $name,)* }

        const CLASS_NAMES: &[&str] = &[$($word),*];
    };
}

classes! {
    /// Everything that has no class of its own.
    Single "single"
    /// Shifts.
    Shift "shift"
    /// Branches that are not taken.
    Branch "branch"
    /// JAL.
    Jump "jump"
    /// JALR.
    JumpRegister "jump_register"
    /// Loads.
    Load "load"
    /// Stores.
    Store "store"
    /// MUL.
    Multiply "multiply"
    /// MULH, MULHSU and MULHU.
    MultiplyHigh "multiply_high"
    /// DIV, DIVU, REM and REMU.
    Divide "divide"
    /// Accesses of state registers.
    Csr "csr"
    /// FENCE.
    Fence "fence"
    /// ECALL and EBREAK.
    System "system"
    /// Instructions of one's own, without their latency.
    Custom "custom"
}

/// What costs cycles beside the classes.
const OTHER_NAMES: [&str; 3] = ["branch_taken", "divide_by_zero", "load_use"];
/// Waits that a core may not have at all; everything else takes a cycle at least.
const WAITS: [&str; 1] = ["load_use"];

/// The cycles of one core. Caches and memory are not in it: they are the bus'.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// By class.
    class_cycles: [u8; CLASS_NAMES.len()],
    /// A branch that is taken, all of it.
    pub branch_taken_cycles: u8,
    /// A division by zero, all of it.
    pub divide_by_zero_cycles: u8,
    /// What an instruction waits that uses what the one before it loaded.
    pub load_use_cycles: u8,
}

impl Timing {
    /// Ibex as it is documented.
    pub fn ibex() -> Timing {
        Timing::parse(include_str!("ibex.csv")).expect("the file is ours, and tested")
    }

    /// PicoRV32 as its hardware does it.
    pub fn pico() -> Timing {
        Timing::parse(include_str!("pico.csv")).expect("the file is ours, and tested")
    }

    /// One cycle for everything and no interlocks: cycles are instructions.
    pub fn ideal() -> Timing {
        let class_cycles = [1; CLASS_NAMES.len()];
        Timing { class_cycles, branch_taken_cycles: 1, divide_by_zero_cycles: 1, load_use_cycles: 0 }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// The first line that is wrong, or what no line tells.
    pub fn parse(text: &str) -> Result<Timing, TimingError> {
        let names: Vec<&'static str> = CLASS_NAMES.iter().chain(&OTHER_NAMES).copied().collect();
        let cycles = costs::read(text, &names, &WAITS)?;
        let (of_classes, others) = cycles.split_at(CLASS_NAMES.len());
        Ok(Timing {
            class_cycles: std::array::from_fn(|index| of_classes[index]),
            branch_taken_cycles: others[0],
            divide_by_zero_cycles: others[1],
            load_use_cycles: others[2],
        })
    }

    /// The cycles of an instruction that waits for nothing, of a branch that is not taken, of a division not by zero.
    pub fn cycles(&self, opcode: Opcode) -> u8 {
        self.class_cycles[opcode.row().class as usize]
    }

    /// The same for the machine's loop, by opcode.
    pub(super) fn by_opcode(&self) -> [u8; OPCODE_COUNT] {
        std::array::from_fn(|index| self.class_cycles[Opcode::row_at(index).class as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::ROWS;
    use super::*;

    #[test]
    fn cores_have_files_and_differ_from_the_ideal() {
        let (ibex, ideal) = (Timing::ibex(), Timing::ideal());
        assert_eq!(
            (ibex.cycles(Opcode::Lw), ibex.cycles(Opcode::Remu), ibex.cycles(Opcode::Add)),
            (2, 38, 1)
        );
        assert_eq!((ibex.branch_taken_cycles, ibex.divide_by_zero_cycles, ibex.load_use_cycles), (3, 2, 0));
        assert!(ROWS.iter().all(|row| ideal.cycles(row.opcode) == 1));
        let pico = Timing::pico();
        assert_eq!(
            (pico.cycles(Opcode::Lw), pico.cycles(Opcode::Remu), pico.cycles(Opcode::Add)),
            (5, 40, 3)
        );
    }

    #[test]
    fn a_file_that_lacks_a_class_or_tells_another_is_refused() {
        let whole = include_str!("ibex.csv");
        let without: String =
            whole.lines().filter(|line| !line.starts_with("csr,")).map(|line| format!("{line}\n")).collect();
        let error = Timing::parse(&without).expect_err("it lacks a line");
        assert_eq!(error.to_string(), "timing lacks a line for `csr`");
        let other = whole.replace("multiply_high,", "mulh,");
        let error = Timing::parse(&other).expect_err("it has another");
        assert_eq!(error.to_string(), "timing line 11: nothing called `mulh` takes time");
        let wait = whole.replace("load_use,0,", "load_use,2,");
        assert_eq!(Timing::parse(&wait).expect("a core may wait").load_use_cycles, 2);
        let none =
            Timing::parse(&whole.replace("store,2,", "store,0,")).expect_err("an instruction takes time");
        assert_eq!(none.to_string(), "timing line 9: found `0`, expected 1 to 255 cycles");
    }
}
