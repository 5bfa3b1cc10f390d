//! The client for any program: every operation, many threads, brokers that go away, and `fork`.
#![allow(unsafe_code)]

use std::collections::BTreeSet;
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{io::Read, io::Write, path::Path, thread};

use broker::client::blocking::{Client, Settings as Patience};
use broker::client::call::{self, Begin, Call, Finish, Update};
use broker::device::Device;
use broker::engine::SoftwareEngine;
use broker::parameters::{Aead, Hash, MacKind, Mode, RsaPadding, Scheme, Signed, Suite};
use broker::stream::{Decoder, Framing};
use broker::template::{Algorithm, Origin, Template, Usages};
use broker::wire::{Connection, Head, KeyHandle, Operation, Pdu, Status};
use broker::{Error, Settings};

use super::{PATIENCE, Running, keys};

async fn with_broker(ask: impl FnOnce(&Path) + Send + 'static) {
    let engine = SoftwareEngine::new(keys()).unwrap();
    let running = Running::start(Device::Inline(Box::new(engine)), Settings::default()).await;
    let socket = running.socket.clone();
    tokio::task::spawn_blocking(move || ask(&socket)).await.unwrap();
    running.stop().await;
}

fn refused<T>(asked: Result<T, Error>) -> Status {
    match asked {
        Err(Error::Refused { status, .. }) => status,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it was done"),
    }
}

/// A client that notes what was asked for.
struct Asker {
    client: Client,
    asked: std::cell::RefCell<BTreeSet<Operation>>,
}

impl Asker {
    fn ask<C: Call>(&self, call: C) -> Result<C::Answer, Error> {
        self.asked.borrow_mut().insert(call.request().operation);
        self.client.call(&call)
    }

    fn generate(&self, template: &Template) -> KeyHandle {
        self.ask(call::KeyGenerate { template }).unwrap()
    }
}

fn template(algorithm: Algorithm, usages: Usages) -> Template {
    Template::new(algorithm, usages)
}

fn symmetric(asker: &Asker) {
    let message = b"not a whole number of blocks, this";
    let cipher = asker.generate(&template(Algorithm::Aes256, Usages::ENCRYPT.and(Usages::DECRYPT)));
    for (mode, length) in
        [(Mode::Ecb, 32), (Mode::Cbc([1; 16]), 32), (Mode::CbcPadded([2; 16]), 34), (Mode::Ctr([3; 16]), 34)]
    {
        let plaintext = &message[..length];
        let ciphertext = asker.ask(call::Encrypt { key: cipher, mode, plaintext }).unwrap();
        let begun = asker.ask(Begin(call::Decrypt { key: cipher, mode, ciphertext: &[] })).unwrap();
        let mut opened = asker.ask(Update { context: begun, part: &ciphertext[..20] }).unwrap().to_vec();
        opened.extend(asker.ask(Finish { context: begun, part: &ciphertext[20..] }).unwrap().iter());
        assert_eq!(opened, plaintext, "{mode:?}");
        assert_eq!(
            *asker.ask(call::Decrypt { key: cipher, mode, ciphertext: &ciphertext }).unwrap(),
            plaintext
        );
        assert_eq!(refused(asker.ask(Finish { context: begun, part: &[] })), Status::UnknownContext);
    }
    let context = asker.ask(Begin(call::Hash { hash: Hash::Sha256, message: &[] })).unwrap();
    asker.ask(call::Cancel { context }).unwrap();
    let digest = asker.ask(call::Hash { hash: Hash::Sha384, message }).unwrap();
    assert_eq!(digest.len(), Hash::Sha384.digest_bytes());
    let seals = Usages::SEAL.and(Usages::OPEN);
    let own = asker.generate(&template(Algorithm::Ascon128, seals));
    let callers = Template { is_caller_nonce: true, ..template(Algorithm::Aes128, seals) };
    let callers = asker.generate(&callers);
    for (key, suite, tag_bytes, nonce) in [
        (own, Suite::Ascon, 16, &[][..]),
        (callers, Suite::Gcm, 16, &[4; 12]),
        (callers, Suite::Ccm, 8, &[5; 13]),
    ] {
        let aead = Aead { suite, tag_bytes, nonce, associated_data: b"beside" };
        let sealed = asker.ask(call::Seal { key, aead, plaintext: message }).unwrap();
        assert_eq!(*asker.ask(call::Open { key, aead, sealed: &sealed }).unwrap(), message);
        let other = Aead { associated_data: b"Beside", ..aead };
        assert_eq!(refused(asker.ask(call::Open { key, aead: other, sealed: &sealed })), Status::Rejected);
    }
    let macs = Usages::MAC.and(Usages::MAC_VERIFY);
    for (algorithm, kind) in
        [(Algorithm::Hmac, MacKind::Hmac(Hash::Sha512)), (Algorithm::Aes192, MacKind::Cmac)]
    {
        let key = asker.generate(&template(algorithm, macs));
        let mac = asker.ask(call::Mac { key, kind, message }).unwrap();
        asker.ask(call::MacVerify { key, kind, expected: &mac[..8], message }).unwrap();
        let wrong = call::MacVerify { key, kind, expected: &mac[1..9], message };
        assert_eq!(refused(asker.ask(wrong)), Status::Rejected);
    }
}

fn asymmetric(asker: &Asker) {
    let signs = Usages::SIGN.and(Usages::VERIFY);
    let (p256, rsa) = (Usages::AGREE.and(Usages::DERIVE).and(signs), Usages::DECRYPT.and(signs));
    for (algorithm, usages, scheme) in [
        (Algorithm::P256, p256, Scheme::Ecdsa(Hash::Sha256)),
        (Algorithm::Ed25519, signs, Scheme::Ed25519),
        (Algorithm::Rsa2048, rsa, Scheme::RsaPss(Hash::Sha256)),
        (Algorithm::Rsa2048, rsa, Scheme::RsaPkcs1(Hash::Sha512)),
    ] {
        let key = asker.generate(&template(algorithm, usages));
        let signed = Signed::Message(b"a message");
        let signature = asker.ask(call::Sign { key, scheme, signed }).unwrap();
        let public = asker.ask(call::KeyPublic { key }).unwrap();
        let elsewhere = template(algorithm, Usages::VERIFY);
        let elsewhere = asker.ask(call::KeyImportPublic { template: &elsewhere, public: &public }).unwrap();
        asker.ask(call::Verify { key: elsewhere, scheme, signed, signature: &signature }).unwrap();
        let other = Signed::Message(b"another");
        let wrong = call::Verify { key: elsewhere, scheme, signed: other, signature: &signature };
        assert_eq!(refused(asker.ask(wrong)), Status::Rejected);
        match algorithm {
            Algorithm::P256 => agree(asker, key, &public),
            Algorithm::Rsa2048 => {
                for padding in [RsaPadding::Pkcs1, RsaPadding::Oaep { hash: None, label: b"" }] {
                    let decrypted = asker.ask(call::RsaDecrypt { key, padding, ciphertext: &[0x55; 256] });
                    match padding {
                        RsaPadding::Pkcs1 => drop(decrypted.unwrap()), // implicit rejection
                        RsaPadding::Oaep { .. } => assert_eq!(refused(decrypted), Status::Rejected),
                    }
                }
            }
            _ => {}
        }
    }
}

fn agree(asker: &Asker, key: KeyHandle, public: &[u8]) {
    assert_eq!(asker.ask(call::Agree { key, public }).unwrap().len(), 32);
    let shared = template(Algorithm::Hkdf, Usages::DERIVE);
    let shared = asker.ask(call::AgreeKey { key, public, template: &shared }).unwrap();
    let made = Template { name: b"made".to_vec(), ..template(Algorithm::Aes128, Usages::ENCRYPT) };
    let derive =
        call::Derive { key: shared, hash: Hash::Sha256, template: &made, salt: b"salt", info: b"info" };
    let derived = asker.ask(derive).unwrap();
    assert_eq!(asker.ask(call::FindKey { name: b"made" }).unwrap(), derived);
    let attributes = asker.ask(call::KeyAttributes { key: derived }).unwrap();
    assert_eq!((attributes.origin, attributes.template), (Origin::Derived, made));
    asker.ask(call::KeyDestroy { key: derived }).unwrap();
}

fn keys_and_others(asker: &Asker) {
    assert_eq!(asker.ask(call::Info {}).unwrap().name, "selvedge software device");
    assert_eq!(asker.ask(call::Random { count_bytes: 100 }).unwrap().len(), 100);
    assert_eq!(refused(asker.ask(call::Random { count_bytes: u32::MAX })), Status::WrongParameters);
    assert_eq!(asker.ask(call::Echo { payload: b"again" }).unwrap(), b"again");
    assert!(asker.ask(call::Status {}).unwrap().contains("selvedge_broker"));
    let wrapping = asker.generate(&template(Algorithm::Aes256, Usages::WRAP.and(Usages::UNWRAP)));
    let macs = Usages::MAC.and(Usages::WRAPPABLE);
    let hmac = Template { secret_bytes: 5, ..template(Algorithm::Hmac, macs) };
    let wrapped = asker.ask(call::KeyImport { template: &hmac, secret: b"known" }).unwrap();
    let bytes = asker.ask(call::KeyWrap { key: wrapping, wrapped }).unwrap();
    let unwrap = call::KeyUnwrap { key: wrapping, template: &hmac, wrapped: &bytes };
    let again = asker.ask(unwrap).unwrap();
    let listed = asker.ask(call::KeyList { after: KeyHandle::NONE }).unwrap();
    assert!([wrapping, wrapped, again].iter().all(|key| listed.contains(key)));
    let statement = asker.ask(call::KeyAttest { key: again, challenge: b"fresh" }).unwrap();
    assert!(statement.starts_with(b"software"));
    let key = asker.ask(call::FindKey { name: b"batch/7" }).unwrap();
    let seal = call::SealAes256Gcm { key, associated_data: b"header", plaintext: b"frames" };
    let sealed = asker.ask(seal).unwrap();
    let open = call::OpenAes256Gcm { key, associated_data: b"header", sealed: &sealed };
    assert_eq!(refused(asker.ask(open)), Status::WrongPurpose, "it seals");
    assert_eq!(super::open_elsewhere(&super::BATCH_KEY, b"header", &sealed), b"frames");
    let too_long = asker.ask(call::Echo { payload: &[0; 65_601] });
    assert!(matches!(too_long, Err(Error::TooLong { found_bytes: 65_601, max_bytes: 65_600, .. })));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_operation_that_an_application_may_ask_for_is_a_call() {
    with_broker(|socket| {
        let asker = Asker { client: Client::new(socket), asked: Default::default() };
        keys_and_others(&asker);
        symmetric(&asker);
        asymmetric(&asker);
        let asked = asker.asked.into_inner();
        let missing: Vec<_> =
            Operation::ALL.iter().filter(|which| !which.is_brokers() && !asked.contains(which)).collect();
        assert!(missing.is_empty(), "no call asks for {missing:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_threads_share_a_connection_and_get_each_their_own_answers() {
    with_broker(|socket| {
        let client = Client::new(socket);
        thread::scope(|scope| {
            for number in 0..100usize {
                let client = &client;
                scope.spawn(move || {
                    for request in 0..40 {
                        let payload = super::message(number, request);
                        assert_eq!(client.call(&call::Echo { payload: &payload }).unwrap(), payload);
                    }
                });
            }
        });
        let status = client.call(&call::Status {}).unwrap();
        let admitted = status.lines().find(|line| line.starts_with("selvedge_broker_connections_total"));
        assert!(admitted.is_none_or(|line| line.ends_with(" 1")), "{admitted:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_of_a_process_full_of_threads_connects_for_itself() {
    with_broker(|socket| {
        let client = Client::new(socket);
        let is_over = AtomicBool::new(false);
        let number = |client: &Client| {
            let key = template(Algorithm::Aes128, Usages::ENCRYPT);
            client.call(&call::KeyGenerate { template: &key }).unwrap()
        };
        let parents = number(&client);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        client.call(&call::Echo { payload: &[7; 3000] }).unwrap();
                    }
                });
            }
            for _ in 0..20 {
                // SAFETY: the child calls what the client promises to allow, and ends at once.
                let child = unsafe { libc::fork() };
                if child == 0 {
                    let echoed = client.call(&call::Echo { payload: b"child" });
                    // A key of the parent's connection is not the child's.
                    let other = client.call(&call::KeyAttributes { key: parents });
                    let is_right = matches!(echoed.as_deref(), Ok(b"child"))
                        && matches!(other, Err(Error::Refused { status: Status::UnknownKey, .. }));
                    // SAFETY: no destructor of the parent's may run here.
                    unsafe { libc::_exit(if is_right { 0 } else { 1 }) };
                }
                let mut ended = 0;
                // SAFETY: `ended` outlives the call.
                assert_eq!(unsafe { libc::waitpid(child, &mut ended, 0) }, child);
                assert_eq!(ended, 0, "the child's answers");
            }
            is_over.store(true, Ordering::Relaxed);
        });
        client.call(&call::KeyAttributes { key: parents }).unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_that_asks_lets_go_of_its_parents_connection() {
    with_broker(|socket| {
        let watcher = Client::new(socket);
        let connections = || {
            let text = watcher.call(&call::Status {}).unwrap();
            let value = text.lines().find_map(|line| line.strip_prefix("selvedge_broker_connections "));
            value.expect("there is a gauge").parse::<usize>().unwrap()
        };
        let client = Client::new(socket);
        client.call(&call::Echo { payload: b"parent" }).unwrap();
        let (mut told, tells) = UnixStream::pair().unwrap();
        told.set_read_timeout(Some(PATIENCE)).unwrap();
        // SAFETY: the child calls what the client promises to allow, and system calls.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // The parent's end, so that the child sees when the parent is done.
            drop(told);
            let is_right = client.call(&call::Echo { payload: b"child" }).is_ok();
            let (mut tells, mut end) = (&tells, [0]);
            let is_told = tells.write_all(&[u8::from(is_right)]).is_ok();
            let is_over = matches!(tells.read(&mut end), Ok(0));
            // SAFETY: no destructor of the parent's may run here.
            unsafe { libc::_exit(if is_told && is_over { 0 } else { 1 }) };
        }
        let mut asked = [0];
        told.read_exact(&mut asked).unwrap();
        assert_eq!((asked, connections()), ([1], 3), "the watcher's, the parent's, the child's");
        drop(client);
        let began = Instant::now();
        while connections() > 2 {
            assert!(began.elapsed() < PATIENCE, "the broker sees the parent's end");
        }
        drop((told, tells));
        let mut ended = 0;
        // SAFETY: `ended` outlives the call.
        assert_eq!(unsafe { libc::waitpid(child, &mut ended, 0) }, child);
        assert_eq!(ended, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_child_gave_the_number_of_its_parents_socket_stays_open() {
    with_broker(|socket| {
        let client = Client::new(socket);
        client.call(&call::Echo { payload: b"parent" }).unwrap();
        let (told, tells) = UnixStream::pair().unwrap();
        told.set_read_timeout(Some(PATIENCE)).unwrap();
        // SAFETY: the child calls what the client promises to allow, and system calls.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // As a daemon begins: it closes whatever it has, and opens what it needs.
            for number in (3..256).filter(|number| *number != tells.as_raw_fd()) {
                // SAFETY: a number that is none is an error; `tells` is kept, and what owns the others is never dropped.
                unsafe { libc::dup2(tells.as_raw_fd(), number) };
            }
            let is_right = client.call(&call::Echo { payload: b"child" }).is_ok();
            // SAFETY: a number that is none is an error.
            let are_open = (3..256).all(|number| unsafe { libc::fcntl(number, libc::F_GETFD) } != -1);
            let is_told = (&tells).write_all(&[u8::from(is_right), u8::from(are_open)]).is_ok();
            // SAFETY: no destructor of the parent's may run here.
            unsafe { libc::_exit(i32::from(!is_told)) };
        }
        let mut said = [0; 2];
        (&told).read_exact(&mut said).unwrap();
        assert_eq!(said, [1, 1], "it is answered, and all of its own is open");
        let mut ended = 0;
        // SAFETY: `ended` outlives the call.
        assert_eq!(unsafe { libc::waitpid(child, &mut ended, 0) }, child);
        assert_eq!(ended, 0);
    })
    .await;
}

/// The next request, or none when the client hung up.
fn next(stream: &mut UnixStream, decoder: &mut Decoder) -> Option<Pdu> {
    let mut buffer = [0; 1];
    loop {
        if stream.read(&mut buffer).ok()? == 0 {
            return None;
        }
        if let Some(pdu) = decoder.next(&mut &buffer[..]).unwrap() {
            return Some(pdu);
        }
    }
}

/// A broker that does to each request what it is told: answers it with a status and a hint, or hangs up.
fn scripted(path: &Path, script: Vec<Option<(Status, u32)>>) -> thread::JoinHandle<usize> {
    let listener = UnixListener::bind(path).unwrap();
    thread::spawn(move || {
        let mut script = script.into_iter().peekable();
        let mut connections = 0;
        while script.peek().is_some() {
            let (mut stream, _) = listener.accept().unwrap();
            connections += 1;
            let mut decoder = Decoder::new(Framing::Plain);
            while let Some(request) = next(&mut stream, &mut decoder) {
                let Some(Some((status, time_ms))) = script.next() else { break };
                let head = Head {
                    connection: Connection(connections as u64),
                    time_ms,
                    ..request.head().answer(status)
                };
                stream.write_all(Pdu::empty(head).bytes()).unwrap();
                if script.peek().is_none() {
                    break;
                }
            }
        }
        connections
    })
}

#[test]
fn what_was_under_way_is_asked_once_more_if_that_does_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("broker.sock");
    let hash = call::Hash { hash: Hash::Sha256, message: b"" };
    let key = template(Algorithm::P256, Usages::SIGN);
    let done = Some((Status::Done, 0));
    let server = scripted(&path, vec![None, done, None, done, None, None]);
    let client = Client::new(&path);
    client.call(&hash).unwrap();
    assert!(matches!(client.call(&call::KeyGenerate { template: &key }), Err(Error::Disconnected)));
    let context = client.call(&Begin(hash));
    assert!(matches!(context, Err(Error::Answer(_))), "it was answered, with nothing");
    assert!(matches!(client.call(&hash), Err(Error::Disconnected)), "twice");
    assert_eq!(server.join().unwrap(), 4);
    let gone = client.call(&hash);
    assert!(matches!(gone, Err(Error::Io { doing: "connect to", .. })), "{gone:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_begun_on_a_connection_does_not_go_on_on_another() {
    with_broker(|socket| {
        let [one, two] = [Client::new(socket), Client::new(socket)];
        let begin = Begin(call::Hash { hash: Hash::Sha256, message: &[] });
        let [first, second] = [&one, &two].map(|client| client.call(&begin).unwrap());
        assert_eq!(refused(two.call(&Update { context: first, part: b"mixed" })), Status::UnknownContext);
        two.call(&Finish { context: second, part: b"" }).unwrap();
        one.call(&Finish { context: first, part: b"" }).unwrap();
    })
    .await;
}

#[test]
fn a_busy_broker_is_asked_again_as_long_as_its_client_wants() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("broker.sock");
    let busy = Some((Status::Busy, 20));
    let server = scripted(&path, vec![busy, busy, Some((Status::Done, 0)), Some((Status::Busy, 1000))]);
    let patience = Patience { busy_max: Duration::from_secs(60), ..Patience::default() };
    let start = Instant::now();
    Client::with(&path, patience).call(&call::Echo { payload: b"" }).unwrap();
    assert!(start.elapsed() >= Duration::from_millis(40), "the hint was not heeded");
    assert_eq!(refused(Client::new(&path).call(&call::Echo { payload: b"" })), Status::Busy);
    server.join().unwrap();
}

#[test]
fn a_broker_that_comes_later_is_waited_for_and_one_that_refuses_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("broker.sock");
    let patience = Patience { connect_max: Duration::from_secs(60), ..Patience::default() };
    let client = Arc::new(Client::with(&path, patience));
    let asked = Arc::new(AtomicUsize::new(0));
    let waits = thread::spawn({
        let (client, asked) = (client.clone(), asked.clone());
        move || {
            asked.store(1, Ordering::Release);
            client.call(&call::Echo { payload: b"" })
        }
    });
    while asked.load(Ordering::Acquire) == 0 {
        thread::yield_now();
    }
    let listener = UnixListener::bind(&path).unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    let notice = Pdu::empty(Head::default().answer(Status::ConnectionsFull));
    stream.write_all(notice.bytes()).unwrap();
    drop(stream);
    assert_eq!(refused(waits.join().unwrap()), Status::ConnectionsFull);
}
