//! How far each clock is on a path, and what an instruction may do then.
//!
//! Owns: the semantics of time. The instant of an instruction is its last cycle. A clock starts at the instant of
//! an event with `at=0`, tau = 0; its next start is due at tau = one of its periods, every other event at its own
//! `at`, once a round, unless it is `maybe`. Before its first start and behind `over` a clock is stopped, and nothing
//! but a start may happen.
//! Invariant: tau of a running clock never passes its last period by more than the jitter of its starts.

use std::ops::RangeInclusive;

use super::contract::{Clock, Contract, Mark};
use super::violation::Kind;
use crate::program::Point;

/// One clock on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Round {
    /// No event is due.
    Stopped,
    /// Cycles since the start, and the events seen since, one bit each.
    Running { tau: u32, seen: u64 },
}

/// All clocks on a path, in the order of the contract.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Rounds(pub(super) Vec<Round>);

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
            let deviation = self.happen(&contract.clocks[mark.clock], mark)?;
            sightings[mark.clock][mark.event].add(deviation);
        }
        for (clock, round) in contract.clocks.iter().zip(&self.0) {
            if let Round::Running { tau, seen } = *round {
                let missing = clock.missing(seen, |at, jitter| tau > at.saturating_add(jitter));
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

    /// An event happens; says how many cycles from where it was expected, if it was.
    fn happen(&mut self, clock: &Clock, mark: &Mark) -> Result<Option<i64>, Kind> {
        let event = &clock.events[mark.event];
        let round = &mut self.0[mark.clock];
        let untimely = |expected: &[u32], found| Kind::Untimely {
            event: event.name.clone(),
            clock: clock.name.clone(),
            expected: expected.to_vec(),
            jitter: mark.jitter,
            found,
        };
        match *round {
            Round::Stopped if event.at == 0 => {
                *round = Round::Running { tau: 0, seen: 0 };
                Ok(None)
            }
            Round::Stopped => {
                Err(Kind::WhileStopped { event: event.name.clone(), clock: clock.name.clone() })
            }
            Round::Running { tau, seen } if event.at == 0 => {
                if let Some(missing) = clock.missing(seen, |_, _| true) {
                    // A start at a wrong time is the plainer word where both are true.
                    if clock.periods.iter().any(|&period| window(period, mark.jitter).contains(&tau)) {
                        return Err(clock.missed(missing, tau));
                    }
                }
                let period = clock.periods.iter().find(|&&period| window(period, mark.jitter).contains(&tau));
                let period = *period.ok_or_else(|| untimely(&clock.periods, tau))?;
                *round = Round::Running { tau: 0, seen: 0 };
                Ok(Some(i64::from(tau) - i64::from(period)))
            }
            Round::Running { tau, seen } => {
                if !window(event.at, mark.jitter).contains(&tau) {
                    return Err(untimely(&[event.at], tau));
                }
                if seen >> mark.event & 1 == 1 {
                    let (event, clock) = (event.name.clone(), clock.name.clone());
                    return Err(Kind::Repeated { event, clock, found: tau });
                }
                *round = Round::Running { tau, seen: seen | 1 << mark.event };
                Ok(Some(i64::from(tau) - i64::from(event.at)))
            }
        }
    }
}

impl Clock {
    /// A required event that has not been seen although it is `due(at, jitter)`.
    fn missing(&self, seen: u64, due: impl Fn(u32, u32) -> bool) -> Option<usize> {
        self.events.iter().enumerate().position(|(index, event)| {
            event.at != 0 && !event.maybe && seen >> index & 1 == 0 && due(event.at, event.jitter)
        })
    }

    fn missed(&self, event: usize, found: u32) -> Kind {
        let event = &self.events[event];
        let (jitter, expected) = (event.jitter, event.at);
        Kind::Missing { event: event.name.clone(), clock: self.name.clone(), expected, jitter, found }
    }
}
