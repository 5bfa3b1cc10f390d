//! Ways that meet in different states: who waits for whom, and how.
//!
//! Owns: the choice of the state that ways go on in, and the code that waits for it. The arithmetic is `phase`'s.

use isa::avr::Set;

use super::{Arrival, Resume, Weaver};
use crate::error::Refusal;
use crate::item::{Item, Label};
use crate::phase::State;

/// Ways that meet whose every pair is compared.
const MERGED_AT_ONCE: usize = 8;

impl<'a> Weaver<'a> {
    fn unreachable(&self, at: Arrival, live: Set) -> Refusal {
        let clock = self.setting.guest.clock.clone();
        self.late_from(at.state, live).unwrap_or(Refusal::Unreachable { clock })
    }

    /// Waits for `state` and jumps to `label`, which has it.
    pub(super) fn connect(
        &mut self,
        mut at: Arrival,
        state: State,
        label: Label,
        live: Set,
        resume: Resume,
    ) -> Result<(), Refusal> {
        // A way that consists of its label alone needs no code when it arrives in time.
        if at.state == state
            && let [Item::Label(alias)] = self.fragments[at.fragment][..]
        {
            self.aliases.insert(alias, label);
            self.fragments[at.fragment].clear();
            return Ok(());
        }
        let before = self.rhythm.earlier(state, self.jump_cycles());
        let wait = self.rhythm.wait(at.state, before, live);
        let wait = wait.ok_or_else(|| self.unreachable(at, live))?;
        self.pass(&mut at, wait.elements, before, live, resume)?;
        self.push(at.fragment, self.jump(label));
        Ok(())
    }

    /// Runs so many elements and waits until the state is reached.
    pub(super) fn pass(
        &mut self,
        at: &mut Arrival,
        elements: usize,
        to: State,
        live: Set,
        resume: Resume,
    ) -> Result<(), Refusal> {
        for _ in 0..elements {
            self.element(at, live, resume)?;
        }
        let period = self.rhythm.period_cycles();
        let rest = (to.phase + period - at.state.phase) % period;
        self.idle(at, rest);
        Ok(())
    }

    /// Ways that meet: at most `states` of them go on, the others wait for one of those.
    ///
    /// # Errors
    /// [`Refusal::Unreachable`] when more than `states` are left and no wait joins any two of them.
    pub(super) fn merge(
        &mut self,
        mut arrivals: Vec<Arrival>,
        live: Set,
        resume: Resume,
        states: usize,
    ) -> Result<Vec<Arrival>, Refusal> {
        while arrivals.len() > 1 {
            let mut best: Option<(f64, usize, usize, State)> = None;
            // With many ways only the last one looks for a partner: each takes its turn.
            let seekers = if arrivals.len() > MERGED_AT_ONCE { arrivals.len() - 1 } else { 0 };
            for one in 0..arrivals.len() {
                for other in seekers..arrivals.len() {
                    if one != other
                        && let Some((cost, state)) = self.meeting(arrivals[one], arrivals[other], live)
                        && best.is_none_or(|(least, ..)| cost < least)
                    {
                        best = Some((cost, one, other, state));
                    }
                }
            }
            let Some((cost, one, other, state)) = best else {
                return if arrivals.len() <= states {
                    Ok(arrivals)
                } else {
                    Err(self.unreachable(arrivals[0], live))
                };
            };
            let weight = arrivals[one].weight.min(arrivals[other].weight);
            if cost > 4.0 * weight && arrivals.len() <= states {
                break;
            }
            let mut on = arrivals[one];
            let wait = self.rhythm.wait(on.state, state, live).expect("the meeting was found by it");
            self.pass(&mut on, wait.elements, state, live, resume)?;
            let label = self.label();
            self.fragments[on.fragment].push(Item::Label(label));
            let late = arrivals[other];
            self.connect(late, state, label, live, resume)?;
            let weight = on.weight + late.weight;
            on.time = (on.time * on.weight + late.time * late.weight) / weight;
            on.weight = weight;
            arrivals[one] = on;
            arrivals.remove(other);
        }
        Ok(arrivals)
    }

    /// The cheapest state for `one` to go on in and `other` to jump to.
    pub(super) fn meeting(&self, one: Arrival, other: Arrival, live: Set) -> Option<(f64, State)> {
        let jump = self.jump_cycles();
        let mut best: Option<(f64, State)> = None;
        let mut consider = |state: State| {
            let Some(first) = self.rhythm.wait(one.state, state, live) else { return };
            let Some(second) = self.rhythm.wait(other.state, self.rhythm.earlier(state, jump), live) else {
                return;
            };
            let cost = f64::from(first.idle_cycles) * one.weight
                + f64::from(second.idle_cycles + jump) * other.weight;
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, state));
            }
        };
        for extra in 0..4 {
            if i64::from(extra) <= self.rhythm.slack_cycles(one.state, live) {
                consider(self.rhythm.later(one.state, extra));
            }
            if i64::from(jump + extra) <= self.rhythm.slack_cycles(other.state, live) {
                consider(self.rhythm.later(other.state, jump + extra));
            }
        }
        best
    }
}
