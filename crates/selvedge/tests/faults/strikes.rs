//! Faults of a run's processes, dealt like cards: every process of the run is killed, and every one is stopped, in an order
//! that is drawn, before anything happens a second time.

use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::Duration;

use collect::sim::Dice;
use rustix::process::{Pid, Signal, kill_process};

use super::Run;

/// Milliseconds for which a process is stopped, at most.
const STOPPED_MS_MAX: u32 = 500;

/// What happens to a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// SIGKILL.
    Kill,
    /// SIGSTOP, and SIGCONT after a while.
    Stop,
}

/// A fault of the process with this name.
pub type Strike = (&'static str, Fault);

/// All that may happen to these.
fn cards(stems: &[&'static str]) -> Vec<Strike> {
    stems.iter().flat_map(|&stem| [Fault::Kill, Fault::Stop].map(|fault| (stem, fault))).collect()
}

/// Whether everything happened that may happen to these.
pub fn is_whole_deck(stems: &[&'static str], struck: &[Strike]) -> bool {
    let struck: BTreeSet<_> = struck.iter().copied().collect();
    cards(stems).iter().all(|card| struck.contains(card))
}

pub fn signal(number: u32, signal: Signal) -> bool {
    let pid = Pid::from_raw(number as i32).expect("no process is 0");
    kill_process(pid, signal).is_ok()
}

/// Strikes daemons of a run with these names so often, at moments drawn from `dice`; returns how. Fewer if the run ends. At
/// each of the moments something happens besides.
pub fn strike_some(
    run: &mut Run<'_>,
    stems: &[&'static str],
    dice: &mut Dice,
    wanted: usize,
    besides: &mut dyn FnMut(&mut Dice),
) -> Vec<Strike> {
    let (mut struck, mut deck) = (Vec::new(), Vec::new());
    while struck.len() < wanted {
        if deck.is_empty() {
            deck = cards(stems);
        }
        let (stem, fault) = deck.swap_remove(dice.below(deck.len() as u32) as usize);
        // Sometimes at once, while everybody still picks up the pieces of the last time.
        let growth = if dice.chance(1, 4) { 0 } else { u64::from(dice.below(4_000)) };
        let bytes = run.scene.store_bytes() + growth;
        if !run.wait_until_stored(bytes.max(1)) {
            return struck;
        }
        besides(dice);
        let mut found = None;
        // One that gave up for want of another is on its way again.
        let is_there = run.wait_until(|scene| {
            found = scene.number(stem).filter(|number| scene.processes().contains(number));
            found.is_some()
        });
        let Some(number) = found.filter(|_| is_there) else { return struck };
        println!("{fault:?} {stem} at {} bytes stored", run.scene.store_bytes());
        match fault {
            Fault::Kill if signal(number, Signal::KILL) => {
                struck.push((stem, fault));
                if !run.wait_until(|scene| scene.number(stem).is_some_and(|other| other != number)) {
                    return struck;
                }
            }
            Fault::Stop if signal(number, Signal::STOP) => {
                struck.push((stem, fault));
                sleep(Duration::from_millis(dice.below(STOPPED_MS_MAX).into()));
                // It may be at its end: whoever started it has to see that.
                signal(number, Signal::CONT);
            }
            // It was gone before: the same once more.
            _ => deck.push((stem, fault)),
        }
    }
    struck
}
