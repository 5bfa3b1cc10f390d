//! Software thread integration for AVR: interleaves a real-time thread (the guest) with a computing one (the
//! host), so that every timed instruction executes at exactly its cycle, and proves it.
//!
//! The story is [`weave`]: read the guest as elements on a clock, look at the host, find the guest a home among the
//! registers, walk the host with the clock, lay out, and print. What was too far away is written longer and the
//! walk repeated.

pub mod advice;
mod alu;
pub mod analysis;
pub mod archive;
pub mod cdg;
pub mod cfg;
pub mod chip;
pub mod cocall;
pub mod directive;
pub mod dominance;
pub mod dump;
pub mod emit;
pub mod error;
pub mod estimate;
mod expression;
pub mod guest;
pub mod host;
pub mod item;
pub mod limits;
pub mod linked;
pub mod loops;
pub mod memory;
pub mod padding;
pub mod phase;
pub mod plan;
pub mod product;
pub mod program;
pub mod proof;
pub mod registers;
pub mod rename;
pub mod server;
pub mod slack;
pub mod source;
pub mod tail;
pub mod time;
mod transfer;
pub mod trips;
pub mod unroll;
pub mod vacate;
pub mod values;

use std::collections::{BTreeMap, BTreeSet};

use cocall::Budget;
use directive::{Directive, Thread};
use emit::Frame;
use error::Refusal;
use estimate::Oracle;
use guest::Guest;
use host::Host;
use isa::avr::Set;
use item::Item;
use memory::{Conflict, Disjoint, Object, Reason, Side};
use plan::{Choice, Strategy, Way};
use product::{Far, Setting};
use program::{Function, Point, Program, Text};
use registers::Registers;
use rename::{Calls, Homes, Over};
use server::{Among, Server};
use vacate::Move;

/// What to weave.
pub struct Request<'a> {
    /// The host and everything it calls.
    pub host_program: &'a Program,
    /// The host's name.
    pub host: &'a str,
    /// The guest.
    pub guest_program: &'a Program,
    /// The guest's name.
    pub guest: &'a str,
    /// Polling guests, each its program and its name.
    pub servers: &'a [(&'a Program, &'a str)],
    /// The woven function's symbol.
    pub name: &'a str,
    /// Words of the woven function, at most, as a multiple of both functions' own.
    pub growth_max: f64,
    /// Which strategies are tried.
    pub strategy: Strategy,
    /// Whether the guest sends what the host produces, in the host's register (direct coupling).
    pub is_coupled: bool,
}

/// Words of a woven function, at most, as a multiple of both functions' own, where nothing else is asked for.
pub const GROWTH: f64 = 3.0;

impl<'a> Request<'a> {
    /// A host and a guest, each with its program, woven in any way that is small enough.
    pub fn new(
        (host_program, host): (&'a Program, &'a str),
        (guest_program, guest): (&'a Program, &'a str),
        name: &'a str,
    ) -> Request<'a> {
        Request {
            host_program,
            host,
            guest_program,
            guest,
            servers: &[],
            name,
            growth_max: GROWTH,
            strategy: Strategy::Auto,
            is_coupled: false,
        }
    }
}

/// A woven function.
pub struct Weave {
    /// As assembly text.
    pub text: String,
    /// As items.
    pub items: Vec<Item>,
    /// The guest as it was read.
    pub guest: Guest,
    /// What was chosen.
    pub choice: Choice,
    /// What could have been: no other is smaller and leaves the host more cycles.
    pub choices: Vec<Choice>,
    /// How many ways of weaving were tried.
    pub tried: usize,
    /// Words of both functions by themselves.
    pub plain_words: u32,
    /// What the two touch in common, and what was taken for granted of the rest.
    pub shares: Disjoint,
}

/// How much larger than both functions a woven one may be to be looked at.
const GROWTH_LOOKED_AT: u32 = 12;
/// Words that a woven function may always have: frame, sled and the guest's ends.
const WORDS_ALWAYS: u32 = 200;

/// Weaves two threads into one function, the best that the size allows.
///
/// # Errors
/// When they cannot be woven, with the place and the reason.
pub fn weave(request: &Request) -> Result<Weave, Refusal> {
    Ok(weave_until(request, Some)?.expect("the first one is taken"))
}

/// Weaves them in the best way that the size allows and that `take` makes something of; `None` when it does of none.
/// After the best one it is given those that are smaller and leave the host less, in this order.
///
/// # Errors
/// When they cannot be woven, with the place and the reason.
pub fn weave_until<T>(request: &Request, take: impl FnMut(Weave) -> Option<T>) -> Result<Option<T>, Refusal> {
    looked_at(request, |weaving| weaving.until(take)).map_err(|refusal| advice::with(request, refusal))
}

/// Does something with both threads once they are looked at.
fn looked_at<T>(request: &Request, then: impl FnOnce(&Weaving) -> Result<T, Refusal>) -> Result<T, Refusal> {
    let host = named(request.host_program, request.host)?;
    let called = tail::called(request.host_program, host);
    let request = &Request { host_program: called.as_ref().unwrap_or(request.host_program), ..*request };
    let host = named(request.host_program, request.host)?;
    let guest_function = named(request.guest_program, request.guest)?;
    let guest_program = &unroll::unrolled(request.guest_program, guest_function)?;
    let written = Version::of(request.host_program, host, &[])?;
    let joined = vacate::joined(request.host_program, &written.hosts, written.taken);
    let given = written.hosts[&host.entry].live[0];
    let plain = match &joined {
        Some((program, moves)) => Version::of(program, host, moves)?,
        None => written,
    };
    let mut shares = shares(request, guest_function, host)?;
    let (servers, texts) = servers(request, &mut shares, guest_function, host)?;
    let vacated = vacate::vacated(plain.program, &plain.hosts, plain.taken);
    let vacated = vacated.map(|(program, moves)| (program, vacate::behind(plain.moves, moves)));
    let roomy = match &vacated {
        Some((program, moves)) => Some(Version::of(program, host, moves)?),
        None => None,
    };
    let weaving = Weaving {
        servers,
        texts,
        request,
        host,
        given,
        guest_program,
        guest_function: &guest_program.functions[0],
        guest_uses_flag_t: host::uses_flag_t(guest_program, 0..guest_program.code.len()),
        plain,
        roomy,
        shares,
    };
    if request.is_coupled {
        if request.strategy == Strategy::Cocall {
            let function = weaving.guest_function.name.clone();
            return Err(Refusal::CoupledCocall { function });
        }
        weaving.check_produces()?;
    }
    then(&weaving)
}

/// Two threads that are looked at once and woven several times.
struct Weaving<'a> {
    request: &'a Request<'a>,
    host: &'a Function,
    /// What lives at its entry, as it is written.
    given: Set,
    /// The guest's function by itself, without loops inside its rounds.
    guest_program: &'a Program,
    guest_function: &'a Function,
    guest_uses_flag_t: bool,
    /// The host as it is written.
    plain: Version<'a>,
    /// The host with a register for the budget, where that is not free anyway.
    roomy: Option<Version<'a>>,
    servers: Vec<Server>,
    /// Of the guest and the servers.
    texts: Vec<Text>,
    /// What the two touch in common.
    shares: Disjoint,
}

/// A host, and what is known of it.
struct Version<'a> {
    program: &'a Program,
    hosts: BTreeMap<Point, Host<'a>>,
    taken: Set,
    lenders: Vec<u8>,
    uses_flag_t: bool,
    oracle: Oracle,
    moves: &'a [Move],
}

impl<'a> Version<'a> {
    fn of(program: &'a Program, host: &'a Function, moves: &'a [Move]) -> Result<Version<'a>, Refusal> {
        let hosts = host::reached(program, host)?;
        Ok(Version {
            program,
            taken: host::registers(program, &hosts),
            lenders: host::dead_most(&hosts),
            uses_flag_t: host::uses_flag_t(
                program,
                hosts.values().flat_map(|host| host.function.entry..host.function.end),
            ),
            oracle: Oracle::of(program, &hosts, host.entry),
            hosts,
            moves,
        })
    }
}

/// One way of weaving them.
struct Laid {
    items: Vec<Item>,
    homes: Homes,
    guest: Guest,
    choice: Choice,
}

impl Weaving<'_> {
    /// The best way that the size allows and that `take` makes something of.
    fn until<T>(&self, mut take: impl FnMut(Weave) -> Option<T>) -> Result<Option<T>, Refusal> {
        let Request { strategy, is_coupled, growth_max, .. } = *self.request;
        let plain_words = self.plain_words();
        let words_max = (f64::from(plain_words) * growth_max) as u32;
        let plan = plan::search(strategy, is_coupled, |way| Ok(self.one(way)?.choice))?;
        for choice in plan.in_order(words_max) {
            let Laid { items, homes, guest, .. } = self.one(choice.way)?;
            let text = emit::text(&self.frame(&guest, self.version(choice.way))?, &homes, &items);
            let (choices, tried, shares) = (plan.list.clone(), plan.tried, self.shares.clone());
            let weave = Weave { text, items, guest, choice, choices, tried, plain_words, shares };
            if let Some(taken) = take(weave) {
                return Ok(Some(taken));
            }
        }
        Ok(None)
    }

    /// Words of the host with what it calls, and of the guest with its loops inside a round written out.
    fn plain_words(&self) -> u32 {
        let words = |program: &Program, point: Point| program.code[point].instruction.opcode.words();
        let hosts: BTreeSet<Point> =
            self.plain.hosts.values().flat_map(|host| host.function.entry..host.function.end).collect();
        let host_words: u32 = hosts.into_iter().map(|point| words(self.request.host_program, point)).sum();
        let guest = 0..self.guest_program.code.len();
        host_words + guest.map(|point| words(self.guest_program, point)).sum::<u32>()
    }

    /// A host that is coupled has stores that produce, and `produce` stands on nothing else.
    fn check_produces(&self) -> Result<(), Refusal> {
        let code = &self.request.host_program.code;
        let points = self.plain.hosts.values().flat_map(|host| host.function.entry..host.function.end);
        let mut marked = points.filter(|&point| code[point].says(&Directive::Produce)).peekable();
        let is_some = marked.peek().is_some();
        if is_some && marked.all(|point| rename::pointer::is_store(&code[point].instruction)) {
            return Ok(());
        }
        Err(Refusal::NoProduct { function: self.host.name.clone() })
    }

    /// What surrounds the woven code.
    fn frame<'b>(&'b self, guest: &'b Guest, version: &'b Version) -> Result<Frame<'b>, Refusal> {
        let lacking = Refusal::Arguments { function: self.host.name.clone() };
        Ok(Frame {
            name: self.request.name,
            host: self.host,
            host_arguments: arguments(self.host).ok_or(lacking)?,
            guest_arguments: &guest.arguments,
            says: &guest.says,
            moves: version.moves,
            given: self.given,
            texts: [&self.texts, &self.request.host_program.texts],
        })
    }

    /// The host as a way of weaving has it.
    fn version(&self, way: Way) -> &Version<'_> {
        match (way, &self.roomy) {
            (Way::Cocall(_), Some(roomy)) => roomy,
            _ => &self.plain,
        }
    }

    /// The budget of a host that cocalls, and the guest's homes.
    fn homes(&self, way: Way, guest: &Guest, keeps_flags: bool) -> Result<(Option<Budget>, Homes), Refusal> {
        let version = self.version(way);
        let budget = match way {
            Way::Cocall(_) => Some(Budget::choose(guest, version.taken)?),
            Way::Interleave(_) => None,
        };
        // Who asks where the code goes on whether the guest is over: callers, and a host that cocalls.
        let asks = budget.is_some() || version.hosts.len() > 1;
        let uses_flag_t = version.uses_flag_t || self.guest_uses_flag_t;
        let calls = if asks && uses_flag_t { Calls::WithFlagT } else { Calls::WithoutFlagT };
        let own = budget.map_or(Set::EMPTY, |budget| budget.set());
        let (program, name) = (self.guest_program, self.request.name);
        let taken = version.taken | own;
        let mut lenders = version.lenders.clone();
        lenders.retain(|&lender| !own.contains(Set::register(lender)));
        let mut homes = rename::homes(guest, program, taken, &lenders, calls, keeps_flags, name)?;
        homes.used = homes.used | own;
        if !asks {
            homes.over = Over::Unasked;
        }
        for Move { from, to } in version.moves {
            homes.used = homes.used | Set::register(*from) | Set::register(*to);
        }
        Ok((budget, homes))
    }

    /// The guest as a way of weaving has it, in its homes, and the budget.
    fn guest(
        &self,
        way: Way,
        far: &Far,
        keeps_flags: bool,
    ) -> Result<(Guest, Homes, Option<Budget>), Refusal> {
        let request = self.request;
        let function = &self.guest_program.functions[0];
        let sent = request.is_coupled.then(|| {
            let lacking = || Refusal::NoCoupling { function: function.name.clone() };
            guest::consumed(self.guest_program, function).ok_or_else(lacking)
        });
        let mut guest = Guest::of(self.guest_program, function, far, sent.is_some())?;
        if let Some(register) = sent {
            guest = guest.coupled(function, register?)?;
        }
        if let Way::Interleave(options) = way
            && options.rounds > 1
        {
            let lacking = || Refusal::GuestShape {
                function: self.guest_function.name.clone(),
                at: self.guest_program.place_of(self.guest_function.entry),
                why: "its rounds end in no test of a count that is taken down by one",
            };
            guest = guest.batched(options.rounds, options.together).ok_or_else(lacking)?;
        }
        let (budget, homes) = self.homes(way, &guest, keeps_flags)?;
        let guest = homes.rename(&guest, self.guest_program)?;
        // Only now is it known how long its elements are: some borrow registers.
        guest.check_fit(self.guest_program)?;
        let guest = self.served(guest, &homes)?;
        Ok((guest, homes, budget))
    }

    fn one(&self, way: Way) -> Result<Laid, Refusal> {
        match way {
            Way::Interleave(_) => self.laid(way, true),
            // A host that asks only where no flag lives leaves the guest a register more.
            Way::Cocall(_) => self.laid(way, false).or_else(|_| self.laid(way, true)),
        }
    }

    fn laid(&self, way: Way, keeps_flags: bool) -> Result<Laid, Refusal> {
        let version = self.version(way);
        let mut far = Far::default();
        // Each layout makes something longer that stays so, or is the last one.
        loop {
            let (guest, homes, budget) = self.guest(way, &far, keeps_flags)?;
            let setting = Setting {
                program: version.program,
                hosts: &version.hosts,
                guest: &guest,
                guest_program: self.guest_program,
                homes: &homes,
                far: &far,
                words_max: self.plain_words() * GROWTH_LOOKED_AT + WORDS_ALWAYS,
            };
            let woven = match (way, budget) {
                (Way::Cocall(options), Some(budget)) => {
                    cocall::weave(&setting, budget, options, self.host.entry)?
                }
                (Way::Interleave(options), _) => product::weave(&setting, options, self.host.entry)?,
                (Way::Cocall(_), None) => unreachable!("cocalls have a budget"),
            };
            let items = emit::framed(&self.frame(&guest, version)?, &homes, &woven)?;
            let farther = emit::too_far(&items, &far);
            if farther == far {
                let estimate = estimate::estimate(
                    version.program,
                    &version.oracle,
                    &items,
                    woven.begins,
                    woven.host_done,
                );
                let estimate = match &guest.batch {
                    Some(batch) => estimate.with_first_rounds(guest.period_cycles, batch.period_cycles),
                    None => estimate,
                };
                let choice = Choice { way, words: item::words(&items), copies: woven.copies, estimate };
                return Ok(Laid { items, homes, guest, choice });
            }
            far = farther;
        }
    }
}

impl Weaving<'_> {
    /// The guest with the servers among its elements.
    fn served(&self, mut guest: Guest, homes: &Homes) -> Result<Guest, Refusal> {
        let core = self.request.guest_program.core;
        let flags: Vec<Item> = [homes.save_flags(), homes.restore_flags()].concat();
        let mut hosts = self.plain.hosts.values().flat_map(|host| host.function.entry..host.function.end);
        let changes_zero = hosts.any(|point| {
            let writes = self.request.host_program.code[point].instruction.writes();
            !writes.intersection(Set::register(1)).is_empty()
        });
        let among = Among {
            homes: homes.used,
            lenders: &self.plain.lenders,
            host_keeps_zero: !changes_zero,
            core,
            flags_cycles: item::straight_cycles(&flags, core),
        };
        for server in &self.servers {
            server::serve(&mut guest, server, &among)?;
        }
        Ok(guest)
    }
}

/// The servers, apart from the host and from one another, and from the guest but for what they say is shared with it: a
/// server runs as a whole between two instructions of the guest, each time where its author may know. And the texts of
/// the guest's side.
fn servers(
    request: &Request,
    shares: &mut Disjoint,
    guest: &Function,
    host: &Function,
) -> Result<(Vec<Server>, Vec<Text>), Refusal> {
    let mut texts = request.guest_program.texts.clone();
    let mut servers = Vec::new();
    let mut others = vec![(request.host_program, host), (request.guest_program, guest)];
    for &(program, name) in request.servers {
        let function = named(program, name)?;
        for &(other_program, other) in &others {
            let of_one = apart((program, function), (other_program, other)).map_err(|mut refusal| {
                if let Refusal::MemoryConflict { is_ordered, .. } = &mut refusal {
                    *is_ordered = false;
                }
                refusal
            })?;
            let is_guest = std::ptr::eq(other, guest);
            if let Some((both, first)) = of_one.shared.first().filter(|_| !is_guest) {
                let (at, host) =
                    (program.place_of(both.guest.point), other_program.place_of(both.host.point));
                let symbol = both.guest.object.to_string();
                return Err(Refusal::OrderNotKept { at, host, symbol, first: *first });
            }
            shares.granted.extend(of_one.granted);
        }
        others.push((program, function));
        servers.push(Server::of(program, function, texts.len())?);
        texts.extend(program.texts.iter().cloned());
    }
    shares.granted.sort();
    shares.granted.dedup();
    Ok((servers, texts))
}

/// Proves that a guest touches nothing that a host does, or another guest, but what is declared.
fn apart(
    (guest_program, guest): (&Program, &Function),
    (host_program, host): (&Program, &Function),
) -> Result<Disjoint, Refusal> {
    let functions = [guest, host].map(|function| function.name.clone());
    let (guest_registers, host_registers) = (Registers::of(guest_program), Registers::of(host_program));
    let guest = Side { program: guest_program, function: guest, registers: &guest_registers };
    let host = Side { program: host_program, function: host, registers: &host_registers };
    memory::disjoint(&guest, &host).map_err(|mut conflicts| {
        let conflict = conflicts.swap_remove(0);
        let place = host_program.place_of(conflict.host.point);
        if let Object::Unknown(Reason::Callee(callee)) = conflict.host.object {
            return Refusal::UnresolvedCall { at: place, callee };
        }
        let at = guest_program.place_of(conflict.guest.point);
        Refusal::MemoryConflict { at, host: place, functions, is_ordered: true, conflict: Box::new(conflict) }
    })
}

/// Proves that the two touch nothing in common, or what they share in an order that is kept.
fn shares(request: &Request, guest: &Function, host: &Function) -> Result<Disjoint, Refusal> {
    let (guest_program, host_program) = (request.guest_program, request.host_program);
    let shares = apart((guest_program, guest), (host_program, host))?;
    // The guest's setup is over before the host begins; no other order is kept.
    let rounds = guest::rounds(guest_program, guest);
    let broken =
        |(both, first): &&(Conflict, Thread)| *first == Thread::Host || rounds.contains(&both.guest.point);
    if let Some((both, first)) = shares.shared.iter().find(broken) {
        let at = guest_program.place_of(both.guest.point);
        let host = host_program.place_of(both.host.point);
        let symbol = both.guest.object.to_string();
        return Err(Refusal::OrderNotKept { at, host, symbol, first: *first });
    }
    Ok(shares)
}

fn named<'a>(program: &'a Program, name: &str) -> Result<&'a Function, Refusal> {
    program.function(name).ok_or_else(|| Refusal::NoFunction { function: name.to_owned() })
}

fn arguments(function: &Function) -> Option<&[u32]> {
    function.directives.iter().find_map(|written| match &written.directive {
        Directive::Arguments(bytes) => Some(&bytes[..]),
        _ => None,
    })
}
