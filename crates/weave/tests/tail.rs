//! Tail calls as calls: what a program is in which no function goes on in another.

use isa::avr::{CoreType, Opcode};
use weave::directive::Parameters;
use weave::program::{Callee, Flow, Program};
use weave::source::Source;
use weave::tail;

fn called(text: &str) -> (Program, Option<Program>) {
    let source = Source::parse("f.s", text).expect("it parses");
    let read = Program::read(&[source], &["f"], &Parameters::new(), Some(CoreType::AvrePc2));
    let program = read.expect("it reads").0;
    let made = tail::called(&program, program.function("f").expect("it is a root"));
    (program, made)
}

fn functions(program: &Program) -> Vec<(&str, Vec<(Opcode, Flow)>)> {
    let code = |function: &weave::program::Function| {
        let steps = &program.code[function.entry..function.end];
        steps.iter().map(|step| (step.instruction.opcode, step.flow.clone())).collect()
    };
    program.functions.iter().map(|function| (function.name.as_str(), code(function))).collect()
}

#[test]
fn a_jump_out_of_a_function_is_a_call_and_a_return_behind_it() {
    let (_, made) = called(
        "\t.type f, @function\nf:\n\tsbrc r24, 0\n\trjmp g\n\tinc r24\n\tjmp h\n\t.size f, .-f\n\
         \t.type g, @function\ng:\n\tret\n\t.size g, .-g\n",
    );
    let made = made.expect("it has tail calls");
    let [(_, f), (_, g)] = &functions(&made)[..] else { panic!("two functions") };
    let expected = [
        (Opcode::Sbrc, Flow::Skip),
        (Opcode::Rjmp, Flow::Jump(6)),
        (Opcode::Inc, Flow::Next),
        (Opcode::Jmp, Flow::Jump(4)),
        (Opcode::Rcall, Flow::Call(Callee::Unknown("h".to_owned()))),
        (Opcode::Ret, Flow::Return),
        (Opcode::Rcall, Flow::Call(Callee::Known(8))),
        (Opcode::Ret, Flow::Return),
    ];
    assert_eq!((&f[..], &g[..]), (&expected[..], &[(Opcode::Ret, Flow::Return)][..]));
}

#[test]
fn code_that_runs_on_into_the_next_function_calls_it_and_returns() {
    let (_, made) = called(
        "\t.type f, @function\nf:\n\tinc r24\n\t.size f, .-f\n\t.type g, @function\ng:\n\tret\n\t.size g, .-g\n",
    );
    let made = made.expect("it has a tail call");
    let [(_, f), _] = &functions(&made)[..] else { panic!("two functions") };
    let opcodes: Vec<Opcode> = f.iter().map(|(opcode, _)| *opcode).collect();
    assert_eq!(opcodes, [Opcode::Inc, Opcode::Rcall, Opcode::Ret]);
    assert_eq!((&f[0].1, &f[1].1), (&Flow::Next, &Flow::Call(Callee::Known(3))));
}

#[test]
fn a_program_without_tail_calls_stays_as_it_is() {
    let (_, made) = called("\t.type f, @function\nf:\n1:\tdec r24\n\tbrne 1b\n\tret\n\t.size f, .-f\n");
    assert!(made.is_none());
}
