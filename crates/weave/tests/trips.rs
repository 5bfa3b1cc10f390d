//! How often loops run.

mod assembly;

use assembly::{Places, machine, program};
use isa::avr::Stop;
use proptest::prelude::*;
use weave::cfg::Cfg;
use weave::loops::Loops;
use weave::program::Program;
use weave::registers::Registers;
use weave::trips::{self, Fault, Untold};

fn all(program: &Program) -> Result<(Cfg, Loops, trips::All), Fault> {
    let cfg = Cfg::of(program, &program.functions[0]).expect("its control flow is known");
    let loops = Loops::of(&cfg);
    let trips = trips::of(program, &cfg, &loops, &Registers::of(program))?;
    Ok((cfg, loops, trips))
}

/// The least and most passes of the first loop.
fn passes(text: &str) -> Result<(u64, u64), Untold> {
    let program = program(text);
    let (_, loops, trips) = all(&program).expect("the directives are true");
    trips[0].clone().map(|trips| trips.passes(&loops.all[0]))
}

#[test]
fn the_counters_that_avr_gcc_makes_are_counted() {
    let loops = [
        ("ldi r18, 12\n.L1: dec r18\n brne .L1\n ret", 12),
        ("ldi r18, 0\n.L1: dec r18\n brne .L1\n ret", 256),
        ("ldi r24, 0xe8\n ldi r25, 0x03\n.L1: sbiw r24, 1\n brne .L1\n ret", 1000),
        (
            "ldi r18, 0x40\n ldi r19, 0x0d\n ldi r20, 0x03\n.L1: subi r18, 1\n sbci r19, 0\n sbci r20, 0\n brne .L1\n ret",
            200_000,
        ),
        (
            "ldi r24, 0\n ldi r25, 0\n.L1: nop\n adiw r24, 1\n cp r24, r1\n ldi r18, 1\n cpc r25, r18\n brne .L1\n ret",
            256,
        ),
        (
            "ldi r18, 0\n ldi r19, 0\n.L1: subi r18, -1\n sbci r19, -1\n cpi r18, 8\n cpc r19, r1\n brne .L1\n ret",
            8,
        ),
        ("ldi r18, 3\n.L1: nop\n inc r18\n cpi r18, 200\n brlo .L1\n ret", 197),
        ("ldi r18, -5\n.L1: nop\n inc r18\n cpi r18, 5\n brlt .L1\n ret", 10),
        ("ldi r18, 1\n.L1: nop\n lsl r18\n brcc .L1\n ret", 8),
    ];
    for (text, count) in loops {
        assert_eq!(passes(&format!("f: {text}")), Ok((count, count)), "{text}");
    }
}

#[test]
fn a_masked_counter_is_bounded() {
    let loops = [
        ("andi r24, 7\n.L1: dec r24\n brne .L1\n ret", (1, 256)),
        ("andi r24, 7\n rjmp .L2\n.L1: dec r24\n.L2: cpse r24, r1\n rjmp .L1\n ret", (0, 7)),
        ("andi r24, 7\n cpi r24, 5\n brsh .L1\n ret\n.L1: inc r24\n cpi r24, 8\n brne .L1\n ret", (1, 3)),
        ("andi r24, 7\n cpi r24, 5\n brlo .L1\n ret\n.L1: inc r24\n cpi r24, 8\n brne .L1\n ret", (4, 8)),
        ("andi r24, 7\n cpi r24, 0\n brne .L1\n ret\n.L1: dec r24\n brne .L1\n ret", (1, 7)),
        ("lsr r24\n lsr r24\n lsr r24\n mov r18, r24\n inc r18\n.L1: dec r18\n brne .L1\n ret", (0, 0)),
        (
            "lsr r24\n lsr r24\n lsr r24\n lsr r24\n mov r18, r24\n.L1: inc r18\n cpi r18, 16\n brne .L1\n ret",
            (1, 16),
        ),
    ];
    for (text, bounds) in loops {
        let found = passes(&format!("f: {text}"));
        match bounds {
            (0, 0) => assert!(found.is_err(), "what is added to is not followed: {found:?}"),
            bounds => assert_eq!(found, Ok(bounds), "{text}"),
        }
    }
}

#[test]
fn one_of_two_numbers_is_none_between() {
    let text = |trip: &str| format!("f:\n.L1: nop\n;@weave {trip}\n brne .L1\n ret");
    let program = program(&text("trip 7|11"));
    let (_, _, trips) = all(&program).expect("the directive is true");
    let found = trips[0].clone().expect("a directive says it");
    assert_eq!((found.rounds_min, found.rounds_max, found.between), (7, 11, false));
    assert_eq!((1..=12).filter(|&round| found.may_end(round)).collect::<Vec<_>>(), [7, 11]);
}

#[test]
fn a_pointer_is_counted_to_its_end() {
    let parameter = "f: movw r30, r24\n movw r18, r24\n subi r18, -64\n sbci r19, -1\n.L1: ld r20, Z+
        cp r30, r18\n cpc r31, r19\n brne .L1\n ret";
    assert_eq!(passes(parameter), Ok((64, 64)));
    let symbol = "f: ldi r26, lo8(buffer)\n ldi r27, hi8(buffer)\n.L1: st X+, r1\n st X+, r1
        cpi r26, lo8(buffer+256)\n ldi r18, hi8(buffer+256)\n cpc r27, r18\n brne .L1\n ret";
    assert_eq!(passes(symbol), Ok((128, 128)));
    let wrap = "f: ldi r26, 0\n ldi r27, hi8(page)\n.L1: st X, r26\n inc r26\n brne .L1\n ret";
    assert_eq!(passes(wrap), Ok((256, 256)));
}

#[test]
fn a_counter_on_the_stack_is_counted() {
    let text = "f: push r28\n push r29\n rcall .\n in r28, 0x3d\n in r29, 0x3e\n std Y+2, r1\n std Y+1, r1
        rjmp .L2\n.L3: ldd r24, Y+1\n ldd r25, Y+2\n adiw r24, 1\n std Y+2, r25\n std Y+1, r24
        .L2: ldd r24, Y+1\n ldd r25, Y+2\n cpi r24, -1\n cpc r25, r1\n breq .L3\n brlt .L3\n pop r0\n pop r0
        pop r29\n pop r28\n ret";
    assert_eq!(passes(text), Ok((256, 256)));
}

#[test]
fn an_early_way_out_makes_a_range() {
    let text = "f: ldi r18, 10\n.L1: sbrc r24, 0\n rjmp .L2\n lsr r24\n dec r18\n brne .L1\n.L2: ret";
    assert_eq!(passes(text), Ok((0, 10)));
}

#[test]
fn a_loop_over_a_parameter_is_undecided_and_told_by_a_directive() {
    let text = "f: nop\n.L1: dec r24\n brne .L1\n ret";
    assert_eq!(passes(text), Err(Untold::Undecided { exits: vec![2] }));
    let told = text.replace("brne .L1", "brne .L1 ;@weave trip 1..31");
    assert_eq!(passes(&told), Ok((1, 31)));
    let at_head = "f: nop\n.L1: tst r24 ;@weave trip 0..31\n breq .L2\n dec r24\n rjmp .L1\n.L2: ret";
    assert_eq!(passes(at_head), Ok((0, 31)));
}

#[test]
fn a_directive_that_contradicts_is_a_fault() {
    let program = program("f: ldi r18, 12\n.L1: dec r18\n brne .L1 ;@weave trip 13\n ret");
    let fault = all(&program).map(|_| ()).expect_err("12 is not 13");
    assert_eq!(fault, Fault::Contradiction { point: 2, declared: (13, 13), found: (12, 12) });
    assert_eq!(fault.to_string(), "`trip` says 13, but the loop runs 12 times");
}

#[test]
fn a_directive_outside_loops_is_a_fault() {
    let program = program("f: nop ;@weave trip 3\n ret");
    assert_eq!(all(&program).map(|_| ()), Err(Fault::NoLoop { point: 0 }));
}

#[test]
fn the_bound_of_an_inner_loop_may_vary_with_the_outer() {
    let text = "f: ldi r18, 5\n.L1: mov r19, r18\n.L2: dec r19\n brne .L2\n dec r18\n brne .L1\n ret";
    let program = program(text);
    let (_, loops, trips) = all(&program).expect("there are no directives");
    assert_eq!(trips[0].clone().map(|trips| trips.passes(&loops.all[0])), Ok((5, 5)));
    assert!(matches!(trips[1], Err(Untold::Undecided { .. })));
}

#[test]
fn endless_and_irreducible_loops_say_so() {
    assert_eq!(passes("f: nop\n.L1: rjmp .L1\n ret"), Err(Untold::Endless));
    let text = "f: sbrc r24, 0\n rjmp .L2\n.L1: nop\n.L2: nop\n dec r22\n brne .L1\n ret";
    assert_eq!(passes(text), Err(Untold::Irreducible { points: vec![2, 3] }));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Counters of one to three bytes with any start, step and end: what is counted is what the chip does.
    #[test]
    fn counted_rounds_are_those_of_the_chip(
        start in 0..0x8000_u32, end in 0..0x8000_u32, step in 1..9_u32, bytes in 1..4_usize, down: bool, branch in 0..4_usize,
    ) {
        let byte = |value: u32, index: usize| value >> (8 * index) & 0xff;
        let mut text = "f: ldi r20, 0\n ldi r21, 0\n ldi r22, 0\n".to_owned();
        for index in 0..bytes {
            text += &format!("ldi r{}, {}\n ldi r{}, {}\n", 16 + index, byte(start, index), 24 + index, byte(end, index));
        }
        text += ".L1: subi r20, -1\n sbci r21, -1\n sbci r22, -1\n";
        let by = if down { step } else { step.wrapping_neg() };
        for index in 0..bytes {
            text += &format!("{} r{}, {}\n", if index == 0 { "subi" } else { "sbci" }, 16 + index, byte(by, index));
        }
        for index in 0..bytes {
            text += &format!("{} r{}, r{}\n", if index == 0 { "cp" } else { "cpc" }, 16 + index, 24 + index);
        }
        text += ["brne .L1\n ret", "brlo .L1\n ret", "brge .L1\n ret", "brmi .L1\n ret"][branch];
        let program = program(&text);
        let (_, _, trips) = all(&program).expect("there are no directives");
        let mut machine = machine(&program, "f", &Places::new());
        let stop = machine.chip.run_until(20_000_000, &mut ());
        let rounds = (0..3).map(|index| u64::from(machine.chip.register(20 + index)) << (8 * index)).sum::<u64>();
        match &trips[0] {
            Ok(found) => {
                prop_assert_eq!(stop, Stop::Break);
                prop_assert_eq!((found.rounds_min, found.rounds_max), (rounds, rounds), "{}", text);
            }
            Err(Untold::TooLong { rounds: counted }) => prop_assert!(stop == Stop::Reached || rounds > *counted),
            Err(Untold::Endless | Untold::Undecided { .. }) => prop_assert_eq!(stop, Stop::Reached, "{}", text),
            Err(other) => prop_assert!(false, "{:?}", other),
        }
    }
}
