//! What a refusal names works: the period that it says is woven and proved, and the one below is not.

use isa::avr::CoreType;
use weave::directive::Parameters;
use weave::error::Refusal;
use weave::plan::Strategy;
use weave::program::Program;
use weave::proof::{Options, prove};
use weave::source::Source;
use weave::{Request, weave};

fn read(text: &str, root: &str) -> Program {
    let source = Source::parse("text.s", text).unwrap_or_else(|error| panic!("{error}"));
    let read = Program::read(&[source], &[root], &Parameters::new(), Some(CoreType::AvrePc2));
    read.unwrap_or_else(|error| panic!("{error}")).0
}

/// Weaves them, and proves what comes out.
fn woven(host: &str, guest: &str, strategy: Strategy) -> Result<(), Refusal> {
    let (host_program, guest_program) = (read(host, "f"), read(guest, "g"));
    let new = Request::new((&host_program, "f"), (&guest_program, "g"), "both");
    let text = weave(&Request { growth_max: 100.0, strategy, ..new })?.text;
    let program = read(&text, "both");
    let proof = prove(&program, program.function("both").expect("it is written"), Options::default());
    proof.unwrap_or_else(|violation| panic!("{violation}\n{text}"));
    Ok(())
}

/// Hosts that need more and more time in one piece, or leave fewer and fewer registers.
fn hosts() -> Vec<(&'static str, String)> {
    let function = |body: &str| format!("f:\n;@weave arguments 1\n{body} ret\n");
    let using = |but: &[u8]| -> String {
        let used = (0..32).filter(|number| *number != 1 && !but.contains(number));
        used.map(|number| format!(" push r{number}\n pop r{number}\n")).collect()
    };
    vec![
        ("nothing", function("")),
        ("a loop", function("1: lsr r24\n brne 1b\n")),
        ("a carry", function(" sec\n1: ror r18\n ror r19\n dec r24\n brne 1b\n adc r19, r18\n")),
        ("a call", function("1: rcall h\n dec r24\n brne 1b\n") + "h: inc r25\n ret\n"),
        ("no register", function(&using(&[]))),
        (
            "no register and a carry",
            function(&format!("{} sec\n1: ror r18\n ror r19\n dec r24\n brne 1b\n", using(&[]))),
        ),
    ]
}

const TOGGLES: &str = "1:\n;@weave event beat at=0\n sbi 0x18, 0\n dec r24\n brne 1b\n";
const SENDS: &str = " movw r30, r24\n ld r18, Z+\n1:\n;@weave event beat at=0\n out 0x0f, r18\n dec r22\n breq 2f\n\
                     ld r18, Z+\n rjmp 1b\n2:\n";
const COMPUTES: &str =
    "1:\n;@weave event beat at=0\n out 0x18, r25\n com r25\n swap r25\n andi r25, 7\n dec r24\n brne 1b\n";

fn guest(rounds: &str, period_cycles: u32) -> String {
    let arguments = if rounds == SENDS { "2 1" } else { "1" };
    format!(
        "g:\n;@weave clock beat period={period_cycles}\n;@weave arguments {arguments}\n{rounds};@weave over beat\n ret\n"
    )
}

/// The smallest period that is named for one that is too short.
fn named(host: &str, rounds: &str, period_cycles: u32) -> Option<u32> {
    match woven(host, &guest(rounds, period_cycles), Strategy::Auto) {
        Err(Refusal::ImpossiblePeriod { smallest_cycles, .. } | Refusal::NoRoom { smallest_cycles, .. }) => {
            Some(smallest_cycles.expect("it is not far away"))
        }
        Err(refusal) => panic!("{refusal}"),
        Ok(()) => None,
    }
}

#[test]
fn the_smallest_period_that_is_named_works_and_the_one_below_does_not() {
    let mut seen = 0;
    for (what, host) in hosts() {
        // Borrowed registers take time.
        let from = if what.starts_with("no register") { 40 } else { 3 };
        for rounds in [TOGGLES, SENDS, COMPUTES] {
            let Some(smallest) = named(&host, rounds, from) else { continue };
            let below = woven(&host, &guest(rounds, smallest - 1), Strategy::Auto);
            assert!(below.is_err(), "{what}: {smallest} is named, and less works\n{rounds}");
            assert_eq!(named(&host, rounds, smallest), None, "{what}\n{rounds}");
            println!("{what}: {smallest} cycles");
            seen += 1;
        }
    }
    assert!(seen > 12, "{seen} periods are named: the test does not bite");
}

#[test]
fn a_gap_of_as_many_cycles_as_a_refusal_names_is_enough() {
    for (what, host) in &hosts()[..4] {
        for rounds in [TOGGLES, SENDS, COMPUTES] {
            let refused =
                |period_cycles: u32| match woven(host, &guest(rounds, period_cycles), Strategy::Cocall) {
                    Err(Refusal::NoGap { found_cycles, needed_cycles, .. }) => {
                        Some((found_cycles, needed_cycles))
                    }
                    Err(refusal) => panic!("{what}: {refusal}"),
                    Ok(()) => None,
                };
            let (found, needed) = refused(24).expect("so short a period is refused");
            let smallest = 24 + needed - found;
            assert_eq!(refused(smallest - 1), Some((needed - 1, needed)), "{what}\n{rounds}");
            assert_eq!(refused(smallest), None, "{what}\n{rounds}");
            println!("{what}: {needed} cycles");
        }
    }
}
