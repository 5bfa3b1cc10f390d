//! Everything that is known of a program before it is woven: the passes in their order.
//!
//! Owns: the bundle ([`Analysis`]) and the closed list of what a pass may find wrong ([`Fault`]). Each pass is a file.

use std::fmt;

use crate::cfg::{self, Cfg};
use crate::dominance::Dominance;
use crate::loops::Loops;
use crate::program::{Function, Point, Program};
use crate::registers::Registers;
use crate::time::{Time, times};
use crate::trips::{self, Untold};

/// What is known of one function.
#[derive(Clone, Debug)]
pub struct Routine {
    /// Its control flow.
    pub cfg: Cfg,
    /// Who dominates whom.
    pub dominance: Dominance,
    /// Its loops.
    pub loops: Loops,
    /// How often each loop runs.
    pub trips: trips::All,
}

impl Routine {
    /// Of one function.
    pub fn of(program: &Program, function: &Function, registers: &Registers) -> Result<Routine, Fault> {
        let cfg = Cfg::of(program, function).map_err(Fault::Flow)?;
        let loops = Loops::of(&cfg);
        let trips = trips::of(program, &cfg, &loops, registers).map_err(Fault::Trips)?;
        Ok(Routine { dominance: Dominance::of(&cfg), cfg, loops, trips })
    }
}

/// What is known of a program; routines and times by the index of the function.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// What functions do to registers.
    pub registers: Registers,
    /// The functions one by one.
    pub routines: Vec<Result<Routine, Fault>>,
    /// How long they take.
    pub times: Vec<Result<Time, Fault>>,
}

impl Analysis {
    /// Of all functions; what is wrong with one does not keep the others from being analysed.
    pub fn of(program: &Program) -> Analysis {
        let registers = Registers::of(program);
        let routines: Vec<Result<Routine, Fault>> =
            program.functions.iter().map(|function| Routine::of(program, function, &registers)).collect();
        let times = times(program, &routines);
        Analysis { registers, routines, times }
    }
}

/// What a pass found wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Control flow that cannot be followed.
    Flow(cfg::Fault),
    /// A `trip` that cannot be true.
    Trips(trips::Fault),
    /// A loop without a known bound.
    Unbounded {
        /// The first instruction of its header.
        point: Point,
        /// Why.
        why: Untold,
    },
    /// A call of a function whose code is not here.
    UnknownCallee {
        /// The call.
        point: Point,
        /// The function.
        name: String,
    },
    /// A call of a function that may be active already.
    Recursion {
        /// The call.
        point: Point,
    },
    /// A call of a function that never returns.
    NeverReturns {
        /// The call.
        point: Point,
    },
    /// A function that is called is itself at fault.
    InCallee {
        /// The call.
        point: Point,
        /// What is wrong there.
        fault: Box<Fault>,
    },
}

impl Fault {
    /// Where it is.
    pub fn point(&self) -> Option<Point> {
        match self {
            Fault::Flow(cfg::Fault::NoCode { .. }) => None,
            Fault::Flow(
                cfg::Fault::RunsOff { point }
                | cfg::Fault::IntoFunction { point, .. }
                | cfg::Fault::Indirect { point },
            )
            | Fault::Trips(trips::Fault::Contradiction { point, .. } | trips::Fault::NoLoop { point })
            | Fault::Unbounded { point, .. }
            | Fault::UnknownCallee { point, .. }
            | Fault::Recursion { point }
            | Fault::NeverReturns { point }
            | Fault::InCallee { point, .. } => Some(*point),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Flow(fault) => fault.fmt(f),
            Fault::Trips(fault) => fault.fmt(f),
            Fault::Unbounded { why: Untold::Undecided { .. }, .. } => {
                write!(f, "unbounded loop: {}\nhelp: write `trip N` or `trip N..M` on its branch back", {
                    Untold::Undecided { exits: Vec::new() }
                })
            }
            Fault::Unbounded { why, .. } => write!(f, "unbounded loop: {why}"),
            Fault::UnknownCallee { name, .. } => {
                write!(f, "`{name}` is called, and its code is not here\nhelp: give the file that has it")
            }
            Fault::Recursion { .. } => write!(f, "this call is recursive, so its time has no bound"),
            Fault::NeverReturns { .. } => write!(f, "what is called here never returns"),
            Fault::InCallee { fault, .. } => write!(f, "in what is called here: {fault}"),
        }
    }
}
