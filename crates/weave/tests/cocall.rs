//! Hosts that ask whether the guest is due, whatever their control flow is: woven, read again and proved.
//!
//! What they compute is compared on a simulator by the command line's tests.

use isa::avr::CoreType;
use weave::directive::Parameters;
use weave::plan::Strategy;
use weave::program::Program;
use weave::proof::{Options, Proof, prove};
use weave::source::Source;
use weave::{Request, Weave, weave};

fn read(text: &str, root: &str) -> Program {
    let source = Source::parse("text.s", text).unwrap_or_else(|error| panic!("{error}"));
    let read = Program::read(&[source], &[root], &Parameters::new(), Some(CoreType::AvrePc2));
    read.unwrap_or_else(|error| panic!("{error}")).0
}

/// A guest with an event at each of these cycles of a round.
fn guest(period_cycles: u32, at: &[u32]) -> String {
    let event = |at: &u32| format!(";@weave event e{at} at={at}\n out 0x18, r25\n com r25\n");
    let events: String = at.iter().map(event).collect();
    format!(
        "g:\n;@weave clock beat period={period_cycles}\n;@weave arguments 1\n1:\n{events} dec r24\n brne 1b\n\
         ;@weave over beat\n ret\n"
    )
}

fn woven(host: &str, guest: &str) -> (Weave, Proof) {
    let (host_program, guest_program) = (read(host, "f"), read(guest, "g"));
    let new = Request::new((&host_program, "f"), (&guest_program, "g"), "both");
    let request = Request { growth_max: 100.0, strategy: Strategy::Cocall, ..new };
    let woven = weave(&request).unwrap_or_else(|refusal| panic!("{refusal}"));
    let program = read(&woven.text, "both");
    let proof = prove(&program, program.function("both").unwrap(), Options::default());
    (woven, proof.unwrap_or_else(|violation| panic!("{violation}\n")))
}

fn is_exact(host: &str, guest: &str) {
    let (_, proof) = woven(host, guest);
    assert!(proof.events.iter().all(|event| matches!(event.deviation, None | Some((0, 0)))));
}

/// As many rounds as a register says, of which each takes as long as data says.
const DATA: &str = "f:\n;@weave arguments 1\n.L1: mov r18, r24\n.L2: lsr r19\n ror r20\n brcs .L3\n adiw r26, 1\n\
                    .L3: dec r18\n brne .L2\n dec r24\n brne .L1\n ret\n";

#[test]
fn loops_that_depend_on_data_keep_every_period() {
    for period_cycles in [60, 61, 130, 262, 263, 1026, 5000] {
        is_exact(DATA, &guest(period_cycles, &[0]));
    }
}

#[test]
fn a_guest_with_several_gaps_goes_on_where_it_was() {
    is_exact(DATA, &guest(300, &[0, 100, 200]));
    is_exact(DATA, &guest(2000, &[0, 3, 100, 600, 606, 610, 1300]));
}

#[test]
fn a_loop_with_two_entries_is_woven() {
    let host = "f:\n;@weave arguments 1\n sbrc r24, 0\n rjmp .L2\n.L1: inc r18\n.L2: inc r19\n dec r24\n brne .L1\n ret\n";
    is_exact(host, &guest(100, &[0]));
}

#[test]
fn flags_that_live_across_a_whole_loop_are_kept() {
    let host = "f:\n;@weave arguments 1\n sec\n.L1: ror r18\n ror r19\n ror r20\n dec r24\n brne .L1\n adc r21, r1\n ret\n";
    is_exact(host, &guest(100, &[0]));
    is_exact(host, &guest(600, &[0]));
}

#[test]
fn a_callee_is_written_once() {
    let host = "f:\n;@weave arguments 1\n.L1: rcall h\n rcall h\n dec r24\n brne .L1\n ret\n\
                h:\n mul r18, r18\n sbrc r0, 3\n inc r19\n mul r19, r0\n clr r1\n ret\n";
    let (woven, _) = woven(host, &guest(130, &[0]));
    let multiplications = woven.text.lines().filter(|line| line.contains("mul ")).count();
    assert_eq!(multiplications, 2);
}

#[test]
fn a_host_that_uses_the_flag_t_keeps_it() {
    let host = "f:\n;@weave arguments 1\n.L1: bst r18, 0\n ror r19\n bld r19, 7\n dec r24\n brne .L1\n ret\n";
    is_exact(host, &guest(130, &[0]));
}

#[test]
fn a_preamble_is_over_before_the_host_begins() {
    let guest = "g:\n;@weave clock frame period=60\n;@weave clock beat period=130\n;@weave arguments 1\n\
                 ;@weave event begin at=0 clock=frame\n out 0x18, r25\n com r25\n\
                 1:\n;@weave event first at=40 clock=frame last\n;@weave event beat at=0 clock=beat\n\
                 out 0x18, r25\n com r25\n dec r24\n brne 1b\n;@weave over beat\n ret\n";
    is_exact(DATA, guest);
}

#[test]
fn a_host_that_uses_all_registers_that_take_constants_moves_one() {
    let constants: String = (16..31).map(|number| format!(" subi r{number}, 1\n")).collect();
    let host =
        format!("f:\n;@weave arguments 1\n.L1:\n{constants} add r31, r30\n dec r24\n brne .L1\n ret\n");
    let (woven, proof) = woven(&host, &guest(130, &[0]));
    assert!(proof.events.iter().all(|event| matches!(event.deviation, None | Some((0, 0)))));
    assert!(woven.text.contains("subi r31, "), "the budget is not in r31:\n{}", woven.text);
}
