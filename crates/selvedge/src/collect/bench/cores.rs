//! What the cores and a process do over time, as Linux counts it (proc(5)).

use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use report::chart::{Axis, Lines, Panels};

/// Ticks of `/proc` in a second, the same on every architecture that Linux still supports.
const TICKS_PER_SECOND: f64 = 100.0;
/// Between two looks.
const LOOK: Duration = Duration::from_millis(250);

/// What a process has used since it began.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// Time on cores, in seconds.
    pub cpu_s: f64,
    /// Pages that were not there when they were touched.
    pub faults: u64,
}

/// What process `id` has used.
///
/// # Errors
/// The system's: there is no such process.
pub fn usage(id: u32) -> io::Result<Usage> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat"))?;
    // Behind the name, which may hold anything but the last parenthesis.
    let fields: Vec<u64> = stat.rsplit(')').next().map_or(Vec::new(), numbers);
    let missing = || io::Error::other("found fewer fields than Linux writes");
    // Fields 10 and 12 are faults, 14 and 15 ticks; the state, field 3, is no number and was left out.
    let field = |number: usize| fields.get(number - 4).copied().ok_or_else(missing);
    let cpu_s = (field(14)? + field(15)?) as f64 / TICKS_PER_SECOND;
    Ok(Usage { cpu_s, faults: field(10)? + field(12)? })
}

fn numbers(text: &str) -> Vec<u64> {
    // One that is below zero is none of those that are asked for, and keeps its place.
    let numbers = text.split_whitespace().skip(1);
    numbers.map(|field| field.parse().unwrap_or(0)).collect()
}

/// Bytes of memory that process `id` has now.
///
/// # Errors
/// The system's: there is no such process.
pub fn resident_bytes(id: u32) -> io::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: Option<u64> = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    kib.map(|kib| kib * 1024).ok_or_else(|| io::Error::other("found no VmRSS"))
}

/// Ticks of one core: all of them, those in which it worked, and those that the hypervisor took.
type Ticks = [u64; 3];

fn ticks() -> Vec<Ticks> {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let cores = stat.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu "));
    let ticks = |line: &str| {
        let fields = numbers(line);
        let field = |index: usize| fields.get(index).copied().unwrap_or(0);
        // user nice system idle iowait irq softirq steal
        let all: u64 = fields.iter().take(8).sum();
        [all, all - field(3) - field(4) - field(7), field(7)]
    };
    cores.map(ticks).collect()
}

/// Each core over time: when, and the percent in which it worked and in which the hypervisor had it.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    cores: Vec<Vec<(f64, f64)>>,
    stolen: Vec<(f64, f64)>,
}

impl Watched {
    /// The curves.
    pub fn chart(&self, title: &str) -> Lines {
        let (x, y) = (Axis::linear("wall time", "s"), Axis::linear("in use", "%"));
        let mut lines = Lines::new(title, x, y, Panels::Each);
        for (core, points) in self.cores.iter().enumerate() {
            lines = lines.series(format!("core {core}"), points.clone());
        }
        lines.series("taken by the hypervisor, all cores", self.stolen.clone())
    }
}

/// Looks at the cores until it is asked what it saw.
pub struct Watch {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Watched>,
}

impl Watch {
    /// Begins.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn begin() -> io::Result<Watch> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = thread::Builder::new().name("cores".to_owned()).spawn(move || look(&stopped))?;
        Ok(Watch { stop, thread })
    }

    /// What was seen.
    pub fn end(self) -> Watched {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("it only counts")
    }
}

/// Time that waits for a disk may be counted backwards (proc(5), `iowait`), and then the parts are more than all.
fn percent(part: u64, all: u64) -> f64 {
    (100.0 * part as f64 / all as f64).min(100.0)
}

fn look(stopped: &AtomicBool) -> Watched {
    let (begin, mut before) = (Instant::now(), ticks());
    let mut watched = Watched { cores: vec![Vec::new(); before.len()], stolen: Vec::new() };
    while !stopped.load(Ordering::Relaxed) {
        thread::sleep(LOOK);
        let (now, at_s) = (ticks(), begin.elapsed().as_secs_f64());
        let (mut stolen, mut all) = (0, 0);
        for ((core, now), before) in watched.cores.iter_mut().zip(&now).zip(&before) {
            let passed: Ticks = std::array::from_fn(|index| now[index].saturating_sub(before[index]));
            (stolen, all) = (stolen + passed[2], all + passed[0]);
            if passed[0] > 0 {
                core.push((at_s, percent(passed[1], passed[0])));
            }
        }
        if all > 0 {
            watched.stolen.push((at_s, percent(stolen, all)));
        }
        before = now;
    }
    watched
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_process_uses_is_more_later_and_its_memory_is_some() {
        let id = std::process::id();
        let before = usage(id).unwrap();
        let touched = std::hint::black_box(vec![1_u8; 64 << 20]);
        let begin = Instant::now();
        while usage(id).unwrap().cpu_s < before.cpu_s + 0.02 {
            assert!(begin.elapsed() < Duration::from_secs(60), "it computes");
        }
        assert!(usage(id).unwrap().faults > before.faults);
        assert!(resident_bytes(id).unwrap() >= touched.len() as u64);
        assert!(usage(u32::MAX).is_err());
    }

    #[test]
    fn each_core_is_seen_within_its_bounds() {
        let watch = Watch::begin().unwrap();
        thread::sleep(3 * LOOK);
        let watched = watch.end();
        assert!(!watched.stolen.is_empty() && !watched.cores.is_empty());
        let within = |&(at_s, percent): &(f64, f64)| at_s > 0.0 && (0.0..=100.0).contains(&percent);
        assert!(watched.cores.iter().flatten().chain(&watched.stolen).all(within), "{watched:?}");
    }
}
