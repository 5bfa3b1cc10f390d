//! The models that are kept beside the source say what the simulator counts, for keys that they have not seen, know how
//! deep its stack is to the byte, and were characterised for all that is ranked. A short run compares a few candidates of
//! all kinds, each with a key of its own; a long one sixty, and those that are ranked first, with the key that they are
//! ranked with.

mod compiled;

use explore::analytic::Analytic;
use explore::estimate::{Row, State};
use explore::measure::Bench;
use explore::rank::Accuracy;
use explore::space::Space;
use explore::subject::{Family, Material, Subject};
use explore::validate::{self, Compared, Estimator};
use explore::{estimate, native, threads};
use isa::rv32::Profile;

use compiled::kept;

/// Not the models'.
const SEED: u64 = 77;
const FAMILY: Family = Family::Private(Space::All);
const BITS: u32 = 512;
/// The processors of which models are kept.
const KEPT: [Profile; 2] = [Profile::Pico, Profile::Vex5];

fn is_long() -> bool {
    std::env::var("SELVEDGE_SOAK").is_ok_and(|asked| asked == "1")
}

/// How accurate models are for these.
fn accuracy(compared: &[Compared]) -> Accuracy {
    Accuracy::of(&compared.iter().map(Compared::pair).collect::<Vec<_>>()).expect("there are some")
}

/// Compares candidates, and asserts how far models may be from the simulator.
fn compare(profile: Profile, mean_most: f64) {
    let models = kept(profile);
    let Some(image) = compiled::image_of_models(&models) else { return };
    println!("seed {SEED}");
    let bench = Bench::new(&image, profile);
    let subjects = FAMILY.subjects();
    let chosen = validate::stratified(&subjects, if is_long() { 60 } else { 6 }, SEED);
    let asked: Vec<(Subject, u32)> = chosen.into_iter().map(|subject| (subject, BITS)).collect();
    let native = Estimator::Native(&models);
    let mut compared = validate::compare(&bench, &native, SEED, &asked, || ()).expect("all are done");
    let tau = accuracy(&compared).tau;
    println!("{}: tau {tau:.4} of all kinds", profile.name());
    assert!(tau >= 0.95, "{tau}");
    if is_long() {
        let material = Material::new(FAMILY, &[BITS], SEED).expect("the library makes keys");
        for asked in [State::Cold, State::Warm].map(|state| (BITS, state)) {
            let first = validate::first(&subjects, asked, 20, &native, &material, || ());
            let first = first.expect("all routines have models");
            let ranked = validate::compare_first(&bench, &native, &material, asked, &first, || ());
            let ranked = ranked.expect("all are done");
            let (state, regret) = (asked.1.word(), validate::regret(&ranked).expect("there are some"));
            println!("{}: regret {regret:.4}, {state}, {:?}", profile.name(), accuracy(&ranked));
            assert!(regret <= 0.01, "{state}: {regret}");
            compared.extend(ranked);
        }
    }
    for row in &compared {
        assert_stack(row);
        println!("{:+.4} {} {} {:?}", row.error(), row.subject, row.state.word(), row.outside);
    }
    let accuracy = accuracy(&compared);
    println!("{}: {accuracy:?} of all", profile.name());
    assert!(accuracy.error_mean <= mean_most && accuracy.error_most <= 0.15, "{accuracy:?}");
}

fn assert_stack(row: &Compared) {
    assert_eq!(row.stack_off_bytes(), Some(0), "{} at {}", row.subject, row.size);
}

#[test]
fn models_of_messages_and_curves_say_how_deep_the_stack_is() {
    let models = kept(Profile::Pico);
    let Some(image) = compiled::image_of_models(&models) else { return };
    let bench = Bench::new(&image, Profile::Pico);
    for (family, size) in [(Family::Aes, 16), (Family::Des, 8), (Family::Sha256, 120), (Family::Ecc, 256)] {
        let asked: Vec<(Subject, u32)> =
            family.subjects().into_iter().map(|subject| (subject, size)).collect();
        let compared = validate::compare(&bench, &Estimator::Native(&models), SEED, &asked, || ());
        compared.expect("all are done").iter().for_each(assert_stack);
    }
}

#[test]
fn kept_models_tell_their_tables_the_program_that_made_them_and_its_sources() {
    for (models, profile) in KEPT.map(kept).iter().zip(KEPT) {
        let name = profile.name();
        assert!(!models.origin.tool.is_empty() && !models.origin.sources.is_empty(), "{name}");
        for model in models.routines.iter().flatten() {
            assert!(model.tables.is_some(), "{name}: {}", model.routine);
        }
    }
}

#[test]
fn models_of_pico_say_what_the_simulator_counts_to_two_percent() {
    compare(Profile::Pico, 0.02);
}

#[test]
fn models_of_vex5_say_what_the_simulator_counts_to_five_percent() {
    compare(Profile::Vex5, 0.05);
}

/// Asserts that native runs of these, each with a key of its own, are inside of what all models were characterised for.
fn assert_inside(subjects: &[Subject], size: u32) {
    let kept = KEPT.map(kept);
    let rows = |subject: &Subject| {
        let native = native::run(&validate::fresh(subject, size, SEED)?)?;
        kept.iter()
            .map(|models| estimate::rows(subject, size, &native, models))
            .collect::<Result<Vec<_>, _>>()
    };
    let rows = threads::each(subjects, rows, |_, _| ()).expect("all routines have models");
    for row in rows.concat().iter().flatten() {
        assert_row_inside(row);
        assert!(
            row.stack_bytes.is_some() && row.ram_bytes >= row.stack_bytes,
            "{} at {}",
            row.subject,
            row.size
        );
    }
}

/// Formulas know no stack.
fn assert_row_inside(row: &Row) {
    assert!(row.outside.is_empty(), "{} at {}: {:?}", row.subject, row.size, row.outside);
}

#[test]
fn no_message_and_no_curve_is_outside_of_what_was_characterised() {
    for (family, sizes) in [
        (Family::Aes, &[16, 1024, 4096][..]),
        (Family::Des, &[8, 1024, 4096]),
        (Family::Sha256, &[1, 64, 1024, 4096]),
        (Family::Ecc, &[256]),
    ] {
        sizes.iter().for_each(|&size| assert_inside(&family.subjects(), size));
    }
}

#[test]
fn no_candidate_at_a_usual_size_is_outside_of_what_was_characterised() {
    let subjects = FAMILY.subjects();
    for (size, count) in [(512, 96), (1024, 48), (2048, 8), (3072, 4)] {
        let count = if is_long() { 240 } else { count };
        assert_inside(&validate::stratified(&subjects, count, u64::from(size)), size);
    }
}

#[test]
fn no_formula_at_a_usual_size_is_outside_of_what_was_characterised() {
    let subjects = FAMILY.subjects();
    for models in KEPT.map(kept) {
        let mut analytic = Analytic::new(FAMILY, &models, SEED).expect("it is exponentiation");
        for (size, step) in [(512, 1), (1024, 31), (2048, 149), (3072, 307)] {
            let of = subjects.iter().step_by(if is_long() { 1 } else { step });
            let rows = of.flat_map(|subject| analytic.rows(subject, size).expect("all routines have models"));
            rows.for_each(|row| assert_row_inside(&row));
        }
    }
}

#[test]
fn formulas_say_what_native_runs_count_to_five_percent() {
    let models = kept(Profile::Vex5);
    let mut analytic = Analytic::new(FAMILY, &models, SEED).expect("it is exponentiation");
    let material = Material::new(FAMILY, &[BITS], SEED).expect("the library makes keys");
    let (mut sum, mut count) = (0.0, 0);
    for subject in validate::stratified(&FAMILY.subjects(), 40, SEED) {
        let native =
            native::run(&material.request(&subject, BITS).expect("keys are there")).expect("it is done");
        let rows = estimate::rows(&subject, BITS, &native, &models).expect("all routines have models");
        for (ours, row) in analytic.rows(&subject, BITS).expect("all routines have models").iter().zip(&rows)
        {
            let error = (ours.cycles / row.cycles - 1.0).abs();
            assert!(error < 0.15, "{subject} {}: {error:.4}", row.state.word());
            sum += error;
            count += 1;
        }
    }
    let mean = sum / f64::from(count);
    println!("formulas beside native runs: mean {mean:.4}");
    assert!(mean < 0.05, "{mean}");
}
