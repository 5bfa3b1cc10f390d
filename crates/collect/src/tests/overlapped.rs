//! A group that is gathered while the one before it is under way.

use super::*;
use crate::commit::Underway;

const NOW: Now = Now { wall_ns: 0, monotonic_ns: 0 };

fn take(collector: &mut Collector<SimDisk, Dice>, event: Event) {
    let Event::Opened(batch) = event else { unreachable!() };
    collector.take(batch);
}

/// Begins a group of one batch, and then takes another one.
fn begin_and_take(
    collector: &mut Collector<SimDisk, Dice>,
    first: &[(u8, u32)],
    second: &[(u8, u32)],
) -> Underway<SimDisk> {
    take(collector, opened(0, first));
    let underway = collector.begin(NOW).expect("the disk works");
    take(collector, opened(1, second));
    underway
}

#[test]
fn a_frame_that_is_under_way_comes_again_and_is_stored_once() {
    let mut collector = collector(&disk(), Limits::default());
    let mut underway = begin_and_take(&mut collector, &[(0, 4), (0, 2)], &[(0, 4), (0, 3)]);
    underway.run();
    let landed = collector.land(underway, || ()).expect("the disk works");
    // The next one begins before this one is answered.
    let mut next = collector.begin(NOW).expect("the disk works");
    let answers = collector.answers(landed).expect("dice never fail");
    assert_eq!(answers.iter().map(said).collect::<Vec<_>>(), [(2, 0, 0, vec![(0, 0, 5)])]);
    assert_eq!(collector.stored(NODE, 0).unwrap().iter().collect::<Vec<_>>(), [2, 4]);
    next.run();
    let landed = collector.land(next, || ()).expect("the disk works");
    let answers = collector.answers(landed).expect("dice never fail");
    assert_eq!(answers.iter().map(said).collect::<Vec<_>>(), [(1, 1, 0, vec![(0, 1, 5)])]);
    assert_eq!(collector.stored(NODE, 0).unwrap().iter().collect::<Vec<_>>(), [2, 3, 4]);
}

#[test]
fn what_was_judged_by_a_group_without_room_is_refused_with_it() {
    let disk = disk();
    let mut collector = collector(&disk, Limits::default());
    run(&mut collector, vec![opened(9, &[(0, 0)]), Event::Commit]);
    let mut underway = begin_and_take(&mut collector, &[(0, 4)], &[(0, 4), (0, 3)]);
    disk.set_room(disk.used_bytes());
    underway.run();
    let landed = collector.land(underway, || ()).expect("it goes on");
    disk.set_room(usize::MAX);
    let mut actions = collector.answers(landed).expect("dice never fail");
    // One more joins the open group, and was judged by nothing that is gone.
    let rest = [opened(2, &[(0, 4)]), Event::Commit];
    actions.extend(rest.into_iter().flat_map(|event| collector.step(NOW, event).unwrap()));
    let is_refused = |action: &Action| match action {
        Action::Send { answer: Answer::Refused { id, status }, .. } => {
            assert_eq!(*status, Refusal::DiskFull.number());
            Some(id.number)
        }
        _ => None,
    };
    assert_eq!(actions.iter().filter_map(is_refused).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(said(&actions[2]), (1, 0, 0, vec![(0, 1, 5)]));
    assert_eq!(collector.stored(NODE, 0).unwrap().iter().collect::<Vec<_>>(), [0, 4]);
}

#[test]
fn a_segment_that_begins_knows_nothing_of_the_group_that_is_gathered() {
    let disk = disk();
    let mut collector = collector(&disk, Limits::default());
    run(&mut collector, vec![opened(9, &[(0, 0)]), Event::Commit]);
    let mut underway = begin_and_take(&mut collector, &[(0, 4)], &[(0, 5)]);
    // The group is written again, to another segment, which begins with what is durable.
    disk.fail_syncs(1);
    underway.run();
    let landed = collector.land(underway, || ()).expect("the second segment works");
    assert_eq!(landed.commit, Commit::Durable);
    drop(collector);
    let again = super::collector(&disk, Limits::default());
    assert_eq!(again.stored(NODE, 0).unwrap().iter().collect::<Vec<_>>(), [0, 4]);
}

#[test]
fn a_change_that_is_given_up_with_its_group_is_told_to_nobody() {
    let disk = disk();
    let ring = ring_with(Some(1), Settings::default(), |_| Ok(Some(4)));
    let mut collector = Collector::open(disk.clone(), ring, Limits::default(), Dice::new(2)).unwrap();
    // The first frame makes a change due, which begins with its group; the second one's batch knows of it.
    let mut underway = begin_and_take(&mut collector, &[(0, 0)], &[(0, 1)]);
    assert_eq!(collector.epochs.pending(NODE), Some(4));
    disk.set_room(disk.used_bytes());
    underway.run();
    collector.land(underway, || panic!("it is not durable")).expect("it goes on");
    assert_eq!((collector.epochs.pending(NODE), collector.epochs.present(NODE)), (None, None));
    disk.set_room(usize::MAX);
    let refused = collector.step(NOW, Event::Commit).unwrap();
    assert!(matches!(refused[..], [Action::Send { answer: Answer::Refused { .. }, .. }]));
    let again = run(&mut collector, vec![opened(2, &[(0, 0)]), Event::Commit]);
    assert_eq!(
        again,
        [(1, 0, 0, vec![(0, 0, 1 + TOLD * 4)])],
        "the same epoch, with a count that was never used"
    );
}

#[test]
fn what_is_durable_and_not_noted_is_refused_and_known_to_the_open_group() {
    let (disk, note) = (disk(), Arc::new(Mutex::new(None)));
    let has_room = Arc::new(AtomicBool::new(false));
    let limits = Limits::default();
    let mut collector =
        anchored::anchored_with_room(&disk, &note, limits, &has_room).expect("the disk works");
    let mut underway = begin_and_take(&mut collector, &[(0, 4)], &[(0, 4), (0, 5)]);
    underway.run();
    let landed = collector.land(underway, || ()).expect("the disk works");
    assert_eq!(landed.commit, Commit::Full, "its reservation is not noted");
    has_room.store(true, Ordering::Relaxed);
    let refused = collector.answers(landed).unwrap();
    assert!(matches!(refused[..], [Action::Send { answer: Answer::Refused { .. }, .. }]));
    let said = run(&mut collector, vec![Event::Commit]);
    assert_eq!(said, [(1, 1, 0, vec![(0, 0, 6)])]);
    assert!(note.lock().unwrap().is_some());
}

#[test]
#[should_panic(expected = "one group is under way at a time")]
fn a_group_waits_until_the_one_before_it_has_landed() {
    let mut collector = collector(&disk(), Limits::default());
    let first = begin_and_take(&mut collector, &[(0, 4)], &[(0, 5)]);
    drop((collector.begin(NOW), first));
}
