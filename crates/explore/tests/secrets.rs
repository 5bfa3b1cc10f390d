//! What time tells of secrets is found where it does, and not where it does not.

mod compiled;

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
    assert!(turns[0].iter().all(|(function, leak)| function == "aes_t4_encrypt" && *leak == Leak::Address));
    assert!(!turns[0].is_empty());
    assert_eq!(functions(Family::Aes, 64, "aes_fixsliced"), Some(vec![vec![]]));
}

#[test]
fn windows_that_slide_tell_by_branches_and_fixed_ones_do_not_when_what_is_kept_is_there() {
    let family = Family::Private(Space::All);
    let Some(turns) = functions(family, BITS, "cios/sliding-2/garner/constants/32") else { return };
    assert!(turns[1].contains(&("modexp32_sliding".to_owned(), Leak::Branch)), "{:?}", turns[1]);
    let turns = functions(family, BITS, "cios/fixed-2/garner/constants/32").expect("there is a compiler");
    println!("cold: {:?}", turns[0]);
    assert_eq!(turns[1], []);
}
