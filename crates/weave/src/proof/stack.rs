//! What lies on the stack of a path: return addresses, pushed bytes, frames.
//!
//! Owns: stacks that share their lower ends, so that a state holds one number. A frame that code makes by writing to
//! the stack pointer has no known size; it is trusted to be gone before the return, as compilers see to.

use std::collections::{HashMap, HashSet};

use super::values::Byte;
use crate::limits::PROOF_STACK_SLOTS_MAX;
use crate::program::Point;

/// One thing on the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Slot {
    /// The address behind a call, with the call.
    Return { call: Point, to: Point },
    /// A pushed byte.
    Byte(Byte),
    /// Bytes whose number is not known.
    Frame,
}

/// A stack, by number. Two are equal if and only if their numbers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Stack(u32);

/// The stack at the function's entry.
pub(super) const EMPTY: Stack = Stack(0);

#[derive(Clone, Copy)]
struct Node {
    slot: Slot,
    below: Stack,
    slots: u32,
    bytes: u32,
}

/// All stacks of one proof.
pub(super) struct Stacks {
    nodes: Vec<Node>,
    index: HashMap<(Slot, Stack), Stack>,
    return_bytes: u32,
    /// Calls whose target is the instruction behind them.
    pub(super) calls_to_next: HashSet<Point>,
    /// The most bytes that were on a stack, frames not counted.
    pub(super) bytes_max: u32,
    /// Whether there was a frame.
    pub(super) framed: bool,
}

/// The stack is deeper than the limit.
pub(super) struct TooDeep;

impl Stacks {
    /// `return_bytes` is the size of a return address.
    pub(super) fn new(return_bytes: u32) -> Stacks {
        let bottom = Node { slot: Slot::Frame, below: EMPTY, slots: 0, bytes: 0 };
        let (nodes, index) = (vec![bottom], HashMap::new());
        Stacks { nodes, index, return_bytes, calls_to_next: HashSet::new(), bytes_max: 0, framed: false }
    }

    pub(super) fn push(&mut self, stack: Stack, slot: Slot) -> Result<Stack, TooDeep> {
        if let Some(&found) = self.index.get(&(slot, stack)) {
            return Ok(found);
        }
        let below = self.nodes[stack.0 as usize];
        let slots = below.slots + 1;
        if slots as usize > PROOF_STACK_SLOTS_MAX {
            return Err(TooDeep);
        }
        let bytes = below.bytes
            + match slot {
                Slot::Return { .. } => self.return_bytes,
                Slot::Byte(_) => 1,
                Slot::Frame => 0,
            };
        self.bytes_max = self.bytes_max.max(bytes);
        self.framed |= slot == Slot::Frame;
        let made = Stack(self.nodes.len() as u32);
        self.nodes.push(Node { slot, below: stack, slots, bytes });
        self.index.insert((slot, stack), made);
        Ok(made)
    }

    /// The uppermost slot and what is below it; none of the empty stack.
    pub(super) fn top(&self, stack: Stack) -> Option<(Slot, Stack)> {
        (stack != EMPTY).then(|| {
            let node = &self.nodes[stack.0 as usize];
            (node.slot, node.below)
        })
    }

    /// Takes one byte off. Below the function's own bytes there is nothing that it may take: none.
    pub(super) fn pop(&mut self, stack: Stack) -> Result<Option<(Byte, Stack)>, TooDeep> {
        match self.top(stack) {
            None => Ok(None),
            Some((Slot::Byte(byte), below)) => Ok(Some((byte, below))),
            // A frame has bytes enough for what its code pops from it.
            Some((Slot::Frame, _)) => Ok(Some((Byte::UNKNOWN, stack))),
            // `rcall .` makes room for its return address, which is popped as bytes.
            Some((Slot::Return { .. }, below)) => {
                let mut rest = below;
                for _ in 1..self.return_bytes {
                    rest = self.push(rest, Slot::Byte(Byte::UNKNOWN))?;
                }
                Ok(Some((Byte::UNKNOWN, rest)))
            }
        }
    }

    /// The stack pointer is written: what the function at hand has on the stack is a frame from now on.
    pub(super) fn frame(&mut self, stack: Stack) -> Result<Stack, TooDeep> {
        let mut base = stack;
        // The address of a call to the next instruction may be room that code makes: then it is in the frame.
        let is_room = |slot: Slot| match slot {
            Slot::Return { call, .. } => self.calls_to_next.contains(&call),
            Slot::Byte(_) | Slot::Frame => true,
        };
        while let Some((slot, below)) = self.top(base)
            && is_room(slot)
        {
            base = below;
        }
        self.push(base, Slot::Frame)
    }

    /// Takes a return address off: the call and where it returns to, with the rest of the stack. None of the
    /// function's own return.
    ///
    /// # Errors
    /// The number of pushed bytes that lie above the address.
    pub(super) fn unwind(&self, stack: Stack) -> Result<Option<(Point, Point, Stack)>, u32> {
        let mut base = stack;
        let mut bytes = 0;
        loop {
            match self.top(base) {
                None if bytes == 0 => return Ok(None),
                Some((Slot::Return { call, to }, below)) if bytes == 0 => return Ok(Some((call, to, below))),
                None | Some((Slot::Return { .. }, _)) => return Err(bytes),
                Some((Slot::Byte(_), below)) => {
                    bytes += 1;
                    base = below;
                }
                Some((Slot::Frame, _)) if bytes > 0 => return Err(bytes),
                Some((Slot::Frame, below)) => base = below,
            }
        }
    }
}
