//! What an owner and others can do with a key, and what a deployment's keys do.

use broker::Error;
use broker::engine::keys::{Algorithm, Grant, Grantee, Template, Usages};
use broker::engine::{Engine, NamedKey, Purpose, SoftwareEngine};
use broker::wire::{Connection, Head, KeyHandle, Operation, Pdu, Status};
use cipher::Key;

use crate::asking::{Asking, provided};

const SEALS: Usages = Usages::SEAL.and(Usages::OPEN);
const DEVICE_GCM: [u8; 4] = [1, 16, 0, 0];

#[test]
fn a_device_knows_its_keys_apart_or_does_not_start() {
    let key = || Key::copied_from(&[1; 32]);
    let start = |names: &[&str]| {
        let named = |name: &&str| NamedKey { name: name.to_string(), purpose: Purpose::Seal, key: key() };
        SoftwareEngine::new(names.iter().map(named).collect()).map(|_| ())
    };
    assert!(start(&["a", "b"]).is_ok() && start(&[]).is_ok());
    assert!(matches!(start(&["a", "b", "a"]), Err(Error::KeyTwice { name }) if name == "a"));
    assert!(matches!(start(&[""]), Err(Error::KeyName { found_bytes: 0 })));
    assert!(matches!(start(&[&"x".repeat(65)]), Err(Error::KeyName { found_bytes: 65 })));
}

#[test]
fn a_deployments_message_that_is_not_authentic_leaves_no_trace() {
    let engine = provided(&[("sealing", Purpose::Seal, &[3; 32]), ("opening", Purpose::Open, &[3; 32])]);
    let mut asking = Asking { engine, connection: Connection(7) };
    let [sealing, opening] = [b"sealing", b"opening"].map(|name| KeyHandle::of(name));
    let mut sealed = asking.ask(Operation::SealAes256Gcm, sealing, b"ad", b"plaintext").unwrap();
    for index in 0..sealed.len() {
        sealed[index] ^= 1;
        assert_eq!(asking.ask(Operation::OpenAes256Gcm, opening, b"ad", &sealed), Err(Status::Rejected));
        sealed[index] ^= 1;
    }
    assert_eq!(asking.ask(Operation::OpenAes256Gcm, opening, b"da", &sealed), Err(Status::Rejected));
    for length in 0..sealed.len() {
        let expected = if length < 28 { Status::WrongParameters } else { Status::Rejected };
        assert_eq!(asking.ask(Operation::OpenAes256Gcm, opening, b"ad", &sealed[..length]), Err(expected));
    }
    assert_eq!(asking.ask(Operation::OpenAes256Gcm, opening, b"ad", &sealed).unwrap(), b"plaintext");
    assert_eq!(asking.ask(Operation::SealAes256Gcm, opening, &[], &[]), Err(Status::WrongPurpose));
    assert_eq!(asking.ask(Operation::OpenAes256Gcm, sealing, b"ad", &sealed), Err(Status::WrongPurpose));
    for (operation, key) in [(Operation::Seal, sealing), (Operation::Open, opening)] {
        assert_eq!(asking.ask(operation, key, &DEVICE_GCM, &sealed), Err(Status::WrongPurpose));
    }
    assert_eq!(asking.ask(Operation::KeyDestroy, sealing, &[], &[]), Err(Status::WrongPurpose));
}

#[test]
fn who_was_not_introduced_makes_no_keys_and_begins_nothing() {
    let mut asking = Asking { engine: provided(&[]), connection: Connection(9) };
    let template = Template::new(Algorithm::Aes128, SEALS);
    assert_eq!(asking.generate(&template), Err(Status::DeviceFault));
    let hash = [11, 0, 2];
    assert_eq!(asking.ask(Operation::Begin, KeyHandle::NONE, &hash, &[]), Err(Status::DeviceFault));
    assert_eq!(asking.ask(Operation::Hash, KeyHandle::NONE, &[2], b"abc").unwrap().len(), 32);
}

#[test]
fn a_foreign_key_answers_like_one_that_is_not_there() {
    let mut asking = Asking::new();
    let template = Template { is_persistent: true, name: b"mine".to_vec(), ..all_of_an_aes_key() };
    let key = asking.generate(&template).unwrap();
    asking.introduce(2, 1001, &[1001]);
    let keyed: Vec<Operation> = Operation::ALL.iter().copied().filter(|each| !each.is_brokers()).collect();
    for operation in keyed {
        for parameters in [&[][..], &[0; 4], &[0; 8], &DEVICE_GCM, &[1], &template.to_bytes()] {
            for payload in [&[][..], &[7; 16], &[7; 64], &[7; 256]] {
                let foreign = asking.ask(operation, key, parameters, payload);
                let missing = asking.ask(operation, KeyHandle(key.0 ^ 1), parameters, payload);
                assert_eq!(foreign, missing, "{operation:?}");
            }
        }
    }
    assert_eq!(asking.make(Operation::FindKey, KeyHandle::NONE, &[], b"mine"), Err(Status::UnknownKey));
    assert_eq!(asking.ask(Operation::KeyList, KeyHandle::NONE, &[0; 8], &[]), Ok(vec![]));
    // The name is free for another user, who finds his own.
    let own = asking.generate(&template).unwrap();
    assert_eq!(asking.make(Operation::FindKey, KeyHandle::NONE, &[], b"mine"), Ok(own));
    assert_eq!(asking.generate(&template), Err(Status::NameTaken));
    asking.introduce(3, 1000, &[]);
    assert_eq!(asking.make(Operation::FindKey, KeyHandle::NONE, &[], b"mine"), Ok(key));
}

fn all_of_an_aes_key() -> Template {
    Template::new(Algorithm::Aes128, SEALS.and(Usages::WRAPPABLE))
}

#[test]
fn an_access_list_gives_what_it_says_and_no_more() {
    let mut asking = Asking::new();
    let access = vec![
        Grant { grantee: Grantee::User(1001), usages: Usages::SEAL },
        Grant { grantee: Grantee::Group(50), usages: Usages::OPEN },
        Grant { grantee: Grantee::User(1003), usages: Usages::default() },
    ];
    let template = Template { is_persistent: true, name: b"shared".to_vec(), access, ..all_of_an_aes_key() };
    let key = asking.generate(&template).unwrap();
    let sealed = asking.ask(Operation::Seal, key, &DEVICE_GCM, b"text").unwrap();
    let mut both = |user, groups: &[u32]| {
        asking.introduce(u64::from(user), user, groups);
        let seal = asking.ask(Operation::Seal, key, &DEVICE_GCM, b"text").map(|_| ());
        let open = asking.ask(Operation::Open, key, &DEVICE_GCM, &sealed).map(|_| ());
        assert_ne!(asking.ask(Operation::KeyDestroy, key, &[], &[]), Ok(vec![]));
        // A name that another user chose is not found.
        assert_eq!(asking.make(Operation::FindKey, KeyHandle::NONE, &[], b"shared"), Err(Status::UnknownKey));
        (seal, open)
    };
    const NO: Result<(), Status> = Err(Status::WrongPurpose);
    assert_eq!(both(1001, &[]), (Ok(()), NO));
    assert_eq!(both(1002, &[50]), (NO, Ok(())));
    assert_eq!(both(1001, &[50]), (Ok(()), Ok(())));
    assert_eq!(both(1003, &[]), (NO, NO));
    assert_eq!(both(1004, &[51]), (Err(Status::UnknownKey), Err(Status::UnknownKey)));
}

#[test]
fn a_group_owns_what_a_member_makes_for_it() {
    let mut asking = Asking::new();
    let template = Template { is_persistent: true, group: 50, name: b"ours".to_vec(), ..all_of_an_aes_key() };
    assert_eq!(asking.generate(&template), Err(Status::WrongParameters), "who makes it is a member");
    asking.introduce(2, 1001, &[50]);
    let key = asking.generate(&template).unwrap();
    asking.introduce(3, 1002, &[40, 50]);
    assert_eq!(asking.make(Operation::FindKey, KeyHandle::NONE, &[], b"ours"), Ok(key));
    asking.destroy(key);
    asking.introduce(2, 1001, &[50]);
    assert_eq!(asking.ask(Operation::KeyAttributes, key, &[], &[]), Err(Status::UnknownKey));
}

#[test]
fn a_key_that_is_not_persistent_is_its_connections_and_dies_with_it() {
    let mut asking = Asking::new();
    let key = asking.generate(&all_of_an_aes_key()).unwrap();
    asking.introduce(2, 1000, &[1000]);
    assert_eq!(asking.ask(Operation::Seal, key, &DEVICE_GCM, b"text"), Err(Status::UnknownKey));
    asking.connection = Connection(1);
    assert!(asking.ask(Operation::Seal, key, &DEVICE_GCM, b"text").is_ok());
    asking.leave(1);
    asking.introduce(1, 1000, &[1000]);
    assert_eq!(asking.ask(Operation::Seal, key, &DEVICE_GCM, b"text"), Err(Status::UnknownKey));
    let persistent = asking.generate(&Template { is_persistent: true, ..all_of_an_aes_key() }).unwrap();
    let session = asking.generate(&all_of_an_aes_key()).unwrap();
    asking.engine.opened();
    assert_eq!(asking.ask(Operation::KeyList, KeyHandle::NONE, &[0; 8], &[]), Ok(vec![]));
    asking.introduce(1, 1000, &[1000]);
    let listed = asking.ask(Operation::KeyList, KeyHandle::NONE, &[0; 8], &[]).unwrap();
    assert_eq!(listed, persistent.0.to_le_bytes());
    assert_ne!(persistent, session);
}

#[test]
fn what_a_key_may_not_be_born_as_is_refused() {
    let mut asking = Asking::new();
    let all = |algorithm| (0..=13u16).map(move |bit| (algorithm, 1u32 << bit));
    let mut born = Vec::new();
    for (algorithm, usage) in Algorithm::ALL.iter().flat_map(|algorithm| all(*algorithm)) {
        let rsa = matches!(algorithm, Algorithm::Rsa2048 | Algorithm::Rsa3072);
        if !rsa && asking.generate(&Template::new(algorithm, Usages(usage as u16))).is_ok() {
            born.push(format!("{} {usage}", algorithm.name()));
        }
    }
    expect_test::expect![[r#"
        aes-128 1, aes-128 2, aes-128 4, aes-128 8, aes-128 16, aes-128 32, aes-128 1024, aes-128 2048
        aes-192 1, aes-192 2, aes-192 4, aes-192 8, aes-192 16, aes-192 32, aes-192 1024, aes-192 2048
        aes-256 1, aes-256 2, aes-256 4, aes-256 8, aes-256 16, aes-256 32, aes-256 1024, aes-256 2048
        ascon-aead128 4, ascon-aead128 8, hmac 16, hmac 32, hkdf 64, p-256 64, p-256 128, p-256 256
        p-256 512, ed25519 128, ed25519 256, x25519 64, x25519 512"#]]
    .assert_eq(&born.chunks(8).map(|line| line.join(", ")).collect::<Vec<_>>().join("\n"));
    let wraps = Usages::WRAP.and(Usages::UNWRAP);
    for other in [Usages::ENCRYPT, Usages::DECRYPT, Usages::SEAL, Usages::OPEN, Usages::MAC] {
        let template = Template::new(Algorithm::Aes256, wraps.and(other));
        assert_eq!(asking.generate(&template), Err(Status::WrongParameters), "{other:?}");
    }
    let mixed = SEALS.and(Usages::ENCRYPT);
    assert_eq!(asking.generate(&Template::new(Algorithm::Aes128, mixed)), Err(Status::WrongParameters));
    let callers = Template { is_caller_nonce: true, ..Template::new(Algorithm::Aes128, mixed) };
    assert!(asking.generate(&callers).is_ok(), "who chooses nonces can make any key stream");
    let known = asking.import(&Template::new(Algorithm::Aes256, Usages::WRAP), &[1; 32]);
    assert_eq!(known, Err(Status::WrongParameters), "who gave a wrapping key could unwrap what it wraps");
    assert!(asking.import(&Template::new(Algorithm::Aes256, Usages::UNWRAP), &[1; 32]).is_ok());
    let short = Template { secret_bytes: 15, ..Template::new(Algorithm::Hmac, Usages::MAC) };
    assert_eq!(asking.generate(&short), Err(Status::WrongParameters), "15 bytes can be tried out one by one");
    assert!(asking.import(&short, &[1; 15]).is_ok());
}

#[test]
fn one_user_cannot_have_all_keys() {
    let mut asking = Asking::new();
    let template = Template::new(Algorithm::Ascon128, SEALS);
    let count = (0..).take_while(|_| asking.generate(&template).is_ok()).count();
    assert_eq!(count, broker::limits::KEYS_PER_USER_MAX);
    assert_eq!(asking.generate(&template), Err(Status::DeviceFull));
    asking.introduce(2, 1001, &[]);
    assert!(asking.generate(&template).is_ok());
    asking.leave(1);
    asking.introduce(1, 1000, &[]);
    assert!(asking.generate(&template).is_ok(), "what died with the connection is not counted");
}

#[test]
fn all_keys_are_listed_once_over_several_answers() {
    let mut asking = Asking::new();
    let template = Template::new(Algorithm::Ascon128, SEALS);
    let mut made: Vec<u64> = (0..1000).map(|_| asking.generate(&template).unwrap().0).collect();
    let (mut listed, mut after) = (Vec::new(), 0u64);
    loop {
        let answer = asking.ask(Operation::KeyList, KeyHandle::NONE, &after.to_le_bytes(), &[]).unwrap();
        let handles = answer.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
        listed.extend(handles);
        if answer.is_empty() {
            break;
        }
        after = *listed.last().unwrap();
    }
    made.sort_unstable();
    assert_eq!(listed, made);
}

#[test]
fn a_statement_about_a_key_is_signed_and_says_software() {
    let mut asking = Asking::new();
    let template = Template { name: b"signer".to_vec(), ..Template::new(Algorithm::Ed25519, Usages::SIGN) };
    let key = asking.generate(&template).unwrap();
    let public = asking.ask(Operation::KeyPublic, key, &[], &[]).unwrap();
    let attributes = asking.ask(Operation::KeyAttributes, key, &[], &[]).unwrap();
    assert_eq!(attributes, [&[1, 0, 0, 0, 232, 3, 0, 0], &template.to_bytes()[..]].concat());
    let statement = asking.ask(Operation::KeyAttest, key, b"challenge", &[]).unwrap();
    let boot = asking.engine.info().boot.to_le_bytes();
    let lengths = [9, attributes.len() as u8, 32, 0];
    let head = [b"software", &boot[..], &key.0.to_le_bytes(), &lengths].concat();
    let expected = [&head[..], b"challenge", &attributes, &public].concat();
    let (signed, signature) = statement.split_at(statement.len() - 64);
    let (said, own) = signed.split_at(signed.len() - 32);
    assert_eq!(said, expected);
    let check = |bytes: &[u8]| {
        let own = aws_lc_rs::signature::UnparsedPublicKey::new(&aws_lc_rs::signature::ED25519, own);
        own.verify(bytes, signature).is_ok()
    };
    assert!(check(signed));
    for index in 0..said.len() {
        let mut other = signed.to_vec();
        other[index] ^= 1;
        assert!(!check(&other), "byte {index} is not signed");
    }
}

#[test]
fn what_a_key_was_given_with_makes_no_answer_too_long() {
    let mut asking = Asking::new();
    let wrapping = Template::new(Algorithm::Aes256, Usages::WRAP.and(Usages::UNWRAP));
    let wrapping = asking.generate(&wrapping).unwrap();
    let template = Template::new(Algorithm::Rsa2048, Usages::SIGN.and(Usages::WRAPPABLE));
    let bare = crate::asking::rsa("2048");
    for (length, expected) in [(2040, Ok(2048)), (2041, Err(Status::Oversize)), (2048, Err(Status::Oversize))]
    {
        // PKCS#8's attributes, which nobody looks at.
        let mut secret = bare[4..].to_vec();
        let beside = length - 8 - secret.len();
        secret.extend([0xA0, 0x82, (beside >> 8) as u8, beside as u8]);
        secret.resize(length - 4, 0x5A);
        let head = [0x30, 0x82, ((length - 4) >> 8) as u8, (length - 4) as u8];
        let key = asking.import(&template, &[&head, &secret[..]].concat()).unwrap();
        let wrapped = asking.ask(Operation::KeyWrap, wrapping, &key.0.to_le_bytes(), &[]);
        assert_eq!(wrapped.map(|wrapped| wrapped.len()), expected, "{length}");
    }
}

#[test]
fn a_context_of_an_earlier_start_is_none_of_a_later_one() {
    let hash = [&Operation::Hash.number().to_le_bytes()[..], &[2]].concat();
    let begin = || {
        let mut asking = Asking::new();
        let context = asking.ask(Operation::Begin, KeyHandle::NONE, &hash, &[]).unwrap();
        (asking, context)
    };
    let ((_, before), (mut asking, _)) = (begin(), begin());
    assert_eq!(
        asking.ask(Operation::Update, KeyHandle::NONE, &before, b"mixed"),
        Err(Status::UnknownContext),
        "the same connection of another start"
    );
}

#[test]
fn contexts_are_their_connections_and_end_with_their_key() {
    let mut asking = Asking::new();
    let key = asking.generate(&Template::new(Algorithm::Hmac, Usages::MAC)).unwrap();
    let begin = |asking: &mut Asking| asking.ask(Operation::Begin, key, &[12, 0, 2], &[]);
    let context = begin(&mut asking).unwrap();
    asking.introduce(2, 1000, &[1000]);
    const GONE: Result<Vec<u8>, Status> = Err(Status::UnknownContext);
    let finish =
        |asking: &mut Asking, context: &[u8]| asking.ask(Operation::Finish, KeyHandle::NONE, context, b"abc");
    assert_eq!(finish(&mut asking, &context), GONE, "another connection's");
    asking.connection = Connection(1);
    let contexts: Vec<_> = std::iter::from_fn(|| begin(&mut asking).ok()).collect();
    assert_eq!(contexts.len() + 1, broker::limits::CONTEXTS_PER_CONNECTION_MAX);
    assert_eq!(begin(&mut asking), Err(Status::DeviceFull));
    let whole = asking.ask(Operation::Mac, key, &[2], b"abc");
    assert_eq!(finish(&mut asking, &context), whole);
    assert_eq!(finish(&mut asking, &context), GONE, "it is finished");
    assert_eq!(asking.ask(Operation::Cancel, KeyHandle::NONE, &contexts[0], &[]), Ok(vec![]));
    assert_eq!(finish(&mut asking, &contexts[0]), GONE, "it was cancelled");
    asking.destroy(key);
    assert_eq!(finish(&mut asking, &contexts[1]), GONE, "its key is gone");
    let aead = asking.generate(&Template::new(Algorithm::Aes128, SEALS)).unwrap();
    for operation in [Operation::Seal, Operation::Open] {
        let parameters = [&operation.number().to_le_bytes()[..], &DEVICE_GCM].concat();
        assert_eq!(asking.ask(Operation::Begin, aead, &parameters, &[]), Err(Status::WholeOnly));
    }
}

#[test]
fn a_public_key_that_is_no_point_of_the_curve_is_refused_at_once() {
    let mut asking = Asking::new();
    let signs = Template::new(Algorithm::P256, Usages::SIGN);
    let verifies = Template::new(Algorithm::P256, Usages::VERIFY);
    let key = asking.generate(&signs).unwrap();
    let point = asking.ask(Operation::KeyPublic, key, &[], &[]).unwrap();
    assert!(asking.import_public(&verifies, &point).is_ok());
    for at in [0, 1, 32, 33, 64] {
        let mut changed = point.clone();
        changed[at] ^= 1;
        assert_eq!(asking.import_public(&verifies, &changed), Err(Status::WrongParameters), "byte {at}");
    }
    assert_eq!(
        asking.import_public(&verifies, &[&[4][..], &[0xFF; 64]].concat()),
        Err(Status::WrongParameters)
    );
}

#[test]
fn no_nonce_of_the_devices_comes_twice() {
    let mut asking = Asking::new();
    let template = |algorithm| Template { is_persistent: true, ..Template::new(algorithm, SEALS) };
    let aes = asking.generate(&template(Algorithm::Aes256)).unwrap();
    let ascon = asking.generate(&template(Algorithm::Ascon128)).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for (key, suite) in [(aes, 1), (aes, 2), (ascon, 3), (aes, 1)] {
        for _ in 0..1000 {
            let sealed = asking.ask(Operation::Seal, key, &[suite, 16, 0, 0], b"").unwrap();
            let nonce_bytes = if suite == 3 { 16 } else { 12 };
            assert_eq!(sealed.len(), 32 + nonce_bytes + 16);
            assert!(seen.insert((key, sealed[..32 + nonce_bytes].to_vec())));
            assert_eq!(asking.ask(Operation::Open, key, &[suite, 16, 0, 0], &sealed), Ok(vec![]));
        }
    }
    let nonce = [7; 12];
    let chosen = [&[1, 16, 12, 0][..], &nonce].concat();
    assert_eq!(asking.ask(Operation::Seal, aes, &chosen, b""), Err(Status::WrongParameters));
}

#[test]
fn what_only_the_broker_says_has_no_answer_and_may_be_rubbish() {
    let mut engine = provided(&[]);
    for payload in [&[][..], &[1], &[255; 4], &[7; 5], &[0; 1028]] {
        for connection in [0, 1, u64::MAX] {
            for operation in [Operation::Introduce, Operation::Leave] {
                let head = Head {
                    connection: Connection(connection),
                    ..Head::request(operation, 0, KeyHandle::NONE)
                };
                assert!(engine.execute(&Pdu::new(head, &[], payload).unwrap()).is_none());
            }
        }
    }
}

/// AES-KWP is AES of one block and another (RFC 5649 section 4.2), so whoever has a wrapping key decrypt blocks unwraps
/// outside what it wrapped. Only the first step keeps that from happening: the others are what the device is for.
#[test]
fn a_wrapping_key_is_not_wrapped_since_it_would_come_back_as_one_that_decrypts() {
    let mut asking = Asking::new();
    for usages in [Usages::WRAP, Usages::UNWRAP, Usages::WRAP.and(Usages::UNWRAP)] {
        let template = Template::new(Algorithm::Aes256, usages.and(Usages::WRAPPABLE));
        assert_eq!(asking.generate(&template), Err(Status::WrongParameters), "{usages:?}");
        assert_eq!(asking.import(&template, &[1; 32]), Err(Status::WrongParameters), "{usages:?}");
        let template = Template { name: b"wrapping".to_vec(), ..template };
        assert_eq!(asking.engine.provide(template, &[1; 32]), Err(Status::WrongParameters), "{usages:?}");
    }
}
