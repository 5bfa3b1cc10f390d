//! How long a clock that was started by polling follows what another crystal sends.
//!
//! Owns: the arithmetic ([`rounds_max`]) and where its numbers are found in a contract. A sender completes something
//! every `period` of its own cycles. Whether it has is asked every so many cycles, and the asking is a clock; its
//! `last` event stands on the start of the clock that follows, which counts its own cycles from there on.

use std::collections::BTreeSet;

use super::contract::{Clock, Contract, Drift, Fault, Mark};
use super::violation::Kind;

/// A clock that follows another crystal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Followed {
    /// The clock.
    pub clock: String,
    /// What the two crystals differ at most, either way, in parts per million.
    pub ppm: u32,
    /// Rounds for which it has to follow.
    pub rounds: u32,
    /// Rounds for which it does.
    pub rounds_max: u64,
    /// Cycles between two questions: how late what is sent may be noticed.
    pub polled_cycles: u32,
}

/// Rounds in which each event falls between the sender's completion of its own thing and that of the next one.
///
/// Our cycles are the unit. The sender completes thing k at c(k) = c(0) + k T; its frequency is within `ppm` of ours,
/// so T lies between P 10^6 / (10^6 + ppm) and P 10^6 / (10^6 - ppm), where P is `period_cycles`. The question that is
/// answered first comes at L, with c(0) > L - U and c(0) <= L, where U is `polled_cycles`. The events of round k are at
/// L + d + k P, with d from `first_cycles` to `last_cycles`. What is wanted of each k:
///
/// - it is there: L + d + k P >= c(k). Worst are the first d, c(0) = L and the longest T:
///   k P ppm <= d (10^6 - ppm).
/// - it is still there: L + d + k P < c(k + 1). Worst are the last d, c(0) just above L - U and the shortest T:
///   k P ppm <= P 10^6 - (d + U) (10^6 + ppm).
///
/// Both get worse with k, so the greatest k that fulfils them is that of the last round.
pub fn rounds_max(
    period_cycles: u32,
    first_cycles: u32,
    last_cycles: u32,
    polled_cycles: u32,
    ppm: u32,
) -> u64 {
    let [period, first, last, polled, ppm] =
        [period_cycles, first_cycles, last_cycles, polled_cycles, ppm].map(i128::from);
    let million = 1_000_000;
    let early = first * (million - ppm);
    let late = period * million - (last + polled) * (million + ppm);
    let room = early.min(late);
    // Two crystals that never differ stay together for ever.
    let rounds = if room < 0 { 0 } else { room.checked_div(period * ppm).map_or(i128::MAX, |k| k + 1) };
    u64::try_from(rounds).unwrap_or(u64::MAX)
}

/// Every clock that has to follow, and for how long it does.
pub(super) fn followed(contract: &Contract) -> Result<Vec<Followed>, Fault> {
    contract.drifts.iter().map(|drift| one(contract, drift).map_err(|kind| (kind, drift.origin))).collect()
}

fn one(contract: &Contract, drift: &Drift) -> Result<Followed, Kind> {
    let clock = &contract.clocks[drift.clock];
    let unpolled = || Kind::Unpolled { clock: clock.name.clone() };
    let starts = |mark: &&Mark| {
        mark.clock == drift.clock && mark.events.iter().any(|&event| clock.events[event].at == 0)
    };
    let marks = contract.marks.values().filter(|marks| marks.iter().any(|mark| starts(&mark)));
    let lasts = marks.flatten().filter(|mark| mark.last && mark.clock != drift.clock);
    let locks: BTreeSet<(usize, usize)> = lasts.map(|mark| (mark.clock, mark.events[0])).collect();
    let is_exact = |clock: &Clock| clock.jitter == 0 && clock.events.iter().all(|event| event.jitter == 0);
    let lock = locks.first().filter(|_| locks.len() == 1);
    let (Some(&(lock, last)), [period]) = (lock, &clock.periods[..]) else { return Err(unpolled()) };
    let polled = &contract.clocks[lock];
    let [polled_cycles] = polled.periods[..] else { return Err(unpolled()) };
    if !is_exact(clock) || !is_exact(polled) {
        return Err(unpolled());
    }
    let begins = polled.events[last].at;
    let followed =
        clock.events.iter().map(|event| event.at).filter(|at| drift.until.is_none_or(|until| *at <= until));
    let ends = followed.max().unwrap_or(0).saturating_add(begins);
    let rounds_max = rounds_max(*period, begins, ends, polled_cycles, drift.ppm);
    let (name, ppm, rounds) = (clock.name.clone(), drift.ppm, drift.rounds);
    if rounds_max < rounds.into() {
        return Err(Kind::Drifts { clock: name, ppm, rounds, rounds_max });
    }
    Ok(Followed { clock: name, ppm, rounds, rounds_max, polled_cycles })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLION: i128 = 1_000_000;

    /// Whether all of so many rounds are right when the sender's frequency is `1 + ppm / 10^6` of ours, and its first
    /// thing is complete `age` millionths of a cycle before the answer. Scaled, so that all is exact.
    fn is_right(period: i128, [first, last]: [i128; 2], age: i128, ppm: i128, rounds: u64) -> bool {
        let scale = MILLION + ppm;
        (0..i128::from(rounds)).all(|round| {
            let complete = |round: i128| round * period * MILLION * MILLION - age * scale;
            let event = |delay: i128| (delay + round * period) * scale * MILLION;
            event(first) >= complete(round) && event(last) < complete(round + 1)
        })
    }

    #[test]
    fn the_longest_frame_is_right_and_one_round_more_is_not() {
        for (period, first, last, polled, ppm) in
            [(130, 65, 65, 4, 100), (66, 10, 12, 4, 100), (34, 17, 17, 4, 5_000), (130, 120, 120, 9, 50)]
        {
            let rounds = rounds_max(period, first, last, polled, ppm);
            let [period, first, last, polled, ppm] = [period, first, last, polled, ppm].map(i128::from);
            let all = |rounds: u64| {
                let right = |ppm, age| is_right(period, [first, last], age, ppm, rounds);
                [ppm, -ppm].into_iter().all(|ppm| right(ppm, 0) && right(ppm, polled * MILLION - 1))
            };
            assert!(rounds > 1 && all(rounds), "{rounds} rounds of {period}");
            assert!(!all(rounds + 1), "{} rounds of {period}", rounds + 1);
        }
    }

    #[test]
    fn the_boundaries_are_where_the_derivation_puts_them() {
        // Half of 100 cycles are room, and a hundredth of a cycle is lost a round, and a little more.
        assert_eq!(rounds_max(100, 50, 50, 0, 100), 5_000);
        assert_eq!(rounds_max(100, 0, 0, 0, 100), 1);
        // Too late: an event that may fall on the next completion is refused from the first round on.
        assert_eq!(rounds_max(100, 96, 96, 4, 100), 0);
        assert_eq!(rounds_max(100, 95, 95, 4, 100), 100);
        assert_eq!(rounds_max(100, 10, 120, 4, 100), 0);
        // No difference, no end.
        assert_eq!(rounds_max(100, 50, 50, 4, 0), u64::MAX);
    }
}
