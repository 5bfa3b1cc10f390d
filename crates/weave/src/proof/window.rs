//! The longest time that interrupts are off.
//!
//! Owns: the stretches between kept states over which interrupts stay off, and the longest way through them. A window
//! begins behind the instruction that turns interrupts off and ends with the last cycle of the one that may turn them
//! on. Interrupts are taken to be on at the function's entry: what restores them turns them on, be it a write of SREG
//! or a `sei` that a skip passes over where bit 7 of SREG was clear at the entry (`values`). Where only rounds of a clock make a window longer and longer, it is
//! known for each number of rounds. There is no longest one where another loop that is not counted lies in it.

use crate::program::Point;

use super::contract::Contract;
use super::explore::Node;
use super::rounds::Start;

/// The longest time that interrupts are off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// At most this many cycles; 0 when they are never turned off.
    Cycles(u64),
    /// It grows with the rounds of a clock that are gone through.
    Rounds {
        /// At most this many cycles where there is one round.
        first_cycles: u64,
        /// This many more for each further one.
        further_cycles: u64,
    },
    /// There is no longest.
    Unbounded(Unbounded),
}

impl Window {
    /// The cycles when there are at most so many rounds; `None` when there is no longest one.
    pub fn cycles(self, rounds_max: u64) -> Option<u64> {
        match self {
            Window::Cycles(cycles) => Some(cycles),
            Window::Rounds { first_cycles, further_cycles } => {
                Some(first_cycles + rounds_max.saturating_sub(1) * further_cycles)
            }
            Window::Unbounded(_) => None,
        }
    }
}

/// Why interrupts may be off for any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unbounded {
    /// A loop through this point runs an unknown number of times.
    Loop(Point),
    /// Code that is not known is called here.
    Call(Point),
    /// The function returns here with interrupts off.
    Return(Point),
}

/// A part of a window within one walk: since a kept state, or since the window began.
#[derive(Clone, Debug, Default)]
pub(super) struct Stretch {
    /// The kept state that it comes from; none where the window begins in the walk.
    from: Option<usize>,
    /// The kept state that it leads to; none where the window ends in the walk.
    to: Option<usize>,
    cycles: u64,
    /// Starts of clocks, each with the cycles before it.
    starts: Vec<(u64, Start)>,
}

/// Where starts of a clock cut a stretch.
struct Cut {
    /// Cycles before the first start.
    before_cycles: u64,
    /// Cycles behind the last one.
    behind_cycles: u64,
    /// Whether the clock stood still before the first one.
    afresh: bool,
}

impl Stretch {
    fn cut(&self, clock: Option<usize>) -> Result<Option<Cut>, Endless> {
        let mut starts = self.starts.iter().filter(|(_, start)| Some(start.clock) == clock);
        let Some(&(before_cycles, Start { afresh, .. })) = starts.next() else { return Ok(None) };
        let mut last = before_cycles;
        for &(at, start) in starts {
            if start.afresh {
                return Err(Endless::Stops);
            }
            last = at;
        }
        Ok(Some(Cut { before_cycles, behind_cycles: self.cycles - last, afresh }))
    }
}

/// What the walks found.
#[derive(Default)]
pub(super) struct Windows {
    stretches: Vec<Stretch>,
    unbounded: Option<Unbounded>,
}

/// The longest ways through a window, where starts of one clock cut it.
#[derive(Default)]
struct Longest {
    /// Of windows without such a start.
    whole: u64,
    /// From a window's beginning to the first start, and from the last one to its end.
    parts: [u64; 2],
}

/// Why there is no longest way.
enum Endless {
    /// This kept state comes again.
    Again(usize),
    /// The clock stands still between two of its starts, for an unknown time.
    Stops,
}

impl Windows {
    /// A walk begins at a kept state.
    pub(super) fn begin(node: usize, off: bool) -> Option<Stretch> {
        off.then(|| Stretch { from: Some(node), ..Stretch::default() })
    }

    /// An instruction takes `cycles`, these clocks start with it, and interrupts are known to be `off` behind it, or
    /// not.
    pub(super) fn pass(&mut self, within: &mut Option<Stretch>, cycles: u32, starts: &[Start], off: bool) {
        let is_new = within.is_none();
        if is_new && !off {
            return;
        }
        let stretch = within.get_or_insert_default();
        if !is_new {
            stretch.cycles += u64::from(cycles);
        }
        stretch.starts.extend(starts.iter().map(|&start| (stretch.cycles, start)));
        if !off {
            self.stretches.extend(within.take());
        }
    }

    /// A walk reaches a kept state.
    pub(super) fn reach(&mut self, to: usize, within: Option<Stretch>) {
        self.stretches.extend(within.map(|stretch| Stretch { to: Some(to), ..stretch }));
    }

    /// The function returns.
    pub(super) fn leave(&mut self, point: Point, off: bool) {
        if off {
            self.unbounded(Unbounded::Return(point));
        }
    }

    /// A walk ends with the function's last instruction, which may have turned interrupts on.
    pub(super) fn end(&mut self, mut within: Option<Stretch>, cycles: u32) {
        self.pass(&mut within, cycles, &[], false);
    }

    pub(super) fn unbounded(&mut self, why: Unbounded) {
        self.unbounded.get_or_insert(why);
    }

    /// The longest of all.
    pub(super) fn longest(&self, nodes: &[Node], contract: &Contract) -> Window {
        if let Some(why) = self.unbounded {
            return Window::Unbounded(why);
        }
        let mut again = match self.ways(nodes.len(), None) {
            Ok(longest) => return Window::Cycles(longest.whole),
            Err(Endless::Again(node)) => node,
            Err(Endless::Stops) => unreachable!("no clock cuts the ways"),
        };
        for (clock, read) in contract.clocks.iter().enumerate() {
            match self.ways(nodes.len(), Some(clock)) {
                Ok(longest) => {
                    let first_cycles = longest.whole.max(longest.parts.iter().sum());
                    return Window::Rounds { first_cycles, further_cycles: read.period_max() };
                }
                // What comes again although this clock does not start in between.
                Err(Endless::Again(node)) => again = node,
                Err(Endless::Stops) => {}
            }
        }
        Window::Unbounded(Unbounded::Loop(nodes[again].state.point))
    }

    /// The longest ways, cut at the starts of a clock. From one start of a clock to its next one it is a period, which is
    /// proved.
    fn ways(&self, nodes: usize, clock: Option<usize>) -> Result<Longest, Endless> {
        let mut longest = Longest::default();
        let mut since: Since = [vec![None; nodes], vec![None; nodes]];
        let mut links = Vec::new();
        for stretch in &self.stretches {
            match (stretch.cut(clock)?, stretch.from, stretch.to) {
                (None, Some(from), Some(to)) => links.push((from, to, stretch.cycles)),
                (None, None, Some(to)) => since[0][to] = since[0][to].max(Some(stretch.cycles)),
                (Some(cut), _, Some(to)) => since[1][to] = since[1][to].max(Some(cut.behind_cycles)),
                (Some(cut), _, None) => longest.parts[1] = longest.parts[1].max(cut.behind_cycles),
                (None, _, None) => {}
            }
        }
        // The function may be entered with interrupts off.
        if let Some(entry) = since[0].first_mut() {
            *entry = (*entry).max(Some(0));
        }
        carry(&links, &mut since)?;
        for stretch in &self.stretches {
            let [begun, started] = match stretch.from {
                Some(from) => since.each_ref().map(|since| since[from]),
                None => [Some(0), None],
            };
            let Longest { whole, parts } = &mut longest;
            match (stretch.cut(clock)?, stretch.to) {
                (Some(cut), _) if cut.afresh && started.is_some() => return Err(Endless::Stops),
                (Some(cut), _) => parts[0] = parts[0].max(begun.unwrap_or(0) + cut.before_cycles),
                (None, None) => {
                    *whole = (*whole).max(begun.map_or(0, |begun| begun + stretch.cycles));
                    parts[1] = parts[1].max(started.map_or(0, |started| started + stretch.cycles));
                }
                (None, Some(_)) => {}
            }
        }
        Ok(longest)
    }
}

/// By kept state: the most cycles since the window began without a start, and since the last start.
type Since = [Vec<Option<u64>>; 2];

/// Goes along the links, each from a kept state to another, in topological order.
fn carry(links: &[(usize, usize, u64)], since: &mut Since) -> Result<(), Endless> {
    let nodes = since[0].len();
    let mut incoming = vec![0u32; nodes];
    let mut outgoing: Vec<Vec<(usize, u64)>> = vec![Vec::new(); nodes];
    for &(from, to, cycles) in links {
        incoming[to] += 1;
        outgoing[from].push((to, cycles));
    }
    let mut ready: Vec<usize> = (0..nodes).filter(|&node| incoming[node] == 0).collect();
    while let Some(node) = ready.pop() {
        for &(to, cycles) in &outgoing[node] {
            for since in since.iter_mut() {
                since[to] = since[to].max(since[node].map(|before| before + cycles));
            }
            incoming[to] -= 1;
            if incoming[to] == 0 {
                ready.push(to);
            }
        }
    }
    match incoming.iter().position(|&count| count > 0) {
        Some(node) => Err(Endless::Again(node)),
        None => Ok(()),
    }
}
