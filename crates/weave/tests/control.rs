//! Control flow: blocks, dominators, loops.

mod assembly;

use assembly::program;
use proptest::prelude::*;
use weave::analysis::Analysis;
use weave::cdg::{self, Cdg, Dependence, Node};
use weave::cfg::{Cfg, ExitKind, Fault, Way};
use weave::dominance::Dominance;
use weave::loops::Loops;
use weave::program::{Callee, Flow, Program};
use weave::registers::Liveness;
use weave::{dump, memory, slack};

fn graph(program: &Program) -> Cfg {
    Cfg::of(program, &program.functions[0]).expect("its control flow is known")
}

#[test]
fn a_skip_ends_a_block_and_a_call_does_not() {
    let program = program("f: nop\n rcall g\n sbrc r24, 0\n lds r18, 0x100\n ret\ng: ret");
    let cfg = graph(&program);
    let cut: Vec<_> = cfg.blocks.iter().map(|block| block.points()).collect();
    assert_eq!(cut, [0..3, 3..4, 4..5]);
    let ways: Vec<_> = cfg.blocks[0].successors.iter().map(|edge| (edge.to, edge.way, edge.cycles)).collect();
    assert_eq!(ways, [(1, Way::Next, 1), (2, Way::Skipped, 3)]);
    assert_eq!(cfg.blocks[2].exits[0].kind, ExitKind::Return);
}

#[test]
fn code_behind_a_jump_is_listed_as_unreachable() {
    let program = program("f: rjmp .L1\n nop\n nop\n.L1: ret");
    assert_eq!(graph(&program).unreachable, vec![1..3]);
}

#[test]
fn falling_into_the_next_function_is_a_tail_call() {
    let program = program("f: nop\ng: ret");
    assert_eq!(graph(&program).blocks[0].exits[0].kind, ExitKind::TailCall(Callee::Known(1)));
}

#[test]
fn what_cannot_be_followed_is_a_fault() {
    let mut program = program("f: nop\n ijmp ;@weave targets g\ng: nop\n ret");
    let fault = |program: &Program| Cfg::of(program, &program.functions[0]).map(|_| ());
    assert_eq!(fault(&program), Ok(()));
    program.code[1].directives.clear();
    assert_eq!(fault(&program), Err(Fault::Indirect { point: 1 }));
    program.code[1].flow = Flow::Branch(3);
    assert_eq!(fault(&program), Err(Fault::IntoFunction { point: 1, target: 3 }));
    program.functions.truncate(1);
    program.code.truncate(2);
    program.code[1].flow = Flow::Skip;
    assert_eq!(fault(&program), Err(Fault::RunsOff { point: 1 }));
}

#[test]
fn a_rotated_loop_has_its_test_as_header_and_its_exit_behind_it() {
    let program = program("f: rjmp .L2\n.L3: nop\n.L2: dec r24\n brne .L3\n ret");
    let cfg = graph(&program);
    let loops = Loops::of(&cfg);
    assert_eq!(loops.all.len(), 1);
    assert_eq!((loops.all[0].header, &loops.all[0].latches[..]), (2, &[1][..]));
    assert_eq!(cfg.order(), [0, 2, 1, 3]);
}

#[test]
fn a_loop_with_two_entries_is_irreducible() {
    let program = program("f: sbrc r24, 0\n rjmp .L2\n.L1: nop\n.L2: nop\n dec r22\n brne .L1\n ret");
    let loops = Loops::of(&graph(&program));
    assert_eq!(loops.irreducible().count(), 1);
    assert_eq!(loops.all[0].entries.len(), 2);
}

/// A function of branches, skips and jumps to anywhere in it.
fn tangle() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        3 => Just("nop".to_owned()),
        3 => any::<prop::sample::Index>().prop_map(|to| format!("brne {}", to.index(1 << 16))),
        1 => any::<prop::sample::Index>().prop_map(|to| format!("rjmp {}", to.index(1 << 16))),
        1 => Just("sbrc r24, 0".to_owned()),
        1 => Just("ret".to_owned()),
    ];
    prop::collection::vec(line, 1..24).prop_map(|lines| {
        let count = lines.len();
        let mut text = "f: nop\n".to_owned();
        for (index, line) in lines.into_iter().enumerate() {
            let line = match line.split_once(' ') {
                Some((jump @ ("brne" | "rjmp"), to)) => {
                    format!("{jump} .L{}", to.parse::<usize>().expect("a number") % count)
                }
                _ => line,
            };
            text += &format!(".L{index}: {line}\n");
        }
        text + "ret\nret\n"
    })
}

/// Whether `to` is reached from `from` without passing `without`.
fn reaches(cfg: &Cfg, from: usize, to: impl Fn(usize) -> bool, without: usize) -> bool {
    let mut seen = vec![false; cfg.blocks.len()];
    let mut open = vec![from];
    while let Some(id) = open.pop() {
        if id == without || std::mem::replace(&mut seen[id], true) {
            continue;
        }
        if to(id) {
            return true;
        }
        open.extend(cfg.blocks[id].successors.iter().map(|edge| edge.to));
    }
    false
}

proptest! {
    #[test]
    fn dominators_are_what_cannot_be_avoided(text in tangle()) {
        let program = program(&text);
        let cfg = graph(&program);
        let dominance = Dominance::of(&cfg);
        for a in 0..cfg.blocks.len() {
            for b in 0..cfg.blocks.len() {
                let avoided = a != b && reaches(&cfg, 0, |id| id == b, a);
                prop_assert_eq!(dominance.dominates(a, b), !avoided, "{} over {}\n{}", a, b, text);
                let ends = |id: usize| !cfg.blocks[id].exits.is_empty() || dominance.endless().contains(&id);
                let escaped = a != b && reaches(&cfg, b, ends, a);
                prop_assert_eq!(dominance.post_dominates(a, b), !escaped, "{} behind {}\n{}", a, b, text);
            }
        }
    }

    #[test]
    fn reducible_loops_are_the_natural_loops_of_their_headers(text in tangle()) {
        let program = program(&text);
        let cfg = graph(&program);
        let (dominance, loops) = (Dominance::of(&cfg), Loops::of(&cfg));
        prop_assume!(loops.irreducible().next().is_none());
        let mut headers: Vec<usize> = Vec::new();
        for (id, block) in cfg.blocks.iter().enumerate() {
            headers.extend(block.successors.iter().map(|edge| edge.to).filter(|&to| dominance.dominates(to, id)));
        }
        headers.sort_unstable();
        headers.dedup();
        let mut found: Vec<usize> = loops.all.iter().map(|each| each.header).collect();
        found.sort_unstable();
        prop_assert_eq!(&headers, &found);
        for each in &loops.all {
            for id in 0..cfg.blocks.len() {
                let is_latch = |latch: usize| {
                    dominance.dominates(each.header, latch)
                        && cfg.blocks[latch].successors.iter().any(|edge| edge.to == each.header)
                };
                let natural = id == each.header
                    || dominance.dominates(each.header, id) && reaches(&cfg, id, is_latch, each.header);
                prop_assert_eq!(each.contains(id), natural);
            }
        }
    }

    #[test]
    fn control_dependence_is_as_ferrante_defines_it(text in tangle()) {
        let program = program(&text);
        let cfg = graph(&program);
        let dominance = Dominance::of(&cfg);
        let found = cdg::dependences(&cfg, &dominance);
        for (block, here) in cfg.blocks.iter().enumerate() {
            for (dependent, conditions) in found.iter().enumerate() {
                for edge in &here.successors {
                    let strictly_behind = dependent != block && dominance.post_dominates(dependent, block);
                    let depends = dominance.post_dominates(dependent, edge.to) && !strictly_behind;
                    let dependence = Dependence { block, way: edge.way };
                    prop_assert_eq!(conditions.contains(&dependence), depends, "{:?} {}\n{}", dependence, dependent, text);
                }
            }
        }
    }

    #[test]
    fn every_block_is_in_one_region_of_its_innermost_level(text in tangle()) {
        let program = program(&text);
        let cfg = graph(&program);
        let loops = Loops::of(&cfg);
        let cdg = Cdg::of(&cfg, &loops);
        let mut levels = vec![Vec::new(); cfg.blocks.len()];
        for region in &cdg.regions {
            for node in &region.nodes {
                if let Node::Block(block) = node {
                    levels[*block].push(region.level);
                }
            }
        }
        for (block, levels) in levels.into_iter().enumerate() {
            prop_assert_eq!(levels, [loops.innermost(block)]);
        }
        let nested = cdg.regions.iter().flat_map(|region| &region.nodes).filter(|node| matches!(node, Node::Loop(_)));
        prop_assert_eq!(nested.count(), loops.all.len());
    }

    #[test]
    fn every_pass_ends_on_any_control_flow(text in tangle()) {
        let program = program(&text);
        let analysis = Analysis::of(&program);
        let function = &program.functions[0];
        let routine = analysis.routines[0].as_ref().expect("its control flow is known");
        let time = analysis.times[0].as_ref().expect("its control flow is known");
        let live = Liveness::of(&program, &routine.cfg, &analysis.registers, 8);
        let texts = [
            dump::cfg(&program, function, &routine.cfg),
            dump::dot(&program, function, &routine.cfg),
            dump::cdg(&program, function, routine, time),
            dump::time(&program, function, routine, time),
            dump::registers(&program, function, routine, &analysis.registers, &live),
        ];
        prop_assert!(texts.iter().all(|text| text.contains("f")));
        memory::accesses(&program, function, &analysis.registers);
        prop_assert_eq!(slack::of(&program, function, routine, time), Ok(vec![]));
    }

    #[test]
    fn each_block_comes_behind_what_leads_to_it_back_edges_aside(text in tangle()) {
        let program = program(&text);
        let cfg = graph(&program);
        let loops = Loops::of(&cfg);
        for (id, block) in cfg.blocks.iter().enumerate() {
            for edge in &block.successors {
                let back = cfg.position(edge.to) <= cfg.position(id);
                let known = loops.around(id).any(|each| loops.all[each].contains(edge.to));
                prop_assert!(!back || known);
            }
        }
    }
}
