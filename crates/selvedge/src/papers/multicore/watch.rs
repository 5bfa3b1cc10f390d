//! The stopwatch: how often something is done, and when that is enough. A turn is an encryption and the decryption
//! that undoes it, or as many of both as take some microseconds, so that reading the clock does not count.

use std::time::{Duration, Instant};

use collect::aes::intra::Direction;

use super::statistics::Spread;

/// A turn takes this long at least, so that a clock that is read in 25 ns adds little.
const TURN_NS: f64 = 20_000.0;
/// Calls in one turn at most.
const CALLS_MAX: usize = 1_000;

/// How much is measured of a cell.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Turns at least, however long they take.
    pub turns_min: usize,
    /// And at most.
    pub turns_max: usize,
    /// No turn begins later than this after the first, beyond the least number.
    pub time: Duration,
}

/// What both ways take, of one call each.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Calls of each way in a turn; each time is a turn's over this.
    pub calls: usize,
    /// Encryption.
    pub encryption: Spread,
    /// Decryption.
    pub decryption: Spread,
    /// Both, one behind the other.
    pub both: Spread,
}

/// Measures `crypt`, which takes one way at a call, and took both in a `first` turn before.
pub fn measure(effort: &Effort, first: Duration, mut crypt: impl FnMut(Direction)) -> Times {
    let (calls, [encryption, decryption, both]) = turns(effort, first, |calls| {
        let begin = Instant::now();
        (0..calls).for_each(|_| crypt(Direction::Encrypt));
        let between = Instant::now();
        (0..calls).for_each(|_| crypt(Direction::Decrypt));
        let end = Instant::now();
        let each = |time: Duration| time.as_nanos() as f64 / calls as f64;
        [each(between - begin), each(end - between), each(end - begin)]
    });
    Times { calls, encryption, decryption, both }
}

/// Measures `work`, a call of which took as long as `first` before. Returns the calls of a turn and what one of them takes.
pub fn measure_alone(effort: &Effort, first: Duration, mut work: impl FnMut()) -> (usize, Spread) {
    let (calls, [spread]) = turns(effort, first, |calls| {
        let begin = Instant::now();
        (0..calls).for_each(|_| work());
        [begin.elapsed().as_nanos() as f64 / calls as f64]
    });
    (calls, spread)
}

/// Takes turns of so many calls, each of which says what a call of it took; the last of that is the whole.
fn turns<const N: usize>(
    effort: &Effort,
    first: Duration,
    mut turn: impl FnMut(usize) -> [f64; N],
) -> (usize, [Spread; N]) {
    // Another turn that is not counted says how many calls one must have, unless one is long enough as it is.
    let is_long = first.as_nanos() as f64 > 100.0 * TURN_NS;
    let whole_ns = if is_long { TURN_NS } else { turn(1)[N - 1] };
    let calls = ((TURN_NS / whole_ns.max(1.0)).ceil() as usize).clamp(1, CALLS_MAX);
    let mut turns = [const { Vec::new() }; N];
    let begin = Instant::now();
    while turns[0].len() < effort.turns_min
        || (turns[0].len() < effort.turns_max && begin.elapsed() < effort.time)
    {
        for (turns, time_ns) in turns.iter_mut().zip(turn(calls)) {
            turns.push(time_ns);
        }
    }
    (calls, turns.map(Spread::of))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_turn_undoes_what_it_does_and_slow_work_is_done_as_often_as_it_must() {
        let effort = Effort { turns_min: 3, turns_max: 50, time: Duration::ZERO };
        let mut calls = Vec::new();
        let times = measure(&effort, Duration::ZERO, |direction| {
            calls.push(direction);
            std::thread::sleep(Duration::from_millis(1));
        });
        assert_eq!((times.calls, times.both.repetitions), (1, 3));
        assert_eq!(calls, [Direction::Encrypt, Direction::Decrypt].repeat(1 + 3));
        assert!(times.encryption.minimum_ns >= 1e6 && times.both.minimum_ns >= 2e6, "{times:?}");
    }

    #[test]
    fn what_has_one_way_is_done_as_often_and_its_time_is_a_calls() {
        let effort = Effort { turns_min: 3, turns_max: 50, time: Duration::ZERO };
        let mut calls = 0;
        let (calls_in_turn, spread) = measure_alone(&effort, Duration::ZERO, || {
            calls += 1;
            std::thread::sleep(Duration::from_micros(100));
        });
        assert_eq!((spread.repetitions, calls), (3, 1 + 3 * calls_in_turn));
        assert!(spread.minimum_ns >= 1e5, "{spread:?}");
    }

    #[test]
    fn what_took_long_at_first_is_not_done_once_more_before_it_counts() {
        let effort = Effort { turns_min: 1, turns_max: 1, time: Duration::ZERO };
        let mut calls = 0;
        let times = measure(&effort, Duration::from_secs(1), |_| calls += 1);
        assert_eq!((times.calls, calls), (1, 2));
    }

    #[test]
    fn turns_end_with_their_number_and_have_so_many_calls_of_each_way() {
        let effort = Effort { turns_min: 1, turns_max: 5, time: Duration::MAX };
        let (mut up, mut down) = (0_usize, 0_usize);
        let times = measure(&effort, Duration::ZERO, |direction| match direction {
            Direction::Encrypt => up += 1,
            Direction::Decrypt => down += 1,
        });
        assert_eq!(times.both.repetitions, 5);
        assert_eq!((up, down), (1 + 5 * times.calls, 1 + 5 * times.calls));
    }
}
