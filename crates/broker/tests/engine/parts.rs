//! An operation in parts answers what it answers to the whole.

use broker::engine::keys::{Algorithm, Template, Usages};
use broker::wire::{KeyHandle, Operation, Status};
use proptest::prelude::*;

use crate::asking::Asking;

/// All that can be begun: the operation, the key that it needs, its parameters.
fn begun() -> Vec<(Operation, Option<Algorithm>, Vec<u8>)> {
    let mut all = Vec::new();
    for hash in 1..=4 {
        all.push((Operation::Hash, None, vec![hash]));
        all.push((Operation::Mac, Some(Algorithm::Hmac), vec![hash]));
        all.push((Operation::MacVerify, Some(Algorithm::Hmac), [&[hash], &[0; 20][..]].concat()));
    }
    for algorithm in [Algorithm::Aes128, Algorithm::Aes192, Algorithm::Aes256] {
        all.push((Operation::Mac, Some(algorithm), vec![0]));
        for mode in 1..=4u8 {
            let iv: &[u8] = if mode == 1 { &[] } else { &[0xFE; 16] };
            let parameters = [&[mode, 0, 0, 0], iv].concat();
            all.push((Operation::Encrypt, Some(algorithm), parameters.clone()));
            all.push((Operation::Decrypt, Some(algorithm), parameters));
        }
    }
    all
}

fn usages(operation: Operation) -> Usages {
    match operation {
        Operation::Mac => Usages::MAC,
        Operation::MacVerify => Usages::MAC_VERIFY,
        _ => Usages::ENCRYPT.and(Usages::DECRYPT),
    }
}

/// What the parts' answers are together.
fn in_parts(
    asking: &mut Asking,
    (operation, key, parameters): (Operation, KeyHandle, &[u8]),
    message: &[u8],
    cuts: &[usize],
) -> Result<Vec<u8>, Status> {
    let parameters = [&operation.number().to_le_bytes()[..], parameters].concat();
    let context = asking.ask(Operation::Begin, key, &parameters, &[])?;
    let (mut rest, mut answered) = (message, Vec::new());
    for cut in cuts {
        let (part, later) = rest.split_at(rest.len().min(*cut));
        answered.extend(asking.ask(Operation::Update, KeyHandle::NONE, &context, part)?);
        rest = later;
    }
    answered.extend(asking.ask(Operation::Finish, KeyHandle::NONE, &context, rest)?);
    Ok(answered)
}

proptest! {
    #[test]
    fn parts_make_the_whole(
        message in prop::collection::vec(any::<u8>(), 0..100), blocks: bool,
        cuts in prop::collection::vec(0usize..40, 0..5),
    ) {
        let mut asking = Asking::new();
        let mut message = message;
        if blocks {
            message.truncate(message.len() / 16 * 16);
        }
        for (operation, algorithm, parameters) in begun() {
            let key = algorithm.map_or(KeyHandle::NONE, |algorithm| {
                asking.generate(&Template::new(algorithm, usages(operation))).unwrap()
            });
            let whole = asking.ask(operation, key, &parameters, &message);
            let parts = in_parts(&mut asking, (operation, key, &parameters), &message, &cuts);
            prop_assert_eq!(&parts, &whole, "{:?} {:?} {:?}", operation, algorithm, parameters);
            if let (Operation::Encrypt, Ok(encrypted)) = (operation, whole) {
                // Padding that is right is rare among random bytes.
                let decrypt = (Operation::Decrypt, key, &parameters[..]);
                prop_assert_eq!(in_parts(&mut asking, decrypt, &encrypted, &cuts), Ok(message.clone()));
            }
        }
    }
}
