//! The library as a program for the processor does what it does natively, and its cycles are told by routine.

mod compiled;

use std::path::Path;

use explore::image::{Choice, Leaves};
use explore::leaf::{ByHand, Rule, leaves};
use explore::measure::Bench;
use explore::native;
use explore::workload::{self, Key};
use isa::rv32::Profile;

const SEED: u64 = 2;

#[test]
fn a_program_answers_what_the_library_answers_natively_and_calls_what_it_counts() {
    let Some(image) = compiled::image(Leaves::Plain) else { return };
    let bench = Bench::new(&image, Profile::Pico);
    let key = Key::generate(SEED, 512).expect("it has a size");
    let requests = [key.private(workload::fast(), SEED), key.private(workload::fast(), SEED).warm()];
    let measured = bench.measure(&requests).expect("it is done");
    for (request, measured) in requests.iter().zip(&measured) {
        let native = native::run(request).expect("it is done");
        assert_eq!(native.response, measured.response);
        for (routine, of) in native::ROUTINES.iter().zip(&measured.last().local_cycles).enumerate() {
            assert_eq!(native.counts().of(routine)[0] > 0, *of.1 > 0, "{}", of.0.name);
        }
        assert_eq!(
            measured.last().local_cycles.iter().sum::<u64>() + measured.last().bench_cycles,
            measured.last().cycles
        );
        assert!(measured.last().bench_cycles < 200, "{} cycles are nobody's", measured.last().bench_cycles);
    }
}

#[test]
fn local_cycles_by_routine_are_those_of_the_call_graph_and_its_calls_are_those_counted_natively() {
    let Some(image) = compiled::image(Leaves::Plain) else { return };
    let key = Key::generate(SEED, 512).expect("it has a size");
    for (profile, name) in [
        (Profile::Pico, "barrett/kary-3/gauss/fresh/32+squaring+karatsuba"),
        (Profile::Vex5, "divide/sliding-3/garner/fresh/16"),
    ] {
        let bench = Bench::new(&image, profile);
        let request = key.shortened(40).private(name.parse().expect("it is one"), SEED);
        let (native, graph) =
            (native::run(&request).expect("it is done"), bench.calls(&request).expect("it is done"));
        let measured = bench.measure(std::slice::from_ref(&request)).expect("it is done").remove(0);
        let local: u64 = graph.functions.iter().map(|function| function.local_cycles).sum();
        assert_eq!((local, graph.cycles), (measured.last().cycles, measured.last().cycles), "{name}");
        for (index, routine) in native::ROUTINES.iter().enumerate() {
            let function = graph.function(&routine.name);
            assert_eq!(
                native.counts().of(index)[0],
                function.map_or(0, |function| function.calls),
                "calls of {} by {name}",
                routine.name
            );
            // What belongs to no routine is beside the caller in the graph.
            let library = |name: &str| name.starts_with("__") || name.starts_with("mem");
            let at = graph.functions.iter().position(|function| function.name == routine.name);
            let helpers = graph.edges.iter().filter(|edge| Some(edge.caller) == at);
            let helpers = helpers.filter(|edge| library(&graph.functions[edge.callee].name));
            let with_helpers = function.map_or(0, |function| function.local_cycles)
                + helpers.map(|edge| edge.cycles).sum::<u64>();
            assert_eq!(measured.last().local_cycles[index], with_helpers, "{} by {name}", routine.name);
        }
    }
}

#[test]
fn what_a_candidate_works_on_is_not_in_the_cache_lines_of_the_stack() {
    let images = [0, 1024, 2048]
        .map(|stack_below| compiled::image_of(&Choice { stack_below, ..Choice::of(Leaves::Plain) }));
    let [Some(usual), others @ ..] = &images else { return };
    let key = Key::generate(SEED, 512).expect("it has a size").shortened(48);
    for (window, kept) in [(5, "tables"), (4, "tables"), (5, "constants"), (4, "constants"), (3, "fresh")] {
        let name = format!("fios/sliding-{window}/garner/{kept}/32");
        let request = key.private(name.parse().expect("it is one"), SEED).warm();
        let cycles = |image| {
            let bench = Bench::new(image, Profile::Vex5);
            bench.measure(std::slice::from_ref(&request)).expect("it is done")[0].last().cycles as f64
        };
        let least = others.iter().flatten().map(cycles).fold(f64::INFINITY, f64::min);
        // Where each row of a product fetches lines anew, it is 5 % and more.
        assert!(cycles(usual) < 1.02 * least, "{name}: {}, and {least} elsewhere", cycles(usual));
    }
}

#[test]
fn leaves_of_a_private_operation_are_rows_of_products_by_rule_and_what_is_said_by_hand() {
    let Some(image) = compiled::image(Leaves::Plain) else { return };
    let key = Key::generate(SEED, 512).expect("it has a size").shortened(8);
    let request = key.private("cios/kary-2/garner/fresh/32".parse().expect("it is one"), SEED);
    let graph = Bench::new(&image, Profile::Pico).calls(&request).expect("it is done");
    let by = |rule, by_hand| leaves(&graph, rule, by_hand).expect("they are of the graph");
    let (alone, basic) = (by(Rule::CallsNone, ByHand::default()), by(Rule::BasicLayer, ByHand::default()));
    for row in ["mpn32_addmul_1", "mpn32_addmul_1_shifted", "mpn32_sub_n"] {
        assert!(alone.contains(&row) && basic.contains(&row), "{row}: {alone:?}, {basic:?}");
    }
    // It calls rows.
    let product = "modmul32_cios_multiply";
    assert!(!alone.contains(&product) && basic.iter().all(|name| name.starts_with("mp")), "{basic:?}");
    let by_hand = by(Rule::CallsNone, ByHand { added: &[product], removed: &["mpn32_addmul_1"] });
    assert!(by_hand.contains(&product) && !by_hand.contains(&"mpn32_addmul_1"), "{by_hand:?}");
    assert_eq!(by_hand.len(), alone.len());
}

/// What native runs count with leaves of their own is what models are of.
#[test]
fn leaves_of_native_runs_count_what_those_of_processors_count() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let counted = |path: &str| -> Vec<String> {
        let text = std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        let words = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        let of = ["#define COUNT_BY_BLOCKS(", "COUNT_BY_BLOCKS(", "COUNT_LEAF(", "COUNT(", "COUNT_TERM("];
        words.filter(|line| of.iter().any(|begin| line.starts_with(begin))).collect()
    };
    let host = counted("native/mpn_host.c");
    assert_eq!(host.len(), 10, "{host:?}");
    for other in ["mpn_c.c", "mpn_unrolled.c"] {
        assert_eq!(counted(&format!("../../firmware/crypto/mp/{other}")), host, "{other}");
    }
}
