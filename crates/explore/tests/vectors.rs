//! The official vectors on the target: as a program for the bare machine, with the cycles of PicoRV32.
//!
//! Which they are, and as which calls, is the same as where `cipher` tests the library with them. Ciphers and hashes meet
//! all of them in every variant. Of those of public keys, which take millions of cycles each, a run meets a share: of those
//! that have an answer, and apart from them of those that are to be refused.

mod compiled;
#[path = "../../cipher/tests/public_key/der.rs"]
mod der;
mod identity;
#[path = "../../cipher/tests/public_key/official.rs"]
mod official;
#[path = "../../cipher/tests/piped/mod.rs"]
mod piped;
#[allow(dead_code)] // programs are made otherwise here
#[path = "../../cipher/tests/symmetric/program.rs"]
mod program;
#[allow(dead_code)] // candidates are chosen elsewhere
#[path = "../../cipher/tests/public_key/request.rs"]
mod request;
#[path = "../../cipher/tests/symmetric/official.rs"]
mod symmetric;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::thread;

use explore::image::{Image, Leaves, REQUESTS};
use explore::measure;
use explore::native::operation_number;
use isa::Cycles;
use isa::rv32::Profile;
use isa::rv32::bare::{self, End};
use official::Expected;
use request::Response;

const LIMB_BITS: [u8; 2] = [16, 32];

/// The bytes of the first response.
fn first(console: &[u8]) -> usize {
    let word = |at: usize| u32::from_le_bytes(console[at..at + 4].try_into().expect("four bytes"));
    (0..word(0) >> 16).fold(4, |at, _| at + 4 + (word(at) as usize).next_multiple_of(4))
}

/// The responses, and the cycles of all.
fn responses(image: &Image, mut requests: &[Vec<u8>]) -> (Vec<Response>, Cycles) {
    let (mut responses, mut cycles) = (Vec::new(), 0);
    while !requests.is_empty() {
        let (bytes, taken) = measure::lay(requests.iter().cloned());
        let mut program = image.program.clone();
        program.place(REQUESTS, &bytes).expect("there is room");
        let outcome = bare::run(&program, Profile::Pico, &Arc::default(), Cycles::MAX, &mut ());
        assert_eq!(outcome.end, End::Exit(0));
        let mut console = &outcome.console[..];
        while !console.is_empty() {
            let (response, rest) = console.split_at(first(console));
            responses.push(Response::from_bytes(response));
            console = rest;
        }
        cycles += outcome.cycle;
        requests = &requests[taken..];
    }
    (responses, cycles)
}

/// Does requests on every core that there is.
fn answered(image: &Image, requests: &[Vec<u8>]) -> Vec<Response> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    // Neighbours take about the same, so each thread has some of everything.
    let share = |first: usize| requests.iter().skip(first).step_by(threads).cloned().collect::<Vec<_>>();
    let shares: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> =
            (0..threads).map(|first| scope.spawn(move || responses(image, &share(first)))).collect();
        workers.into_iter().map(|worker| worker.join().expect("it ends well")).collect()
    });
    let cycles: Cycles = shares.iter().map(|(_, cycles)| cycles).sum();
    println!("{} vectors, {cycles} cycles", requests.len());
    let mut shares: Vec<_> = shares.into_iter().map(|(responses, _)| responses.into_iter()).collect();
    (0..requests.len()).map(|place| shares[place % threads].next().expect("each is answered")).collect()
}

#[test]
fn ciphers_and_hashes_meet_the_official_vectors_on_the_target() {
    let Some(image) = compiled::image(Leaves::Assembly) else { return };
    let vectors = symmetric::official();
    let bytes = |request: &program::Request| {
        let operands = request.operands.clone();
        let operation: &'static str = request.operation.clone().leak();
        explore::Request { choice: request.choice, ..explore::Request::new(operation, None, operands) }
            .bytes()
    };
    let requests: Vec<_> = vectors.iter().map(|(request, _)| bytes(request)).collect();
    for (response, (request, expected)) in answered(&image, &requests).iter().zip(&vectors) {
        let expected = expected.as_deref().expect("vectors have answers");
        let result = request::done(response).remove(0);
        assert_eq!(symmetric::judged(request, &result, expected), expected, "{}", request.operation);
    }
}

/// Of how many vectors of an operation a run meets one, of limbs of 16 bits and of 32; of fewer it meets the one in the
/// middle. Nothing where all take too long.
fn share(operation: &str) -> [Option<usize>; 2] {
    let short = match operation {
        "rsa_verify" => [Some(120), Some(30)],
        "rsa_sign" | "rsa_decrypt" => [None, Some(80)],
        "ecdh_p256_public" => [Some(25), Some(8)],
        "ecdh_p256_agree" => [Some(130), Some(60)],
        "ecdsa_p256_sign" => [None, Some(1)],
        "ecdsa_p256_verify" => [Some(160), Some(60)],
        "x25519" => [Some(100), Some(20)],
        _ => panic!("how long does {operation} take?"),
    };
    let long = |one_of: Option<usize>| Some(one_of.map_or(10, |one_of| (one_of / 10).clamp(1, 10)));
    if identity::soak() { short.map(long) } else { short }
}

/// The places that a run meets of these.
fn chosen(places: &[usize], share: Option<usize>) -> Vec<usize> {
    let Some(one_of) = share else { return Vec::new() };
    match places.len() < one_of {
        true => vec![places[(places.len() - 1) / 2]],
        false => places.iter().copied().skip(one_of - 1).step_by(one_of).collect(),
    }
}

/// A share of the official vectors.
fn public_keys() -> Vec<(request::Request, Expected)> {
    let mut vectors = official::all();
    let mut groups: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (place, (request, expected)) in vectors.iter().enumerate() {
        let is_answer = matches!(expected, Expected::Done(_));
        groups.entry((request.operation, request.limb_bits, is_answer)).or_default().push(place);
    }
    let mut met = BTreeSet::new();
    for ((operation, limb_bits, _), places) in &groups {
        met.extend(chosen(places, share(operation)[usize::from(*limb_bits == 32)]));
    }
    let mut place = 0;
    vectors.retain(|_| {
        place += 1;
        met.contains(&(place - 1))
    });
    let operations: BTreeSet<&str> = groups.keys().map(|(operation, ..)| *operation).collect();
    let answers = vectors.iter().filter(|(_, expected)| matches!(expected, Expected::Done(_)));
    let answered: BTreeSet<&str> = answers.map(|(request, _)| request.operation).collect();
    assert_eq!(answered, operations, "an operation has no answer");
    vectors
}

#[test]
fn public_keys_meet_a_share_of_the_official_vectors_on_the_target() {
    let Some(image) = compiled::image(Leaves::Assembly) else { return };
    let vectors = public_keys();
    let operations = vectors.iter().map(|(request, _)| request.operation);
    let number = |operation: &str| operation_number(operation).expect("it is an operation");
    let numbers = operations.map(|operation| (operation.to_owned(), number(operation))).collect();
    let requests: Vec<_> = vectors.iter().map(|(request, _)| request.bytes(&numbers)).collect();
    for (response, (request, expected)) in answered(&image, &requests).iter().zip(&vectors) {
        assert!(expected.is_met_by(response), "{request:?}: found {response:?}, expected {expected:?}");
    }
}
