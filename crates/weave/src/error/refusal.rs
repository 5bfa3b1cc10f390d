//! Why two threads cannot be woven, and the words for it.

use std::fmt;

use super::{Place, placed};
use crate::analysis;
use crate::directive::Thread;
use crate::limits::UNROLLED_INSTRUCTIONS_MAX;
use crate::memory::{Access, Conflict, Object};
use crate::trips;

/// Why two threads cannot be woven.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// Analysis of the host finds something wrong.
    Analysis {
        /// Where.
        at: Box<Place>,
        /// What.
        fault: analysis::Fault,
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
        at: Box<Place>,
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
        at: Box<Place>,
    },
    /// Nothing leads from the first event back to it.
    NoRound {
        /// The guest.
        function: String,
        /// The event.
        at: Box<Place>,
    },
    /// Guest code that cannot be cut into elements.
    GuestShape {
        /// The guest.
        function: String,
        /// The instruction.
        at: Box<Place>,
        /// What is in the way.
        why: &'static str,
    },
    /// A loop inside a round that cannot be written out.
    InnerLoop {
        /// Its first instruction, or the directive that does not fit it.
        at: Box<Place>,
        /// Why.
        why: InnerLoop,
    },
    /// A guest instruction that is tied to a register by its opcode.
    GuestOpcode {
        /// The instruction.
        at: Box<Place>,
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
        /// Events of a round that are not in one piece.
        events: usize,
        /// Whether the guest borrows registers of the host's, which takes time.
        borrows: bool,
        /// The smallest that works, where it is not far away.
        smallest_cycles: Option<u32>,
    },
    /// What has to happen before the rounds takes longer than its clock allows.
    LatePreamble {
        /// The rounds' clock.
        clock: String,
        /// How much too late the rounds, or an event before them, would be.
        late_cycles: u32,
    },
    /// A status bit that lives from one event to the next joins them, and there is no time for what is between.
    EventsJoined {
        /// The guest's clock.
        clock: String,
        /// What is missing.
        missing_cycles: u32,
    },
    /// An event that is not in its round.
    BeyondPeriod {
        /// The directive.
        at: Box<Place>,
        /// Cycles after the round began.
        at_cycles: u32,
        /// Those of a round.
        period_cycles: u32,
    },
    /// There is no time for what is between two events, and for saving what the host has in what that changes.
    EventsClose {
        /// The second event.
        at: Box<Place>,
        /// The first one.
        first_at: Box<Place>,
        /// Their names.
        events: [String; 2],
        /// Cycles from one to the other.
        apart_cycles: u32,
        /// What is needed.
        needed_cycles: u32,
        /// Whether the guest borrows registers of the host's, which takes some of these.
        borrows: bool,
    },
    /// Too few registers.
    RegisterConflict {
        /// The guest's clock.
        guest: String,
        /// What has no home.
        what: &'static str,
        /// What would do.
        lack: Lack,
    },
    /// A guest that cannot send what the host produces.
    NoCoupling {
        /// The guest.
        function: String,
    },
    /// A host that produces nothing, or something that is no store.
    NoProduct {
        /// The host.
        function: String,
    },
    /// The host is too slow for a guest that sends what it produces.
    ProducedLate {
        /// The instruction at which a period is over.
        at: Box<Place>,
        /// The period.
        period_cycles: u32,
    },
    /// A server says not how often it has to run.
    NoServer {
        /// The function.
        function: String,
    },
    /// A server would run too seldom.
    Unserved {
        /// The server.
        server: String,
        /// What it allows.
        within_cycles: u32,
        /// The smallest that would do; none when it fits nowhere between the guest's events.
        smallest_cycles: Option<u32>,
    },
    /// A host instruction fits between no two elements.
    NoRoom {
        /// The instruction.
        at: Box<Place>,
        /// Its mnemonic.
        mnemonic: &'static str,
        /// What it needs.
        cycles: u32,
        /// The period.
        period_cycles: u32,
        /// Events of a round that are not in one piece.
        events: usize,
        /// The smallest period that works, where it is looked for.
        smallest_cycles: Option<u32>,
    },
    /// No gap of the guest is long enough for the host to be entered and left.
    NoGap {
        /// The guest's first event.
        at: Box<Place>,
        /// The guest's clock.
        clock: String,
        /// Cycles of the longest one.
        found_cycles: u32,
        /// What one needs.
        needed_cycles: u32,
    },
    /// A coupled guest by cocalls.
    CoupledCocall {
        /// The guest.
        function: String,
    },
    /// A gap is longer than the budget can count.
    LongGap {
        /// The guest's first event.
        at: Box<Place>,
        /// The guest's clock.
        clock: String,
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
        at: Box<Place>,
        /// The callee.
        callee: String,
    },
    /// A function that calls itself.
    Recursion {
        /// The call.
        at: Box<Place>,
    },
    /// An instruction that no host may have.
    HostShape {
        /// The instruction.
        at: Box<Place>,
        /// Its mnemonic.
        mnemonic: &'static str,
    },
    /// An instruction that has to do with what the host's caller has on the stack.
    Stack {
        /// The instruction.
        at: Box<Place>,
        /// Its mnemonic.
        mnemonic: &'static str,
        /// What it does there.
        why: StackFault,
    },
    /// An instruction that switches interrupts, or waits for one.
    Interrupts {
        /// The instruction.
        at: Box<Place>,
    },
    /// Both threads may touch the same, and nothing says that they may. In place of the host it may be another guest.
    MemoryConflict {
        /// The guest's access.
        at: Box<Place>,
        /// The host's.
        host: Box<Place>,
        /// Guest and host.
        functions: [String; 2],
        /// Whether an order of the two is kept where it is declared. Of a server none is.
        is_ordered: bool,
        /// What each of them touches.
        conflict: Box<Conflict>,
    },
    /// Both threads touch the same, in an order that weaving does not keep.
    OrderNotKept {
        /// The guest's access.
        at: Box<Place>,
        /// The host's.
        host: Box<Place>,
        /// What both touch.
        symbol: String,
        /// Whose access should come first.
        first: Thread,
    },
    /// A loop with several entries.
    Irreducible {
        /// An entry.
        at: Box<Place>,
    },
    /// The parameters of both threads do not fit the registers that the ABI has for them.
    Arguments {
        /// The function whose parameters are unknown or too many.
        function: String,
    },
}

impl Refusal {
    /// The smallest period that works, where that was looked for and is not far away.
    pub fn smallest_cycles(&self) -> Option<u32> {
        match self {
            Refusal::ImpossiblePeriod { smallest_cycles, .. } | Refusal::NoRoom { smallest_cycles, .. } => {
                *smallest_cycles
            }
            _ => None,
        }
    }

    /// Its place in a text, when it has one.
    pub fn place(&self) -> Option<&Place> {
        use Refusal::*;
        match self {
            Analysis { at, .. } | ManyPeriods { at, .. } | ManyFirstEvents { at, .. } => Some(at),
            InnerLoop { at, .. } => Some(at),
            NoRound { at, .. } | GuestShape { at, .. } | GuestOpcode { at, .. } | NoRoom { at, .. } => {
                Some(at)
            }
            UnresolvedCall { at, .. } | Recursion { at } | HostShape { at, .. } | Irreducible { at } => {
                Some(at)
            }
            Stack { at, .. } | Interrupts { at } | MemoryConflict { at, .. } | OrderNotKept { at, .. } => {
                Some(at)
            }
            ProducedLate { at, .. } | NoGap { at, .. } | LongGap { at, .. } => Some(at),
            EventsClose { at, .. } | BeyondPeriod { at, .. } => Some(at),
            NoFunction { .. } | NoClock { .. } | NoFirstEvent { .. } | ImpossiblePeriod { .. } => None,
            NoServer { .. } | Unserved { .. } | LatePreamble { .. } | EventsJoined { .. } => None,
            NoCoupling { .. }
            | NoProduct { .. }
            | RegisterConflict { .. }
            | CoupledCocall { .. }
            | TooLarge { .. }
            | Unreachable { .. }
            | Arguments { .. } => None,
        }
    }

    /// What is wrong, in words, without its place.
    fn words(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use Refusal::*;
        match self {
            Analysis { fault, .. } => f.write_str(&without_help(fault).0),
            NoFunction { function } => write!(f, "no such function: found `{function}`"),
            NoClock { function } => write!(f, "`{function}` has no clock, expected one"),
            ManyPeriods { function, .. } => {
                write!(f, "`{function}` has several clocks or periods, expected one period and one clock")
            }
            NoFirstEvent { function } => write!(f, "`{function}` has no event with at=0, expected one"),
            ManyFirstEvents { .. } => write!(f, "found a second event with at=0, expected one"),
            NoRound { .. } => write!(f, "nothing leads from the first event back to it, expected a loop"),
            GuestShape { function, why, .. } => write!(f, "`{function}` cannot be woven: {why}"),
            InnerLoop { why, .. } => write!(f, "{why}"),
            LatePreamble { clock, late_cycles } => {
                write!(
                    f,
                    "`{clock}`: what happens before its rounds comes too late, by {}",
                    Cycles(*late_cycles)
                )
            }
            EventsJoined { clock, missing_cycles } => write!(
                f,
                "`{clock}`: two events that a status bit joins are too near to each other, by {}",
                Cycles(*missing_cycles)
            ),
            BeyondPeriod { at_cycles, period_cycles, .. } => write!(
                f,
                "an event at cycle {at_cycles} is not in a round of {}, expected at most {}",
                Cycles(*period_cycles),
                period_cycles - 1
            ),
            EventsClose { first_at, events: [first, second], apart_cycles, needed_cycles, .. } => write!(
                f,
                "`{second}` is {} behind `{first}` ({first_at}), expected at least {needed_cycles} for what is between them",
                Cycles(*apart_cycles)
            ),
            GuestOpcode { mnemonic, register, .. } => {
                write!(f, "`{mnemonic}` is tied to r{register}, expected registers that can be renamed")
            }
            ImpossiblePeriod { function, period_cycles, .. } => {
                write!(
                    f,
                    "`{function}`: a period of {} is too short for its own work",
                    Cycles(*period_cycles)
                )
            }
            RegisterConflict { guest, what, .. } => {
                write!(f, "`{guest}`: the host leaves no register free for {what}")
            }
            NoServer { function } => {
                write!(f, "`{function}` does not say how often it has to run, expected a server")
            }
            Unserved { server, smallest_cycles: None, .. } => {
                write!(f, "server `{server}` fits nowhere between the guest's events")
            }
            Unserved { server, within_cycles, .. } => {
                write!(f, "server `{server}` cannot run every {within_cycles} cycles")
            }
            NoCoupling { function } => write!(
                f,
                "`{function}` cannot be coupled, expected rounds of one event, which sends what a load marked \
                 `consume` fetches"
            ),
            NoProduct { function } => {
                write!(f, "`{function}` produces nothing, expected `produce` on stores and on nothing else")
            }
            ProducedLate { period_cycles, .. } => write!(
                f,
                "the host takes longer than a period of {} from one byte that it produces to the next",
                Cycles(*period_cycles)
            ),
            NoRoom { mnemonic, cycles, period_cycles, .. } => write!(
                f,
                "`{mnemonic}` needs {} in one piece, and a period of {} has none",
                Cycles(*cycles),
                Cycles(*period_cycles)
            ),
            NoGap { clock, found_cycles, needed_cycles, .. } => write!(
                f,
                "`{clock}`: the longest time in which it has nothing to do is {}, and `cocall` needs {needed_cycles}",
                Cycles(*found_cycles)
            ),
            CoupledCocall { function } => write!(
                f,
                "`{function}`: what is coupled is sent where the host produces it, and a host that cocalls does not know when"
            ),
            LongGap { clock, .. } => {
                write!(
                    f,
                    "`{clock}`: found a gap that is longer than `cocall` counts, expected 24000 cycles at most"
                )
            }
            TooLarge { words_max } => {
                write!(f, "the woven function is too large, expected {words_max} words at most")
            }
            Unreachable { clock } => write!(
                f,
                "`{clock}`: ways of the host meet at different cycles of a round, and no wait is short enough to join them"
            ),
            UnresolvedCall { callee, .. } => write!(f, "the code of `{callee}` is not here"),
            Recursion { .. } => write!(f, "found a recursive call, expected none"),
            HostShape { mnemonic, .. } => write!(f, "found `{mnemonic}`, which no host may have"),
            Stack { mnemonic, why, .. } => write!(f, "`{mnemonic}` {why}"),
            Interrupts { .. } => {
                write!(
                    f,
                    "interrupts are switched or waited for, expected a host that leaves them as they are"
                )
            }
            MemoryConflict { host, functions: [guest_name, host_name], conflict, .. } => write!(
                f,
                "`{guest_name}` {} {} and `{host_name}` {} {}, which may be the same ({host})",
                verb(&conflict.guest),
                Touched(&conflict.guest.object),
                verb(&conflict.host),
                Touched(&conflict.host.object)
            ),
            OrderNotKept { host, symbol, first, .. } => {
                write!(f, "weaving does not keep the order of `shared {symbol} {first}-first` ({host})")
            }
            Irreducible { .. } => write!(f, "found a loop that is entered at several places, expected one"),
            Arguments { function } => {
                write!(f, "`{function}`: its parameters are unknown, or do not fit the registers r25 to r8")
            }
        }
    }

    /// How it is put right, where that is known.
    fn help(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use Refusal::*;
        match self {
            NoClock { .. } => write!(f, "\nhelp: write `;@weave clock NAME period=CYCLES` in it"),
            ManyPeriods { .. } => write!(
                f,
                "\nhelp: a clock of what happens once before the rounds ends with an event that is `last`"
            ),
            NoFirstEvent { .. } => {
                write!(f, "\nhelp: write `;@weave event NAME at=0` on its first timed instruction")
            }
            ImpossiblePeriod { smallest_cycles, events, borrows, .. } => {
                match smallest_cycles {
                    Some(cycles) if *events > 1 => {
                        write!(
                            f,
                            "\nhelp: the smallest that works is {cycles}, with its other events where they are"
                        )
                    }
                    Some(cycles) => write!(f, "\nhelp: the smallest that works is {cycles}"),
                    None => write!(f, "\nhelp: a longer period has more room"),
                }?;
                if *borrows { f.write_str(BORROWS) } else { Ok(()) }
            }
            NoRoom { smallest_cycles: Some(cycles), .. } => {
                write!(f, "\nhelp: the smallest period that works is {cycles}")
            }
            NoRoom { events: 1, .. } => {
                write!(f, "\nhelp: a longer period has more room")
            }
            NoRoom { .. } => {
                write!(
                    f,
                    "\nhelp: let the guest's events be farther apart, where its directives say when they are"
                )
            }
            Unreachable { .. } => {
                write!(f, "\nhelp: a longer period has more room, and so have events that are farther apart")
            }
            EventsClose { borrows: true, .. } => f.write_str(BORROWS),
            EventsClose { .. } => write!(
                f,
                "\nhelp: write them farther apart, or let what is between them change no status bit, since the \
                 host's are saved around that"
            ),
            NoProduct { .. } => {
                write!(f, "\nhelp: write `;@weave produce` on the store of each byte that is to be sent")
            }
            ProducedLate { .. } => {
                write!(f, "\nhelp: without `--couple` it may be slower than what is sent")
            }
            InnerLoop { why, .. } => why.help(f),
            NoServer { .. } => write!(f, "\nhelp: write `;@weave server NAME within=CYCLES` in it"),
            Unserved { smallest_cycles: Some(cycles), .. } => {
                write!(f, "\nhelp: the smallest that works is {cycles}")
            }
            UnresolvedCall { .. } => write!(f, "\nhelp: give the file that has it with `--with`"),
            Analysis { fault, .. } => f.write_str(&without_help(fault).1),
            RegisterConflict { lack, .. } => {
                write!(f, "\nhelp: let the host, with all that it calls, use {lack}")
            }
            NoGap { .. } | LongGap { .. } | CoupledCocall { .. } => {
                write!(f, "\nhelp: weave it by `--strategy interleave`")
            }
            Recursion { .. } => write!(f, "\nhelp: write it as a loop"),
            Irreducible { .. } => write!(
                f,
                "\nhelp: let it be entered at its first instruction only; `--strategy cocall` takes it as it is"
            ),
            TooLarge { .. } => write!(f, "\nhelp: weave a smaller part of the host"),
            HostShape { mnemonic: "rjmp" | "jmp", .. } => {
                write!(f, "\nhelp: compile it with `-fno-optimize-sibling-calls`")
            }
            Interrupts { .. } => {
                write!(f, "\nhelp: the woven function turns them off and on again by itself")
            }
            MemoryConflict { conflict, is_ordered, .. } => match conflict.names() {
                (Some(a), Some(b)) if a == b && a.starts_with("io.") => {
                    write!(
                        f,
                        "\nhelp: threads may share a port when both change single bits of it, by `sbi` and `cbi`"
                    )
                }
                (Some(a), Some(b)) if a == b && *is_ordered => {
                    write!(f, "\nhelp: write `;@weave shared {a} guest-first`")
                }
                (Some(a), Some(b)) if a != b => {
                    write!(f, "\nhelp: write `;@weave apart {a} {b}` if they never are")
                }
                _ => Ok(()),
            },
            OrderNotKept { .. } => {
                write!(f, "\nhelp: it is kept where the guest goes first, and only before its first event")
            }
            Arguments { .. } => write!(f, "\nhelp: write `;@weave arguments BYTES …` in it"),
            _ => Ok(()),
        }
    }
}

/// Where rounds take longer than the guest's own code.
const BORROWS: &str = "\nhelp: the guest borrows registers, which takes time: let the host use fewer";

/// What of the registers is missing. Which ones a host had best do without depends on where its author, or the compiler,
/// turns then: a compiler that may not use one takes another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// Any register.
    Any,
    /// One that takes constants.
    Constants,
    /// Two that are a pair.
    Pair,
    /// A pointer.
    Pointer,
    /// A pointer with displacements.
    FarPointer,
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Lack::Any => "one register fewer",
            Lack::Constants => "one fewer of r16 to r31",
            Lack::Pair => "one pair of registers fewer",
            Lack::Pointer => "one fewer of X, Y and Z",
            Lack::FarPointer => "one fewer of Y and Z",
        })
    }
}

/// What an instruction does to the stack that woven code cannot: there, registers that are saved lie between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackFault {
    /// It pops what is the caller's.
    Popped,
    /// It reads or writes what is the caller's.
    Reached,
    /// It returns to what the function has pushed.
    Left {
        /// So much of it, or of the caller's that is missing.
        bytes: u16,
    },
}

impl fmt::Display for StackFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StackFault::Popped => {
                write!(f, "takes what the function has not pushed, expected no more than it has")
            }
            StackFault::Reached => {
                write!(f, "reaches what is above the function's own bytes of the stack, expected these only")
            }
            StackFault::Left { bytes } => {
                write!(f, "finds the stack {} off, expected it as it was at the entry", Bytes(*bytes))
            }
        }
    }
}

/// Why a loop inside a round cannot be written out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InnerLoop {
    /// How often it runs is not known.
    Untold(trips::Untold),
    /// It does not always run equally often.
    Varies {
        /// The least.
        min: u64,
        /// The most.
        max: u64,
    },
    /// It runs too often.
    TooLong {
        /// How often.
        runs: u64,
        /// What it would be, written out.
        instructions: u64,
    },
    /// An event in it comes more or less often than it runs.
    EventTimes {
        /// The event.
        event: String,
        /// How often the event comes.
        said: u32,
        /// How often the loops around it run that are not accounted for.
        runs: u32,
    },
}

impl fmt::Display for InnerLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InnerLoop::Untold(untold) => write!(f, "the loop inside a round has no known end: {untold}"),
            InnerLoop::Varies { min, max } => {
                write!(f, "the loop inside a round runs {min} to {max} times, expected one number")
            }
            InnerLoop::TooLong { runs, instructions } => write!(
                f,
                "the loop inside a round runs {runs} times, which are {instructions} instructions, expected at most \
                 {UNROLLED_INSTRUCTIONS_MAX}"
            ),
            InnerLoop::EventTimes { event, said, runs: 1 } => write!(
                f,
                "event `{event}` comes {said} times, and no loop inside the round is around it that runs as often"
            ),
            InnerLoop::EventTimes { event, said, runs } => {
                write!(f, "event `{event}` comes {said} times in a loop that runs {runs} times")
            }
        }
    }
}

impl InnerLoop {
    fn help(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InnerLoop::Untold(_) | InnerLoop::Varies { .. } => write!(
                f,
                "\nhelp: load its counter in the round, or write `;@weave trip N` on its branch back"
            ),
            InnerLoop::TooLong { .. } => write!(f, "\nhelp: let its runs be rounds of the clock"),
            InnerLoop::EventTimes { runs: 1, .. } => Ok(()),
            InnerLoop::EventTimes { runs, .. } => {
                write!(f, "\nhelp: write `every=CYCLES times={runs}` behind its `at`")
            }
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        placed(f, self.place(), |f| self.words(f), |f| self.help(f))
    }
}

impl std::error::Error for Refusal {}

/// The words of a fault, and its help: the place stands between them.
fn without_help(fault: &analysis::Fault) -> (String, String) {
    let words = fault.to_string();
    let help_at = words.find("\nhelp: ").unwrap_or(words.len());
    (words[..help_at].to_owned(), words[help_at..].to_owned())
}

/// `1 cycle`, `2 cycles`.
struct Cycles(u32);

impl fmt::Display for Cycles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cycle{}", self.0, if self.0 == 1 { "" } else { "s" })
    }
}

/// `1 byte`, `2 bytes`.
struct Bytes(u16);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} byte{}", self.0, if self.0 == 1 { "" } else { "s" })
    }
}

fn verb(access: &Access) -> &'static str {
    if access.writes { "writes" } else { "reads" }
}

/// An object in a sentence.
struct Touched<'a>(&'a Object);

impl fmt::Display for Touched<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Object::Stack => write!(f, "the stack"),
            Object::Parameter(number) => write!(f, "what its parameter {number} points to"),
            Object::Symbol(name) => write!(f, "`{name}`"),
            Object::Absolute(address) => write!(f, "address {address:#06x}"),
            Object::Io(address) => write!(f, "I/O register {address:#04x}"),
            Object::Unknown(reason) => write!(f, "what is not known ({reason})"),
        }
    }
}
