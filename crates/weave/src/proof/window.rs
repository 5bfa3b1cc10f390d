//! The longest time that interrupts are off.
//!
//! Owns: the cycles between kept states over which interrupts stay off, and the longest way through them. A window
//! begins behind the instruction that turns interrupts off and ends with the last cycle of the one that
//! may turn them on. There is no longest one where a loop that is not counted lies in it.

use crate::program::Point;

use super::explore::Node;

/// The longest time that interrupts are off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// At most this many cycles; 0 when they are never turned off.
    Cycles(u64),
    /// There is no longest.
    Unbounded(Unbounded),
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

/// How long interrupts have been off at one place of a walk.
#[derive(Clone, Copy)]
pub(super) enum Span {
    /// They may be on.
    On,
    /// Since before the walk began, and these cycles of it.
    Continued(u64),
    /// Since a place in the walk.
    Fresh(u64),
}

struct Edge {
    from: usize,
    to: usize,
    cycles: u64,
}

/// What the walks found.
#[derive(Default)]
pub(super) struct Windows {
    /// From one kept state to another, with interrupts off all the way.
    edges: Vec<Edge>,
    /// Cycles that interrupts have been off at a kept state, when that began in the walk to it.
    begun: Vec<(usize, u64)>,
    /// Cycles that they are still off from a kept state, when that ends in the walk from it.
    ended: Vec<(usize, u64)>,
    /// The longest within one walk.
    longest: u64,
    unbounded: Option<Unbounded>,
}

impl Windows {
    pub(super) fn begin(&self, off: bool) -> Span {
        if off { Span::Continued(0) } else { Span::On }
    }

    /// An instruction takes `cycles`, and interrupts are known to be `off` behind it, or not.
    pub(super) fn pass(&mut self, node: usize, span: &mut Span, cycles: u32, off: bool) {
        let cycles = u64::from(cycles);
        *span = match (*span, off) {
            (Span::On, false) => Span::On,
            (Span::On, true) => Span::Fresh(0),
            (Span::Continued(before), true) => Span::Continued(before + cycles),
            (Span::Fresh(before), true) => Span::Fresh(before + cycles),
            (Span::Continued(before), false) => {
                self.ended.push((node, before + cycles));
                Span::On
            }
            (Span::Fresh(before), false) => {
                self.longest = self.longest.max(before + cycles);
                Span::On
            }
        };
    }

    /// A walk from one kept state reaches another.
    pub(super) fn reach(&mut self, from: usize, to: usize, span: Span) {
        match span {
            Span::On => {}
            Span::Continued(cycles) => self.edges.push(Edge { from, to, cycles }),
            Span::Fresh(cycles) => self.begun.push((to, cycles)),
        }
    }

    /// The function returns.
    pub(super) fn leave(&mut self, point: Point, off: bool) {
        if off {
            self.unbounded(Unbounded::Return(point));
        }
    }

    /// A walk ends with the function's last instruction, which may have turned interrupts on.
    pub(super) fn end(&mut self, node: usize, span: Span, cycles: u32) {
        let mut span = span;
        self.pass(node, &mut span, cycles, false);
    }

    pub(super) fn unbounded(&mut self, why: Unbounded) {
        self.unbounded.get_or_insert(why);
    }

    /// The longest of all; in topological order of the kept states.
    pub(super) fn longest(&self, nodes: &[Node]) -> Window {
        if let Some(why) = self.unbounded {
            return Window::Unbounded(why);
        }
        let mut since = vec![0u64; nodes.len()];
        let mut incoming = vec![0u32; nodes.len()];
        let mut outgoing: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
        for (index, edge) in self.edges.iter().enumerate() {
            incoming[edge.to] += 1;
            outgoing[edge.from].push(index);
        }
        for &(node, cycles) in &self.begun {
            since[node] = since[node].max(cycles);
        }
        let mut ready: Vec<usize> = (0..nodes.len()).filter(|&node| incoming[node] == 0).collect();
        while let Some(node) = ready.pop() {
            for &index in &outgoing[node] {
                let Edge { to, cycles, .. } = self.edges[index];
                since[to] = since[to].max(since[node] + cycles);
                incoming[to] -= 1;
                if incoming[to] == 0 {
                    ready.push(to);
                }
            }
        }
        if let Some(node) = incoming.iter().position(|&count| count > 0) {
            return Window::Unbounded(Unbounded::Loop(nodes[node].state.point));
        }
        let ended = self.ended.iter().map(|&(node, cycles)| since[node] + cycles).max();
        let reached = since.iter().copied().max();
        Window::Cycles(self.longest.max(ended.unwrap_or(0)).max(reached.unwrap_or(0)))
    }
}
