//! Timing directives: what a comment `;@weave …`, or a record in the section `.weave`, says of the code.
//!
//! Owns: their grammar, one line per directive ([`Directive`]), and reading one from its text (`read`) and writing
//! it. Where a directive stands and what follows from it is known elsewhere.
//!
//! ```text
//! chip atmega128                                whose cycles count
//! f_cpu 16000000                                hertz
//! clock tx period=130 jitter=0                  a clock; several periods: period=704|1472
//! event tx at=0 clock=tx jitter=0 maybe         the next instruction's last cycle is this instant of the clock
//! event bit at=0 every=20 times=8               in a loop of 8 runs inside a round; around it: every=160 times=3
//! event first at=1744 clock=frame last          the clock stops with it; where it is stopped this is no event
//! over tx                                       the clock stops: no event is due until it starts again
//! trip 12 | trip 0..31 | trip 7|11              times that the loop, whose header or branch back this is, runs
//! targets a b c                                 where an indirect jump or call may go
//! arguments 2 2 1                               bytes of the function's parameters, in order
//! returns 2                                     bytes of the function's result
//! shared buffer guest-first                     both threads touch it, in this order
//! apart p q                                     what two parameters point to does not overlap
//! produce | consume                             the store and the load that direct coupling joins
//! server adc within=2000                        a polling guest: at most this many cycles between two runs
//! ran adc                                       the server runs: the next instruction is its first
//! drift rx ppm=100 rounds=256 until=4           the clock follows another crystal, and for so many rounds; an
//!                                               event at a later cycle has nothing to do with that
//! ```
//! A clock starts at its event with `at=0`; every event counts from there. A value is a number or an expression
//! (`8*N+2`) over numbers and names that a plan gives.

use std::collections::BTreeMap;
use std::fmt;

mod read;

pub(crate) use read::WORDS;

/// What a directive says; one variant a line of the grammar above.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Directive {
    /// Whose cycles count, by the chip's name.
    Chip(String),
    /// The processor's clock, in hertz.
    Frequency(u64),
    /// A clock.
    Clock {
        /// Its name.
        name: String,
        /// Cycles after which it may start again, ascending.
        periods: Vec<u32>,
        /// What its events may deviate, either way, in cycles, unless they say otherwise.
        jitter: u32,
    },
    /// The next instruction's last cycle is an instant of a clock.
    Event {
        /// Its name.
        name: String,
        /// Its clock; the only one of the function when absent.
        clock: Option<String>,
        /// Cycles after the clock's start.
        at: u32,
        /// What it may deviate, either way, in cycles; the clock's when absent.
        jitter: Option<u32>,
        /// How it comes again in loops inside a round, the innermost loop first.
        repeats: Vec<Repeat>,
        /// Whether a round of the clock may be without it.
        maybe: bool,
        /// Whether the clock stops with it.
        last: bool,
    },
    /// A clock stops before the next instruction.
    Over {
        /// Its name; the only one of the function when absent.
        clock: Option<String>,
    },
    /// How often the loop runs whose header or branch back carries this.
    Trip {
        /// The least.
        min: u32,
        /// The most.
        max: u32,
        /// Whether it may be any number between them.
        between: bool,
    },
    /// Where an indirect jump or call may go.
    Targets(Vec<String>),
    /// Bytes of the function's parameters, in order.
    Arguments(Vec<u32>),
    /// Bytes of a function's result.
    Returns(u32),
    /// Both threads touch this symbol.
    Shared {
        /// The symbol.
        symbol: String,
        /// Which thread's access comes first.
        first: Thread,
    },
    /// What these two parameters point to does not overlap.
    Apart(String, String),
    /// The store whose byte the guest sends.
    Produce,
    /// The load that takes what the host stored, or the store whose byte the host takes.
    Consume,
    /// The function is a polling guest.
    Server {
        /// Its name.
        name: String,
        /// Cycles between two runs, at most, while a clock runs.
        within: u32,
    },
    /// The next instruction is the first of a server's run.
    Ran(String),
    /// A clock that was started by polling follows what another crystal sends.
    Drift {
        /// The clock.
        clock: String,
        /// What the two crystals differ at most, either way, in parts per million.
        ppm: u32,
        /// Rounds for which it follows, at most.
        rounds: u32,
        /// The latest cycle of an event that has to; of any when absent.
        until: Option<u32>,
    },
}

/// How an event comes again in a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Repeat {
    /// Cycles from one run of the loop to the next.
    pub every_cycles: u32,
    /// Runs of the loop.
    pub times: u32,
}

/// How many instants an event has in one round.
pub fn instant_count(repeats: &[Repeat]) -> u64 {
    repeats.iter().fold(1, |count, repeat| u64::from(repeat.times).saturating_mul(count))
}

/// The instants of an event in one round, in cycles after its start, in the order in which they come.
pub fn instants(at: u32, repeats: &[Repeat]) -> Vec<u32> {
    repeats.iter().fold(vec![at], |inner, repeat| {
        let run =
            |run: u32| inner.iter().map(move |at| at.saturating_add(run.saturating_mul(repeat.every_cycles)));
        (0..repeat.times).flat_map(run).collect()
    })
}

/// One of the two threads that are woven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Thread {
    /// The real-time one.
    Guest,
    /// The computing one.
    Host,
}

/// The numbers that a plan gives, by name, for the expressions in directives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters(BTreeMap<String, i64>);

impl Parameters {
    /// None.
    pub fn new() -> Parameters {
        Parameters::default()
    }

    /// Gives a name a number, in place of the one it had.
    pub fn set(&mut self, name: &str, value: i64) {
        self.0.insert(name.to_owned(), value);
    }

    /// The number of a name.
    pub fn get(&self, name: &str) -> Option<i64> {
        self.0.get(name).copied()
    }

    /// The names, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl<S: Into<String>> FromIterator<(S, i64)> for Parameters {
    fn from_iter<I: IntoIterator<Item = (S, i64)>>(pairs: I) -> Parameters {
        Parameters(pairs.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }
}

impl Directive {
    /// Whether it speaks of a function as a whole, wherever in the function it is written.
    pub fn is_of_function(&self) -> bool {
        use Directive::*;
        match self {
            Chip(_)
            | Frequency(_)
            | Clock { .. }
            | Arguments(_)
            | Returns(_)
            | Shared { .. }
            | Apart(..)
            | Server { .. }
            | Drift { .. } => true,
            Event { .. } | Over { .. } | Trip { .. } | Targets(_) | Produce | Consume | Ran(_) => false,
        }
    }
}

/// The canonical text: expressions as their values, what is default left out. Invariant: it reads back as the
/// directive it was written from, when its names are words and its numbers in order.
impl fmt::Display for Directive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Directive::Chip(name) => write!(f, "chip {name}"),
            Directive::Frequency(hertz) => write!(f, "f_cpu {hertz}"),
            Directive::Clock { name, periods, jitter } => {
                write!(f, "clock {name} period=")?;
                joined(f, periods, "|")?;
                if *jitter != 0 { write!(f, " jitter={jitter}") } else { Ok(()) }
            }
            Directive::Event { name, clock, at, jitter, repeats, maybe, last } => {
                write!(f, "event {name} at={at}")?;
                if let Some(clock) = clock {
                    write!(f, " clock={clock}")?;
                }
                if let Some(jitter) = jitter {
                    write!(f, " jitter={jitter}")?;
                }
                for Repeat { every_cycles, times } in repeats {
                    write!(f, " every={every_cycles} times={times}")?;
                }
                f.write_str(if *maybe { " maybe" } else { "" })?;
                f.write_str(if *last { " last" } else { "" })
            }
            Directive::Over { clock } => match clock {
                Some(clock) => write!(f, "over {clock}"),
                None => f.write_str("over"),
            },
            Directive::Trip { min, max, .. } if min == max => write!(f, "trip {min}"),
            Directive::Trip { min, max, between } => {
                write!(f, "trip {min}{}{max}", if *between { ".." } else { "|" })
            }
            Directive::Targets(names) => {
                f.write_str("targets ")?;
                joined(f, names, " ")
            }
            Directive::Arguments(bytes) => {
                f.write_str(if bytes.is_empty() { "arguments" } else { "arguments " })?;
                joined(f, bytes, " ")
            }
            Directive::Returns(bytes) => write!(f, "returns {bytes}"),
            Directive::Shared { symbol, first } => write!(f, "shared {symbol} {first}-first"),
            Directive::Apart(one, other) => write!(f, "apart {one} {other}"),
            Directive::Produce => f.write_str("produce"),
            Directive::Consume => f.write_str("consume"),
            Directive::Server { name, within } => write!(f, "server {name} within={within}"),
            Directive::Ran(name) => write!(f, "ran {name}"),
            Directive::Drift { clock, ppm, rounds, until } => {
                write!(f, "drift {clock} ppm={ppm} rounds={rounds}")?;
                until.map_or(Ok(()), |until| write!(f, " until={until}"))
            }
        }
    }
}

impl fmt::Display for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Thread::Guest => "guest",
            Thread::Host => "host",
        })
    }
}

fn joined<T: fmt::Display>(f: &mut fmt::Formatter<'_>, items: &[T], between: &str) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        write!(f, "{}{item}", if index == 0 { "" } else { between })?;
    }
    Ok(())
}
