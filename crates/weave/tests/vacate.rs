//! Hosts whose registers are moved: which of them are never needed at the same time.

mod assembly;

use assembly::program;
use weave::host;
use weave::vacate::{Move, joined};

fn moves(text: &str) -> Vec<Move> {
    let program = program(text);
    let hosts = host::reached(&program, &program.functions[0]).expect("it is a host");
    joined(&program, &hosts, host::registers(&program, &hosts)).map_or(Vec::new(), |(_, moves)| moves)
}

#[test]
fn a_parameter_that_is_over_leaves_its_register_to_another_value() {
    let found = moves(
        "f: ;@weave returns 0\n mov r19, r24\n ldi r20, 5\n.L1: add r19, r20\n dec r20\n brne .L1
         mov r21, r19\n sts 0x100, r21\n ret",
    );
    assert_eq!(found, [Move { from: 19, to: 21 }, Move { from: 24, to: 20 }]);
}

#[test]
fn what_may_be_a_result_stays() {
    assert_eq!(moves("f: mov r0, r24\n sts 0x100, r0\n ret"), []);
}

#[test]
fn what_lives_across_a_call_is_not_moved_to_what_the_callee_changes() {
    let found = moves(
        "f: ;@weave returns 0\n mov r19, r24\n rcall .L1\n sts 0x100, r19\n ret
         .L1: ldi r20, 1\n sts 0x101, r20\n ret",
    );
    assert_eq!(found, [Move { from: 19, to: 24 }]);
}
