//! A test: no sequence of up to five calls of two users obtains a secret, or what is another's.
//!
//! Each state that calls lead to is reached once, by the calls that led there, and in it everything is tried that does not
//! lead to another. Sequences that differ in calls without effect, in the order of calls that do not need each other, or in
//! which of the two users is which, are thereby covered. A user may name any handle, as if it were guessed, and knows what it imported, so it can unwrap outside what
//! was wrapped under that. Shorter sequences, and some of the longest, are looked at again after the device has started
//! anew from its store, whose files anybody may read.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::io;

use super::*;
use crate::engine::keys::NOBODY;
use crate::engine::store::{Derivation, Disk, SealingKey};
use crate::wire::Head;

/// Calls in a sequence.
const DEPTH: usize = 5;
/// Of the longest sequences, one in so many is looked at after a restart, too; all of them in a soak.
const AGAIN: usize = 32;
const GCM: [u8; 4] = [1, 16, 0, 0];
const ECB: [u8; 4] = [1, 0, 0, 0];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Wraps,
    /// One that could be wrapped itself, which there must not be.
    WrapsAndIsWrapped,
    Seals,
    Encrypts,
    Derives,
}

impl Kind {
    const ALL: [Kind; 5] = [Kind::Wraps, Kind::WrapsAndIsWrapped, Kind::Seals, Kind::Encrypts, Kind::Derives];

    fn template(self) -> Template {
        let (algorithm, usages) = match self {
            Kind::Wraps => (Algorithm::Aes256, Usages::WRAP.and(Usages::UNWRAP)),
            Kind::WrapsAndIsWrapped => {
                (Algorithm::Aes256, Usages::WRAP.and(Usages::UNWRAP).and(Usages::WRAPPABLE))
            }
            Kind::Seals => (Algorithm::Aes256, Usages::SEAL.and(Usages::OPEN).and(Usages::WRAPPABLE)),
            Kind::Encrypts => {
                (Algorithm::Aes256, Usages::ENCRYPT.and(Usages::DECRYPT).and(Usages::WRAPPABLE))
            }
            Kind::Derives => (Algorithm::Hkdf, Usages::DERIVE.and(Usages::WRAPPABLE)),
        };
        Template { is_persistent: true, ..Template::new(algorithm, usages) }
    }

    /// Whether a key of this kind may come from elsewhere, or from another key.
    fn is_given(self) -> bool {
        !matches!(self, Kind::Wraps | Kind::WrapsAndIsWrapped)
    }
}

/// A call that leads to another state. Keys and wrapped keys are named by when they were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Call {
    Generate(Kind),
    Import(Kind),
    Wrap(usize, usize),
    Unwrap(usize, usize, Kind),
    Derive(usize, Kind),
    Destroy(usize),
}

impl Call {
    /// The keys and the wrapped key that it names.
    fn needs(self) -> (Vec<usize>, Option<usize>) {
        match self {
            Call::Generate(_) | Call::Import(_) => (vec![], None),
            Call::Wrap(wrapping, key) => (vec![wrapping, key], None),
            Call::Unwrap(wrapping, blob, _) => (vec![wrapping], Some(blob)),
            Call::Derive(key, _) | Call::Destroy(key) => (vec![key], None),
        }
    }
}

/// A key as the test knows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Known {
    owner: usize,
    kind: Kind,
    /// Which secret it has: equal numbers, equal secrets.
    secret: usize,
    is_imported: bool,
    is_alive: bool,
}

/// A state as the test knows it: keys, and wrapped keys by the secrets of wrapper and wrapped.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    keys: Vec<Known>,
    wrapped: Vec<(usize, usize)>,
    secrets: usize,
}

/// Calls, the state that they lead to, and that before the last of them.
#[derive(Default)]
struct Path {
    before: State,
    state: State,
    calls: Vec<(usize, Call)>,
}

/// What the two users have in the device.
#[derive(Default)]
struct World {
    handles: Vec<KeyHandle>,
    blobs: Vec<Vec<u8>>,
    /// The secret of each key.
    secrets: Vec<Secret>,
    /// All that is eight bytes in a row of a secret that nobody gave.
    telltales: HashSet<Vec<u8>>,
}

impl State {
    /// The state after a call that is carried out; `None` for one that must be refused.
    fn after(&self, user: usize, call: Call) -> Option<State> {
        let mut next = self.clone();
        let own = |key: usize| self.keys.get(key).filter(|key| key.is_alive && key.owner == user);
        let mut born = |kind, secret, is_imported| {
            next.secrets = next.secrets.max(secret + 1);
            next.keys.push(Known { owner: user, kind, secret, is_imported, is_alive: true });
        };
        match call {
            Call::Generate(kind) if kind != Kind::WrapsAndIsWrapped => born(kind, self.secrets, false),
            Call::Import(kind) if kind.is_given() => born(kind, self.secrets, true),
            Call::Wrap(wrapping, key) => {
                let (wrapping, key) = (own(wrapping)?, own(key)?);
                if wrapping.kind != Kind::Wraps || key.kind == Kind::Wraps {
                    return None;
                }
                next.wrapped.push((wrapping.secret, key.secret));
            }
            Call::Unwrap(wrapping, blob, kind) if kind.is_given() => {
                let (under, secret) = self.wrapped[blob];
                if own(wrapping)?.kind != Kind::Wraps || own(wrapping)?.secret != under {
                    return None;
                }
                let is_imported = self.keys.iter().any(|key| key.secret == secret && key.is_imported);
                born(kind, secret, is_imported);
            }
            Call::Derive(base, kind) if kind.is_given() => {
                if own(base)?.kind != Kind::Derives {
                    return None;
                }
                // Derived from the same secret for the same kind, it is the same; the test need not know that.
                born(kind, self.secrets, own(base)?.is_imported);
            }
            Call::Destroy(key) => {
                own(key)?;
                next.keys[key].is_alive = false;
            }
            _ => return None,
        }
        Some(next)
    }

    /// Whether `first` and `second`, one behind the other in this state, come to the same in the other order, and that is
    /// the one to look at.
    fn is_swapped(&self, first: (usize, Call), second: (usize, Call)) -> bool {
        let (keys, blobs) = second.1.needs();
        let first_keys = first.1.needs().0;
        let makes_what_is_needed = keys.iter().any(|key| *key >= self.keys.len())
            || blobs.is_some_and(|blob| blob >= self.wrapped.len());
        let destroys = |call: Call, keys: &[usize]| matches!(call, Call::Destroy(key) if keys.contains(&key));
        let depends = makes_what_is_needed || destroys(first.1, &keys) || destroys(second.1, &first_keys);
        !depends && second < first
    }

    fn calls(&self) -> Vec<Call> {
        let mut calls: Vec<Call> =
            Kind::ALL.into_iter().flat_map(|k| [Call::Generate(k), Call::Import(k)]).collect();
        let keys = 0..self.keys.len();
        for key in keys.clone() {
            calls.push(Call::Destroy(key));
            calls.extend(Kind::ALL.map(|kind| Call::Derive(key, kind)));
            calls.extend(keys.clone().map(|other| Call::Wrap(key, other)));
            for blob in 0..self.wrapped.len() {
                calls.extend(Kind::ALL.map(|kind| Call::Unwrap(key, blob, kind)));
            }
        }
        calls
    }
}

fn ask(
    engine: &mut SoftwareEngine,
    user: usize,
    operation: Operation,
    key: KeyHandle,
    parameters: &[u8],
    payload: &[u8],
) -> Pdu {
    let head = Head { connection: Connection(user as u64 + 1), ..Head::request(operation, 1, key) };
    engine.execute(&Pdu::new(head, parameters, payload).unwrap()).unwrap()
}

impl World {
    /// Carries a call out, and keeps what it made; the answer.
    fn call(&mut self, engine: &mut SoftwareEngine, user: usize, call: Call, state: &State) -> Pdu {
        let template = |kind: Kind| kind.template().to_bytes();
        let handle = |key: usize| self.handles[key];
        let answer = match call {
            Call::Generate(kind) => {
                ask(engine, user, Operation::KeyGenerate, KeyHandle::NONE, &template(kind), &[])
            }
            Call::Import(kind) => {
                let parameters = [&[0; 4], &template(kind)[..]].concat();
                let secret = [0xA0 + state.secrets as u8; 32];
                ask(engine, user, Operation::KeyImport, KeyHandle::NONE, &parameters, &secret)
            }
            Call::Wrap(wrapping, key) => {
                let key = handle(key).0.to_le_bytes();
                ask(engine, user, Operation::KeyWrap, handle(wrapping), &key, &[])
            }
            Call::Unwrap(wrapping, blob, kind) => {
                let blob = &self.blobs[blob];
                ask(engine, user, Operation::KeyUnwrap, handle(wrapping), &template(kind), blob)
            }
            Call::Derive(base, kind) => {
                let parameters = [&[2, 0, 0, 0], &template(kind)[..]].concat();
                ask(engine, user, Operation::Derive, handle(base), &parameters, &[state.secrets as u8])
            }
            Call::Destroy(key) => ask(engine, user, Operation::KeyDestroy, handle(key), &[], &[]),
        };
        if answer.status() == Ok(Status::Done) {
            match call {
                Call::Wrap(..) => self.blobs.push(answer.payload().to_vec()),
                Call::Destroy(_) => {}
                _ => {
                    let key = answer.head().key;
                    let asker =
                        Asker { user: Some(user as u32), ..Asker::stranger(Connection(user as u64 + 1)) };
                    let made = engine.keys().see(&asker, key).unwrap();
                    let secret = made.material.secret().unwrap();
                    let is_given = state
                        .after(user, call)
                        .is_some_and(|next| next.keys.last().is_some_and(|key| key.is_imported));
                    if !is_given {
                        self.telltales.extend(secret.windows(8).map(<[u8]>::to_vec));
                    }
                    self.secrets.push(Secret::new(secret.to_vec()));
                    self.handles.push(key);
                }
            }
        }
        answer
    }

    /// No answer may hold eight bytes in a row of a secret that nobody gave.
    fn check_silent(&self, answer: &Pdu, what: &dyn std::fmt::Debug) {
        for window in answer.payload().windows(8) {
            assert!(!self.telltales.contains(window), "{what:?} tells a secret");
        }
    }

    /// Tries all that leads nowhere else, as both users.
    fn check_reads(&self, engine: &mut SoftwareEngine, state: &State) {
        const TRIED: [(Operation, &[u8], &[u8]); 8] = [
            (Operation::Seal, &GCM, &[7; 16]),
            (Operation::Open, &GCM, &[7; 80]),
            (Operation::Encrypt, &ECB, &[0; 32]),
            (Operation::Decrypt, &ECB, &[0; 32]),
            (Operation::Mac, &[0], &[0; 16]),
            (Operation::KeyAttest, b"challenge", &[]),
            (Operation::KeyAttributes, &[], &[]),
            (Operation::KeyPublic, &[], &[]),
        ];
        for user in 0..2 {
            let listed = ask(engine, user, Operation::KeyList, KeyHandle::NONE, &[0; 8], &[]);
            let listed: BTreeSet<&[u8]> = listed.payload().chunks(8).collect();
            let own = |key: &Known| key.is_alive && key.owner == user;
            let mut expected = BTreeSet::new();
            let handles: Vec<[u8; 8]> = self.handles.iter().map(|handle| handle.0.to_le_bytes()).collect();
            for (key, handle) in state.keys.iter().zip(&handles) {
                if own(key) {
                    expected.insert(&handle[..]);
                }
                for (operation, parameters, payload) in TRIED {
                    let named = KeyHandle(u64::from_le_bytes(*handle));
                    let answer = ask(engine, user, operation, named, parameters, payload);
                    self.check_silent(&answer, &(operation, key));
                    let seen = answer.status() != Ok(Status::UnknownKey);
                    assert_eq!(seen, own(key), "{operation:?} of {key:?} as {user}");
                }
            }
            assert_eq!(listed, expected, "{state:?} as {user}");
        }
        for (key, secret) in state.keys.iter().zip(&self.secrets).filter(|(key, _)| key.is_imported) {
            for blob in &self.blobs {
                let opened = wrap::unwrap(secret, blob);
                assert!(opened.is_err(), "who imported {key:?} unwraps what was wrapped: {state:?}");
            }
        }
    }

    /// Tries all calls that must be refused. One of a key that is not the user's says what it says of no key.
    fn check_refusals(&mut self, engine: &mut SoftwareEngine, state: &State) {
        for (user, call) in (0..2).flat_map(|user| state.calls().into_iter().map(move |call| (user, call))) {
            if state.after(user, call).is_some() {
                continue;
            }
            let answer = self.call(engine, user, call, state);
            assert_ne!(answer.status(), Ok(Status::Done), "{call:?} as {user} in {state:?}");
            self.check_silent(&answer, &call);
            let named = match call {
                Call::Wrap(key, _) | Call::Unwrap(key, ..) | Call::Derive(key, _) | Call::Destroy(key) => key,
                Call::Generate(_) | Call::Import(_) => continue,
            };
            let key = &state.keys[named];
            if !key.is_alive || key.owner != user {
                assert_eq!(answer.status(), Ok(Status::UnknownKey), "{call:?} as {user} in {state:?}");
            }
        }
    }
}

/// A disk in memory, that anybody can read.
#[derive(Clone, Default)]
struct Files(Arc<Mutex<BTreeMap<String, Vec<u8>>>>);

impl Files {
    fn fresh(name: &str) -> String {
        format!("{name}.new")
    }
}

impl Disk for Files {
    fn read(&self, name: &str, _bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
        Ok(self.0.lock().unwrap().get(name).cloned())
    }

    fn write(&mut self, name: &str, at: u64, bytes: &[u8]) -> io::Result<()> {
        let mut files = self.0.lock().unwrap();
        let file = files.get_mut(name).unwrap();
        file.truncate(at as usize);
        file.extend_from_slice(bytes);
        Ok(())
    }

    fn prepare(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().unwrap().insert(Files::fresh(name), bytes.to_vec());
        Ok(())
    }

    fn place(&mut self, name: &str) -> io::Result<()> {
        let mut files = self.0.lock().unwrap();
        let prepared = files.remove(&Files::fresh(name)).unwrap();
        files.insert(name.to_owned(), prepared);
        Ok(())
    }

    fn discard(&mut self, name: &str) -> io::Result<()> {
        self.0.lock().unwrap().remove(&Files::fresh(name));
        Ok(())
    }
}

/// A device, with this store if there is one, and its two users.
fn start(files: Option<&Files>) -> SoftwareEngine {
    let opened = files.map(|files| {
        let key = SealingKey::new(cipher::Key::copied_from(&[0x11; 32]), String::new());
        let opened = Store::open(Box::new(files.clone()), Box::new(files.clone()), &key, Derivation::Given);
        opened.expect("nothing is damaged")
    });
    let mut engine = SoftwareEngine::with(Vec::new(), opened).unwrap();
    for user in 0..2u32 {
        assert_ne!(user, NOBODY);
        let connection = Connection(u64::from(user) + 1);
        engine.introduce(connection, Asker::introduced(connection, &user.to_le_bytes()));
    }
    engine
}

/// Leads a fresh world to a state, and checks it.
fn lead(engine: &mut SoftwareEngine, path: &[(usize, Call)]) -> (World, State) {
    let (mut world, mut state) = (World::default(), State::default());
    for (user, call) in path {
        let next = state.after(*user, *call).expect("only calls that are carried out lead on");
        let answer = world.call(engine, *user, *call, &state);
        assert_eq!(answer.status(), Ok(Status::Done), "{call:?} as {user} in {state:?}");
        state = next;
        world.check_silent(&answer, call);
    }
    world.check_reads(engine, &state);
    world.check_refusals(engine, &state);
    (world, state)
}

/// Leads there, and takes the keys away again.
fn visit(engine: &mut SoftwareEngine, path: &[(usize, Call)]) {
    let (world, state) = lead(engine, path);
    for (key, handle) in state.keys.iter().zip(&world.handles).filter(|(key, _)| key.is_alive) {
        ask(engine, key.owner, Operation::KeyDestroy, *handle, &[], &[]);
    }
    assert!(engine.keys().is_empty());
}

/// Leads there with a store, reads its files, starts the device anew, and looks again.
fn visit_again(path: &[(usize, Call)]) {
    let files = Files::default();
    let (world, state) = lead(&mut start(Some(&files)), path);
    let read = || {
        for (name, bytes) in &*files.0.lock().unwrap() {
            let telltale = bytes.windows(8).find(|window| world.telltales.contains(*window));
            assert_eq!(telltale, None, "the file `{name}` tells a secret");
        }
    };
    read();
    let engine = &mut start(Some(&files));
    world.check_reads(engine, &state);
    read();
}

#[test]
fn no_sequence_of_calls_obtains_a_secret_or_what_is_anothers() {
    let mut engine = start(None);
    let is_soak = std::env::var_os("SELVEDGE_SOAK").is_some_and(|soak| soak == "1");
    let mut seen = BTreeSet::from([State::default()]);
    let mut paths = VecDeque::from([Path::default()]);
    let (mut visited, mut again, mut calls) = (0, 0, 0);
    while let Some(Path { before, state, calls: path }) = paths.pop_front() {
        visit(&mut engine, &path);
        // The longest sequences write little that shorter ones did not.
        if path.len() < DEPTH || is_soak || visited % AGAIN == 0 {
            visit_again(&path);
            again += 1;
        }
        visited += 1;
        if path.len() == DEPTH {
            continue;
        }
        // Who is first is the first user.
        let users = if path.is_empty() { 0..1 } else { 0..2 };
        for (user, call) in users.flat_map(|user| state.calls().into_iter().map(move |call| (user, call))) {
            calls += 1;
            let Some(next) = state.after(user, call) else { continue };
            if path.last().is_some_and(|last| before.is_swapped(*last, (user, call))) {
                continue;
            }
            if seen.insert(next.clone()) {
                let mut path = path.clone();
                path.push((user, call));
                paths.push_back(Path { before: state.clone(), state: next, calls: path });
            }
        }
    }
    println!("{visited} states, {again} of them after a restart too, {calls} calls between them");
    assert!(visited > 10_000, "only {visited} states");
}
