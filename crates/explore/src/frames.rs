//! How much of the stack routines take on a processor.
//!
//! Owns what a run shows of it: of each routine, how far below where it began it went itself, and how far below that it
//! called each other one; and how deep the library went while it was timed. Both are the most that was seen. Where natively
//! counted contexts get to by these is `model`'s.
//!
//! What is the bench's own is no stack of the library: depth begins where the bench, or a routine of its layer, calls one
//! that is not.

use std::collections::BTreeMap;

use crate::native::ROUTINES;

/// The place of the bench, behind those of all routines.
fn bench() -> usize {
    ROUTINES.len()
}

/// Whether a place is a routine of the library.
fn is_library(place: usize) -> bool {
    ROUTINES.get(place).is_some_and(|routine| routine.is_library())
}

/// What routines took of the stack, by their place in [`ROUTINES`], in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frames {
    /// Of each routine that was called, what it took itself, with functions that are none.
    pub own_bytes: BTreeMap<usize, u32>,
    /// Of each routine and one that it called, what it took when it did; nothing of one that gave its own place up for it.
    pub callee_bytes: BTreeMap<(usize, usize), u32>,
}

impl Frames {
    /// The most of these and of others.
    pub fn extend(&mut self, others: &Frames) {
        for (&routine, &bytes) in &others.own_bytes {
            most(&mut self.own_bytes, routine, bytes);
        }
        for (&pair, &bytes) in &others.callee_bytes {
            most(&mut self.callee_bytes, pair, bytes);
        }
    }
}

fn most<K: Ord>(all: &mut BTreeMap<K, u32>, key: K, bytes: u32) {
    let known = all.entry(key).or_default();
    *known = bytes.max(*known);
}

/// A routine that has not returned yet, or that gave its place up for the one above.
struct Activation {
    place: usize,
    /// Where the stack ended when it began.
    begin: u32,
    /// The lowest that it went itself.
    lowest: u32,
}

/// Follows the stack of a run, as routines that are on it.
pub(crate) struct Activations {
    pointer: u32,
    /// The bench first.
    activations: Vec<Activation>,
    /// How many of these there are below the first one of the library, and where the stack ended when that began.
    library: Option<(usize, u32)>,
    deepest_bytes: u32,
    frames: Frames,
}

impl Activations {
    pub(crate) fn new() -> Activations {
        let bench = Activation { place: bench(), begin: 0, lowest: 0 };
        let (pointer, deepest_bytes, frames) = (0, 0, Frames::default());
        Activations { pointer, activations: vec![bench], library: None, deepest_bytes, frames }
    }

    fn top(&mut self) -> &mut Activation {
        self.activations.last_mut().expect("the bench does not return")
    }

    /// The stack ends here.
    pub(crate) fn set(&mut self, pointer: u32) {
        self.pointer = pointer;
        let top = self.top();
        top.lowest = top.lowest.min(pointer);
        if let (true, Some((_, begin))) = (is_library(top.place), self.library) {
            self.deepest_bytes = self.deepest_bytes.max(begin.saturating_sub(pointer));
        }
    }

    /// A routine begins, or a function of the bench that one calls.
    pub(crate) fn call(&mut self, place: usize) {
        let pointer = self.pointer;
        let (caller, begin) = (self.top().place, self.top().begin);
        if caller != bench() && place != bench() {
            most(&mut self.frames.callee_bytes, (caller, place), begin.saturating_sub(pointer));
        }
        if self.library.is_none() && is_library(place) {
            self.library = Some((self.activations.len(), pointer));
        }
        self.activations.push(Activation { place, begin: pointer, lowest: pointer });
    }

    /// One that was left goes on, and those above it are over. One that has not begun, into whose middle another goes as
    /// assembly may, is taken for one that is called there.
    pub(crate) fn back(&mut self, place: usize) {
        match self.activations.iter().rposition(|activation| activation.place == place) {
            Some(at) => (at + 1..self.activations.len()).for_each(|_| self.pop()),
            None => self.call(place),
        }
    }

    fn pop(&mut self) {
        let Some(Activation { place, begin, lowest }) = self.activations.pop() else { return };
        if place != bench() {
            most(&mut self.frames.own_bytes, place, begin - lowest);
        }
        self.library = self.library.filter(|(below, _)| self.activations.len() > *below);
    }

    /// How deep the library went since this was asked for.
    pub(crate) fn take_deepest_bytes(&mut self) -> u32 {
        std::mem::take(&mut self.deepest_bytes)
    }

    /// The run is over.
    pub(crate) fn finish(mut self) -> Frames {
        while !self.activations.is_empty() {
            self.pop();
        }
        self.frames
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str) -> usize {
        ROUTINES.iter().position(|routine| routine.name == name).expect("the library has it")
    }

    #[test]
    fn a_routine_takes_what_it_goes_below_its_begin_and_a_tail_call_takes_nothing() {
        let [outer, inner, leaf] = ["mpn32_mul", "mpn32_mul_karatsuba", "mpn32_add_n"].map(place);
        let mut stack = Activations::new();
        stack.set(1000);
        stack.call(outer);
        stack.set(984);
        stack.set(1000);
        // It gives its place up.
        stack.call(inner);
        stack.set(936);
        stack.call(leaf);
        stack.back(inner);
        stack.call(outer);
        stack.set(920);
        stack.set(936);
        stack.call(inner);
        stack.set(872);
        stack.set(936);
        stack.back(bench());
        assert_eq!((stack.take_deepest_bytes(), stack.take_deepest_bytes()), (128, 0));
        let frames = stack.finish();
        assert_eq!(frames.own_bytes, BTreeMap::from([(outer, 16), (inner, 64), (leaf, 0)]));
        let callees = [((outer, inner), 0), ((inner, leaf), 64), ((inner, outer), 64)];
        assert_eq!(frames.callee_bytes, BTreeMap::from(callees));
    }

    #[test]
    fn what_the_bench_has_on_the_stack_is_none_of_the_librarys() {
        let [hashing, hash, fill] = ["explore_hash", "hash_update", "explore_random_fill"].map(place);
        let mut stack = Activations::new();
        stack.set(1000);
        stack.call(hashing);
        stack.set(800);
        stack.call(hash);
        stack.set(768);
        // The caller's randomness, too.
        stack.call(fill);
        stack.set(600);
        stack.call(bench());
        stack.set(592);
        stack.set(600);
        stack.back(fill);
        stack.set(768);
        stack.back(hash);
        stack.back(hashing);
        stack.set(700);
        assert_eq!(stack.take_deepest_bytes(), 32);
    }

    #[test]
    fn a_jump_into_the_middle_of_another_one_is_taken_for_a_call() {
        let [add, sub] = ["mpn32_add_n", "mpn32_sub_n"].map(place);
        let mut stack = Activations::new();
        stack.set(1000);
        stack.call(add);
        stack.set(984);
        stack.back(sub);
        stack.set(1000);
        stack.back(bench());
        let frames = stack.finish();
        assert_eq!(frames.own_bytes, BTreeMap::from([(add, 16), (sub, 0)]));
        assert_eq!(frames.callee_bytes, BTreeMap::from([((add, sub), 16)]));
    }
}
