//! A call graph of runs: what is counted by hand in short programs, and in compiled ones that every function's cycles
//! are its own and those of what it calls.

mod cores;
mod emulator;
mod workloads;

use std::sync::Arc;

use expect_test::{Expect, expect};
use isa::Cycles;
use isa::elf::Symbol;
use isa::rv32::bare::{self, End, Program};
use isa::rv32::{CallGraph, Calls, Listing, Profile, text};
use workloads::{LEVELS, Objects, WORK};

/// Asserts what is always so.
fn sums(graph: &CallGraph, what: &str) {
    for (index, function) in graph.functions.iter().enumerate() {
        let leaving = graph.edges.iter().filter(|edge| edge.caller == index).map(|edge| edge.cycles);
        let children: Cycles = leaving.sum();
        assert_eq!(function.cycles, function.local_cycles + children, "{what}: {}", function.name);
    }
    let local: Cycles = graph.functions.iter().map(|function| function.local_cycles).sum();
    assert_eq!(local, graph.cycles, "{what}");
}

/// Runs lines, in which `name:` begins a function, on `pico`.
fn graph(lines: &[&str]) -> CallGraph {
    let (mut words, mut symbols): (Vec<u32>, Vec<Symbol>) = (Vec::new(), Vec::new());
    for line in lines {
        if let Some(name) = line.strip_suffix(':') {
            let address = 4 * words.len() as u32;
            symbols.push(Symbol { name: name.to_owned(), address, bytes: 0, function: true });
        } else {
            words.push(text::parse(line).expect(line).encode().expect(line));
        }
    }
    let mut end = 4 * words.len() as u32;
    for symbol in symbols.iter_mut().rev() {
        (symbol.bytes, end) = (end - symbol.address, symbol.address);
    }
    let program = Program::flat(words.iter().flat_map(|word| word.to_le_bytes()).collect()).expect("it fits");
    let units = Arc::default();
    let mut calls = Calls::new(Listing::new(&program, &units), &symbols);
    let outcome = bare::run(&program, Profile::Pico, &units, 100_000, &mut calls);
    assert!(matches!(outcome.end, End::Exit(_)), "{lines:?}: {:?}", outcome.end);
    let graph = calls.finish();
    sums(&graph, &format!("{lines:?}"));
    assert_eq!(graph.cycles, outcome.cycle, "{lines:?}");
    graph
}

/// Each function as calls, local cycles and cycles, and each edge as calls and cycles.
fn told(graph: &CallGraph) -> String {
    let functions = graph.functions.iter().map(|function| {
        format!("{} {} {} {}", function.name, function.calls, function.local_cycles, function.cycles)
    });
    let edges = graph.edges.iter().map(|edge| {
        let [caller, callee] = [edge.caller, edge.callee].map(|at| graph.functions[at].name.as_str());
        format!("{caller}>{callee} {} {}", edge.calls, edge.cycles)
    });
    functions.chain(edges).collect::<Vec<_>>().join("\n")
}

/// What begins a program: it calls what is behind, and ends.
const START: [&str; 4] = ["start:", "jal ra, .+12", "lui t6, 0x80000", "sw zero, 0(t6)"];

fn check(lines: &[&str], expected: Expect) {
    expected.assert_eq(&told(&graph(&[&START, lines].concat())));
}

// On pico, JAL and what computes take 3 cycles, loads and stores 5, JALR 6.

#[test]
fn calls_and_returns_make_edges() {
    let f = ["f:", "mv s0, ra", "jal ra, .+16", "jal ra, .+12", "mv ra, s0", "ret"];
    check(
        &[&f[..], &["g:", "nop", "ret"]].concat(),
        expect![[r#"
            start 1 6 42
            f 1 18 36
            g 2 18 18
            start>f 1 36
            f>g 2 18"#]],
    );
    // By way of an address, of another link, and to what has no name.
    check(
        &["f:", "mv s0, ra", "auipc t1, 0", "jalr ra, 16(t1)", "mv ra, s0", "ret", "g:", "nop", "ret"],
        expect![[r#"
            start 1 6 36
            f 1 21 30
            g 1 9 9
            start>f 1 30
            f>g 1 9"#]],
    );
    check(
        &["f:", "jal t0, .+8", "ret", "save:", "nop", "jr t0"],
        expect![[r#"
            start 1 6 24
            f 1 9 18
            save 1 9 9
            start>f 1 18
            f>save 1 9"#]],
    );
}

#[test]
fn an_activation_of_a_function_that_calls_itself_is_counted_for_itself_and_for_the_outer_one() {
    let lines = ["start:", "lui sp, 1", "li a0, 2", "jal ra, .+12", "lui t6, 0x80000", "sw zero, 0(t6)"];
    let save = ["f:", "beqz a0, .+28", "addi sp, sp, -4", "sw ra, 0(sp)"];
    let restore = ["addi a0, a0, -1", "jal ra, .-16", "lw ra, 0(sp)", "addi sp, sp, 4", "ret"];
    // 11 cycles innermost, and 31 for each around.
    let expected = expect![[r#"
        start 1 12 85
        f 3 73 126
        start>f 1 73
        f>f 2 53"#]];
    expected.assert_eq(&told(&graph(&[&lines[..], &save, &restore].concat())));
}

#[test]
fn a_tail_call_ends_with_what_made_it() {
    let expected = expect![[r#"
        start 1 6 21
        f 1 6 15
        g 1 9 9
        start>f 1 15
        f>g 1 9"#]];
    check(&["f:", "nop", "j .+8", "nop", "g:", "nop", "ret"], expected);
    // By running into it.
    check(
        &["f:", "nop", "g:", "nop", "ret"],
        expect![[r#"
            start 1 6 18
            f 1 3 12
            g 1 9 9
            start>f 1 12
            f>g 1 9"#]],
    );
    // Out of a function and back into its middle.
    check(
        &["f:", "j .+12", "nop", "ret", "f.cold:", "nop", "j .-12"],
        expect![[r#"
            start 1 6 24
            f 1 12 18
            f.cold 1 6 6
            start>f 1 18
            f>f.cold 1 6"#]],
    );
}

#[test]
fn a_jump_past_several_functions_ends_all_of_them() {
    check(
        &["f:", "mv s0, ra", "jal ra, .+8", "ret", "g:", "mv ra, s0", "ret"],
        expect![[r#"
            start 1 6 21
            f 1 6 15
            g 1 9 9
            start>f 1 15
            f>g 1 9"#]],
    );
}

#[test]
fn what_has_no_symbol_is_called_by_its_address() {
    let lines = [&START[..], &["f:", "nop", "ret"]].concat();
    let whole = graph(&lines);
    let nameless: Vec<&str> = lines.into_iter().filter(|line| *line != "f:").collect();
    let words = nameless[1..].iter().map(|line| text::parse(line).expect(line).encode().expect(line));
    let program = Program::flat(words.flat_map(u32::to_le_bytes).collect()).expect("it fits");
    let start = Symbol { name: "start".into(), address: 0, bytes: 12, function: true };
    let units = Arc::default();
    let mut calls = Calls::new(Listing::new(&program, &units), &[start]);
    bare::run(&program, Profile::Pico, &units, 1000, &mut calls);
    let found = calls.finish();
    sums(&found, "no symbols");
    assert_eq!(told(&found), told(&whole).replace('f', "0x0000000c"));
}

#[test]
fn cycles_of_compiled_programs_are_those_of_their_functions() {
    for name in WORK {
        for level in LEVELS {
            let Some(objects) = Objects::of_work(name, level) else { return };
            let image = objects.link(0);
            let program = Program::of_image(&image).expect("it fits");
            let units = Arc::default();
            for profile in [Profile::Pico, Profile::Vex5] {
                let what = format!("{name} {level} {profile:?}");
                let watch = || Calls::new(Listing::new(&program, &units), &image.symbols);
                let (mut all, mut region) = (watch(), watch().between(1, 2));
                let outcome = bare::run(&program, profile, &units, u64::MAX, &mut all);
                assert_eq!(bare::run(&program, profile, &units, u64::MAX, &mut region), outcome, "{what}");
                let (all, region) = (all.finish(), region.finish());
                sums(&all, &what);
                sums(&region, &what);
                assert_eq!(all.function("_start").map(|start| start.cycles), Some(all.cycles), "{what}");
                assert_eq!(all.function("main").map(|main| main.calls), Some(1), "{what}");
                assert_eq!(region.edge("main", "work").map(|edge| edge.calls), Some(1), "{what}");
                if profile == Profile::Pico {
                    assert_eq!(all.cycles, outcome.cycle, "{what}");
                    assert_eq!(Some(region.cycles), outcome.between(1, 2), "{what}");
                }
                if name == "machine" {
                    let calls = |graph: &CallGraph| {
                        ["turn", "count", "square"].map(|name| graph.function(name).map(|found| found.calls))
                    };
                    assert_eq!((calls(&all), calls(&region)), ([Some(240); 3], [Some(120); 3]), "{what}");
                }
            }
        }
    }
}
