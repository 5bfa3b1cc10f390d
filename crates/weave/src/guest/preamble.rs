//! What a guest does at exact cycles before its rounds begin.
//!
//! Owns: reading it ([`Preamble`]). It has a clock of its own, whose `last` event is the first event of the rounds.
//! Nobody else works meanwhile: a preamble runs once, and woven it would be copied in full. The clock may start in a
//! loop that polls; its last start is the one that counts.

use std::collections::BTreeMap;

use super::{Clock, Reader, firsts};
use crate::analysis::Fault;
use crate::cfg::Cfg;
use crate::directive::Directive;
use crate::error::Refusal;
use crate::item::{Item, Label, Line};
use crate::loops::Loops;
use crate::program::{Flow, Point};

use super::Element;

/// Modulus of its cycles: a preamble is over before.
pub const PREAMBLE_CYCLES: u32 = 1 << 30;

/// The preamble, in the guest's own registers.
#[derive(Clone, Debug)]
pub struct Preamble {
    /// The loop whose last run starts the clock, if one does.
    pub polling: Option<Polling>,
    /// What follows, from the start of the clock on; each may begin at a cycle of this clock, modulo
    /// [`PREAMBLE_CYCLES`].
    pub elements: Vec<Element>,
    /// The cycle of this clock at which the rounds' first event happens.
    pub until_cycles: u32,
}

/// A loop that waits for something.
#[derive(Clone, Debug)]
pub struct Polling {
    /// Its code, as it stands; it ends by going on to the next item.
    pub items: Vec<Item>,
    /// Cycles from the clock's last start to its end.
    pub passed_cycles: u32,
}

/// Where a preamble is in its function.
pub(super) struct Place {
    /// Where it begins.
    pub(super) begin: Point,
    /// Where polling has ended; where it begins when nothing polls.
    behind: Point,
    clock: Clock,
}

impl Place {
    /// Where the preamble of a guest is, if it has one.
    pub(super) fn find(reader: &Reader) -> Result<Option<Place>, Refusal> {
        let Some(clock) = reader.clock.lead.as_deref() else { return Ok(None) };
        let function = reader.function;
        let lead = Clock { name: clock.name.clone(), period_cycles: clock.period_cycles, lead: None };
        let starts = firsts(reader.program, function, &lead);
        let [start] = starts[..] else {
            let second = starts.get(1).copied().unwrap_or(function.entry);
            return Err(
                reader.refuse(second, "the clock of a preamble has several starts or none, expected one")
            );
        };
        let flow =
            |fault| Refusal::Analysis { at: reader.program.place_of(start), fault: Fault::Flow(fault) };
        let cfg = Cfg::of(reader.program, function).map_err(flow)?;
        let loops = Loops::of(&cfg);
        let block = cfg.block_of(start).expect("an event is in its function");
        let Some(polling) = loops.around(block).last() else {
            return Ok(Some(Place { begin: start, behind: start, clock: lead }));
        };
        let polling = &loops.all[polling];
        let points = || polling.blocks.iter().flat_map(|&block| cfg.blocks[block].points());
        let (Some(first), Some(last)) = (points().min(), points().max()) else {
            unreachable!("a loop has points")
        };
        let is_one_piece = points().count() == last + 1 - first && cfg.blocks[polling.header].first == first;
        let leaves_at_end = polling.exits.iter().all(|(_, edge)| cfg.blocks[edge.to].first == last + 1);
        if !is_one_piece || !leaves_at_end || points().any(|point| point == reader.first) {
            return Err(reader.refuse(start, "polling is one piece of code that is left at its end"));
        }
        Ok(Some(Place { begin: first, behind: last + 1, clock: lead }))
    }

    /// Reads it.
    pub(super) fn read(&self, reader: &Reader) -> Result<Preamble, Refusal> {
        let mut elements = Vec::new();
        let mut point = self.behind;
        while point != reader.first {
            let (stretch, next) = reader.step(point)?;
            if stretch.leaves || elements.len() > reader.program.code.len() {
                return Err(reader.refuse(point, "the preamble goes on in one way only, to the rounds"));
            }
            if stretch.event.is_some_and(|event| !event.is_lead) {
                return Err(reader.refuse(point, "an event of the rounds' clock in the preamble"));
            }
            elements.push(reader.element(stretch, PREAMBLE_CYCLES));
            point = next;
        }
        let last = reader.program.code[reader.first].directives.iter().find_map(|written| {
            match &written.directive {
                Directive::Event { clock, at, last: true, .. } if self.clock.has(clock.as_deref()) => {
                    Some(*at)
                }
                _ => None,
            }
        });
        let until_cycles = last.ok_or_else(|| {
            reader.refuse(
                reader.first,
                "the last event of a preamble is the first of the rounds, expected both here",
            )
        })?;
        let polling = (self.begin < self.behind).then(|| self.polling(reader)).transpose()?;
        Ok(Preamble { polling, elements, until_cycles })
    }

    fn polling(&self, reader: &Reader) -> Result<Polling, Refusal> {
        let points = self.begin..self.behind;
        let number: BTreeMap<Point, Label> = points.clone().chain([self.behind]).zip(0..).collect();
        let mut items = Vec::new();
        for point in points {
            items.push(Item::Label(number[&point]));
            items.extend(reader.says(point));
            items.extend(reader.trip(point));
            let mut line = reader.line(point);
            match reader.program.code[point].flow {
                Flow::Jump(to) => {
                    line = Line { origin: line.origin, thread: line.thread, ..Line::jump(number[&to]) }
                }
                Flow::Branch(to) => line.target = Some(number[&to]),
                _ => {}
            }
            items.push(Item::Line(line));
        }
        items.push(Item::Label(number[&self.behind]));
        let start = *firsts(reader.program, reader.function, &self.clock).first().expect("it was found");
        Ok(Polling { items, passed_cycles: self.passed_cycles(reader, start)? })
    }

    /// Cycles from a start to the end of polling, without another start on the way.
    fn passed_cycles(&self, reader: &Reader, start: Point) -> Result<u32, Refusal> {
        let program = reader.program;
        let mut found: Option<u32> = None;
        let mut open = vec![(start + 1, 0)];
        while let Some((point, cycles)) = open.pop() {
            if point == start && cycles + program.cycles(start) != self.clock.period_cycles {
                return Err(
                    reader.refuse(start, "polling starts its clock again after another time than a period")
                );
            }
            if point == start || point < self.begin {
                continue;
            }
            if point >= self.behind {
                if found.is_some_and(|found| found != cycles) {
                    return Err(reader.refuse(start, "polling ends at different cycles behind its start"));
                }
                found = Some(cycles);
                continue;
            }
            let (straight, taken) = (cycles + program.cycles(point), cycles + program.taken_cycles(point));
            match program.code[point].flow {
                Flow::Branch(to) => open.extend([(point + 1, straight), (to, taken)]),
                Flow::Skip => open.extend([(point + 1, straight), (point + 2, taken)]),
                Flow::Jump(to) => open.push((to, straight)),
                _ => open.push((point + 1, straight)),
            }
            if cycles > self.clock.period_cycles {
                return Err(reader.refuse(start, "polling has a way around its start"));
            }
        }
        found.ok_or_else(|| reader.refuse(start, "polling never ends"))
    }
}
