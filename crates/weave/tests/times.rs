//! Best and worst cycles, against the simulator.

mod assembly;

use assembly::{Places, machine, program};
use isa::avr::Stop;
use proptest::prelude::*;
use weave::analysis::{Analysis, Fault};
use weave::time::Bounds;
use weave::trips::Untold;

fn total(text: &str) -> Result<Option<Bounds>, Fault> {
    let program = program(text);
    Analysis::of(&program).times[0].clone()?.total
}

#[test]
fn a_conditional_takes_from_its_shorter_to_its_longer_arm() {
    let text = "f: sbrs r24, 0\n rjmp .L1\n nop\n nop\n nop\n.L1: ret";
    assert_eq!(total(text), Ok(Some(Bounds { best: 7, worst: 9 })));
}

#[test]
fn what_has_no_bound_is_named() {
    let unbounded = Fault::Unbounded { point: 0, why: Untold::Undecided { exits: vec![1] } };
    assert_eq!(total("f: dec r24\n brne f\n ret"), Err(unbounded));
    assert_eq!(total("f: rcall g\n ret"), Err(Fault::UnknownCallee { point: 0, name: "g".into() }));
    assert_eq!(total("f: nop\n rcall f\n ret"), Err(Fault::Recursion { point: 1 }));
    assert_eq!(total("f: rcall g\n ret\ng: rjmp g"), Err(Fault::NeverReturns { point: 0 }));
}

/// Nested loops, conditionals, calls: as text, with the labels counted in `labels`.
#[derive(Clone, Debug)]
enum Node {
    Code(u8),
    If(u8, Vec<Node>, Vec<Node>),
    Repeat(u8, Vec<Node>),
    While(u8, Vec<Node>),
    Break(u8, Vec<Node>),
    Skip(u8),
    Call,
}

fn tree() -> impl Strategy<Value = Vec<Node>> {
    let leaf = prop_oneof![(1..6_u8).prop_map(Node::Code), (0..8_u8).prop_map(Node::Skip), Just(Node::Call)];
    let node = leaf.prop_recursive(3, 12, 3, |inner| {
        let list = || prop::collection::vec(inner.clone(), 0..3);
        prop_oneof![
            (0..8_u8, list(), list()).prop_map(|(bit, a, b)| Node::If(bit, a, b)),
            (1..6_u8, list()).prop_map(|(count, body)| Node::Repeat(count, body)),
            (0..6_u8, list()).prop_map(|(count, body)| Node::While(count, body)),
            (1..6_u8, list()).prop_map(|(count, body)| Node::Break(count, body)),
        ]
    });
    prop::collection::vec(node, 1..5)
}

/// Each loop keeps its counter in a register of its depth; conditions look at r24, which code changes.
fn write(nodes: &[Node], depth: u8, labels: &mut u32, out: &mut String) {
    let counter = 16 + depth;
    for node in nodes {
        let label = *labels;
        *labels += 1;
        match node {
            Node::Code(count) => {
                for index in 0..*count {
                    *out += [
                        "add r24, r22\n",
                        "ror r24\n",
                        "lds r23, 0x200\n",
                        "eor r22, r24\n",
                        "adiw r26, 1\n",
                    ][usize::from(index)];
                }
            }
            Node::Skip(bit) => {
                *out +=
                    &format!("sbrc r24, {bit}\n{}\n", if bit & 1 == 0 { "sts 0x200, r24" } else { "inc r24" })
            }
            Node::Call => *out += "rcall g\n",
            Node::If(bit, a, b) => {
                *out += &format!("sbrs r24, {bit}\nrjmp .E{label}\n");
                write(a, depth, labels, out);
                *out += &format!("rjmp .F{label}\n.E{label}: nop\n");
                write(b, depth, labels, out);
                *out += &format!(".F{label}: nop\n");
            }
            Node::Repeat(count, body) | Node::Break(count, body) => {
                *out += &format!("ldi r{counter}, {count}\n.R{label}: nop\n");
                write(body, depth + 1, labels, out);
                if matches!(node, Node::Break(..)) {
                    *out += &format!("sbrc r24, 3\nrjmp .X{label}\n");
                }
                *out += &format!("dec r{counter}\nbrne .R{label}\n.X{label}: nop\n");
            }
            Node::While(count, body) => {
                *out += &format!("ldi r{counter}, {count}\nrjmp .T{label}\n.W{label}: nop\n");
                write(body, depth + 1, labels, out);
                *out += &format!("subi r{counter}, 1\n.T{label}: cpi r{counter}, 0\nbrne .W{label}\n");
            }
        }
    }
}

/// Executions of every instruction by address.
#[derive(Default)]
struct Count(std::collections::HashMap<u32, u64>);

impl isa::Observer for Count {
    fn fetch(&mut self, _cycle: u64, address: u32) {
        *self.0.entry(address).or_default() += 1;
    }
}

impl isa::avr::Observer for Count {}

proptest! {
    #[test]
    fn bounds_contain_what_the_chip_takes(nodes in tree(), values: [u8; 4]) {
        let mut text = "f: nop\n".to_owned();
        write(&nodes, 0, &mut 0, &mut text);
        text += "ret\ng: sbrc r24, 1\n rjmp .G\n inc r24\n.G: ret\n";
        let program = program(&text);
        let analysis = Analysis::of(&program);
        let time = analysis.times[0].as_ref().expect("its control flow is known");
        let total = time.total.clone().map_err(|fault| TestCaseError::fail(format!("{fault}\n{text}")))?.expect("it returns");
        let mut machine = machine(&program, "f", &Places::new());
        for (register, value) in [22, 24, 26, 27].into_iter().zip(values) {
            machine.chip.set_register(register, value);
        }
        let start = machine.chip.cycle();
        let mut count = Count::default();
        prop_assert_eq!(machine.chip.run_until(100_000_000, &mut count), Stop::Break);
        // Without the call and the break.
        let taken = machine.chip.cycle() - start - 4 - 1;
        prop_assert!(total.best <= taken && taken <= total.worst, "{:?} and {}\n{}", total, taken, text);
        let routine = analysis.routines[0].as_ref().expect("its control flow is known");
        for (id, each) in routine.loops.all.iter().enumerate() {
            let trips = routine.trips[id].as_ref().map_err(|why| TestCaseError::fail(format!("{why}\n{text}")))?;
            let runs = |block: usize| {
                count.0.get(&machine.addresses[routine.cfg.blocks[block].first]).copied().unwrap_or(0)
            };
            let back: u64 = each.latches.iter().map(|&latch| runs(latch)).sum();
            prop_assert!(back <= runs(each.header).max(back));
            if each.parent.is_none() && runs(each.header) > 0 {
                let before: Vec<_> = routine.cfg.blocks[each.header].predecessors.iter().filter(|&&before| !each.contains(before)).collect();
                // Entered by one way that goes nowhere else: entered as often as that block runs.
                if let [before] = before[..] && routine.cfg.blocks[*before].successors.len() == 1 && runs(*before) == 1 {
                    let rounds = runs(each.header);
                    prop_assert!(trips.rounds_min <= rounds && rounds <= trips.rounds_max, "{:?} and {}\n{}", trips, rounds, text);
                }
            }
        }
    }
}
