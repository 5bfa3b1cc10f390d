//! Why two threads cannot be woven, and the words for it.

use std::fmt;

use crate::cfg;
use crate::program::Origin;
use crate::trips;

/// Why two threads cannot be woven.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// A function has no usable control flow.
    Flow {
        /// The function.
        function: String,
        /// Why.
        fault: cfg::Fault,
    },
    /// What a directive says of a loop cannot be.
    Trips {
        /// The function.
        function: String,
        /// Why.
        fault: trips::Fault,
    },
    /// A named function is not there.
    NoFunction {
        /// Its name.
        function: String,
    },
    /// The guest has no clock.
    NoClock {
        /// The guest.
        function: String,
    },
    /// The guest has several clocks or periods.
    ManyPeriods {
        /// The guest.
        function: String,
        /// The clock.
        origin: Origin,
    },
    /// No event starts the clock.
    NoFirstEvent {
        /// The guest.
        function: String,
    },
    /// Several events start the clock.
    ManyFirstEvents {
        /// The guest.
        function: String,
        /// The second one.
        origin: Origin,
    },
    /// Nothing leads from the first event back to it.
    NoRound {
        /// The guest.
        function: String,
        /// The event.
        origin: Origin,
    },
    /// Guest code that cannot be cut into elements.
    GuestShape {
        /// The guest.
        function: String,
        /// The instruction.
        origin: Origin,
        /// What is in the way.
        why: &'static str,
    },
    /// A guest instruction that is tied to a register by its opcode.
    GuestOpcode {
        /// The instruction.
        origin: Option<Origin>,
        /// Its mnemonic.
        mnemonic: &'static str,
        /// The register.
        register: u8,
    },
    /// The guest's own work does not fit its period.
    ImpossiblePeriod {
        /// The guest.
        function: String,
        /// What is asked for.
        period_cycles: u32,
        /// The smallest that would do.
        smallest_cycles: u32,
    },
    /// Too few registers.
    RegisterConflict {
        /// The guest's clock.
        guest: String,
        /// What has no home.
        what: &'static str,
    },
    /// Its rounds cannot be counted several at a time.
    NoBatch {
        /// The guest.
        function: String,
    },
    /// A host instruction fits between no two elements.
    NoRoom {
        /// The instruction.
        origin: Origin,
        /// Its mnemonic.
        mnemonic: &'static str,
        /// What it needs.
        cycles: u32,
        /// The period.
        period_cycles: u32,
    },
    /// Woven like this it is too large.
    TooLarge {
        /// Words that it may have.
        words_max: u32,
    },
    /// Two ways meet in states that no wait joins.
    Unreachable {
        /// The guest's clock.
        clock: String,
    },
    /// A callee whose code is not here.
    UnresolvedCall {
        /// The call.
        origin: Origin,
        /// The callee.
        callee: String,
    },
    /// A function that calls itself.
    Recursion {
        /// The call.
        origin: Origin,
    },
    /// An instruction that no host may have.
    HostShape {
        /// The instruction.
        origin: Origin,
        /// Its mnemonic.
        mnemonic: &'static str,
    },
    /// A loop with several entries.
    Irreducible {
        /// An entry.
        origin: Origin,
    },
    /// The parameters of both threads do not fit the registers that the ABI has for them.
    Arguments {
        /// The function whose parameters are unknown or too many.
        function: String,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Flow { function, fault } => write!(f, "`{function}`: {fault}"),
            Refusal::Trips { function, fault } => write!(f, "`{function}`: {fault}"),
            Refusal::NoFunction { function } => write!(f, "found no function `{function}`"),
            Refusal::NoClock { function } => write!(
                f,
                "`{function}` has no clock, expected one\nhelp: write `;@weave clock NAME period=CYCLES` in it"
            ),
            Refusal::ManyPeriods { function, origin } => write!(
                f,
                "`{function}`, {origin}: found several clocks or periods, expected one of each\n\
                 help: the strategy `cocall` takes such a guest"
            ),
            Refusal::NoFirstEvent { function } => write!(
                f,
                "`{function}` has no event with at=0\nhelp: write `;@weave event NAME at=0` on its first timed instruction"
            ),
            Refusal::ManyFirstEvents { function, origin } => {
                write!(f, "`{function}`, {origin}: found a second event with at=0, expected one")
            }
            Refusal::NoRound { function, origin } => {
                write!(
                    f,
                    "`{function}`, {origin}: nothing leads from the first event back to it, expected a loop"
                )
            }
            Refusal::GuestShape { function, origin, why } => write!(f, "`{function}`, {origin}: {why}"),
            Refusal::GuestOpcode { origin, mnemonic, register } => {
                if let Some(origin) = origin {
                    write!(f, "{origin}: ")?;
                }
                write!(
                    f,
                    "`{mnemonic}` is tied to r{register}, expected a guest whose registers can be renamed"
                )
            }
            Refusal::ImpossiblePeriod { function, period_cycles, smallest_cycles } => write!(
                f,
                "`{function}`: a period of {period_cycles} cycles is too short for its own work\n\
                 help: the smallest that works is {smallest_cycles}"
            ),
            Refusal::RegisterConflict { guest, what } => {
                write!(f, "`{guest}`: the host leaves no register free for {what}")
            }
            Refusal::NoBatch { function } => {
                write!(f, "`{function}`: its rounds end in no test of a count that is taken down by one")
            }
            Refusal::NoRoom { origin, mnemonic, cycles, period_cycles } => write!(
                f,
                "{origin}: `{mnemonic}` needs {cycles} cycles in one piece, and a period of {period_cycles} has none"
            ),
            Refusal::TooLarge { words_max } => write!(f, "found more than {words_max} words, expected fewer"),
            Refusal::Unreachable { clock } => {
                write!(f, "`{clock}`: no wait joins two ways that meet")
            }
            Refusal::UnresolvedCall { origin, callee } => {
                write!(f, "{origin}: the code of `{callee}` is not here\nhelp: give the file that has it")
            }
            Refusal::Recursion { origin } => {
                write!(f, "{origin}: found a recursive call, expected none in a host")
            }
            Refusal::HostShape { origin, mnemonic } => {
                write!(f, "{origin}: found `{mnemonic}`, which no host may have")
            }
            Refusal::Irreducible { origin } => {
                write!(f, "{origin}: found a loop that is entered at several places, expected one")
            }
            Refusal::Arguments { function } => write!(
                f,
                "`{function}`: its parameters are unknown, or do not fit the registers r25 to r8\n\
                 help: write `;@weave arguments BYTES …` in it"
            ),
        }
    }
}

impl std::error::Error for Refusal {}
