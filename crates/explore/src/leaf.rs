//! Which routines of a call graph are its leaves: those that instructions of one's own are looked for, and from which
//! what they gain goes up to who calls them (the paper's section 3.3).
//!
//! Owns the rules by which leaves are told, and what is added and taken away by hand. Call graphs are
//! `isa::rv32::calls`'; what a leaf gains by which instructions is nobody's yet.

use isa::rv32::CallGraph;

use crate::error::Error;
use crate::native::{ROUTINES, Routine};

/// How leaves are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Routines that called no other routine in the run.
    CallsNone,
    /// Routines of the basic layer, whatever they call.
    BasicLayer,
}

/// What is said by hand besides: names of routines that were called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByHand<'a> {
    /// These are leaves, too.
    pub added: &'a [&'a str],
    /// These are none, whatever the rule says.
    pub removed: &'a [&'a str],
}

/// The leaves of a call graph, by address. What is no routine, such as a compiler's `memcpy`, is none, and makes none of
/// who calls it.
///
/// # Errors
/// What is said by hand is of no routine of the graph.
pub fn leaves(graph: &CallGraph, rule: Rule, by_hand: ByHand) -> Result<Vec<&'static str>, Error> {
    let routine = |name: &str| ROUTINES.iter().find(|routine| routine.name == name);
    let called: Vec<(usize, &'static Routine)> = { graph.functions.iter().enumerate() }
        .filter_map(|(at, function)| Some((at, routine(&function.name)?)))
        .collect();
    let names = || called.iter().map(|(_, routine)| routine.name.as_str());
    for name in by_hand.added.iter().chain(by_hand.removed) {
        if !names().any(|known| known == *name) {
            return Err(Error::choice("routine of the call graph", name, names()));
        }
    }
    let calls = |at: usize| {
        let mut callees = graph.edges.iter().filter(|edge| edge.caller == at && edge.callee != at);
        callees.any(|edge| called.iter().any(|(other, _)| *other == edge.callee))
    };
    let is_leaf = |(at, routine): &(usize, &'static Routine)| {
        let name = routine.name.as_str();
        let by_rule = match rule {
            Rule::CallsNone => !calls(*at),
            Rule::BasicLayer => routine.layer == "basic",
        };
        (by_rule || by_hand.added.contains(&name)) && !by_hand.removed.contains(&name)
    };
    let found = called.iter().filter(|called| is_leaf(called));
    Ok(found.map(|(_, routine)| routine.name.as_str()).collect())
}

#[cfg(test)]
mod tests {
    use isa::rv32::calls::{Edge, Function};

    use super::*;

    /// A private operation of which a power calls a product, which calls a row and a compiler's function.
    fn graph() -> CallGraph {
        let names =
            ["bench", "modexp32_binary", "modmul32_cios_multiply", "mpn32_mul", "mpn32_addmul_1", "memcpy"];
        let function = |(at, name): (usize, &&str)| Function {
            name: (*name).to_owned(),
            address: 16 * at as u32,
            calls: 1,
            local_cycles: 1,
            cycles: 1,
        };
        let edge = |(caller, callee)| Edge { caller, callee, calls: 1, cycles: 1 };
        // The last but one is a routine that calls itself.
        let edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 4), (4, 5)].map(edge).to_vec();
        CallGraph { functions: names.iter().enumerate().map(function).collect(), edges, cycles: 6 }
    }

    #[test]
    fn by_rule_a_leaf_calls_no_other_routine_or_is_of_the_basic_layer() {
        let by = |rule| leaves(&graph(), rule, ByHand::default());
        assert_eq!(by(Rule::CallsNone), Ok(vec!["mpn32_addmul_1"]));
        assert_eq!(by(Rule::BasicLayer), Ok(vec!["mpn32_mul", "mpn32_addmul_1"]));
    }

    #[test]
    fn by_hand_leaves_are_added_and_taken_away_and_a_wrong_name_is_refused() {
        let by_hand = ByHand { added: &["modmul32_cios_multiply"], removed: &["mpn32_addmul_1"] };
        assert_eq!(leaves(&graph(), Rule::CallsNone, by_hand), Ok(vec!["modmul32_cios_multiply"]));
        let by_hand = ByHand { added: &["mpn32_addmul"], removed: &[] };
        let error = leaves(&graph(), Rule::CallsNone, by_hand).expect_err("there is none").to_string();
        assert!(error.contains("did you mean `mpn32_addmul_1`?"), "{error}");
        let by_hand = ByHand { added: &[], removed: &["memcpy"] };
        assert!(leaves(&graph(), Rule::BasicLayer, by_hand).is_err(), "it is no routine");
    }
}
