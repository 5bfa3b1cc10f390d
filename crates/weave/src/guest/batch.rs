//! Several rounds of a guest written as one, so that its count is tested once for all of them.
//!
//! Owns: the guest whose round is so many of the original's ([`Guest::batched`]), and how the rounds that make no
//! whole batch are told from the others ([`Batch`]): they come first, one by one and without the host. Which number of
//! rounds is best is `plan`'s; where code goes, `product`'s.

use std::array;

use isa::avr::{Instruction, Opcode, Set};

use super::{Element, Guest, LEAVE, append};
use crate::item::{Item, Line};
use crate::rename::rehomed;

/// How a guest in batches begins.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The guest register with the count of the rounds that come first. No element names it.
    pub rest: u8,
    /// Divides the count of all rounds into whole batches and the rest.
    pub split: Vec<Item>,
    /// Sets Z when no batch is left.
    pub test: Vec<Item>,
    /// One round by itself, and which element of it counts.
    pub elements: Vec<Element>,
    /// See there.
    pub counting: usize,
    /// Its cycles.
    pub period_cycles: u32,
}

impl Guest {
    /// The guest with so many rounds as one, a power of two. `None` when it does not end where a count of its own
    /// comes to zero, has no register left for the rest, or begins with a preamble.
    ///
    /// What `together` events in a row send is fetched at once, when the guest is made like that.
    pub fn batched(&self, rounds: u32, together: u32) -> Option<Guest> {
        let counting = self.elements.iter().position(|element| element.leaves)?;
        let count = Count::of(&self.elements[counting].items)?;
        let is_named = |register: &u8| self.names(Set::register(*register), None);
        let rest = (0..32).find(|register| !is_named(register))?;
        if self.preamble.is_some()
            || !rounds.is_power_of_two()
            || count.halves().any(|half| self.names(Set::register(half), Some(counting)))
        {
            return None;
        }
        let period_cycles = self.period_cycles * rounds;
        let mut elements: Vec<Element> = Vec::new();
        let fetching = self.fetching(rest, together).filter(|_| together > 1);
        for round in 0..rounds {
            for (index, element) in self.elements.iter().enumerate() {
                // A round's first element may begin before the round does.
                let before = if index == 0 && element.start != Some(0) { self.period_cycles } else { 0 };
                let later =
                    |start| (start + period_cycles + round * self.period_cycles - before) % period_cycles;
                match &fetching {
                    _ if index == counting && round + 1 < rounds => {}
                    Some(fetching) if index > 0 && index != counting => {
                        elements.extend(fetching.behind(round, rounds));
                    }
                    Some(fetching) => {
                        let named = fetching.named(element, round);
                        elements.push(Element { start: element.start.map(later), ..named });
                    }
                    None => elements.push(Element { start: element.start.map(later), ..element.clone() }),
                }
            }
        }
        let batch = Batch {
            rest,
            split: count.split(rounds.ilog2(), rest),
            test: count.test(rest).into(),
            elements: self.elements.clone(),
            counting,
            period_cycles: self.period_cycles,
        };
        Some(Guest { elements, period_cycles, batch: Some(batch), ..self.clone() })
    }

    /// How what `together` events in a row send is fetched at once. `None` when a round is more than an event, a count
    /// and one element that fetches, or the guest has too few registers.
    fn fetching(&self, rest: u8, together: u32) -> Option<Fetching<'_>> {
        let [event, others @ ..] = &self.elements[..] else { return None };
        let (counts, fetches): (Vec<_>, Vec<_>) = others.iter().partition(|element| element.leaves);
        let ([_], [fetch]) = (&counts[..], &fetches[..]) else { return None };
        let sets = |element: &Element| {
            let lines = element.items.iter().filter_map(line);
            let none = (Set::EMPTY, Set::EMPTY);
            lines.fold(none, |(read, written), line| {
                let (reads, writes) = (line.instruction.reads(), line.instruction.writes());
                (read | reads, written | writes)
            })
        };
        let ((event_reads, event_writes), (reads, writes)) = (sets(event), sets(fetch));
        // Written there and read by the event, and by nobody else.
        let fetched = writes.intersection(event_reads).without(reads);
        let is_apart = event_writes.intersection(reads | writes).is_empty();
        if fetched.is_empty() || !is_apart || fetch.start.is_some() {
            return None;
        }
        let is_free = |register: &u8| *register != rest && !self.names(Set::register(*register), None);
        let mut free = (0..32).filter(is_free);
        let own: [u8; 32] = array::from_fn(|register| register as u8);
        let mut names = vec![own];
        for _ in 1..together {
            let mut other = own;
            for register in fetched.registers() {
                other[usize::from(register)] = free.next()?;
            }
            names.push(other);
        }
        Some(Fetching { fetch, names })
    }

    /// Whether anything behind the setup has to do with a register; the element `except` does not count. With none, the
    /// setup counts as well.
    fn names(&self, register: Set, except: Option<usize>) -> bool {
        let elements = self.elements.iter().enumerate().filter(|&(index, _)| Some(index) != except);
        let setup = self.setup.iter().filter(|_| except.is_none());
        elements.flat_map(|(_, element)| &element.items).chain(&self.finish).chain(setup).any(|item| {
            match item {
                Item::Line(Line { instruction, .. }) => {
                    !(instruction.reads() | instruction.writes()).intersection(register).is_empty()
                }
                _ => false,
            }
        })
    }
}

/// The most rounds of a guest with these elements, where a count of one byte ends them; zero stands for all of them.
pub(super) fn rounds_max(elements: &[Element]) -> Option<u64> {
    let mut counting = elements.iter().filter(|element| element.leaves);
    let count = Count::of(&counting.next()?.items)?;
    (count.high.is_none() && counting.next().is_none()).then_some(1 << u8::BITS)
}

/// How the events of a batch get what they send.
struct Fetching<'a> {
    fetch: &'a Element,
    /// The registers of an event and of what fetches for it, by the event's round modulo their number.
    names: Vec<[u8; 32]>,
}

impl Fetching<'_> {
    /// With the registers of a round.
    fn named(&self, element: &Element, round: u32) -> Element {
        let names = &self.names[round as usize % self.names.len()];
        let rename = |item: &Item| match item {
            Item::Line(line) => {
                let instruction = rehomed(line.instruction, |register| names[usize::from(register)]);
                Item::Line(Line { instruction, ..line.clone() })
            }
            other => other.clone(),
        };
        Element { items: element.items.iter().map(rename).collect(), ..element.clone() }
    }

    /// What is fetched behind the event of a round: for those that follow, up to where it is done again. The first
    /// round of the next batch is fetched for when it is known that there is one.
    fn behind(&self, round: u32, rounds: u32) -> Option<Element> {
        let together = self.names.len() as u32;
        let first = if round.is_multiple_of(together) { round + 1 } else { round + together };
        let next = match round + 1 == rounds {
            true => rounds..rounds + 1,
            false => first..(round + together + 1).min(rounds),
        };
        next.map(|next| self.named(self.fetch, next)).reduce(|mut all, one| {
            append(&mut all, one, 1).expect("what fetches is at no cycle of its own");
            all
        })
    }
}

fn line(item: &Item) -> Option<&Line> {
    match item {
        Item::Line(line) => Some(line),
        _ => None,
    }
}

/// A count of rounds that is taken down by one; the registers.
struct Count {
    low: u8,
    high: Option<u8>,
    /// Where it is written.
    line: Line,
}

impl Count {
    /// Of an element that takes it down, and leaves when it has come to zero.
    fn of(items: &[Item]) -> Option<Count> {
        let lines: Vec<&Line> = items.iter().filter_map(line).collect();
        let (&line, mut rest) = lines.split_first()?;
        let Instruction { opcode, d, k, .. } = line.instruction;
        let mut high = (opcode == Opcode::Sbiw).then_some(d + 1);
        let by_one = opcode == Opcode::Dec
            || matches!(opcode, Opcode::Subi | Opcode::Sbiw) && k == 1 && line.expression.is_none();
        if let [second, behind @ ..] = rest
            && let Instruction { opcode: Opcode::Sbci, d: upper, k: 0, .. } = second.instruction
            && (opcode, upper) == (Opcode::Subi, d + 1)
        {
            high = Some(upper);
            rest = behind;
        }
        // At zero out of the rounds, or at anything else around the jump out of them.
        let is_end = match rest {
            [branch] => branch.instruction.opcode == Opcode::Brbs && branch.target == Some(LEAVE),
            [branch, jump] => branch.instruction.opcode == Opcode::Brbc && jump.target == Some(LEAVE),
            _ => false,
        };
        let zero = rest.first().is_some_and(|branch| branch.instruction.b == 1);
        (by_one && is_end && zero).then(|| Count { low: d, high, line: line.clone() })
    }

    fn halves(&self) -> impl Iterator<Item = u8> {
        [Some(self.low), self.high].into_iter().flatten()
    }

    fn line(&self, opcode: Opcode, d: u8, r: u8, b: u8) -> Item {
        Item::Line(Line {
            instruction: Instruction { d, r, b, ..Instruction::new(opcode) },
            ..self.line.clone()
        })
    }

    /// Z when the count is zero; changes `rest`, and no C.
    fn test(&self, rest: u8) -> [Item; 2] {
        let other = self.line(Opcode::Or, rest, self.high.unwrap_or(self.low), 0);
        [self.line(Opcode::Mov, rest, self.low, 0), other]
    }

    /// The count over two to the `bits`, and what remains. A count of zero stands for all that it can count.
    fn split(&self, bits: u32, rest: u8) -> Vec<Item> {
        let mut items = vec![self.line(Opcode::Bclr, 0, 0, 0)];
        items.extend(self.test(rest));
        let Item::Line(branch) = self.line(Opcode::Brbc, 0, 0, 1) else { unreachable!("it is a line") };
        items.push(Item::Line(Line { target: Some(0), ..branch }));
        items.extend([self.line(Opcode::Bset, 0, 0, 0), Item::Label(0)]);
        items.push(self.line(Opcode::Eor, rest, rest, 0));
        for bit in 0..bits as u8 {
            items.extend([self.line(Opcode::Bst, self.low, 0, bit), self.line(Opcode::Bld, rest, 0, bit)]);
        }
        for bit in 0..bits {
            let first = if bit == 0 { Opcode::Ror } else { Opcode::Lsr };
            items.extend(self.high.map(|high| self.line(first, high, 0, 0)));
            let second = if self.high.is_some() { Opcode::Ror } else { first };
            items.push(self.line(second, self.low, 0, 0));
        }
        items
    }
}
