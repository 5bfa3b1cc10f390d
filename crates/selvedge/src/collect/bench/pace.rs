//! An absolute schedule: when something is due, and how a thread waits for it. What is late does not move what comes
//! behind it, so that times counted from when something was due leave nothing out.
#![allow(unsafe_code)]

use std::time::Duration;

use rustix::io::Errno;
use rustix::thread::{ClockId, Timespec, clock_nanosleep_absolute};

/// Before the first batch is due.
pub const LEAD_NS: u64 = 200_000_000;

/// When batches are due: an interval after the other, so many.
#[derive(Clone, Copy)]
pub struct Schedule {
    pub interval: Duration,
    pub count: u64,
}

/// Nanoseconds of the monotonic clock.
pub fn now_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure lives over the call, which writes it and nothing else.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    assert_eq!(result, 0, "Linux has this clock");
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Returns when the monotonic clock has come to `due_ns`.
pub fn sleep_until(due_ns: u64) {
    let due = Timespec { tv_sec: (due_ns / 1_000_000_000) as i64, tv_nsec: (due_ns % 1_000_000_000) as i64 };
    // Whoever is woken by a signal has slept until nothing yet.
    while clock_nanosleep_absolute(ClockId::Monotonic, &due) == Err(Errno::INTR) {}
}

/// Calls `begin` when each is due, the first at `first_ns`, until all are or it fails.
///
/// # Errors
/// Those of `begin`.
pub fn keep<E>(
    first_ns: u64,
    schedule: Schedule,
    mut begin: impl FnMut(u64) -> Result<(), E>,
) -> Result<(), E> {
    for index in 0..schedule.count {
        // From the first one, so that no rounding adds up.
        let due_ns = first_ns + (schedule.interval.as_nanos() * u128::from(index)) as u64;
        sleep_until(due_ns);
        begin(due_ns)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_begins_before_it_is_due_and_what_is_late_moves_nothing() {
        let first_ns = now_ns() + 1_000_000;
        let schedule = Schedule { interval: Duration::from_micros(100), count: 60 };
        let mut due = Vec::new();
        let kept = keep(first_ns, schedule, |due_ns| {
            assert!(now_ns() >= due_ns);
            if due.is_empty() {
                std::thread::sleep(Duration::from_millis(2));
            }
            due.push(due_ns);
            if due.len() == 50 { Err("enough") } else { Ok(()) }
        });
        assert_eq!(kept, Err("enough"));
        let expected: Vec<u64> = (0..50).map(|index| first_ns + index * 100_000).collect();
        assert_eq!(due, expected);
    }
}
