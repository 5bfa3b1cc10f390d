//! Ascon of many messages at once, on every backend, against NIST's and Wycheproof's vectors and against `ascon-aead`.

mod masked;
#[path = "../../cipher/tests/seeded/mod.rs"]
mod seeded;
#[path = "../../cipher/tests/soak/mod.rs"]
mod soak;

use ascon_aead::AsconAead128;
use ascon_aead::aead::{AeadInOut, KeyInit};
use cipher::Suite;
use cipher::vectors;
use collect::ascon::{Backend, Message, open_on, seal_on};
use masked::{is_masked, run_masked};
use proptest::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::Rng;
use seeded::{random_bytes, seeded};

/// A message with what it is made of, and what it must become.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Case {
    key: [u8; 16],
    nonce: [u8; 16],
    aad: Vec<u8>,
    plaintext: Vec<u8>,
    ciphertext: Vec<u8>,
    tag: [u8; 16],
}

impl Case {
    /// With the library's ciphertext and tag.
    fn by_library(key: [u8; 16], nonce: [u8; 16], aad: Vec<u8>, plaintext: Vec<u8>) -> Case {
        let mut ciphertext = plaintext.clone();
        let library = AsconAead128::new(&key.into());
        let tag =
            library.encrypt_inout_detached(&nonce.into(), &aad, ciphertext.as_mut_slice().into()).unwrap();
        Case { key, nonce, aad, plaintext, ciphertext, tag: tag.into() }
    }

    fn random(rng: &mut ChaCha20Rng, aad_bytes: usize, data_bytes: usize) -> Case {
        let (mut key, mut nonce) = ([0; 16], [0; 16]);
        rng.fill_bytes(&mut key);
        rng.fill_bytes(&mut nonce);
        Case::by_library(key, nonce, random_bytes(rng, aad_bytes), random_bytes(rng, data_bytes))
    }

    fn message<'a>(&'a self, data: &'a mut [u8], tag: [u8; 16]) -> Message<'a> {
        Message { key: &self.key, nonce: self.nonce, aad: &self.aad, data, tag }
    }
}

/// A part of each case, with so many bytes in front of it that it has any alignment.
fn shifted(cases: &[Case], part: fn(&Case) -> &[u8]) -> Vec<Vec<u8>> {
    let shift = |(n, case): (usize, _)| [&vec![0; (n + part(case).len()) % 33], part(case)].concat();
    cases.iter().enumerate().map(shift).collect()
}

/// The cases as messages, of what [`shifted`] made of their associated data and of their plaintext or ciphertext.
fn messages<'a>(
    cases: &'a [Case],
    aads: &'a [Vec<u8>],
    data: &'a mut [Vec<u8>],
    tag: fn(&Case) -> [u8; 16],
) -> Vec<Message<'a>> {
    let message = |((case, aad), data): ((&'a Case, &'a Vec<u8>), &'a mut Vec<u8>)| {
        let at = data.len() - case.plaintext.len();
        Message { aad: &aad[aad.len() - case.aad.len()..], ..case.message(&mut data[at..], tag(case)) }
    };
    cases.iter().zip(aads).zip(data).map(message).collect()
}

/// Seals and opens all cases in one call each, on every backend, wherever they lie.
fn check(cases: &[Case]) {
    let aads = shifted(cases, |case| &case.aad);
    for backend in Backend::all() {
        let mut sealed = shifted(cases, |case| &case.plaintext);
        let mut sealing = messages(cases, &aads, &mut sealed, |_| [0; 16]);
        seal_on(backend, &mut sealing);
        for (message, case) in sealing.iter().zip(cases) {
            let at = (backend, case.aad.len(), case.plaintext.len());
            assert_eq!(message.data, case.ciphertext, "{at:?}");
            assert_eq!(message.tag, case.tag, "{at:?}");
        }

        let mut opened = shifted(cases, |case| &case.ciphertext);
        let mut opening = messages(cases, &aads, &mut opened, |case| case.tag);
        assert_eq!(open_on(backend, &mut opening), vec![true; cases.len()], "{backend:?}");
        for (message, case) in opening.iter().zip(cases) {
            assert_eq!(message.data, case.plaintext, "{:?}", (backend, case.aad.len(), case.plaintext.len()));
        }
    }
}

#[test]
fn without_avx2_one_message_goes_after_the_other() {
    if is_masked() {
        return assert_eq!(Backend::all(), [Backend::Scalar]);
    }
    run_masked(&[
        "without_avx2_one_message_goes_after_the_other",
        "the_vectors_of_nist_hold_together_and_alone",
        "the_vectors_of_wycheproof_are_opened_or_refused_as_they_say",
    ]);
}

#[test]
fn the_vectors_of_nist_hold_together_and_alone() {
    let case = |vector: vectors::AeadVector| {
        let (ciphertext, tag) = vector.sealed.split_at(vector.sealed.len() - 16);
        Case {
            key: vector.key.try_into().unwrap(),
            nonce: vector.nonce.try_into().unwrap(),
            aad: vector.associated_data,
            plaintext: vector.plaintext.expect("none of them must be refused"),
            ciphertext: ciphertext.to_vec(),
            tag: tag.try_into().unwrap(),
        }
    };
    let cases: Vec<_> = vectors::aead(Suite::AsconAead128).into_iter().map(case).collect();
    assert_eq!(cases.len(), 1089);
    check(&cases);
    cases.chunks(1).for_each(check);
    cases.chunks(2).for_each(check);
    cases.chunks(8).for_each(check);
}

#[test]
fn the_vectors_of_wycheproof_are_opened_or_refused_as_they_say() {
    let groups = vectors::blocks(vectors::official());
    let mut is_ours = false;
    let (mut right, mut wrong) = (0, 0);
    for block in groups {
        if let Some(kind) = block.text("Kind") {
            is_ours = kind == "ascon" && block.text("Source") == Some("Wycheproof");
        } else if is_ours && block.text("Key").is_some() {
            let case = Case {
                key: block.bytes("Key").try_into().unwrap(),
                nonce: block.bytes("Nonce").try_into().unwrap(),
                aad: block.bytes("AD"),
                plaintext: Vec::new(),
                ciphertext: block.bytes("CT"),
                tag: block.bytes("Tag").try_into().unwrap(),
            };
            for backend in Backend::all() {
                // The same in every lane.
                let mut data = vec![case.ciphertext.clone(); 8];
                let mut messages: Vec<_> = data.iter_mut().map(|data| case.message(data, case.tag)).collect();
                let verdicts = open_on(backend, &mut messages);
                let expected = if block.fails() { vec![0; case.ciphertext.len()] } else { block.bytes("PT") };
                assert_eq!(verdicts, [!block.fails(); 8], "{:?}", block.text("Id"));
                assert_eq!(data, vec![expected; 8], "{:?}", block.text("Id"));
            }
            *(if block.fails() { &mut wrong } else { &mut right }) += 1;
        }
    }
    assert_eq!((right, wrong), (128, 124));
}

#[test]
fn every_length_is_sealed_as_the_library_seals_it() {
    let mut rng = seeded();
    let lengths: Vec<usize> = match soak::is_soak() {
        true => (0..=4096).collect(),
        false => (0..80).chain((0..60).map(|_| rng.next_u32() as usize % 4097)).chain([4095, 4096]).collect(),
    };
    for lengths in lengths.chunks(64) {
        let cases: Vec<_> =
            lengths.iter().map(|&length| Case::random(&mut rng, length % 7, length)).collect();
        check(&cases);
    }
}

#[test]
fn every_length_of_associated_data_is_sealed_as_the_library_seals_it() {
    let mut rng = seeded();
    let cases: Vec<_> = (0..=64).map(|length| Case::random(&mut rng, length, 100 - length)).collect();
    check(&cases);
    let cases: Vec<_> = (0..=64).map(|length| Case::random(&mut rng, length, 48)).collect();
    check(&cases);
}

#[test]
fn every_number_of_messages_is_sealed_whole() {
    let mut rng = seeded();
    for count in 0..=20 {
        let cases: Vec<_> = (0..count).map(|_| Case::random(&mut rng, 5, 200)).collect();
        check(&cases);
        // The last of them is far longer: the lanes narrow around it.
        let cases: Vec<_> = (0..count).map(|n| Case::random(&mut rng, n, n * n * n / 2)).collect();
        check(&cases);
    }
}

#[test]
fn a_forged_message_is_zeroed_and_spoils_no_other() {
    let mut rng = seeded();
    for _ in 0..40 {
        let length = |rng: &mut ChaCha20Rng| rng.next_u32() as usize % 70 + 1;
        let mut cases: Vec<_> = (0..19)
            .map(|_| {
                let (aad_bytes, data_bytes) = (length(&mut rng), length(&mut rng));
                Case::random(&mut rng, aad_bytes, data_bytes)
            })
            .collect();
        let forged = rng.next_u32() as usize % cases.len();
        let case = &mut cases[forged];
        let bit = 1 << (rng.next_u32() % 8);
        let mut at = |length: usize| rng.next_u32() as usize % length;
        match at(5) {
            0 => case.tag[at(16)] ^= bit,
            1 => case.key[at(16)] ^= bit,
            2 => case.nonce[at(16)] ^= bit,
            3 => {
                let at = at(case.aad.len());
                case.aad[at] ^= bit;
            }
            _ => {
                let at = at(case.ciphertext.len());
                case.ciphertext[at] ^= bit;
            }
        }
        for backend in Backend::all() {
            let mut data: Vec<_> = cases.iter().map(|case| case.ciphertext.clone()).collect();
            let mut messages: Vec<_> =
                cases.iter().zip(&mut data).map(|(case, data)| case.message(data, case.tag)).collect();
            let verdicts = open_on(backend, &mut messages);
            for (n, (case, data)) in cases.iter().zip(data).enumerate() {
                assert_eq!(verdicts[n], n != forged);
                assert_eq!(data, if n == forged { vec![0; data.len()] } else { case.plaintext.clone() });
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_mix_of_messages_is_sealed_and_opened(
        messages in prop::collection::vec(
            (any::<[u8; 16]>(), any::<[u8; 16]>(), prop::collection::vec(any::<u8>(), 0..40), prop_oneof![
                prop::collection::vec(any::<u8>(), 0..40),
                prop::collection::vec(any::<u8>(), 0..600),
            ]),
            0..40,
        ),
    ) {
        let case = |(key, nonce, aad, plaintext)| Case::by_library(key, nonce, aad, plaintext);
        check(&messages.into_iter().map(case).collect::<Vec<_>>());
    }
}
