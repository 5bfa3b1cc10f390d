//! The models that are kept beside the source say what the simulator counts, for keys that they have not seen. A short
//! run compares a few candidates of all kinds; a long one sixty, and those that are ranked first.

mod compiled;

use std::fs;
use std::path::Path;

use explore::analytic::Analytic;
use explore::image::Leaves;
use explore::measure::Bench;
use explore::model::Models;
use explore::rank::Accuracy;
use explore::space::Space;
use explore::subject::{Family, Material, Subject};
use explore::validate::{self, Compared};
use explore::{estimate, native, stored};
use isa::rv32::Profile;

/// Not the models'.
const SEED: u64 = 77;
const FAMILY: Family = Family::Private(Space::All);
const BITS: u32 = 512;

fn is_long() -> bool {
    std::env::var("SELVEDGE_SOAK").is_ok_and(|asked| asked == "1")
}

fn kept(profile: Profile) -> Models {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("models/{}.ndjson", profile.name()));
    let text = fs::read_to_string(&path).expect("models are beside the source");
    stored::read(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Compares candidates, and asserts how far models may be from the simulator.
fn compare(profile: Profile, mean_most: f64) {
    let Some(image) = compiled::image(Leaves::Plain) else { return };
    let models = kept(profile);
    if image.compiler != models.origin.compiler {
        println!("skip: models of {}: they are of {}", profile.name(), models.origin.compiler);
        return;
    }
    println!("seed {SEED}");
    let bench = Bench::new(&image, profile);
    let material = Material::new(FAMILY, &[BITS], SEED).expect("the library makes keys");
    let subjects = FAMILY.subjects();
    let mut chosen = validate::stratified(&subjects, if is_long() { 60 } else { 6 }, SEED);
    if is_long() {
        let first = validate::first(&subjects, BITS, 20, &models, &material, || ());
        chosen.extend(first.expect("all routines have models"));
    }
    let asked: Vec<(Subject, u32)> = chosen.into_iter().map(|subject| (subject, BITS)).collect();
    let compared = validate::compare(&bench, &models, &material, &asked, || ()).expect("all are done");
    for row in &compared {
        println!("{:+.4} {} {} {:?}", row.error(), row.subject, row.state.word(), row.outside);
    }
    let accuracy =
        Accuracy::of(&compared.iter().map(Compared::pair).collect::<Vec<_>>()).expect("there are some");
    println!("{}: {accuracy:?}", profile.name());
    assert!(accuracy.error_mean <= mean_most && accuracy.error_most <= 0.15, "{accuracy:?}");
    assert!(accuracy.tau >= 0.95 && accuracy.regret <= 0.01, "{accuracy:?}");
}

#[test]
fn models_of_vex5_say_what_the_simulator_counts_to_five_percent() {
    compare(Profile::Vex5, 0.05);
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
