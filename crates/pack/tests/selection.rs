//! What is packed and what stays: functions that save too little in any one training run, functions and sections that
//! were named, and images that would not gain, by either packer; and that what stays is what it was.

mod corpus;
mod rv32;

use pack::canonical::canonical;
use pack::chain;
use pack::check::check;
use pack::code::dict;
use pack::flow::{Choice, Flow};
use pack::packing::{Nothing, Packed, Report};
use pack::place::Order;
use pack::profile::Training;
use pack::program::Function;
use pack::sweep::{Ran, as_it_is};
use pack::tune::{self, Effort, Goal};
use pack::{Image, Profile, Program, Settings, pack};
use rv32::{CODE, linked, word_of};

/// What an instruction is repeated by, of which a dictionary of one entry is.
const COMMON: &str = "addi s4, s4, 1";
/// The numbers of the words at which the three functions begin.
const FUNCTIONS: [u32; 3] = [0, 61, 106];

/// Three functions. The first has nothing but common instructions; the second has many that no training run need come
/// to, and four of its own; the third has none that are common.
fn program() -> Program {
    let mut lines = vec![COMMON.to_owned(); 60];
    lines.push("ret".to_owned());
    lines.extend((0..4).map(|number| format!("addi a0, a1, {}", 100 + number)));
    lines.extend(vec![COMMON.to_owned(); 40]);
    lines.push("ret".to_owned());
    lines.extend((0..6).map(|number| format!("addi a2, a3, {}", 200 + number)));
    lines.push("ret".to_owned());
    let words: Vec<u32> = lines.iter().map(|line| word_of(line)).collect();
    assert_eq!(words.len(), 113);
    linked(&words, &FUNCTIONS)
}

/// A run that executes so many words from a number on.
fn executed(words: std::ops::Range<u32>) -> Profile {
    Profile::new(words.map(|word| (CODE + 4 * word, 1000)))
}

/// Whether each function has a packet of several instructions.
fn packed(image: &Image) -> [bool; 3] {
    let ends = [FUNCTIONS[1], FUNCTIONS[2], 113];
    [0, 1, 2].map(|number| {
        let olds = CODE + 4 * FUNCTIONS[number]..CODE + 4 * ends[number];
        image.map.iter().any(|moved| olds.contains(&moved.old) && moved.new & 3 != 0)
    })
}

fn settings(least_saving_percent: u8, choice: Choice) -> Settings {
    Settings { entries: 1, least_saving_percent, choice, ..Settings::default() }
}

fn image(profiles: &[Profile], settings: &Settings) -> Image {
    let program = program();
    let packed = pack(&program, profiles, settings).expect("it can be packed");
    assert_eq!(packed.report.nothing, None);
    assert_eq!(check(&program, &packed.image, &settings.choice), Ok(Vec::new()));
    packed.image
}

#[test]
fn a_function_that_saves_too_little_in_one_training_run_stays_in_all() {
    // Both execute the first function; the second run comes to what of the second function is not common.
    let (first, second) = (executed(0..60), executed(0..65));
    let asked =
        |percent, profiles: &[Profile]| packed(&image(profiles, &settings(percent, Choice::default())));
    // The run that executes the second function fetches nothing less of it.
    assert_eq!(asked(10, std::slice::from_ref(&first)), [true, true, false]);
    assert_eq!(asked(10, &[first.clone(), second.clone()]), [true, false, false]);
    assert_eq!(asked(10, &[second.clone(), first.clone()]), [true, false, false]);
    // The same by default; unless that is enough.
    let default = Settings::default().least_saving_percent;
    assert_eq!(asked(default, &[first.clone(), second.clone()]), [true, false, false]);
    assert_eq!(asked(0, &[first.clone(), second]), [true, true, false]);
    // A run that executes all of it fetches less.
    assert_eq!(asked(10, &[first, executed(61..106)]), [true, true, false]);
}

#[test]
fn an_image_stays_as_it_is_when_one_of_two_runs_that_pull_apart_gains_nothing() {
    let program = program();
    // One run has nothing but common instructions, the other one none. The image is smaller for both.
    let (gains, gains_nothing) = (executed(0..60), executed(106..112));
    let asked = |percent, profiles: &[Profile]| {
        let settings = Settings { least_saving_percent: percent, ..settings(0, Choice::default()) };
        pack(&program, profiles, &settings).expect("it can be packed")
    };
    let default = Settings::default().least_saving_percent;
    assert_eq!(asked(default, std::slice::from_ref(&gains)).report.nothing, None);
    for profiles in [[gains.clone(), gains_nothing.clone()], [gains_nothing, gains]] {
        let packed = asked(default, &profiles);
        assert_eq!(packed.report.nothing, Some(Nothing::NoGain));
        assert_eq!(packed.image, rv32::unpacked(&program));
        // Where it is enough that no run fetches more, it is packed, and none does.
        let Report { nothing, fetches, .. } = asked(0, &profiles).report;
        assert_eq!(nothing, None);
        assert_eq!(fetches.iter().filter(|fetches| fetches.packed == fetches.plain).count(), 1);
        assert!(fetches.iter().all(|fetches| fetches.packed <= fetches.plain), "{fetches:?}");
    }
    // A run that executes nothing of it says nothing.
    assert_eq!(asked(default, &[executed(200..210)]).report.nothing, None);
}

#[test]
fn a_function_must_save_so_many_of_its_words() {
    // The second one has 45 words, of which 40 become 10 at best.
    for (percent, expected) in [(10, true), (60, true), (67, false), (70, false)] {
        let found = packed(&image(&[], &settings(percent, Choice::default())));
        assert_eq!(found, [true, expected, false], "{percent} %");
    }
}

#[test]
fn functions_that_are_named_are_packed_or_left_as_they_were() {
    let names = |numbers: &[u32]| numbers.iter().map(|number| format!("f{number}")).collect::<Vec<_>>();
    let exclude = Choice { exclude: names(&[0]), ..Choice::default() };
    let include = Choice { include: names(&[61]), ..Choice::default() };
    let both = Choice { include: names(&[0, 61]), exclude: names(&[0]), ..Choice::default() };
    for choice in [exclude, include, both] {
        let image = image(&[], &settings(0, choice.clone()));
        assert_eq!(packed(&image), [false, true, false], "{choice:?}");
        // The words of the first one, which has no address of code, stand there as they were.
        let text = &image.sections[0];
        let kept = (0..60).all(|word| text.word(image.target, CODE + 4 * word) == Some(word_of(COMMON)));
        assert!(kept, "{choice:?}");
    }
}

#[test]
fn a_function_without_a_length_goes_on_to_the_next_one_or_to_the_end() {
    // Two functions of common instructions alone, whose symbols say no length.
    let mut words = vec![word_of(COMMON); 40];
    words.push(word_of("ret"));
    words.extend(vec![word_of(COMMON); 40]);
    words.push(word_of("ret"));
    let program = linked(&words, &[0, 41]);
    for (name, packed) in [("f0", [false, true]), ("f41", [true, false])] {
        let choice = Choice { exclude: vec![name.to_owned()], ..Choice::default() };
        let made = pack(&program, &[], &settings(0, choice)).expect("it can be packed");
        let map = made.image.map;
        let has_packets = |olds: std::ops::Range<u32>| {
            map.iter().any(|moved| olds.contains(&moved.old) && moved.new & 3 != 0)
        };
        let found = [has_packets(CODE..CODE + 164), has_packets(CODE + 164..CODE + 328)];
        assert_eq!(found, packed, "{name}");
    }
}

#[test]
fn what_would_not_gain_stays_and_it_is_said() {
    let lines: Vec<String> = (0..80).map(|number| format!("addi a0, a1, {number}")).collect();
    let mut words: Vec<u32> = lines.iter().map(|line| word_of(line)).collect();
    words.push(word_of("ret"));
    let program = linked(&words, &[0]);
    for settings in [Settings::default(), Settings { entries: 1, ..Settings::default() }] {
        let packed = pack(&program, &[], &settings).expect("it is left as it is");
        assert_eq!(packed.report.nothing, Some(Nothing::NoGain));
        assert_eq!(packed.image, rv32::unpacked(&program));
    }
}

#[test]
fn a_section_that_is_left_out_has_the_words_that_it_had() {
    let program = corpus::program("search");
    let choice = Choice { exclude_sections: vec![".text".into()], ..Choice::default() };
    let settings = Settings { choice, ..Settings::default() };
    let packed = pack(&program, &[], &settings).expect("nothing is packed");
    assert_eq!(packed.report.nothing, Some(Nothing::NoGain));
    assert_eq!(packed.image.sections, program.sections);
}

/// Every second function of a program of SPARC's.
#[test]
fn functions_of_a_program_that_are_left_out_have_no_packets() {
    let program = corpus::program("search");
    let text = program.sections.iter().find(|section| section.name == ".text").expect("it has one");
    let inside = |function: &&Function| function.bytes > 0 && text.contains(function.first);
    let mut functions: Vec<_> = program.functions.iter().filter(inside).collect();
    functions.dedup_by_key(|function| function.first);
    let left: Vec<_> = functions.into_iter().step_by(2).collect();
    let exclude = left.iter().map(|function| function.name.clone()).collect();
    let choice = Choice { exclude, ..Choice::default() };
    let settings = Settings { choice, ..Settings::default() };
    let packed = pack(&program, &[], &settings).expect("it can be packed");
    assert_eq!(packed.report.nothing, None);
    assert_eq!(check(&program, &packed.image, &settings.choice), Ok(Vec::new()));
    for function in left {
        let olds = function.first..function.first + function.bytes;
        let inside = packed.image.map.iter().filter(|moved| olds.contains(&moved.old));
        let (mut words, mut shared) = (0, 0);
        for moved in inside {
            words += 1;
            shared += u32::from(moved.new & 3 != 0);
        }
        assert!(shared == 0 && words > 0, "{}: {shared} of {words}", function.name);
    }
    assert!(packed.image.map.iter().any(|moved| moved.new & 3 != 0));
}

/// Two runs of a program to learn from.
fn training(name: &str) -> Vec<Training> {
    let runs = corpus::runs("selection").into_iter().filter(|run| run.program == name).take(2);
    let image = as_it_is(&corpus::program(name));
    let learn = |run: corpus::Run| {
        let user = corpus::with_handlers(&run.image());
        let ran = Ran::of(&image, &run.input(), &chain::Settings::default(), &user);
        Training::of(ran.expect("it runs").stream)
    };
    runs.map(learn).collect()
}

/// Checks every function of an image by its map alone: it has the words that it had, or saves so many percent of its
/// fetches in each run that executes it, and else of its words. How many have packets, and how many words of the others
/// would be written otherwise in packets.
fn count_what_gains(
    program: &Program,
    packed: &Packed,
    training: &[Training],
    split: bool,
    percent: u64,
) -> [u32; 2] {
    let flow = Flow::of(program, &Choice { split, ..Choice::default() }).expect("it was followed before");
    let new_of = |old: u32| {
        let at = packed.image.map.binary_search_by_key(&old, |moved| moved.old).expect("all have a place");
        packed.image.map[at].new
    };
    let mut counts = [0; 2];
    for piece in &flow.pieces {
        let items = &flow.items[piece.items.clone()];
        if items.iter().all(|item| new_of(item.old) & 3 == 0) {
            for item in items.iter().filter(|item| item.refers.is_none()) {
                let new = new_of(item.old);
                let section = packed.image.sections.iter().find(|section| section.contains(new));
                let found = section.and_then(|section| section.word(program.target, new));
                assert_eq!(found, program.word_at(item.old), "{:#x}", item.old);
                counts[1] += u32::from(canonical(program.target, item.word) != item.word);
            }
            continue;
        }
        counts[0] += 1;
        let begins = || items.iter().filter(|item| new_of(item.old) & 3 == 0);
        let mut executed = false;
        for Training { profile, .. } in training {
            let plain: u64 = items.iter().map(|item| profile.executions(item.old)).sum();
            let fetched: u64 = begins().map(|item| profile.executions(item.old)).sum();
            executed |= plain > 0;
            let saves = 100 * plain.saturating_sub(fetched) >= percent * plain;
            assert!(fetched <= plain && saves, "{:?}: {fetched} of {plain}", piece.name);
        }
        let (words, before) = (begins().count() as u64, items.len() as u64);
        assert!(
            executed || 100 * (before - words) >= percent * before,
            "{:?}: {words} of {before}",
            piece.name
        );
    }
    counts
}

#[test]
fn what_is_packed_gains_where_it_lies_and_what_is_not_has_its_own_words() {
    let (program, training) = (corpus::program("dijkstra"), training("dijkstra"));
    if training.is_empty() {
        return;
    }
    let profiles: Vec<Profile> = training.iter().map(|training| training.profile.clone()).collect();
    for (percent, order) in [(1, Order::Given), (30, Order::Seeded(2))] {
        let dictionary = dict::Choice::Blend { dynamic_percent: 50 };
        let settings = Settings { dictionary, least_saving_percent: percent, order, ..Settings::default() };
        let packed = pack(&program, &profiles, &settings).expect("it can be packed");
        assert_eq!(packed.report.nothing, None);
        let [some, kept] = count_what_gains(&program, &packed, &training, false, percent.into());
        assert!(some > 10 && kept > 5 && packed.report.rewritten > 0, "{percent} %: {some} {kept}");
        assert_eq!(packed.report.pieces_packed, some);
    }
}

#[test]
fn what_is_packed_for_a_cache_gains_by_the_same_rule() {
    let (program, training) = (corpus::program("dijkstra"), training("dijkstra"));
    if training.is_empty() {
        return;
    }
    let effort = Effort { dynamic_percents: vec![20, 75], left_out: 2, spaced: 2, exchanges: 99 };
    for (percent, order) in [(1, Order::Seeded(2)), (30, Order::Seeded(2)), (30, Order::Hot)] {
        let settings = Settings { least_saving_percent: percent, order, ..Settings::default() };
        let goal = Goal::of_cache(1024);
        let packed = tune::pack(&program, &training, &settings, &goal, &effort).expect("it can be packed");
        // In its own order the packer may have cut functions, and is asked for what it cut.
        let is_cut = |split: bool| {
            let choice = Choice { split, ..Choice::default() };
            check(&program, &packed.image, &choice) == Ok(Vec::new())
                && Flow::of(&program, &choice)
                    .is_ok_and(|flow| flow.pieces.len() as u32 == packed.report.pieces)
        };
        let split = [false, true].into_iter().find(|&split| is_cut(split)).expect("it is one of both");
        let [some, _] = count_what_gains(&program, &packed, &training, split, percent.into());
        assert!(some > 10, "{percent} %: {some}");
    }
}

#[test]
fn counts_as_large_as_a_number_can_be_are_no_larger_together() {
    let program = program();
    let most = Profile::new((0..113).map(|word| (CODE + 4 * word, u64::MAX)));
    for dictionary in
        [pack::code::dict::Choice::Dynamic, pack::code::dict::Choice::Blend { dynamic_percent: 50 }]
    {
        for order in [Order::Given, Order::Hot] {
            let settings = Settings { dictionary, order, ..settings(0, Choice::default()) };
            let packed =
                pack(&program, &[most.clone(), executed(0..60)], &settings).expect("it can be packed");
            assert_eq!(packed.report.fetches[0].plain, u64::MAX);
            assert_eq!(packed.report.fetches[1].plain, 60_000);
        }
    }
}
