//! Loops: their bodies copied until the end of one meets the beginning of another, or gone round with a counter.
//!
//! Owns: unrolling, closing, and the paper's loop splitting. What a body is, `product` says; how ways meet, `meet`.

use std::collections::BTreeSet;

use isa::avr::{Instruction, Opcode, Set};

use super::{Arrival, Goal, Resume, Ways, Weaver};
use crate::error::Refusal;
use crate::estimate;
use crate::host::Host;
use crate::item::{Item, Label, Line};
use crate::loops::LoopId;
use crate::phase::{State, has_flags};
use crate::program::Point;
use crate::trips::Trips;

/// Words of a round whose counter's branch reaches its beginning.
const BRANCH_WORDS_MAX: u32 = 56;

/// Cycles that loading the counter takes, at most: with a register saved on the stack for it.
const LOAD_CYCLES_MAX: u32 = 6;

/// Copies of a loop's body beyond those that are wanted, while no wait leads back.
const COPIES_MORE: usize = 8;

/// Rounds of a loop that are followed to know which of its copies it is left from.
const FOLLOWED_ROUNDS_MAX: u64 = 1 << 10;

/// What a way weighs that is never gone, beside those that are.
const NEVER: f64 = 1e-6;

/// In which order the copies of a loop's body run.
#[derive(Default)]
struct Order {
    /// Copies by which the loop is entered, and how often in comparison.
    entries: Vec<(usize, f64)>,
    /// By copy, the one that goes on.
    next: Vec<Option<usize>>,
    /// By copy, the rounds that are over at its end since the loop was entered by the one before it.
    passed: Vec<u32>,
    /// Cycles of a round.
    round_cycles: f64,
    /// Whether some rounds are gone by a counter.
    is_counted: bool,
}

impl Order {
    /// The last copy goes on with this one.
    fn ends(&mut self, with: Option<usize>) {
        *self.next.last_mut().expect("a copy was written") = with;
    }

    /// Gives the ways out the time of the rounds that are gone before on an average: what is waited behind a loop, or by
    /// one around it, is little beside them.
    fn pass(&self, rounds: [u32; 2], exits: &mut [(usize, (Goal, Arrival))]) {
        let average = rounds[0] / 2 + rounds[1] / 2;
        for (copy, (_, exit)) in exits {
            exit.time += f64::from(average.saturating_sub(self.passed[*copy])) * self.round_cycles;
        }
    }

    /// Gives the ways out, each with its copy, the weights that the numbers of rounds say: a loop that always runs
    /// eight times is never left by the third of eight copies.
    fn weigh(&self, trips: &Trips, exits: &mut [(usize, (Goal, Arrival))]) {
        if self.is_counted || trips.rounds_max > FOLLOWED_ROUNDS_MAX {
            return;
        }
        let mut left = vec![0.0; self.next.len()];
        for &(entry, weight) in &self.entries {
            let numbers = if trips.between { trips.rounds_max + 1 - trips.rounds_min } else { 2 };
            let share = weight / numbers as f64;
            let mut copy = Some(entry);
            for round in 1..=trips.rounds_max {
                let Some(at) = copy else { break };
                left[at] += if trips.may_end(round) { share } else { 0.0 };
                copy = self.next[at];
            }
        }
        let mut all = vec![0.0; self.next.len()];
        exits.iter().for_each(|(copy, (_, exit))| all[*copy] += exit.weight);
        for (copy, (_, exit)) in exits {
            let least = NEVER * exit.weight;
            exit.weight = (left[*copy] * exit.weight / all[*copy]).max(least);
        }
    }
}

impl<'a> Weaver<'a> {
    /// All rounds of a loop, from arrivals at its header to the ways out of it.
    pub(super) fn rounds(
        &mut self,
        host: &'a Host<'a>,
        id: LoopId,
        arrivals: Vec<Arrival>,
    ) -> Result<Ways, Refusal> {
        let header = host.loops.all[id].header;
        let first = host.cfg.blocks[header].first;
        let live = self.live_at(first);
        let options = self.options;
        let trips = host.trips[id].as_ref();
        let mut begun: Vec<(State, Label, f64)> = Vec::new();
        let mut order = Order::default();
        let mut exits = Vec::new();
        for arrival in arrivals {
            let mut current = arrival;
            order.entries.push((begun.len(), arrival.weight));
            let mut passed = 0;
            for copy in 1.. {
                self.most_copies = self.most_copies.max(copy);
                self.check_size()?;
                let label = self.label();
                self.fragments[current.fragment].push(Item::Label(label));
                begun.push((current.state, label, current.time));
                if options.counted
                    && let Some((behind, out, rounds)) = self.counted(host, id, current)?
                {
                    exits.extend(out.into_iter().map(|way| (order.next.len(), way)));
                    order.is_counted = true;
                    current = behind;
                    passed += rounds;
                }
                let outs = self.region(host, Some(id), header, vec![current])?;
                let (backs, out): (Vec<_>, Vec<_>) =
                    outs.into_iter().partition(|(goal, _)| *goal == Goal::Block(header));
                exits.extend(out.into_iter().map(|way| (order.next.len(), way)));
                order.next.push(Some(begun.len()));
                passed += 1;
                order.passed.push(passed);
                let backs: Vec<Arrival> = backs.into_iter().map(|(_, arrival)| arrival).collect();
                let Some(back) = self.merge(backs, live, Resume::Host(first), 1)?.pop() else {
                    order.ends(None);
                    break;
                };
                order.round_cycles = (back.time - arrival.time) / f64::from(passed);
                let best = self.closing(&begun, back, live);
                let is_all = trips.is_some_and(|trips| trips.rounds_max == copy as u64);
                let last = copy >= options.copies || is_all;
                match best {
                    Some((share, index)) if last || share <= options.loss => {
                        let (state, label, _) = begun[index];
                        self.connect(back, state, label, live, Resume::Host(first))?;
                        order.ends(Some(index));
                        break;
                    }
                    // No wait joins them: other states of the header may do.
                    None if copy >= options.copies + COPIES_MORE => {
                        return Err(self.late_from(back.state, live).unwrap_or_else(|| self.no_way(first)));
                    }
                    _ => current = back,
                }
            }
        }
        if let Some(trips) = trips {
            order.weigh(trips, &mut exits);
        }
        order.pass(estimate::rounds(host, id, !self.calling.is_empty()), &mut exits);
        Ok(exits.into_iter().map(|(_, way)| way).collect())
    }

    /// The copy that the end of one had best go on with: the share of the time since it began that is waited, and
    /// its index.
    fn closing(&self, begun: &[(State, Label, f64)], back: Arrival, live: Set) -> Option<(f64, usize)> {
        let closings = begun.iter().enumerate().filter_map(|(index, &(state, _, time))| {
            let before = self.rhythm.earlier(state, self.jump_cycles());
            let wait = self.rhythm.wait(back.state, before, live)?;
            Some((f64::from(wait.idle_cycles) / (back.time - time).max(1.0), index))
        });
        closings.min_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// As many rounds as fit before the next element, in one copy that a counter goes round in; the paper's loop
    /// splitting. A round that leaves the loop early passes the time of those that are left. `None`, and
    /// nothing written, when fewer than two fit or something in the round is due.
    pub(super) fn counted(
        &mut self,
        host: &'a Host<'a>,
        id: LoopId,
        arrival: Arrival,
    ) -> Result<Option<(Arrival, Ways, u32)>, Refusal> {
        let header = host.loops.all[id].header;
        let first = host.cfg.blocks[header].first;
        let live = self.live_at(first);
        let Some(counter) = self.setting.homes.flags else { return Ok(None) };
        if has_flags(live) || !host.loops.all[id].children.is_empty() || self.calls_loops(host, id) {
            return Ok(None);
        }
        let saved = self.clone();
        let mut at = arrival;
        while self.rhythm.elements()[at.state.next].start.is_none() {
            if self.element(&mut at, live, Resume::Host(first)).is_err() {
                *self = saved;
                return Ok(None);
            }
        }
        if self.rhythm.slack_cycles(at.state, live) < i64::from(LOAD_CYCLES_MAX) {
            *self = saved;
            return Ok(None);
        }
        let load = self.fragments[at.fragment].len();
        self.load_counter(&mut at, live, counter);
        let label = self.label();
        self.fragments[at.fragment].push(Item::Label(label));
        let begins = at;
        let outs = self.region(host, Some(id), header, vec![at])?;
        let (backs, mut exits): (Vec<_>, Vec<_>) =
            outs.into_iter().partition(|(goal, _)| *goal == Goal::Block(header));
        let backs: Vec<Arrival> = backs.into_iter().map(|(_, arrival)| arrival).collect();
        let Some(mut back) = self.merge(backs, live, Resume::Host(first), 1).ok().and_then(|mut on| on.pop())
        else {
            *self = saved;
            return Ok(None);
        };
        let period = self.rhythm.period_cycles();
        let round = (back.state.phase + period - begins.state.phase) % period;
        let slack = self.rhythm.slack_cycles(begins.state, live);
        let passed = |exit: &Arrival| (exit.state.phase + period - begins.state.phase) % period;
        // A way out may take longer than the round it leaves.
        let late = exits.iter().map(|(_, exit)| passed(exit).saturating_sub(round)).max().unwrap_or(0);
        // dec and brne behind each round.
        let rounds = (slack - 1 - i64::from(late)) / i64::from(round + 3);
        let flags_live_behind = exits.iter().any(|(goal, _)| match goal {
            Goal::Block(to) => has_flags(self.live_at(host.cfg.blocks[*to].first)),
            Goal::Return => false,
        });
        let undisturbed = std::iter::once(&back).chain(exits.iter().map(|(_, exit)| exit)).all(|arrival| {
            arrival.state.next == begins.state.next && arrival.time - begins.time < f64::from(period)
        });
        let is_near =
            back.fragment == begins.fragment && self.words_at_most(back.fragment, load) < BRANCH_WORDS_MAX;
        if !(2..=255).contains(&rounds) || round == 0 || !is_near || flags_live_behind || !undisturbed {
            *self = saved;
            return Ok(None);
        }
        let rounds = rounds as u32;
        self.set_counter(at.fragment, load, rounds);
        let dec = Line::added(Instruction { d: counter, ..Instruction::new(Opcode::Dec) });
        let branch = |opcode, label| {
            let instruction = Instruction { b: 1, ..Instruction::new(opcode) };
            Line { target: Some(label), ..Line::added(instruction) }
        };
        self.push(back.fragment, dec.clone());
        self.push(back.fragment, branch(Opcode::Brbc, label));
        self.spend(&mut back, 2 + (rounds - 1) * (round + 3));
        for (_, exit) in &mut exits {
            self.rest_of_rounds(exit, begins, [round, rounds], passed(exit), dec.clone());
        }
        Ok(Some((back, exits, rounds)))
    }

    /// Whether something that a loop calls has loops, which count in the same register.
    fn calls_loops(&self, host: &Host, id: LoopId) -> bool {
        let program = self.setting.program;
        let points = host.loops.all[id].blocks.iter().flat_map(|&block| host.cfg.blocks[block].points());
        let points: BTreeSet<Point> = points.collect();
        let called = host.calls(program).filter(|(point, _)| points.contains(point));
        let mut open: Vec<Point> = called.map(|(_, entry)| entry).collect();
        let mut seen = BTreeSet::new();
        while let Some(entry) = open.pop() {
            let callee = &self.setting.hosts[&entry];
            if !callee.loops.all.is_empty() {
                return true;
            }
            if seen.insert(entry) {
                open.extend(callee.calls(program).map(|(_, entry)| entry));
            }
        }
        false
    }

    /// A way out of a counted round passes the time of the rounds that are left.
    fn rest_of_rounds(
        &mut self,
        exit: &mut Arrival,
        begins: Arrival,
        [round, rounds]: [u32; 2],
        passed: u32,
        dec: Line,
    ) {
        let out = self.label();
        let again = self.label();
        self.idle(exit, round - passed.min(round));
        let late = passed.saturating_sub(round);
        let leave = Instruction { b: 1, ..Instruction::new(Opcode::Brbs) };
        self.fragments[exit.fragment].push(Item::Label(again));
        self.push(exit.fragment, dec);
        self.push(exit.fragment, Line { target: Some(out), ..Line::added(leave) });
        self.pad(exit.fragment, round - 1);
        self.push(exit.fragment, Line::jump(again));
        self.fragments[exit.fragment].push(Item::Label(out));
        exit.state = self.rhythm.later(begins.state, rounds * (round + 3) + late);
        exit.time = begins.time + f64::from(rounds * (round + 3)) / 2.0;
    }

    /// Loads the counter, which is the register that keeps flags: no element runs while it counts.
    pub(super) fn load_counter(&mut self, at: &mut Arrival, live: Set, counter: u8) {
        let rounds = 0;
        let dead = (16..32).find(|&high| !live.contains(Set::register(high)) && high != counter);
        let line =
            |opcode, d, r, k: u32| Line::added(Instruction { d, r, k: k as i32, ..Instruction::new(opcode) });
        let lines = match (counter, dead) {
            (16.., _) => vec![line(Opcode::Ldi, counter, 0, rounds)],
            (_, Some(high)) if !self.setting.homes.used.contains(Set::register(high)) => {
                vec![line(Opcode::Ldi, high, 0, rounds), line(Opcode::Mov, counter, high, 0)]
            }
            _ => vec![
                line(Opcode::Push, 0, 16, 0),
                line(Opcode::Ldi, 16, 0, rounds),
                line(Opcode::Mov, counter, 16, 0),
                line(Opcode::Pop, 16, 0, 0),
            ],
        };
        let core = self.setting.program.core;
        let cycles = lines.iter().map(|line| crate::item::cycles(&line.instruction, core)).sum();
        for line in lines {
            self.push(at.fragment, line);
        }
        self.spend(at, cycles);
    }

    /// Puts the number into the load that was written from item `from` on.
    pub(super) fn set_counter(&mut self, fragment: usize, from: usize, rounds: u32) {
        for item in &mut self.fragments[fragment][from..] {
            if let Item::Line(line) = item
                && line.instruction.opcode == Opcode::Ldi
                && line.thread.is_none()
            {
                line.instruction.k = rounds as i32;
                return;
            }
        }
        unreachable!("the counter is loaded by `ldi`");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of the copies a loop of so many rounds is left from, when each goes on with `next`.
    fn left_from(rounds: u64, next: &[Option<usize>]) -> Vec<usize> {
        let order = Order { entries: vec![(0, 1.0)], next: next.to_vec(), ..Order::default() };
        let trips = Trips { rounds_min: rounds, rounds_max: rounds, between: true, declared: false };
        let state = State { phase: 0, next: 0 };
        let exit = |copy| (copy, (Goal::Return, Arrival { fragment: 0, state, time: 0.0, weight: 0.1 }));
        let mut exits: Vec<_> = (0..next.len()).map(exit).collect();
        order.weigh(&trips, &mut exits);
        exits.iter().filter(|(_, (_, exit))| exit.weight > 0.5).map(|&(copy, _)| copy).collect()
    }

    #[test]
    fn a_loop_is_left_from_the_copy_of_its_last_round() {
        assert_eq!(left_from(3, &[Some(1), Some(2), Some(0)]), [2]);
        assert_eq!(left_from(4, &[Some(1), Some(2), Some(0)]), [0]);
        assert_eq!(left_from(4, &[Some(1), Some(2), Some(1)]), [1]);
    }
}
