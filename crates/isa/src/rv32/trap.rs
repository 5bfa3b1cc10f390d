//! Traps by their number.
//!
//! Owns: the exceptions that an instruction of RV32IM can raise, by the code that the privileged manual gives each
//! (Volume II, `mcause`), and their names. There is no handler here: the run comes back, and the environment answers.

use std::fmt;

macro_rules! traps {
    ($($(#[$doc:meta])* $name:ident $number:literal $words:literal)*) => {
        /// Why an instruction is not done.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Trap { $($(#[$doc])* $name = $number,)* }

        impl Trap {
            fn name(self) -> &'static str {
                match self {
                    $(Trap::$name => $words,)*
                }
            }
        }
    };
}

traps! {
    /// A jump or a taken branch to where no instruction can begin.
    InstructionMisaligned 0 "instruction address misaligned"
    /// Nothing to execute at an address, or what is there is not sound.
    InstructionAccess 1 "instruction access fault"
    /// A word that is no instruction, or a state register that there is not.
    IllegalInstruction 2 "illegal instruction"
    /// EBREAK.
    Breakpoint 3 "breakpoint"
    /// A load from an address that is no multiple of what is loaded.
    LoadMisaligned 4 "load address misaligned"
    /// Nothing to load at an address.
    LoadAccess 5 "load access fault"
    /// A store to an address that is no multiple of what is stored.
    StoreMisaligned 6 "store address misaligned"
    /// Nothing can be stored at an address.
    StoreAccess 7 "store access fault"
    /// ECALL, of a program.
    EnvironmentCall 8 "environment call"
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "trap {} ({})", self.name(), *self as u8)
    }
}
