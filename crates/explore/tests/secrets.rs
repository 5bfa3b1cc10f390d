//! What time tells of secrets is found where it does, and not where it does not.

mod compiled;

use std::collections::BTreeSet;

use explore::candidate::WINDOW_BITS_MAX;
use explore::constant;
use explore::image::{Choice, Leaves};
use explore::measure::Bench;
use explore::space::Space;
use explore::subject::{Family, Material};
use isa::rv32::{Leak, Profile};

const SEED: u64 = 3;
const BITS: u32 = 512;

/// The functions that tell of secrets cold, and warm.
fn functions(family: Family, size: u32, name: &str) -> Option<Vec<Vec<(String, Leak)>>> {
    let image = compiled::image_of(&Choice { tells_secrets: true, ..Choice::of(Leaves::Plain) })?;
    let bench = Bench::new(&image, Profile::Vex5);
    let material = Material::new(family, &[size], SEED).expect("keys can be made");
    let subject = family.subject(name).expect("it is one");
    let request = constant::request(&subject, size, &material).expect("operands can be made");
    let turns = constant::places(&bench, &request).expect("it is done");
    let named =
        |turn: Vec<constant::Place>| turn.into_iter().map(|place| (place.function, place.leak)).collect();
    Some(turns.into_iter().map(named).collect())
}

#[test]
fn tables_of_a_cipher_tell_by_addresses_and_slices_do_not() {
    let Some(turns) = functions(Family::Aes, 64, "aes_t4") else { return };
    assert!(turns[0].iter().all(|(_, leak)| *leak == Leak::Address));
    // The key's expansion, which nobody times, looks its S-box up, too.
    let found: BTreeSet<&str> = turns[0].iter().map(|(function, _)| function.as_str()).collect();
    assert_eq!(found, BTreeSet::from(["aes_t4_encrypt", "aes_t4_init"]));
    assert_eq!(functions(Family::Aes, 64, "aes_fixsliced"), Some(vec![vec![]]));
}

#[test]
fn windows_that_slide_tell_by_branches_and_fixed_ones_of_every_width_tell_nothing_cold_or_warm() {
    let family = Family::Private(Space::All);
    let Some(turns) = functions(family, BITS, "cios/sliding-2/garner/constants/32") else { return };
    assert!(turns[1].contains(&("modexp32_sliding".to_owned(), Leak::Branch)), "{:?}", turns[1]);
    for window_bits in 1..=WINDOW_BITS_MAX {
        let name = format!("cios/fixed-{window_bits}/garner/constants/32");
        assert_eq!(functions(family, BITS, &name), Some(vec![vec![], vec![]]), "{name}");
    }
}

#[test]
fn a_fixed_window_stands_for_itself_and_what_asks_the_exponent_for_wider_windows() {
    let alike = |name: &str| {
        let family = Family::Private(Space::All);
        constant::alike(&family.subject(name).expect("it is one")).to_string()
    };
    for window_bits in 1..=WINDOW_BITS_MAX {
        let name = format!("cios/fixed-{window_bits}/garner/constants/32");
        assert_eq!(alike(&name), name);
    }
    assert_eq!(alike("cios/kary-5/garner/constants/32"), "cios/kary-2/garner/constants/32");
    assert_eq!(alike("cios/sliding-3/gauss/fresh/16"), "cios/sliding-2/gauss/fresh/16");
}
