//! What of the library says that it takes the same time whatever the secrets are does so on the target, as compilers make
//! it at every level; and what does not is found, by the line that tells.
//!
//! Keys, messages, exponents and nonces are secret. What is published, the library says itself (`crypto/secret.h`).

mod compiled;
mod identity;

use explore::Request;
use explore::candidate::Candidate;
use explore::constant::{self, Place};
use explore::image::{Choice, Image, Leaves};
use explore::measure::Bench;
use explore::workload::Key;
use identity::{Part, requests, soak};
use isa::rv32::{Leak, Profile};

/// Every kind of leaves is looked at, each at another level; and what models are made of, which is the second.
const IMAGES: [(Leaves, &str); 4] =
    [(Leaves::Assembly, "-O2"), (Leaves::Plain, "-O2"), (Leaves::Plain, "-Os"), (Leaves::Unrolled, "-O3")];
const SEED: u64 = 5;
/// RSA's modulus: short, since secrets are followed instruction by instruction.
const MODULUS_BITS: u16 = 256;

/// Programs that tell what is secret.
fn images() -> Vec<Image> {
    let choice = |(leaves, level): (Leaves, &str)| Choice {
        level: level.to_owned(),
        tells_secrets: true,
        ..Choice::of(leaves)
    };
    IMAGES.into_iter().filter_map(|image| compiled::image_of(&choice(image))).collect()
}

/// Where secrets decide, the last time that a request is done.
fn places(image: &Image, request: &Request) -> Vec<Place> {
    let turns = constant::places(&Bench::new(image, Profile::Vex5Tcm), request);
    let turns = turns.unwrap_or_else(|error| panic!("{}: {error}", request.operation));
    turns.into_iter().next_back().expect("it is done")
}

/// Fails with every place at which a request tells of its secrets.
fn assert_silent(image: &Image, request: &Request) {
    let found = places(image, request);
    let how =
        request.candidate.map_or(format!("choice {}", request.choice), |candidate| candidate.to_string());
    assert!(found.is_empty(), "{:?} {} {how}: {found:#?}", image.choice, request.operation);
}

/// Whether a cipher looks tables up by secrets. DES' schedule has no S-box.
fn has_tables(operation: &str) -> bool {
    let tables = ["bytes", "t1", "t4", "textbook", "swaps", "sp", "rc4"];
    let is_schedule = operation.starts_with("des_") && operation.contains("_init");
    operation.split('_').any(|word| tables.contains(&word)) && !is_schedule
}

/// The list's operations of ciphers and hashes.
fn symmetric() -> impl Iterator<Item = Request> {
    requests(Part::Little).into_iter().filter(|request| request.radix.is_none())
}

/// Whether a place is in a file of that algorithm's.
fn in_a_file_of(place: &Place, algorithm: &str) -> bool {
    let file = place.line.rsplit('/').next().expect("it has an end");
    file.starts_with(&format!("{algorithm}_"))
}

#[test]
fn hashes_and_ciphers_without_tables_tell_nothing() {
    for image in images() {
        let silent: Vec<_> = symmetric().filter(|request| !has_tables(request.operation)).collect();
        silent.iter().for_each(|request| assert_silent(&image, request));
        println!("{:?}: {} operations tell nothing", image.choice, silent.len());
    }
}

#[test]
fn ciphers_with_tables_tell_by_addresses_in_their_own_lines() {
    for image in images() {
        for request in symmetric().filter(|request| has_tables(request.operation)) {
            let found = places(&image, &request);
            let operation = request.operation;
            assert!(!found.is_empty(), "{:?} {operation}", image.choice);
            let cipher = operation.split('_').next().expect("a name has a beginning");
            // A compiler may tell the line of a rotation for the look-up that it is of.
            assert!(found.iter().any(|place| in_a_file_of(place, cipher)), "{operation}: {found:#?}");
            for place in found {
                assert_eq!(place.leak, Leak::Address, "{operation}: {place:?}");
                assert!(place.function.starts_with(&format!("{cipher}_")), "{operation}: {place:?}");
                let is_inlined = place.line.starts_with("crypto/words.h:");
                assert!(is_inlined || in_a_file_of(&place, cipher), "{operation}: {place:?}");
            }
        }
    }
}

/// RSA's private operation by a candidate, warm.
fn private(candidate: &str) -> Request {
    let key = Key::generate(SEED, MODULUS_BITS).expect("it is a size");
    let candidate: Candidate = candidate.parse().expect(candidate);
    key.private(candidate, SEED).warm()
}

#[test]
fn a_fixed_window_over_montgomerys_or_barretts_products_tells_nothing() {
    for image in images() {
        for multiplication in ["barrett", "sos", "cios", "fios", "fips", "cihs"] {
            for rest in ["whole/constants/32", "garner/constants/32+squaring", "garner/constants/16"] {
                assert_silent(&image, &private(&format!("{multiplication}/fixed-3/{rest}")));
            }
        }
    }
}

#[test]
fn other_ways_of_exponentiation_tell_where_they_ask_the_exponent() {
    let Some(image) = images().into_iter().next() else { return };
    for (method, function) in
        [("binary", "modexp32_binary"), ("kary-3", "modexp32_kary"), ("sliding-3", "modexp32_sliding")]
    {
        let found = places(&image, &private(&format!("cios/{method}/garner/constants/32")));
        let asks = |place: &&Place| {
            let is_there = place.function == function && place.line.starts_with("crypto/modular/modexp.c:");
            is_there && place.leak == Leak::Branch
        };
        assert!(found.iter().any(|place| asks(&place)), "{method}: {found:#?}");
        assert!(found.iter().all(|place| place.line.starts_with("crypto/")), "{method}: {found:#?}");
    }
    // Whose estimate of a quotient's digit is wrong sometimes, and whose numbers are exchanged by their sizes.
    for candidate in ["divide/fixed-3/whole/constants/32", "interleaved/fixed-3/whole/constants/32"] {
        assert!(!places(&image, &private(candidate)).is_empty(), "{candidate}");
    }
}

#[test]
fn elgamal_opens_by_a_fixed_window_and_tells_nothing() {
    let requests = requests(Part::Short("vex5"));
    let listed =
        requests.iter().find(|request| request.operation == "elgamal_decrypt").expect("it is listed");
    for image in images() {
        let candidate: Candidate = "cios/fixed-3/whole/constants/32".parse().expect("it is one");
        assert_silent(&image, &listed.clone().by(candidate));
    }
}

/// Of a decryption its length and whether its padding was sound are known at last, and a signature is known.
#[test]
fn rsa_decrypts_and_signs_by_a_fixed_window_and_tells_nothing() {
    let requests = requests(Part::Short("vex5"));
    let candidate: Candidate = "cios/fixed-3/garner/constants/32".parse().expect("it is one");
    for operation in ["rsa_decrypt", "rsa_sign"] {
        let listed = requests.iter().find(|request| request.operation == operation);
        let request = listed.expect("it is listed").clone().by(candidate);
        images().iter().for_each(|image| assert_silent(image, &request));
    }
}

#[test]
fn curves_tell_nothing() {
    let Some(image) = images().into_iter().next() else { return };
    let core = if soak() { Part::Long("pico") } else { Part::Short("vex5") };
    let names = ["ecdh_p256_public", "ecdh_p256_agree", "ecdsa_p256_sign", "x25519"];
    let curves: Vec<_> =
        requests(core).into_iter().filter(|request| names.contains(&request.operation)).collect();
    assert!(curves.len() >= 3);
    curves.iter().for_each(|request| assert_silent(&image, request));
}
