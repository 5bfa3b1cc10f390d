//! Any PDU is answered, and with no more than was charged for it.

use std::sync::LazyLock;

use broker::engine::Engine;
use broker::engine::keys::{Algorithm, Grant, Grantee, Template, Usages};
use broker::wire::{Connection, Head, KeyHandle, Lane, Operation, Pdu, Status};
use proptest::prelude::*;

use crate::asking::{Asking, rsa};

static RSA: LazyLock<Vec<u8>> = LazyLock::new(|| rsa("2048"));

/// An engine with a key of each kind, and a context of each kind: what rubbish needs to get far.
fn furnished() -> (Asking, Vec<KeyHandle>, Vec<Vec<u8>>) {
    let mut asking = Asking::new();
    let all = [
        (Algorithm::Aes128, Usages::ENCRYPT.and(Usages::DECRYPT)),
        (Algorithm::Aes192, Usages::SEAL.and(Usages::OPEN)),
        (Algorithm::Aes256, Usages::WRAP.and(Usages::UNWRAP)),
        (Algorithm::Aes256, Usages::MAC.and(Usages::MAC_VERIFY).and(Usages::WRAPPABLE)),
        (Algorithm::Ascon128, Usages::SEAL.and(Usages::OPEN)),
        (Algorithm::Hmac, Usages::MAC.and(Usages::MAC_VERIFY)),
        (Algorithm::Hkdf, Usages::DERIVE),
        (Algorithm::P256, Usages::SIGN.and(Usages::VERIFY).and(Usages::AGREE).and(Usages::DERIVE)),
        (Algorithm::Ed25519, Usages::SIGN.and(Usages::VERIFY)),
        (Algorithm::X25519, Usages::AGREE.and(Usages::DERIVE)),
    ];
    let mut keys: Vec<KeyHandle> = all
        .iter()
        .map(|(algorithm, usages)| asking.generate(&Template::new(*algorithm, *usages)).unwrap())
        .collect();
    let rsa = Usages::SIGN.and(Usages::VERIFY).and(Usages::DECRYPT);
    keys.push(asking.import(&Template::new(Algorithm::Rsa2048, rsa), &RSA).unwrap());
    let caller = Usages::SEAL.and(Usages::OPEN).and(Usages::ENCRYPT).and(Usages::DECRYPT);
    let caller = Template { is_caller_nonce: true, ..Template::new(Algorithm::Aes128, caller) };
    keys.push(asking.generate(&caller).unwrap());
    let mut contexts = Vec::new();
    for (key, parameters) in
        [(KeyHandle::NONE, &[11, 0, 2][..]), (keys[3], &[12, 0, 0]), (keys[5], &[12, 0, 2])]
    {
        contexts.push(asking.ask(Operation::Begin, key, parameters, &[]).unwrap());
    }
    for operation in [7, 8] {
        for parameters in
            [&[operation, 0, 1, 0, 0, 0][..], &[&[operation, 0, 3, 0, 0, 0][..], &[9; 16]].concat()]
        {
            contexts.push(asking.ask(Operation::Begin, keys[0], parameters, &[]).unwrap());
        }
    }
    keys.push(KeyHandle::NONE);
    keys.push(KeyHandle(99));
    (asking, keys, contexts)
}

/// Parameters that are near what operations take.
fn parameters() -> impl Strategy<Value = Vec<u8>> {
    let any_bytes = prop::collection::vec(any::<u8>(), 0..80);
    let small = prop::collection::vec(0u8..5, 0..70);
    let seal = (1u8..4, prop::sample::select(vec![4u8, 8, 16]), prop::sample::select(vec![0u8, 7, 12, 16]))
        .prop_map(|(suite, tag, nonce)| [&[suite, tag, nonce, 0], &[5; 40][..]].concat());
    let mode = (1u8..5).prop_map(|mode| [&[mode, 0, 0, 0][..], &[3; 16]].concat());
    let number = (0u64..9).prop_map(|number| number.to_le_bytes().to_vec());
    let made = (0u8..13, 0u16..14, 0u16..40).prop_map(|(algorithm, bit, secret_bytes)| {
        let algorithm = Algorithm::from_number(algorithm.max(1)).unwrap_or(Algorithm::Hmac);
        // RSA takes its time.
        let algorithm = if algorithm > Algorithm::X25519 { Algorithm::Hkdf } else { algorithm };
        let access = vec![Grant { grantee: Grantee::User(5), usages: Usages(bit) }];
        Template { secret_bytes, access, ..Template::new(algorithm, Usages(1 << bit)) }.to_bytes()
    });
    let prefixed = (made.clone(), 0u8..4).prop_map(|(made, first)| [&[first, 0, 0, 0], &made[..]].concat());
    prop_oneof![any_bytes, small, seal, mode, number, made, prefixed]
}

fn payload() -> impl Strategy<Value = Vec<u8>> {
    let lengths = prop::sample::select(vec![0usize, 1, 8, 16, 32, 65, 256, 300]);
    prop_oneof![lengths.prop_map(|length| vec![4; length]), prop::collection::vec(any::<u8>(), 0..400)]
}

type Request = (u16, usize, u16, Vec<u8>, Vec<u8>);

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let status = prop_oneof![9 => Just(0u16), 1 => any::<u16>()];
    prop::collection::vec((0u16..36, 0usize..14, status, parameters(), payload()), 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]
    #[test]
    fn any_requests_are_answered_within_what_they_are_charged(requests in requests()) {
        let (mut asking, keys, contexts) = furnished();
        for (operation, key, status, parameters, payload) in requests {
            // A small number is that of a context, which nobody guesses.
            let number = <[u8; 8]>::try_from(&parameters[..]).map_or(u64::MAX, u64::from_le_bytes);
            let parameters = contexts.get(number as usize).cloned().unwrap_or(parameters);
            let head = Head {
                lane: Lane::Bulk,
                operation,
                request: 7,
                connection: Connection(1),
                key: keys[key],
                status,
                time_ms: 5,
                epoch: 6,
            };
            let request = Pdu::new(head, &parameters, &payload).unwrap();
            let answer = asking.engine.execute(&request);
            let Ok(operation) = request.operation() else {
                prop_assert_eq!(answer.unwrap().status(), Ok(Status::UnknownOperation));
                continue;
            };
            prop_assert_eq!(answer.is_none(), operation.is_brokers());
            let Some(answer) = answer else { continue };
            let (was, is) = (request.head(), answer.head());
            prop_assert_eq!((was.operation, was.request, was.connection), (is.operation, is.request, is.connection));
            prop_assert!(answer.parameters().is_empty());
            prop_assert!(was.key == is.key || operation.answers_a_key());
            match answer.status().unwrap() {
                Status::Done => {
                    prop_assert!(status == 0 && operation.takes(&request));
                    prop_assert!(answer.payload().len() <= operation.answer_bytes_max(&request));
                }
                _ => prop_assert!(answer.payload().is_empty()),
            }
        }
    }
}
