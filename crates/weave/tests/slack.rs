//! What guests leave idle.

mod assembly;

use assembly::program;
use weave::analysis::{self, Analysis};
use weave::slack::{self, Fault, Slack};

fn of(text: &str) -> Result<Vec<Slack>, Fault> {
    let program = program(text);
    let analysis = Analysis::of(&program);
    let (routine, time) = (analysis.routines[0].as_ref(), analysis.times[0].as_ref());
    slack::of(&program, &program.functions[0], routine.expect("it is known"), time.expect("it is known"))
}

/// From, to, due, idle.
type Line = (usize, Option<usize>, Option<u32>, Option<(i64, i64)>);

fn gaps(slack: &Slack) -> Vec<Line> {
    slack.gaps.iter().map(|gap| (gap.from, gap.to, gap.due_cycles, gap.idle_cycles())).collect()
}

#[test]
fn a_bytewise_guest_is_idle_for_the_rest_of_its_period() {
    let text = ";@weave clock tx period=130
f: movw r30, r24
.L1: ld r0, Z+
 out 0x0f, r0 ;@weave event tx at=0
 dec r22
 brne .L1 ;@weave trip 1..255
 ;@weave over tx
 ret";
    let found = of(text).expect("it has slack");
    // brne taken 2, dec 1, ld 2, out 1.
    assert_eq!(gaps(&found[0]), [(0, Some(0), Some(130), Some((124, 124))), (0, None, None, None)]);
    assert_eq!(found[0].gaps[1].busy.worst, 2);
    assert_eq!(found[0].rounds, [found[0].gaps[0].clone()]);
    assert_eq!(found[0].period_cycles_min(), 6);
}

#[test]
fn gaps_between_several_events_have_their_own_idle_time_and_jitter() {
    let text = ";@weave clock bit period=20 jitter=1
f: nop
.L1: sbi 0x18, 0 ;@weave event rise at=0
 sbrs r24, 7
 cbi 0x18, 0 ;@weave event zero at=6 maybe
 lsl r24
 cbi 0x18, 0 ;@weave event fall at=13 jitter=0
 dec r22
 brne .L1 ;@weave trip 8
 ret";
    let found = of(text).expect("it has slack");
    let idle = gaps(&found[0]);
    assert_eq!(
        idle,
        [
            (0, Some(1), Some(6), Some((3, 3))),
            (0, Some(2), Some(13), Some((8, 8))),
            (1, Some(2), Some(7), Some((4, 4))),
            (2, Some(0), Some(7), Some((2, 2))),
            (2, None, None, None),
        ]
    );
    let round = &found[0].rounds[0];
    assert_eq!((round.busy.best, round.busy.worst, round.busy.jitter_cycles()), (10, 11, 1));
    assert_eq!(found[0].events.iter().map(|event| event.jitter).collect::<Vec<_>>(), [1, 1, 0]);
}

#[test]
fn a_wait_between_events_is_counted_and_an_endless_one_refused() {
    let text = ";@weave clock c period=100
f: nop
.L1: out 0x0f, r1 ;@weave event e at=0
 ldi r18, 10
.L2: dec r18
 brne .L2
 rjmp .L1";
    // ldi 1, 9 rounds of 3, one of 2, rjmp 2, out 1.
    assert_eq!(of(text).expect("it has slack")[0].gaps[0].idle_cycles(), Some((67, 67)));
    let polled =
        text.replace("ldi r18, 10", "nop").replace("dec r18", "sbis 0x0e, 7").replace("brne", "rjmp");
    assert!(matches!(of(&polled), Err(Fault::Time(analysis::Fault::Unbounded { .. }))));
}

#[test]
fn a_loop_round_events_that_can_miss_them_all_is_unbounded() {
    let text = ";@weave clock c period=100
f: nop
.L1: sbrc r24, 0
 out 0x0f, r1 ;@weave event e at=0
 dec r22
 brne .L1
 ret";
    assert!(matches!(of(text), Err(Fault::Time(analysis::Fault::Unbounded { point: 1, .. }))));
}

#[test]
fn events_out_of_order_and_of_no_clock_are_faults() {
    let text = ";@weave clock c period=100
f: out 0x0f, r1 ;@weave event a at=0
 out 0x0f, r1 ;@weave event b at=20
 out 0x0f, r1 ;@weave event c at=10
 ret";
    assert_eq!(of(text), Err(Fault::Order { from: 1, to: 2 }));
    let nameless = "f: out 0x0f, r1 ;@weave event a at=0\n ret";
    assert_eq!(of(nameless), Err(Fault::NoClock { point: 0, name: None }));
}
