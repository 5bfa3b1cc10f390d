//! Packed programs of the corpus print what the plain ones print, and fetch as many words as the packer says.

mod workload;

use pack::code::dict::Choice;
use pack::packing::Assignment;
use pack::place::Order;
use pack::{Profile, Settings, pack};
use workload::{finish, plain, profile, program, runs, start};

/// All runs of all programs and switches in a long run; elsewhere a few.
fn soak() -> bool {
    std::env::var("SELVEDGE_SOAK").is_ok_and(|value| value == "1")
}

fn settings() -> Vec<Settings> {
    let base = Settings::default();
    vec![
        Settings { assignment: Assignment::Greedy, canonical: false, ..base.clone() },
        Settings { assignment: Assignment::Optimal, order: Order::Seeded(7), entries: 64, ..base.clone() },
        Settings { dictionary: Choice::Dynamic, order: Order::Hot, ..base.clone() },
        Settings {
            dictionary: Choice::Blend { dynamic_percent: 50 },
            order: Order::Seeded(1),
            ..base.clone()
        },
        Settings { dictionary: Choice::Multi { dynamic_entries: 64 }, ..base },
    ]
}

fn compare(name: &str, run: &workload::Run, every: &[Settings]) {
    let program = program(name);
    let mut before = start(name, &plain(&program), run, false);
    finish(&mut before);
    let measured: Profile = profile(&before);
    assert_eq!(measured.total(), workload::bus(&before.machine).entered.iter().sum::<u64>());
    for settings in every {
        let packed = pack(&program, std::slice::from_ref(&measured), settings)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut after = start(name, &packed.image, run, false);
        finish(&mut after);
        assert!(after.files.output == before.files.output, "{name} {}: {settings:?}", run.name);
        let report = &packed.report;
        println!("{name} {}: {:.2} % {:?}", run.name, 100.0 * report.ratio(), report.fetches);
    }
}

#[test]
fn packed_programs_print_what_they_print_plain() {
    let every = settings();
    for name in workload::PROGRAMS {
        let runs = runs(name);
        let taken = if soak() { runs.len() } else { 1 };
        let switches = if soak() { every.clone() } else { vec![every[3].clone()] };
        runs[..taken].iter().for_each(|run| compare(name, run, &switches));
    }
}

#[test]
fn every_switch_leaves_what_a_program_does() {
    compare("search", &runs("search")[0], &settings());
}
