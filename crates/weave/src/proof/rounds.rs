//! How far each clock is on a path, and what an instruction may do then.
//!
//! Owns: the semantics of time. The instant of an instruction is its last cycle. A clock starts at the instant of
//! an event with `at=0`, tau = 0; its next start is due at tau = one of its periods, every other event at its own
//! `at`, once a round, unless it is `maybe`. Before its first start, behind `over` and behind a `last` event a clock
//! is stopped: then nothing but a start may happen, and what may be `last` is no event. A round ends with a start or
//! with a `last` event, which may come later than the periods.
//! Invariant: tau of a running clock never passes its last period and its last event by more than their jitter.

use std::ops::RangeInclusive;

use super::contract::{Clock, Contract, Event, Mark};
use super::violation::Kind;
use crate::program::Point;

/// One clock on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Round {
    /// No event is due.
    Stopped,
    /// Cycles since the start, and the events seen since, one bit each.
    Running { tau: u32, seen: u128 },
}

/// All clocks on a path, in the order of the contract.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Rounds(pub(super) Vec<Round>);

/// A clock starts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    pub(super) clock: usize,
    /// Whether it stood still.
    pub(super) afresh: bool,
}

/// What was seen of an event on all paths.
#[derive(Clone, Debug, Default)]
pub(super) struct Sightings {
    /// States that it happened in.
    pub(super) states: u64,
    /// Cycles from where it was expected, the least and the greatest.
    pub(super) deviation: Option<(i64, i64)>,
}

impl Sightings {
    fn add(&mut self, deviation: Option<i64>) {
        self.states += 1;
        if let Some(deviation) = deviation {
            let (least, greatest) = self.deviation.unwrap_or((deviation, deviation));
            self.deviation = Some((least.min(deviation), greatest.max(deviation)));
        }
    }
}

fn window(at: u32, jitter: u32) -> RangeInclusive<u32> {
    at.saturating_sub(jitter)..=at.saturating_add(jitter)
}

impl Rounds {
    pub(super) fn stopped(contract: &Contract) -> Rounds {
        Rounds(vec![Round::Stopped; contract.clocks.len()])
    }

    pub(super) fn all_stopped(&self) -> bool {
        self.0.iter().all(|round| *round == Round::Stopped)
    }

    /// The first clock that runs, and its tau.
    pub(super) fn running(&self) -> Option<(usize, u32)> {
        self.0.iter().enumerate().find_map(|(clock, round)| match round {
            Round::Running { tau, .. } => Some((clock, *tau)),
            Round::Stopped => None,
        })
    }

    /// The clocks that start with the instruction behind which these rounds are; `before` are those before it.
    pub(super) fn starts_since(&self, before: &Rounds) -> Vec<Start> {
        let rounds = self.0.iter().zip(&before.0).enumerate();
        let starts = rounds.filter_map(|(clock, (now, before))| match now {
            Round::Running { tau: 0, .. } => Some(Start { clock, afresh: *before == Round::Stopped }),
            Round::Running { .. } | Round::Stopped => None,
        });
        starts.collect()
    }

    /// Stops the clocks that are over before the instruction at `point`.
    pub(super) fn stop(&mut self, contract: &Contract, point: Point) {
        for &clock in contract.overs.get(&point).into_iter().flatten() {
            self.0[clock] = Round::Stopped;
        }
    }

    /// The instruction at `point` takes `cycles` and ends.
    pub(super) fn pass(
        &mut self,
        contract: &Contract,
        point: Point,
        cycles: u32,
        sightings: &mut [Vec<Sightings>],
    ) -> Result<(), Kind> {
        for round in &mut self.0 {
            if let Round::Running { tau, .. } = round {
                *tau = tau.saturating_add(cycles);
            }
        }
        for mark in contract.marks.get(&point).into_iter().flatten() {
            let happened = self.happen(&contract.clocks[mark.clock], mark)?;
            if let Some((event, deviation)) = happened {
                sightings[mark.clock][event].add(deviation);
            }
        }
        for (clock, round) in contract.clocks.iter().zip(&self.0) {
            if let Round::Running { tau, seen } = *round {
                let missing = clock.missing(seen, |event| tau > event.at.saturating_add(event.jitter));
                if let Some(kind) = missing.map(|event| clock.missed(event, tau)) {
                    return Err(kind);
                }
                if tau > clock.last_cycle() {
                    let (clock, expected) = (clock.name.clone(), clock.periods.clone());
                    return Err(Kind::NoNextStart { clock, expected, found: tau });
                }
            }
        }
        Ok(())
    }

    /// An event happens; says which of a mark it is, and how many cycles from where it was expected, if it was.
    fn happen(&mut self, clock: &Clock, mark: &Mark) -> Result<Option<(usize, Option<i64>)>, Kind> {
        let round = &mut self.0[mark.clock];
        let start = mark.events.iter().copied().find(|&event| clock.events[event].at == 0);
        let (event, deviation) = match (*round, start) {
            (Round::Stopped, Some(start)) => {
                *round = Round::Running { tau: 0, seen: 0 };
                (start, None)
            }
            (Round::Stopped, None) if mark.last => return Ok(None),
            (Round::Stopped, None) => {
                let event = clock.events[mark.events[0]].name.clone();
                return Err(Kind::WhileStopped { event, clock: clock.name.clone() });
            }
            (Round::Running { tau, seen }, start) => {
                let (event, deviation) = match clock.due(mark, seen, tau) {
                    Some(event) => (event, i64::from(tau) - i64::from(clock.events[event].at)),
                    None => match start {
                        Some(start) => (start, clock.restart(mark, seen, tau)?),
                        None => return Err(clock.untimely(mark, seen, tau)),
                    },
                };
                *round = match Some(event) == start {
                    true => Round::Running { tau: 0, seen: 0 },
                    false => Round::Running { tau, seen: seen | 1 << event },
                };
                (event, Some(deviation))
            }
        };
        if mark.last {
            *round = Round::Stopped;
        }
        Ok(Some((event, deviation)))
    }
}

impl Clock {
    /// The event of a mark, other than a start, that may happen now.
    fn due(&self, mark: &Mark, seen: u128, tau: u32) -> Option<usize> {
        let is_due = |&&index: &&usize| {
            let event = &self.events[index];
            event.at != 0 && seen >> index & 1 == 0 && window(event.at, mark.jitter).contains(&tau)
        };
        mark.events.iter().find(is_due).copied()
    }

    /// The clock starts again; says how many cycles from where that was expected.
    fn restart(&self, mark: &Mark, seen: u128, tau: u32) -> Result<i64, Kind> {
        let period = self.periods.iter().find(|&&period| window(period, mark.jitter).contains(&tau));
        match (period, self.missing(seen, |event| !event.last)) {
            // A start at a wrong time is the plainer word where both are true.
            (Some(_), Some(missing)) => Err(self.missed(missing, tau)),
            (Some(&period), None) => Ok(i64::from(tau) - i64::from(period)),
            (None, _) => Err(self.untimely(mark, seen, tau)),
        }
    }

    /// What a mark expected when none of its events is due.
    fn untimely(&self, mark: &Mark, seen: u128, found: u32) -> Kind {
        let is_over = |index: usize| self.events[index].at == 0 || seen >> index & 1 == 1;
        let next = mark.events.iter().copied().find(|&index| !is_over(index));
        let start = mark.events.iter().copied().find(|&index| self.events[index].at == 0);
        let names = |index: usize| (self.events[index].name.clone(), self.name.clone());
        let (index, expected) = match (next, start) {
            (Some(next), _) => (next, vec![self.events[next].at]),
            (None, Some(start)) => (start, self.periods.clone()),
            (None, None) => {
                let last = *mark.events.last().expect("a mark has an event");
                let event = &self.events[last];
                if window(event.at, mark.jitter).contains(&found) {
                    let (event, clock) = names(last);
                    return Kind::Repeated { event, clock, found };
                }
                (last, vec![event.at])
            }
        };
        let (event, clock) = names(index);
        Kind::Untimely { event, clock, expected, jitter: mark.jitter, found }
    }

    /// A required event that has not been seen although it is `due(at, jitter)`.
    fn missing(&self, seen: u128, due: impl Fn(&Event) -> bool) -> Option<usize> {
        self.events
            .iter()
            .enumerate()
            .position(|(index, event)| event.at != 0 && !event.maybe && seen >> index & 1 == 0 && due(event))
    }

    fn missed(&self, event: usize, found: u32) -> Kind {
        let event = &self.events[event];
        let (jitter, expected) = (event.jitter, event.at);
        Kind::Missing { event: event.name.clone(), clock: self.name.clone(), expected, jitter, found }
    }
}
