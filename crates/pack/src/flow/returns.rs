//! Which calls are come back from.
//!
//! Owns: finding functions that never return, as those that end the program ([`Returns::of`]), and calls that return
//! elsewhere: a function that ends with a call has it return to its own caller. What is behind such a call is not run
//! into, and may lie elsewhere.
//!
//! A function is taken to return if a jump to a computed place may be reached from its beginning, over calls of what is
//! taken to return. What cannot be followed counts as such a jump.

use std::collections::{BTreeSet, HashSet};

use super::{Step, sparc};

/// Words of code, by their addresses.
pub struct Returns {
    returning: HashSet<u32>,
    called: BTreeSet<u32>,
}

impl Returns {
    /// Of a program's words with their addresses; `index` finds a word's number by its address.
    pub fn of(words: &[(u32, u32)], index: impl Fn(u32) -> Option<usize>) -> Returns {
        let called = words.iter().filter_map(|&(at, word)| match sparc::step(word, at) {
            Step::Call { to } => index(to).map(|_| to),
            _ => None,
        });
        let mut returns = Returns { returning: HashSet::new(), called: called.collect() };
        let mut open: Vec<u32> = returns.called.iter().copied().collect();
        loop {
            let before = open.len();
            open.retain(|&function| {
                let back = returns.may_return(function, words, &index);
                if back {
                    returns.returning.insert(function);
                }
                !back
            });
            if open.len() == before {
                return returns;
            }
        }
    }

    /// Whether a call to a known place, or to a computed one, may return to the place behind its delay instruction.
    pub fn comes_back(&self, to: Option<u32>, delay: u32) -> bool {
        !sparc::leaves_link(delay) && to.is_none_or(|to| self.returns(to))
    }

    fn returns(&self, to: u32) -> bool {
        self.returning.contains(&to) || !self.called.contains(&to)
    }

    fn may_return(&self, function: u32, words: &[(u32, u32)], index: &impl Fn(u32) -> Option<usize>) -> bool {
        let (mut waiting, mut seen) = (vec![function], HashSet::new());
        while let Some(at) = waiting.pop() {
            if !seen.insert(at) {
                continue;
            }
            let word = |at: u32| index(at).map(|number| words[number].1);
            let Some(this) = word(at) else { return true };
            let behind = |words: u32| at.wrapping_add(4 * words);
            match sparc::step(this, at) {
                Step::Plain | Step::Trap => waiting.push(behind(1)),
                Step::Branch { to, falls, delay, .. } => {
                    let plain = |word| matches!(sparc::step(word, 0), Step::Plain);
                    if delay && !word(behind(1)).is_some_and(plain) {
                        return true;
                    }
                    waiting.push(to);
                    if falls {
                        waiting.push(behind(2));
                    }
                }
                Step::Call { .. } | Step::Link => {
                    let to = if let Step::Call { to } = sparc::step(this, at) { Some(to) } else { None };
                    let Some(delay) = word(behind(1)) else { return true };
                    if to.is_none_or(|to| self.returns(to)) {
                        // What it calls returns to this function's caller.
                        if sparc::leaves_link(delay) {
                            return true;
                        }
                        let sized = word(behind(2)).is_some_and(sparc::is_structure_size);
                        waiting.push(behind(if sized { 3 } else { 2 }));
                    }
                }
                Step::Jump | Step::Return | Step::OwnAddress => return true,
                Step::Nothing => {}
            }
        }
        false
    }
}
