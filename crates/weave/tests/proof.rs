//! What the proof accepts and rejects, one fact a test.

mod hand;

use hand::{prove, prove_with};
use weave::proof::{Interrupts, Kind, Options, Proof, Unbounded, Violation, Window};

/// A loop of eight rounds of ten cycles with `body`, six cycles, in each.
fn rounds(body: &str) -> String {
    format!(
        "send:\n;@weave clock tx period=10\n cli\n ldi r24, 8\nagain:\n;@weave event tx at=0\n out 0x0f, r18\n\
         {body}\n dec r24\n brne again\n;@weave over tx\n ret\nwait6:\n rjmp wait4\nwait4:\n rjmp wait2\nwait2:\n ret\n"
    )
}

fn proved(text: &str) -> Proof {
    prove(text).unwrap_or_else(|violation| panic!("{violation}"))
}

fn rejected(text: &str) -> Box<Violation> {
    match prove(text) {
        Err(violation) => violation,
        Ok(proof) => panic!("{proof:#?}"),
    }
}

const SIX: &str = " nop\n nop\n nop\n nop\n nop\n nop";

#[test]
fn rounds_of_one_period_are_proved() {
    let proof = proved(&rounds(SIX));
    assert_eq!((proof.events[0].states, proof.events[0].deviation), (8, Some((0, 0))));
    assert!(matches!(proof.window, Window::Unbounded(Unbounded::Return(_))), "it returns with them off");
}

#[test]
fn both_ways_of_a_branch_must_keep_time() {
    let even = " sbrc r18, 0\n rjmp odd\n nop\n nop\n rjmp both\nodd:\n nop\n nop\nboth:";
    // Skipped 2 + 2 + 2; not skipped 1 + 2 + 2, one short.
    let violation = rejected(&rounds(even));
    assert!(matches!(violation.kind, Kind::Untimely { found: 9, .. }), "{violation}");
    let repaired = even.replace("odd:\n", "odd:\n nop\n");
    proved(&rounds(&repaired));
}

#[test]
fn a_bit_that_was_tested_is_known_afterwards() {
    // The second skip decides like the first: 1 + 2 + 1 + 2, or 2 + 1 + 2 + 1.
    let twice = " sbrs r18, 0\n rjmp a\n nop\na:\n sbrc r18, 0\n rjmp b\n nop\nb:";
    let one = |text: &str| prove(&rounds(text));
    // Ways: clear: 1+2 then skipped 2+1 = 6; set: 2+1 then 1+2 = 6.
    one(twice).unwrap_or_else(|violation| panic!("{violation}"));
}

#[test]
fn an_event_that_no_path_reaches_is_rejected() {
    let text = rounds(SIX).replace(" ret\nwait6", " ret\n;@weave event never at=3 maybe\n nop\n ret\nwait6");
    let violation = rejected(&text);
    assert!(matches!(&violation.kind, Kind::NeverHappens { event, .. } if event == "never"), "{violation}");
}

#[test]
fn an_event_that_a_round_leaves_out_is_rejected_unless_it_may() {
    let body = " sbrc r18, 0\n rjmp odd\n;@weave event mid at=3\n nop\n nop\n rjmp both\nodd:\n nop\n nop\n nop\nboth:";
    let violation = rejected(&rounds(body));
    assert!(matches!(violation.kind, Kind::Missing { expected: 3, .. }), "{violation}");
    let proof = proved(&rounds(&body.replace("at=3", "at=3 maybe")));
    assert!(proof.events[1].maybe);
}

#[test]
fn an_event_on_a_stopped_clock_is_rejected() {
    let text = rounds(SIX).replace(" ldi r24, 8", ";@weave event early at=3\n ldi r24, 8");
    assert!(matches!(rejected(&text).kind, Kind::WhileStopped { .. }));
}

#[test]
fn a_clock_must_be_over_before_the_function_returns() {
    let text = rounds(SIX).replace(";@weave over tx\n", "");
    let violation = rejected(&text);
    // The start, six nops, dec, brne not taken: 8; ret: 12 is past the period.
    assert!(matches!(violation.kind, Kind::NoNextStart { found: 12, .. }), "{violation}");
    let slower = text.replace("period=10", "period=10|20");
    let violation = rejected(&slower);
    assert!(matches!(violation.kind, Kind::LeftRunning { found: 12, .. }), "{violation}");
}

#[test]
fn jitter_is_allowed_and_measured() {
    let body = " nop\n nop\n nop\n nop\n sbrs r18, 0\n nop";
    // 4 + 1 + 1, or 4 + 2: no jitter. With a second nop skipped: 4 + 2, or 4 + 1 + 2.
    proved(&rounds(body));
    let uneven = " nop\n nop\n nop\n sbic 0x16, 0\n rjmp a\na:";
    let violation = rejected(&rounds(uneven));
    assert!(matches!(violation.kind, Kind::Untimely { found: 9, .. }), "{violation}");
    let proof = proved(&rounds(uneven).replace("period=10", "period=10 jitter=1"));
    assert_eq!(proof.events[0].deviation, Some((-1, 0)));
}

#[test]
fn no_more_states_are_visited_than_are_asked_for() {
    let text = rounds(SIX);
    let with = |states_max| prove_with(&text, Options { states_max, ..Options::default() });
    let states = proved(&text).states;
    assert!(with(states).is_ok_and(|proof| proof.states == states));
    let states_max = states - 1;
    let violation = with(states_max).expect_err("one more is needed");
    assert_eq!(violation.kind, Kind::TooManyStates { states_max });
}

#[test]
fn interrupts_must_be_off_while_a_clock_runs() {
    let text = rounds(SIX).replace(" cli\n", "");
    assert!(matches!(rejected(&text).kind, Kind::InterruptsOn { .. }));
    for interrupts in [Interrupts::OffAtEntry, Interrupts::Allowed] {
        prove_with(&text, Options { interrupts, ..Options::default() })
            .unwrap_or_else(|violation| panic!("{violation}"));
    }
    let enabled = rounds(" sei\n nop\n nop\n nop\n nop\n nop");
    assert!(matches!(rejected(&enabled).kind, Kind::InterruptsOn { found: 1, .. }));
    let restored = rounds(" out 0x3f, r5\n nop\n nop\n nop\n nop\n nop");
    assert!(matches!(rejected(&restored).kind, Kind::InterruptsOn { found: 1, .. }));
}

#[test]
fn sreg_that_was_saved_with_interrupts_off_may_be_restored() {
    proved(&rounds(" in r5, 0x3f\n cli\n out 0x3f, r5\n nop\n nop\n nop"));
    proved(&rounds(" in r5, 0x3f\n push r5\n pop r5\n out 0x3f, r5"));
}

#[test]
fn calls_take_their_time_and_return() {
    // rcall 3 + rjmp 2 + ... : call wait2 is 3 + 4 = 7, too long for six.
    let violation = rejected(&rounds(" rcall wait2"));
    assert!(matches!(violation.kind, Kind::NoNextStart { found: 11, .. } | Kind::Untimely { found: 11, .. }));
    let text = rounds(" rcall wait2\n nop").replace("period=10", "period=12");
    assert_eq!(proved(&text).stack.bytes, 2);
    let text = rounds(" rcall wait6").replace("period=10", "period=15");
    proved(&text);
}

#[test]
fn unknown_code_may_be_called_only_while_clocks_are_stopped() {
    let violation = rejected(&rounds(" call elsewhere"));
    assert!(
        matches!(&violation.kind, Kind::UnresolvedCall { callee: Some(name), .. } if name == "elsewhere")
    );
    let violation = rejected(&rounds(" icall"));
    assert!(matches!(&violation.kind, Kind::UnresolvedCall { callee: None, .. }));
    proved(&rounds(SIX).replace(" cli\n", " call elsewhere\n cli\n"));
    // What it did to SREG is not known.
    let after = rounds(SIX).replace(" ldi r24, 8\n", " call elsewhere\n ldi r24, 8\n");
    assert!(matches!(rejected(&after).kind, Kind::InterruptsOn { .. }));
}

#[test]
fn unknown_code_that_is_entered_with_interrupts_off_has_no_longest_window() {
    for end in [" jmp elsewhere\n", " call elsewhere\n sei\n ret\n"] {
        let proof = proved(&rounds(SIX).replacen(" ret\n", end, 1));
        assert!(matches!(proof.window, Window::Unbounded(Unbounded::Call(_))), "{:?}", proof.window);
    }
}

#[test]
fn jumps_through_a_register_go_where_targets_say() {
    let violation = rejected(&rounds(" ijmp"));
    assert_eq!(violation.kind, Kind::UnresolvedJump);
    // A function that nothing else calls would not be read from the text.
    let text = rounds(";@weave targets wait2\n icall").replace(" cli\n", " rcall wait2\n cli\n");
    proved(&text.replace("period=10", "period=11"));
}

#[test]
fn sleep_and_break_are_rejected_while_a_clock_runs() {
    assert!(matches!(rejected(&rounds(" sleep")).kind, Kind::Sleeps { .. }));
    assert!(matches!(
        rejected(&rounds(" sbrc r18, 0\n break\n nop\n nop\n nop\n nop")).kind,
        Kind::Stops { .. }
    ));
}

#[test]
fn a_loop_of_unknown_length_needs_its_trip_count() {
    let text = |trip: &str, period: u32| {
        format!(
            "send:\n;@weave clock tx period={period}\n cli\n ldi r24, 8\nagain:\n;@weave event tx at=0\n out 0x0f, r18\n\
             inner:\n{trip} in r20, 0x16\n tst r20\n brne inner\n dec r24\n brne again\n;@weave over tx\n ret\n"
        )
    };
    // Five runs of four cycles, the last of three; dec, brne, out.
    assert!(matches!(rejected(&text("", 23)).kind, Kind::Untimely { .. } | Kind::NoNextStart { .. }));
    let proof = proved(&text(";@weave trip 5\n", 23));
    assert_eq!((proof.trusted.len(), proof.trusted[0].max), (1, 5));
    let violation = rejected(&text(";@weave trip 4..5\n", 23));
    assert!(matches!(violation.kind, Kind::Untimely { found: 19, .. }), "{violation}");
}

#[test]
fn a_loop_that_runs_one_of_two_numbers_of_times_ends_at_none_between() {
    let text = |trip: &str, count: &str| {
        format!(
            "send:\n;@weave clock tx period=23|31\n cli\n ldi r24, 8\nagain:\n;@weave event tx at=0\n out 0x0f, r18\n\
             {count}inner:\n;@weave {trip}\n dec r20\n nop\n brne inner\n dec r24\n brne again\n;@weave over tx\n ret\n"
        )
    };
    // Five or seven runs of four cycles, the last of three; dec, brne, out.
    let proof = proved(&text("trip 5|7", ""));
    assert!(
        matches!(&proof.trusted[..], [trusted] if (trusted.min, trusted.max, trusted.between) == (5, 7, false))
    );
    assert!(matches!(
        rejected(&text("trip 5..7", "")).kind,
        Kind::Untimely { .. } | Kind::NoNextStart { .. }
    ));
    let violation = rejected(&text("trip 5|7", " ldi r20, 6\n"));
    assert!(matches!(violation.kind, Kind::Trips { found: 6, .. }), "{violation}");
    assert!(violation.to_string().contains("expected 5 or 7"), "{violation}");
    assert!(violation.to_string().contains(" brne inner\n"), "the line is shown: {violation}");
}

#[test]
fn a_test_at_the_head_counts_bodies() {
    let body = " ldi r20, COUNT\n rjmp test\nbody:\n dec r20\ntest:\n;@weave trip 3\n tst r20\n brne body";
    // ldi, rjmp, three times tst brne dec, tst brne.
    let text = |count: &str| rounds(&body.replace("COUNT", count)).replace("period=10", "period=21");
    let proof = proved(&text("3"));
    assert!(proof.trusted.is_empty(), "the counter is known");
    for count in ["2", "4"] {
        let violation = rejected(&text(count));
        assert!(matches!(violation.kind, Kind::Trips { min: 3, max: 3, .. }), "{violation}");
    }
}

#[test]
fn delay_loops_of_every_shape_are_counted() {
    for (body, cycles) in [
        (" ldi r20, 5\n1:\n subi r20, 1\n brne 1b", 1 + 5 * 3 - 1),
        (" ldi r20, 5\n1:\n subi r20, 1\n brcc 1b", 1 + 6 * 3 - 1),
        (" ldi r20, 251\n1:\n inc r20\n brne 1b", 1 + 5 * 3 - 1),
        (" ldi r20, 0x2c\n ldi r21, 1\n1:\n subi r20, 1\n sbci r21, 0\n brne 1b", 2 + 300 * 4 - 1),
        (" clr r30\n clr r31\n1:\n adiw r30, 1\n cpi r30, 10\n cpc r31, r31\n brne 1b", 2 + 10 * 6 - 1),
        (" ldi r20, 1\n1:\n lsl r20\n brcc 1b", 1 + 8 * 3 - 1),
        (" ldi r20, 4\n2:\n ldi r21, 3\n1:\n dec r21\n brne 1b\n dec r20\n brne 2b", 1 + 4 * (1 + 8 + 3) - 1),
        (" ldi r20, 3\n mov r5, r20\n1:\n dec r5\n cpse r5, r6\n rjmp 1b", 0),
    ] {
        let text = rounds(body).replace("period=10", &format!("period={}", 4 + cycles));
        if cycles == 0 {
            rejected(&text); // r6 is not known
        } else {
            proved(&text);
        }
    }
}

#[test]
fn a_return_must_find_its_address_on_top() {
    let violation = rejected(&rounds(" push r18\n nop\n nop\n nop\n nop"));
    assert_eq!(violation.kind, Kind::Unbalanced { bytes: 8 });
    let violation = rejected(&rounds(" pop r18\n nop\n nop\n nop\n nop"));
    assert_eq!(violation.kind, Kind::Underflow);
}

#[test]
fn recursion_is_refused_by_name() {
    let violation = rejected(&rounds(SIX).replace(" cli\n", " rcall send\n cli\n"));
    assert_eq!(violation.kind, Kind::TooDeep);
}

#[test]
fn code_without_a_clock_proves_nothing() {
    assert_eq!(rejected("send:\n ret\n").kind, Kind::NoClock);
    let text = rounds(SIX).replace("event tx at=0", "event tx at=3");
    assert!(matches!(rejected(&text).kind, Kind::NoStart { .. }));
    let text = rounds(SIX).replace("event tx at=0", "event tx at=0 clock=rx");
    assert!(matches!(rejected(&text).kind, Kind::UnknownClock { .. }));
}

#[test]
fn code_that_is_not_timed_is_visited_with_bounded_effort() {
    // 65,536 values of a counter, and a loop without end, before any clock runs.
    let slow = " ldi r24, 0\n ldi r25, 0\n1:\n sbiw r24, 1\n brne 1b\n2:\n sbis 0x16, 0\n rjmp 2b\n cli\n";
    let proof = proved(&rounds(SIX).replace(" cli\n", slow));
    assert!(proof.states < 1_000, "{}", proof.states);
}

#[test]
fn a_violation_prints_its_path() {
    let violation =
        rejected(&rounds(" sbrc r18, 0\n rjmp odd\n nop\n nop\n rjmp both\nodd:\n nop\n nop\nboth:"));
    let words = violation.to_string();
    assert!(
        words.starts_with(
            "hand.s:7: `send`: event `tx` of clock `tx` happens at cycle 9, expected cycle 10\n     out 0x0f, r18\n     \
             ^^^^^^^^^^^^^\npath:\n"
        ),
        "{words}"
    );
    assert!(words.contains("\n  line 8 not taken, cycle 1\n"), "{words}");
    assert_eq!(violation.path.last().unwrap().tau, Some(8));
}

/// Rounds with a server that runs once in each.
fn served(within: u32, body: &str) -> String {
    rounds(body).replace("period=10\n", &format!("period=10\n;@weave server s within={within}\n"))
}

#[test]
fn a_server_runs_often_enough_on_every_path() {
    let body = " nop\n;@weave ran s\n nop\n nop\n nop\n nop\n nop";
    let proof = proved(&served(10, body));
    assert_eq!(proof.servers, [("s".to_owned(), 10, 10)]);
    let violation = rejected(&served(9, body));
    let Kind::Unserved { found, within, .. } = violation.kind else { panic!("{violation}") };
    assert_eq!((found, within), (10, 9));
    // One way around it is enough to be too late: 2 + 2 + 2 either way.
    let around = " sbrc r18, 0\n rjmp a\n;@weave ran s\n nop\n nop\n rjmp b\na:\n nop\n nop\n nop\nb:";
    let violation = rejected(&served(20, around));
    assert!(matches!(violation.kind, Kind::Unserved { within: 20, .. }), "{violation}");
    let nobody = rejected(&rounds(body));
    assert!(matches!(&nobody.kind, Kind::UnknownServer { server } if server == "s"), "{nobody}");
}

/// Bytes of four bits, a bit every five cycles, a byte every 24; `every` is said of the event in the loop.
fn nested(every: &str) -> String {
    format!(
        "send:\n;@weave clock tx period=24\n cli\n ldi r25, 3\nbyte:\n ldi r24, 4\nbit:\n\
         ;@weave event edge at=0 {every}\n out 0x0f, r18\n nop\n dec r24\n brne bit\n\
         nop\n dec r25\n brne byte\n;@weave over tx\n ret\n"
    )
}

#[test]
fn an_event_in_a_loop_inside_a_round_has_an_instant_for_each_run() {
    let proof = proved(&nested("every=5 times=4"));
    let found: Vec<(u32, u64)> = proof.events.iter().map(|event| (event.at, event.states)).collect();
    assert_eq!(found, [(0, 3), (5, 3), (10, 3), (15, 3)]);
    for (every, words) in [
        ("", "happens at cycle 5, expected cycle 24"),
        ("every=5 times=3", "happens at cycle 15, expected cycle 24"),
        ("every=5 times=5", "missing at cycle 22, expected cycle 20"),
        ("every=4 times=4", "happens at cycle 5, expected cycle 4"),
        ("every=1 times=1000", "clock `tx` has 1000 events, expected at most 128"),
        ("every=4294967295 times=4294967295 every=1 times=4294967295", "expected at most 128"),
    ] {
        let violation = rejected(&nested(every)).to_string();
        assert!(violation.contains(words), "{every}: found {violation}, expected {words}");
    }
}

#[test]
fn loops_in_loops_repeat_an_event_by_both() {
    let text = "send:\n;@weave clock tx period=27\n cli\n ldi r23, 3\nround:\n ldi r25, 2\nbyte:\n ldi r24, 2\nbit:\n\
                ;@weave event edge at=0 every=4 times=2 every=12 times=2\n out 0x0f, r18\n dec r24\n brne bit\n\
                nop\n dec r25\n brne byte\n dec r23\n brne round\n;@weave over tx\n ret\n";
    let found: Vec<u32> = proved(text).events.iter().map(|event| event.at).collect();
    assert_eq!(found, [0, 4, 12, 16]);
    rejected(&text.replace("every=12", "every=8"));
}

/// A mark 7 cycles before the first of some rounds; `wait` is between.
fn preamble(wait: &str, last: &str) -> String {
    format!(
        "send:\n;@weave clock tx period=5\n;@weave clock frame period=9\n cli\n ldi r24, 3\n\
         ;@weave event mark at=0 clock=frame\n out 0x0f, r19\n{wait}\nagain:\n;@weave event tx at=0 clock=tx\n\
         ;@weave event first at=7 clock=frame{last}\n out 0x0f, r18\n nop\n dec r24\n brne again\n\
         ;@weave over tx\n ret\n"
    )
}

#[test]
fn a_clock_stops_with_its_last_event_and_minds_it_no_more() {
    let proof = proved(&preamble(SIX, " last"));
    let first = proof.events.iter().find(|event| event.event == "first").unwrap();
    assert_eq!((first.states, first.deviation), (1, Some((0, 0))));
    let violation = rejected(&preamble(&format!("{SIX}\n nop"), " last"));
    assert!(matches!(violation.kind, Kind::Untimely { found: 8, .. }), "{violation}");
    let violation = rejected(&preamble(SIX, ""));
    assert!(matches!(violation.kind, Kind::NoNextStart { found: 11, .. }), "{violation}");
}

/// Asks every four cycles for a byte, reads it `at` cycles after the answer and then every 40 cycles.
fn follower(at: u32, drift: &str) -> String {
    let nops = " nop\n".repeat(at as usize - 4);
    let rest = " nop\n".repeat(36);
    format!(
        "send:\n;@weave clock rx period=40\n;@weave clock lock period=4\n{drift}\n cli\n ldi r24, 3\npoll:\n\
         ;@weave event poll at=0 clock=lock\n in r18, 0x0e\n sbrs r18, 7\n rjmp poll\n{nops}\n nop\nagain:\n\
         ;@weave event byte at=0 clock=rx\n;@weave event first at={at} clock=lock last jitter=0\n\
         in r19, 0x0f\n{rest}\n dec r24\n brne again\n;@weave over rx\n ret\n"
    )
}

#[test]
fn a_clock_that_follows_a_crystal_says_for_how_long() {
    // Half of the period less the four cycles of asking: (40 10^6 - 24 (10^6 + 100)) / (40 100) = 3999.4.
    let proof = proved(&follower(20, ";@weave drift rx ppm=100 rounds=4000"));
    let followed = &proof.followed[0];
    assert_eq!((followed.rounds_max, followed.polled_cycles), (4000, 4));
    for (at, rounds, words) in [
        (20, 4001, "follows a crystal that differs by 100 ppm for 4000 rounds, expected 4001"),
        (36, 2, "for 0 rounds, expected 2"),
        (4, 4000, "for 1000 rounds, expected 4000"),
    ] {
        let violation =
            rejected(&follower(at, &format!(";@weave drift rx ppm=100 rounds={rounds}"))).to_string();
        assert!(violation.contains(words), "{at}: found {violation}, expected {words}");
    }
    // What the sender has nothing to do with may come later.
    let late = |until: &str| {
        let text = follower(20, &format!(";@weave drift rx ppm=100 rounds=4000{until}"));
        text.replacen(" nop\n\n dec r24", ";@weave event own at=36 clock=rx\n nop\n dec r24", 1)
    };
    assert_eq!(proved(&late(" until=0")).followed[0].rounds_max, 4000);
    assert!(matches!(rejected(&late("")).kind, Kind::Drifts { rounds_max: 0, .. }));
    let unpolled = follower(20, ";@weave drift rx ppm=100 rounds=3").replace(" last", "");
    let violation = rejected(&unpolled);
    assert!(matches!(violation.kind, Kind::Unpolled { .. }), "{violation}");
}

/// Sixteen bits of data, each set or clear in the same time.
fn sixteen_bits() -> String {
    let bit = |bit: u32, from: u32, to: u32| format!(" sbrc r{from}, {bit}\n ori r{to}, {}\n", 1 << bit);
    let bits: String = (0..8).map(|number| bit(number, 24, 18) + &bit(number, 25, 19)).collect();
    format!(" clr r18\n clr r19\n{bits}")
}

#[test]
fn what_data_decides_does_not_multiply_the_states() {
    let text = format!(
        "send:\n;@weave clock tx period=42\n cli\nagain:\n;@weave event tx at=0\n out 0x0f, r20\n{} sbrc r18, 7\n nop\n \
         sbrc r19, 7\n nop\n dec r22\n brne again\n;@weave over tx\n ret\n",
        sixteen_bits()
    );
    let states = proved(&text).states;
    // Each of the 65536 values would be a state at the end of a round.
    assert!(states < 3000, "{states} states");
}

#[test]
fn what_was_forgotten_too_early_is_told_apart_in_a_later_try() {
    // A wait of 3 n cycles and one of 3 (255 - n): together always the same, for 256 values of n.
    let bits: String = (0..8).map(|bit| format!(" sbrc r24, {bit}\n ori r18, {}\n", 1 << bit)).collect();
    let text = format!(
        "send:\n;@weave clock tx period=794\n cli\nagain:\n;@weave event tx at=0\n out 0x0f, r20\n clr r18\n{bits} mov r19, r18\n \
         com r19\n subi r18, -1\nfirst: dec r18\n brne first\n subi r19, -1\nsecond: dec r19\n brne second\n dec r22\n \
         brne again\n;@weave over tx\n ret\n"
    );
    proved(&text);
    let late = text.replace("period=794", "period=795");
    assert!(matches!(rejected(&late).kind, Kind::Untimely { .. }));
}

/// The same where interrupts are as they were behind the rounds; `count` sets how many there are.
fn restored(count: &str) -> String {
    let restores = ";@weave over tx\n sbrc r25, 7\n sei\n ret\nwait6";
    rounds(SIX)
        .replace(" cli\n ldi r24, 8\n", &format!(" in r25, 0x3f\n cli\n{count}"))
        .replace(";@weave over tx\n ret\nwait6", restores)
}

#[test]
fn the_window_of_a_known_count_is_one_number() {
    // ldi | 8 * 10 less the branch not taken | sbrc that skips
    assert_eq!(proved(&restored(" ldi r24, 8\n")).window, Window::Cycles(1 + 80 - 1 + 2));
}

#[test]
fn the_window_of_an_unknown_count_grows_with_the_rounds() {
    let window = proved(&restored("")).window;
    // One round less the branch not taken | sbrc that skips
    assert_eq!(window, Window::Rounds { first_cycles: 10 - 1 + 2, further_cycles: 10 });
    assert_eq!(window.cycles(256), Some(11 + 255 * 10));
}

#[test]
fn what_was_on_at_the_entry_may_be_restored_twice() {
    let twice =
        restored("").replace(" sbrc r25, 7\n sei\n", " sbrc r25, 7\n sei\n cli\n sbrc r25, 7\n sei\n");
    // Behind the second `cli` the window is shorter.
    let window = proved(&twice).window;
    assert_eq!(window, Window::Rounds { first_cycles: 10 - 1 + 2, further_cycles: 10 });
}

const RESTORES: &str = " sbrc r25, 7\n sei\n";

#[test]
fn interrupts_are_restored_only_from_where_sreg_was_kept() {
    let at_return = |text: &str| matches!(proved(text).window, Window::Unbounded(Unbounded::Return(_)));
    let instead = |restores: &str| restored(" ldi r24, 8\n").replace(RESTORES, restores);
    let kept = |restores: &str| instead(restores).replace(" cli\n", " sts kept, r25\n cli\n");
    let restores = [
        instead(RESTORES),
        instead(" inc r26\n bst r26, 0\n bld r25, 0\n mov r26, r25\n sbrc r26, 7\n sei\n"),
        instead(" push r25\n clr r25\n pop r26\n lsr r26\n sbrc r26, 6\n sei\n"),
        instead(" sbrs r25, 7\n rjmp off\n sei\noff:\n"),
        instead(" out 0x3f, r25\n"),
        instead(&format!("{RESTORES} clt\n brid 0f\n set\n0: bld r26, 7\n cli\n out 0x3f, r26\n")),
        kept(&format!(" clr r25\n sts other, r25\n lds r25, kept\n{RESTORES}")),
    ];
    for text in restores {
        assert!(
            matches!(proved(&text).window, Window::Cycles(80..=100)),
            "{:?} of {text}",
            proved(&text).window
        );
    }
    let leaves = [
        instead(&RESTORES.replace("r25", "r26")),
        instead(&RESTORES.replace("7", "6")),
        instead(&format!(" swap r25\n{RESTORES}")),
        instead(&format!(" com r25\n{RESTORES}")),
        instead(&format!(" bst r26, 0\n bld r25, 7\n{RESTORES}")),
        instead(&format!(" in r25, 0x3f\n{RESTORES}")),
        kept(&format!(" sts kept, r26\n lds r25, kept\n{RESTORES}")),
        kept(&format!(" lds r25, kept + 1\n{RESTORES}")),
        instead(&format!(" sts kept, r26\n lds r25, kept\n{RESTORES}")),
    ];
    for text in leaves {
        assert!(at_return(&text), "{:?} of {text}", proved(&text).window);
    }
}

#[test]
fn a_wait_with_interrupts_off_is_bounded_whatever_data_is_about() {
    // Four bits of data that still decide something, and a wait of 200 times 3 cycles.
    let bits: String = (0..4)
        .map(|bit| format!(" bst r20, {bit}\n brtc skip{bit}\n sbr r21, {}\nskip{bit}:", 1 << bit))
        .collect();
    let asks: String = (0..4).map(|bit| format!(" sbrc r21, {bit}\n nop\n")).collect();
    let waits = format!(" clr r21\n{bits} ldi r23, 200\nwait:\n dec r23\n brne wait\n{asks}{RESTORES}");
    let text = restored(" ldi r24, 8\n").replace(RESTORES, &waits);
    let window = proved(&text).window;
    assert!(matches!(window, Window::Cycles(680..=760)), "{window:?}");
    let data = text.replace(" ldi r23, 200\n", "");
    assert!(matches!(proved(&data).window, Window::Unbounded(Unbounded::Loop(_))));
}

#[test]
fn a_loop_that_no_clock_counts_has_no_longest_window() {
    let text = restored("again0:\n dec r23\n brne again0\n");
    assert!(matches!(proved(&text).window, Window::Unbounded(Unbounded::Loop(_))));
}
