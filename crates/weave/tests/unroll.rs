//! Loops inside a guest's round: what is left of them when they are written out, and when they cannot be.

use std::fmt::Write;

use expect_test::{Expect, expect};
use isa::avr::CoreType;
use weave::directive::Parameters;
use weave::error::Refusal;
use weave::program::{Flow, Program};
use weave::source::Source;
use weave::unroll::unrolled;

fn written_out(text: &str) -> Result<Program, Refusal> {
    let source = Source::parse("a.s", text).unwrap_or_else(|error| panic!("{error}"));
    let read = Program::read(&[source], &["g"], &Parameters::new(), Some(CoreType::AvrePc2));
    let (program, _) = read.unwrap_or_else(|error| panic!("{error}"));
    unrolled(&program, program.function("g").expect("it was asked for"))
}

/// An instruction a line, jumps with their points, and the events.
fn check(text: &str, expected: Expect) {
    let program = written_out(text).unwrap_or_else(|refusal| panic!("{refusal}"));
    let mut out = String::new();
    for (point, step) in program.code.iter().enumerate() {
        let words = step.instruction.to_string();
        let _ = match step.flow {
            Flow::Jump(to) | Flow::Branch(to) => {
                write!(out, "{point:<3} {} -> {to}", words.split(' ').next().unwrap_or_default())
            }
            _ => write!(out, "{point:<3} {words}"),
        };
        step.directives.iter().for_each(|written| write!(out, " ({})", written.directive).unwrap());
        out.push('\n');
    }
    expected.assert_eq(&out);
}

fn refused(text: &str, words: &str) {
    match written_out(text) {
        Ok(program) => panic!("expected `{words}`, found {} instructions", program.code.len()),
        Err(refusal) => assert!(refusal.to_string().contains(words), "found `{refusal}`, expected `{words}`"),
    }
}

/// Bytes of three bits; `count` begins the inner loop, `end` ends it, `event` is what is said of its event.
fn bits(count: &str, event: &str, end: &str) -> String {
    format!(
        "g: ;@weave clock tx period=60\nbyte: ld r18, Z+\n {count}\nbit: ;@weave event bit {event}\n out 5, r18\n \
         lsr r18\n {end}\n dec r22\n brne byte\n ;@weave over tx\n ret\n"
    )
}

#[test]
fn a_loop_is_written_out_and_its_counter_left_out() {
    check(
        &bits("ldi r19, 3", "at=0 every=20 times=3", "dec r19\n brne bit"),
        expect![[r#"
            0   ld r18, Z+
            1   out 0x05, r18 (event bit at=0)
            2   lsr r18
            3   out 0x05, r18 (event bit at=20)
            4   lsr r18
            5   out 0x05, r18 (event bit at=40)
            6   dec r22
            7   brne -> 0
            8   ret (over tx)
        "#]],
    );
}

#[test]
fn a_counter_that_somebody_reads_stays() {
    check(
        &bits("ldi r19, 2", "at=0 every=20 times=2", "mov r17, r19\n dec r19\n brne bit\n out 6, r19"),
        expect![[r#"
            0   ld r18, Z+
            1   ldi r19, 0x02
            2   out 0x05, r18 (event bit at=0)
            3   lsr r18
            4   dec r19
            5   out 0x05, r18 (event bit at=20)
            6   mov r17, r19
            7   dec r19
            8   out 0x06, r19
            9   dec r22
            10  brne -> 0
            11  ret (over tx)
        "#]],
    );
}

#[test]
fn a_loop_that_tests_at_its_head_and_loops_in_loops_are_written_out() {
    check(
        "g: ;@weave clock tx period=90\nround: ldi r20, 2\nbyte: ldi r19, 0\nbit: cpi r19, 2\n breq done\n \
         ;@weave event bit at=0 every=10 times=2 every=40 times=2\n out 5, r18\n inc r19\n rjmp bit\ndone: \
         ;@weave event stop at=25 every=40 times=2\n out 6, r18\n dec r20\n brne byte\n dec r22\n brne round\n \
         ;@weave over tx\n ret\n",
        expect![[r#"
            0   out 0x05, r18 (event bit at=0)
            1   out 0x05, r18 (event bit at=10)
            2   out 0x06, r18 (event stop at=25)
            3   out 0x05, r18 (event bit at=40)
            4   out 0x05, r18 (event bit at=50)
            5   out 0x06, r18 (event stop at=65)
            6   dec r22
            7   brne -> 0
            8   ret (over tx)
        "#]],
    );
}

#[test]
fn a_bit_is_tested_where_it_was_before_it_was_shifted() {
    let tested = "sbrs r18, 7\n out 5, r21\n lsl r18\n dec r19\n brne bit";
    let tests = |count: &str, event: &str, end: &str| {
        bits(count, event, end).replace("out 5, r18\n lsr r18", "out 5, r20")
    };
    check(
        &tests("ldi r19, 3", "at=0 every=20 times=3", tested),
        expect![[r#"
            0   ld r18, Z+
            1   out 0x05, r20 (event bit at=0)
            2   sbrs r18, 7
            3   out 0x05, r21
            4   out 0x05, r20 (event bit at=20)
            5   sbrs r18, 6
            6   out 0x05, r21
            7   out 0x05, r20 (event bit at=40)
            8   sbrs r18, 5
            9   out 0x05, r21
            10  dec r22
            11  brne -> 0
            12  ret (over tx)
        "#]],
    );
    // Who reads the byte itself needs it shifted.
    check(
        &tests("ldi r19, 2", "at=0 every=20 times=2", &format!("{tested}\n out 6, r18")),
        expect![[r#"
            0   ld r18, Z+
            1   out 0x05, r20 (event bit at=0)
            2   sbrs r18, 7
            3   out 0x05, r21
            4   add r18, r18
            5   out 0x05, r20 (event bit at=20)
            6   sbrs r18, 7
            7   out 0x05, r21
            8   add r18, r18
            9   out 0x06, r18
            10  dec r22
            11  brne -> 0
            12  ret (over tx)
        "#]],
    );
    // No bit is behind the last one.
    let far = tested.replace("r18, 7", "r18, 1");
    check(
        &tests("ldi r19, 3", "at=0 every=20 times=3", &far),
        expect![[r#"
            0   ld r18, Z+
            1   out 0x05, r20 (event bit at=0)
            2   sbrs r18, 1
            3   out 0x05, r21
            4   out 0x05, r20 (event bit at=20)
            5   sbrs r18, 0
            6   out 0x05, r21
            7   add r18, r18
            8   out 0x05, r20 (event bit at=40)
            9   sbrs r18, 0
            10  out 0x05, r21
            11  dec r22
            12  brne -> 0
            13  ret (over tx)
        "#]],
    );
}

#[test]
fn time_that_is_passed_in_a_round_is_left_out_and_before_it_is_not() {
    check(
        "g: ;@weave clock tx period=60\n ldi r19, 9\nfirst: dec r19\n brne first\nround: ;@weave event tx at=0\n \
         out 5, r18\n nop\n nop\n ldi r19, 9\nwait: dec r19\n brne wait\n wdr\n dec r22\n brne round\n ;@weave over tx\n ret\n",
        expect![[r#"
            0   ldi r19, 0x09
            1   dec r19
            2   brne -> 1
            3   out 0x05, r18 (event tx at=0)
            4   wdr
            5   dec r22
            6   brne -> 3
            7   ret (over tx)
        "#]],
    );
}

#[test]
fn a_loop_that_cannot_be_written_out_is_refused() {
    let end = "dec r19\n brne bit";
    let event = "at=0 every=20 times=3";
    refused(&bits("mov r19, r20", event, end), "a.s:5: the loop inside a round has no known end");
    refused(
        &bits("mov r19, r20", event, end),
        "help: load its counter in the round, or write `;@weave trip N`",
    );
    refused(&bits("mov r19, r20", event, "dec r19\n ;@weave trip 2..3\n brne bit"), "runs 2 to 3 times");
    refused(
        &bits("ldi r24, 0xff\n ldi r25, 0x0f", "at=0 every=20 times=4095", "sbiw r24, 1\n brne bit"),
        "runs 4095 times, which are 16380 instructions, expected at most 4096",
    );
    refused(&bits("ldi r19, 3", "at=0", end), "`bit` comes 1 times in a loop that runs 3 times");
    refused(
        &bits("ldi r19, 3", "at=0 every=20 times=2", end),
        "help: write `every=CYCLES times=3` behind its `at`",
    );
    refused(
        &bits("ldi r19, 3", "at=0 every=20 times=3 every=60 times=2", end),
        "`bit` comes 2 times, and no loop inside the round is around it",
    );
    refused(
        &bits("ldi r19, 3", event, "dec r19\n sbrc r19, 7\n rjmp out\n tst r19\n brne bit\nout:"),
        "it skips out of a loop inside a round; a branch says the same",
    );
    // What is said of a loop that nobody can count is believed.
    check(
        &bits("mov r19, r20", "at=0 every=20 times=2", "dec r19\n ;@weave trip 2\n brne bit"),
        expect![[r#"
            0   ld r18, Z+
            1   out 0x05, r18 (event bit at=0)
            2   lsr r18
            3   out 0x05, r18 (event bit at=20)
            4   dec r22
            5   brne -> 0
            6   ret (over tx)
        "#]],
    );
}
