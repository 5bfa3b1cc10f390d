//! Guests of every shape, woven into one small host: what comes out is proved, or the refusal says why.

use isa::avr::CoreType;
use weave::directive::Parameters;
use weave::error::Refusal;
use weave::plan::Strategy;
use weave::program::Program;
use weave::proof::{self, Options, Proof};
use weave::source::Source;
use weave::{Request, weave};

const HOST: &str = "h: ;@weave arguments 1\n mov r25, r24\n1: lsr r25\n eor r24, r25\n brne 1b\n ret\n";

fn program(text: &str, root: &str) -> Program {
    let source = Source::parse("a.s", text).unwrap_or_else(|error| panic!("{error}"));
    let read = Program::read(&[source], &[root], &Parameters::new(), Some(CoreType::AvrePc2));
    read.unwrap_or_else(|error| panic!("{error}")).0
}

fn woven(guest: &str) -> Result<Proof, Refusal> {
    let (host_program, guest_program) = (program(HOST, "h"), program(guest, "g"));
    let new = Request::new((&host_program, "h"), (&guest_program, "g"), "both");
    let request = Request { growth_max: 12.0, strategy: Strategy::Interleave, ..new };
    let text = weave(&request)?.text;
    let program = program(&text, "both");
    let function = program.function("both").expect("it is in the text");
    Ok(proof::prove(&program, function, Options::default())
        .unwrap_or_else(|violation| panic!("{violation}\n{text}")))
}

/// Rounds of 40 cycles with `body` behind their first event; r18 and r22 are the guest's parameters.
fn rounds(body: &str) -> String {
    format!(
        "g: ;@weave clock tx period=40\n;@weave arguments 1 1\nagain: ;@weave event start at=0\n out 5, r24\n\
         {body}\n dec r22\n brne again\n;@weave over tx\n ret\n"
    )
}

/// The instants of the events, each with whether a round may be without it.
fn instants(proof: &Proof) -> Vec<(&str, u32, bool)> {
    proof.events.iter().map(|event| (event.event.as_str(), event.at, event.maybe)).collect()
}

fn refused(guest: &str, words: &str) {
    match woven(guest) {
        Ok(proof) => panic!("expected `{words}`, found {:?}", instants(&proof)),
        Err(refusal) => assert!(refusal.to_string().contains(words), "found `{refusal}`, expected `{words}`"),
    }
}

const ARMS: &str = " sbrs r24, 0\n rjmp low\n";

#[test]
fn either_arm_of_a_conditional_may_have_the_event_at_one_instant() {
    // The arm that is there earlier waits.
    let body = " tst r24\n breq low\n swap r24\n swap r24\n ;@weave event edge at=20\n out 6, r24\n rjmp on\n\
                low: ;@weave event edge at=20\n out 7, r24\n com r24\non:";
    let proof = woven(&rounds(body)).unwrap_or_else(|refusal| panic!("{refusal}"));
    assert_eq!(instants(&proof), [("start", 0, false), ("edge", 20, false)]);
    refused(&rounds(&body.replacen("at=20", "at=21", 1)), "its arms have events at different instants");
    refused(
        &rounds(&body.replacen("com r24", ";@weave event more at=30\n out 8, r24", 1)),
        "two events in one arm",
    );
}

#[test]
fn an_event_that_one_arm_has_is_maybe() {
    let body =
        " tst r24\n breq low\n swap r24\n rjmp on\nlow: ;@weave event edge at=20 maybe\n out 7, r24\non:";
    let proof = woven(&rounds(body)).unwrap_or_else(|refusal| panic!("{refusal}"));
    assert_eq!(instants(&proof), [("start", 0, false), ("edge", 20, true)]);
    refused(&rounds(&body.replace(" maybe", "")), "one of its arms has an event and the other has not");
}

#[test]
fn an_event_that_a_skip_passes_over_is_maybe() {
    let body = " sbrs r24, 0\n ;@weave event edge at=20 maybe\n out 7, r24";
    let proof = woven(&rounds(body)).unwrap_or_else(|refusal| panic!("{refusal}"));
    assert_eq!(instants(&proof), [("start", 0, false), ("edge", 20, true)]);
    refused(&rounds(&body.replace(" maybe", "")), "it skips an event that is not `maybe`");
    refused(&rounds(&format!("{ARMS} nop\nlow:")), "it skips a jump; a branch says the same");
}

#[test]
fn events_that_a_status_bit_joins_wait_for_each_other() {
    // Z lives from `tst` over both events to the branch.
    let body = " tst r24\n ;@weave event one at=10\n out 6, r24\n ;@weave event two at=16\n out 7, r24\n breq low\n nop\nlow:";
    let proof = woven(&rounds(body)).unwrap_or_else(|refusal| panic!("{refusal}"));
    assert_eq!(instants(&proof), [("start", 0, false), ("one", 10, false), ("two", 16, false)]);
    refused(
        &rounds(&body.replace("at=16", "at=10")),
        "two events that a status bit joins are too near to each other, by ",
    );
}

#[test]
fn a_preamble_is_at_exact_cycles_before_the_rounds() {
    let guest = |mark: u32, first: u32| {
        format!(
            "g: ;@weave clock frame period=2000\n;@weave clock tx period=40\n;@weave arguments 1 1\n tst r22\n breq end\n\
             ;@weave event break at=0 clock=frame\n out 6, r24\n com r24\n\
             ;@weave event mark at={mark} clock=frame\n out 6, r24\nagain: ;@weave event start at=0 clock=tx\n\
             ;@weave event first at={first} clock=frame last\n out 5, r24\n dec r22\n brne again\n\
             end: ;@weave over tx\n ret\n"
        )
    };
    let proof = woven(&guest(1500, 1700)).unwrap_or_else(|refusal| panic!("{refusal}"));
    let expected = [("break", 0, false), ("mark", 1500, false), ("first", 1700, false), ("start", 0, false)];
    assert_eq!(instants(&proof), expected);
    refused(&guest(1, 1700), "what happens before its rounds comes too late, by 1 cycle");
    refused(&guest(1500, 1500), "comes too late, by ");
    refused(&guest(1500, 1700).replace(" clock=tx", ""), "it names no clock, and there are several");
    refused(
        &rounds(" nop").replace("again:", " ;@weave event early at=3\n nop\nagain:"),
        "an event outside the rounds",
    );
}

#[test]
fn a_jump_to_the_next_instruction_passes_time_where_a_guest_polls() {
    let guest = |waits: &str, ask_cycles: u32| {
        format!(
            "g: ;@weave clock poll period={ask_cycles}\n;@weave clock tx period=40\n;@weave arguments 1 1\n\
             ask: ;@weave event ask at=0 clock=poll\n in r24, 6\n{waits}\n sbrs r24, 7\n rjmp ask\n\
             again: ;@weave event first at=30 clock=poll last\n;@weave event start at=0 clock=tx\n out 5, r18\n\
             rjmp .+0\n dec r22\n brne again\n;@weave over tx\n ret\n"
        )
    };
    for (waits, ask_cycles) in [("", 4), (" rjmp .+0", 6), (" rjmp .+0\n rjmp on\non: nop", 9)] {
        woven(&guest(waits, ask_cycles)).unwrap_or_else(|refusal| panic!("{refusal}"));
    }
}
