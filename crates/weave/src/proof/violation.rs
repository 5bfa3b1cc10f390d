//! Why a function is not proved, and the path that shows it.
//!
//! Owns: the kinds of violation and their words. A refusal (a limit met, directives that contradict one another)
//! is a violation too: whatever is not proved is not claimed.

use std::fmt;

use crate::error::{Place, placed};
use crate::limits::{PATH_STEPS_SHOWN_MAX, PROOF_EVENTS_MAX, PROOF_STACK_SLOTS_MAX};
use crate::program::{Origin, Point};

/// Why a function is not proved. Cycles count from the start of the clock's round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An event happens at another cycle than its own.
    Untimely {
        /// The event.
        event: String,
        /// Its clock.
        clock: String,
        /// When it may happen, in cycles.
        expected: Vec<u32>,
        /// What it may deviate, either way, in cycles.
        jitter: u32,
        /// When it happens, in cycles.
        found: u32,
    },
    /// An event happens twice in one round.
    Repeated {
        /// The event.
        event: String,
        /// Its clock.
        clock: String,
        /// When it happens again, in cycles.
        found: u32,
    },
    /// An event happens although its clock is stopped.
    WhileStopped {
        /// The event.
        event: String,
        /// Its clock.
        clock: String,
    },
    /// A round is without an event that it must have.
    Missing {
        /// The event.
        event: String,
        /// Its clock.
        clock: String,
        /// When it was due, in cycles.
        expected: u32,
        /// What it may deviate, either way, in cycles.
        jitter: u32,
        /// When it had still not happened, in cycles.
        found: u32,
    },
    /// A clock runs past its last period.
    NoNextStart {
        /// The clock.
        clock: String,
        /// When it may start again, in cycles.
        expected: Vec<u32>,
        /// When it had still not started, in cycles.
        found: u32,
    },
    /// The function returns while a clock runs.
    LeftRunning {
        /// The clock.
        clock: String,
        /// When it returns, in cycles.
        found: u32,
    },
    /// Interrupts may be on while a clock runs.
    InterruptsOn {
        /// The clock.
        clock: String,
        /// Since when, in cycles.
        found: u32,
    },
    /// The processor sleeps while a clock runs.
    Sleeps {
        /// The clock.
        clock: String,
    },
    /// The program stops while a clock runs.
    Stops {
        /// The clock.
        clock: String,
    },
    /// Code that is not known is called while a clock runs.
    UnresolvedCall {
        /// Its symbol; none where its address is in a register.
        callee: Option<String>,
        /// The clock.
        clock: String,
    },
    /// A jump goes where a register says, and no directive says where that may be.
    UnresolvedJump,
    /// A loop runs more or less often than its directive says.
    Trips {
        /// The least, by the directive.
        min: u32,
        /// The most, by the directive.
        max: u32,
        /// Whether any number between them is right.
        between: bool,
        /// How often it has run when it goes on or ends against the directive.
        found: u32,
    },
    /// A return takes pushed bytes for its address.
    Unbalanced {
        /// How many bytes lie above the return address.
        bytes: u32,
    },
    /// A byte is popped that the function has not pushed.
    Underflow,
    /// The last instruction of a function is not the last on a path.
    FallsOff,
    /// A loop with a trip count is entered again before it has ended.
    RecursiveLoop,
    /// There is no clock, so there is nothing to prove.
    NoClock,
    /// A clock without an event at 0 never starts.
    NoStart {
        /// The clock.
        clock: String,
    },
    /// No path has an event.
    NeverHappens {
        /// The event.
        event: String,
        /// Its clock.
        clock: String,
    },
    /// A clock has no period, or one of zero cycles.
    NoPeriod {
        /// The clock.
        clock: String,
    },
    /// Two directives declare one clock differently.
    ClockTwice {
        /// The clock.
        clock: String,
    },
    /// A server does not run for longer than it says while a clock runs.
    Unserved {
        /// The server.
        server: String,
        /// What it says, in cycles.
        within: u32,
        /// For how long it has not run, in cycles.
        found: u32,
    },
    /// A directive names a server that is not declared.
    UnknownServer {
        /// The name.
        server: String,
    },
    /// A directive names a clock that is not declared.
    UnknownClock {
        /// The name.
        clock: String,
    },
    /// A directive names no clock, and there are several.
    WhichClock {
        /// Their names.
        clocks: Vec<String>,
    },
    /// A jump's target is no function of the program.
    UnknownTarget {
        /// The name.
        name: String,
    },
    /// A trip count stands on no loop.
    NoLoop,
    /// Two trip counts stand on one loop, or the least is more than the most.
    TripCount,
    /// A clock has more events than a state holds.
    TooManyEvents {
        /// The clock.
        clock: String,
        /// How many it has.
        found: u64,
    },
    /// A clock that has to follow another crystal does not do so for long enough.
    Drifts {
        /// The clock.
        clock: String,
        /// What the crystals differ at most, either way, in parts per million.
        ppm: u32,
        /// For how many rounds it has to follow.
        rounds: u32,
        /// For how many it does.
        rounds_max: u64,
    },
    /// Nothing says how a clock that has to follow another crystal was started.
    Unpolled {
        /// The clock.
        clock: String,
    },
    /// There are more states than a proof may have.
    TooManyStates {
        /// What it may have.
        states_max: usize,
    },
    /// The stack is deeper than a proof follows it.
    TooDeep,
}

impl Kind {
    /// The clock that it is about.
    pub fn clock(&self) -> Option<&str> {
        match self {
            Kind::Untimely { clock, .. }
            | Kind::Repeated { clock, .. }
            | Kind::WhileStopped { clock, .. }
            | Kind::Missing { clock, .. }
            | Kind::NoNextStart { clock, .. }
            | Kind::LeftRunning { clock, .. }
            | Kind::InterruptsOn { clock, .. }
            | Kind::Sleeps { clock }
            | Kind::Stops { clock }
            | Kind::UnresolvedCall { clock, .. }
            | Kind::NoStart { clock }
            | Kind::NeverHappens { clock, .. }
            | Kind::NoPeriod { clock }
            | Kind::ClockTwice { clock }
            | Kind::UnknownClock { clock }
            | Kind::TooManyEvents { clock, .. }
            | Kind::Drifts { clock, .. }
            | Kind::Unpolled { clock } => Some(clock),
            _ => None,
        }
    }
}

/// One step of a path: a way taken, at a place where there are several or where ways meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// The instruction that decided.
    pub from: Point,
    /// Where it is written.
    pub origin: Origin,
    /// Whether it branched, skipped, jumped, called or returned; else it went on to the next instruction.
    pub taken: bool,
    /// Cycles since the start of the clock in question, when the next instruction begins; none while it is stopped.
    pub tau: Option<u32>,
}

/// Why a function is not proved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// What is wrong.
    pub kind: Kind,
    /// The function that was to be proved.
    pub function: String,
    /// The instruction that is wrong, where there is one.
    pub point: Option<Point>,
    /// Where it is written, or the directive is.
    pub origin: Origin,
    /// The same with its line, where that is known.
    pub place: Option<Box<Place>>,
    /// How it is reached from the function's entry, one of the ways with the fewest steps.
    pub path: Vec<Way>,
}

fn join(numbers: &[u32], jitter: u32) -> String {
    let words: Vec<String> = numbers.iter().map(u32::to_string).collect();
    let list = words.join(" or ");
    if jitter == 0 { list } else { format!("{list} +- {jitter}") }
}

fn list(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Untimely { event, clock, expected, jitter, found } => {
                let expected = join(expected, *jitter);
                write!(
                    f,
                    "event `{event}` of clock `{clock}` happens at cycle {found}, expected cycle {expected}"
                )
            }
            Kind::Repeated { event, clock, found } => {
                write!(f, "event `{event}` of clock `{clock}` happens again at cycle {found} of one round")
            }
            Kind::WhileStopped { event, clock } => {
                write!(f, "event `{event}` happens while its clock `{clock}` is stopped")
            }
            Kind::Missing { event, clock, expected, jitter, found } => {
                let expected = join(&[*expected], *jitter);
                write!(
                    f,
                    "event `{event}` of clock `{clock}` is missing at cycle {found}, expected cycle {expected}"
                )
            }
            Kind::NoNextStart { clock, expected, found } => {
                let expected = join(expected, 0);
                write!(
                    f,
                    "clock `{clock}` has not started again at cycle {found}, expected cycle {expected}\n\
                     help: put `over {clock}` where its last round has ended"
                )
            }
            Kind::LeftRunning { clock, found } => write!(
                f,
                "the function returns at cycle {found} of clock `{clock}`, which still runs\n\
                 help: put `over {clock}` where its last round has ended"
            ),
            Kind::InterruptsOn { clock, found } => write!(
                f,
                "interrupts may be on at cycle {found} of clock `{clock}`\n\
                 help: put `cli` before its first event, and restore SREG behind its `over`"
            ),
            Kind::Sleeps { clock } => write!(f, "the processor sleeps while clock `{clock}` runs"),
            Kind::Stops { clock } => write!(f, "the program stops while clock `{clock}` runs"),
            Kind::UnresolvedCall { callee: Some(callee), clock } => write!(
                f,
                "unresolved call of `{callee}` while clock `{clock}` runs\n\
                 help: give the file that defines it, or check the linked image"
            ),
            Kind::UnresolvedCall { callee: None, clock } => write!(
                f,
                "unresolved call through a register while clock `{clock}` runs\n\
                 help: name the functions with `targets`"
            ),
            Kind::UnresolvedJump => {
                write!(f, "unresolved jump through a register\nhelp: name where it may go with `targets`")
            }
            Kind::Trips { max, found, .. } if found >= max => {
                write!(f, "the loop goes on after {found} runs, expected {max} at most")
            }
            Kind::Trips { min, max, between: false, found } if found > min => {
                write!(f, "the loop ends after {found} runs, expected {min} or {max}")
            }
            Kind::Trips { min, found, .. } => {
                write!(f, "the loop ends after {found} runs, expected {min} at least")
            }
            Kind::Unbalanced { bytes } => {
                write!(f, "a return with {bytes} pushed bytes above the return address")
            }
            Kind::Underflow => write!(f, "a pop takes what the function has not pushed"),
            Kind::FallsOff => write!(f, "execution runs past the end of the function"),
            Kind::RecursiveLoop => write!(f, "a loop with a trip count is entered by recursion"),
            other => other.write_directives(f),
        }
    }
}

impl Kind {
    /// The words for directives that do not agree, and for limits.
    fn write_directives(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::NoClock => {
                write!(
                    f,
                    "found no clock, so there is nothing to prove\nhelp: add `clock NAME period=CYCLES`"
                )
            }
            Kind::NoStart { clock } => write!(f, "clock `{clock}` has no event at=0, so it never starts"),
            Kind::NeverHappens { event, clock } => {
                write!(f, "no path has event `{event}` of clock `{clock}`")
            }
            Kind::NoPeriod { clock } => write!(f, "clock `{clock}` has no period, or one of 0 cycles"),
            Kind::ClockTwice { clock } => write!(f, "clock `{clock}` is declared twice, differently"),
            Kind::UnknownClock { clock } => write!(f, "found no clock `{clock}`"),
            Kind::Unserved { server, within, found } => write!(
                f,
                "server `{server}` has not run for {found} cycles while a clock runs, expected {within} at most"
            ),
            Kind::UnknownServer { server } => write!(f, "found no server `{server}`"),
            Kind::WhichClock { clocks } => {
                write!(f, "found no clock's name, expected `clock=` with one of: {}", list(clocks))
            }
            Kind::UnknownTarget { name } => write!(f, "found no function `{name}` to jump to"),
            Kind::NoLoop => write!(f, "a trip count stands on no loop"),
            Kind::TripCount => write!(f, "the loop has two trip counts, or one that no count fits"),
            Kind::TooManyEvents { clock, found } => {
                write!(f, "clock `{clock}` has {found} events, expected at most {PROOF_EVENTS_MAX}")
            }
            Kind::Drifts { clock, ppm, rounds, rounds_max } => write!(
                f,
                "clock `{clock}` follows a crystal that differs by {ppm} ppm for {rounds_max} rounds, expected {rounds}\n\
                 help: start it again after {rounds_max} rounds, or nearer to the middle of its period"
            ),
            Kind::Unpolled { clock } => write!(
                f,
                "nothing says when clock `{clock}` was started, from which it drifts\n\
                 help: put a clock with one period and no jitter on the polling, and its `last` event on the start"
            ),
            Kind::TooManyStates { states_max } => write!(
                f,
                "found more than {states_max} states\n\
                 help: fewer copies of the code have fewer; `trip` says how often a loop runs that values do not tell"
            ),
            Kind::TooDeep => write!(
                f,
                "found more than {PROOF_STACK_SLOTS_MAX} return addresses and pushed bytes on the stack\n\
                 help: recursion cannot be proved"
            ),
            Kind::Untimely { .. }
            | Kind::Repeated { .. }
            | Kind::WhileStopped { .. }
            | Kind::Missing { .. }
            | Kind::NoNextStart { .. }
            | Kind::LeftRunning { .. }
            | Kind::InterruptsOn { .. }
            | Kind::Sleeps { .. }
            | Kind::Stops { .. }
            | Kind::UnresolvedCall { .. }
            | Kind::UnresolvedJump
            | Kind::Trips { .. }
            | Kind::Unbalanced { .. }
            | Kind::Underflow
            | Kind::FallsOff
            | Kind::RecursiveLoop => unreachable!("written by its caller"),
        }
    }
}

/// `line 7` or `0x01f4`.
struct At(Origin);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Origin::Line { line, .. } => write!(f, "line {line}"),
            Origin::Address(address) => write!(f, "{address:#06x}"),
        }
    }
}

/// Reads after "error: "; the path follows, one step a line.
impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.kind.to_string();
        let (words, help) = text.split_at(text.find("\nhelp:").unwrap_or(text.len()));
        let function = &self.function;
        match &self.place {
            None => write!(f, "`{function}`, {}: {text}", At(self.origin))?,
            place => {
                placed(f, place.as_deref(), |f| write!(f, "`{function}`: {words}"), |f| f.write_str(help))?
            }
        }
        if self.path.is_empty() {
            return Ok(());
        }
        write!(f, "\npath:")?;
        let left_out = self.path.len().saturating_sub(PATH_STEPS_SHOWN_MAX);
        let head = if left_out == 0 { self.path.len() } else { PATH_STEPS_SHOWN_MAX / 3 };
        for (index, way) in self.path.iter().enumerate() {
            if index == head && left_out > 0 {
                write!(f, "\n  ... {left_out} more steps ...")?;
            }
            if (head..head + left_out).contains(&index) {
                continue;
            }
            let taken = if way.taken { "taken" } else { "not taken" };
            write!(f, "\n  {} {taken}", At(way.origin))?;
            if let Some(tau) = way.tau {
                write!(f, ", cycle {tau}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Violation {}
