//! What survives a restart of the device: on a disk that loses and tears what was not synced, and on a real one.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use broker::engine::SoftwareEngine;
use broker::engine::keys::{Algorithm, Template, Usages};
use broker::engine::store::{Derivation, Disk, Opened, SealingKey, Store};
use broker::error::StoreFault;
use broker::wire::{KeyHandle, Operation, Status};
use cipher::{Key, Randomness};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::asking::{Asking, provided};

const SECTOR_BYTES: usize = 512;
const GCM: [u8; 4] = [1, 16, 0, 0];
const QUICK: Derivation = Derivation::Argon2id { memory_kib: 64, passes: 1, lanes: 1 };

/// A disk in memory. Each call is a step; the power fails in the middle of a chosen one.
#[derive(Clone)]
struct Platter(Arc<Mutex<State>>);

struct State {
    files: BTreeMap<String, Vec<u8>>,
    prepared: BTreeMap<String, Vec<u8>>,
    /// Steps until the power fails.
    steps: Option<u64>,
    is_dead: bool,
    room_bytes: usize,
    random: ChaCha8Rng,
    /// All salts that were ever written, and with what.
    salts: HashMap<Vec<u8>, Vec<u8>>,
}

impl Platter {
    fn new(seed: u64) -> Platter {
        Platter(Arc::new(Mutex::new(State {
            files: BTreeMap::new(),
            prepared: BTreeMap::new(),
            steps: None,
            is_dead: false,
            room_bytes: usize::MAX,
            random: ChaCha8Rng::seed_from_u64(seed),
            salts: HashMap::new(),
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// The machine starts again.
    fn revive(&self) {
        let mut state = self.state();
        (state.is_dead, state.steps) = (false, None);
    }

    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        self.state().files.clone()
    }

    fn put_back(&self, name: &str, bytes: &[u8]) {
        self.state().files.insert(name.to_owned(), bytes.to_vec());
    }
}

fn dead() -> io::Error {
    io::Error::other("the power failed")
}

impl State {
    /// Whether the step is done; otherwise the power fails in the middle of it.
    fn step(&mut self) -> io::Result<bool> {
        if self.is_dead {
            return Err(dead());
        }
        match &mut self.steps {
            Some(0) => {
                self.is_dead = true;
                Ok(false)
            }
            Some(left) => {
                *left -= 1;
                Ok(true)
            }
            None => Ok(true),
        }
    }

    fn has_room(&self, more_bytes: usize) -> bool {
        let used: usize = self.files.values().chain(self.prepared.values()).map(Vec::len).sum();
        used + more_bytes <= self.room_bytes
    }

    /// What of `new` is on the disk where it was being written over `old` from `at` on: of each sector the old, the new, or
    /// noise, and any length between.
    fn torn(&mut self, old: &[u8], new: &[u8], at: usize) -> Vec<u8> {
        let mut torn = old.to_vec();
        torn.resize(old.len().max(new.len()), 0);
        for (sector, from) in (at..torn.len()).step_by(SECTOR_BYTES).enumerate() {
            let to = torn.len().min(from + SECTOR_BYTES);
            match self.random.next_u32() % 4 {
                0 => self.random.fill_bytes(&mut torn[from..to]),
                1 => {}
                _ => {
                    let end = to.min(new.len());
                    if from < end {
                        torn[from..end].copy_from_slice(&new[from..end]);
                    }
                }
            }
            assert!(sector < 100_000);
        }
        let lengths = [at, new.len(), torn.len()];
        let any = at + self.random.next_u32() as usize % (torn.len() - at + 1);
        torn.truncate(*lengths.get(self.random.next_u32() as usize % 4).unwrap_or(&any));
        torn
    }

    /// No salt comes with two messages: each record is `head 12 | salt 32 | sealed`.
    fn witness(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(sealed_bytes) = rest.first_chunk().map(|bytes| u32::from_le_bytes(*bytes) as usize) {
            let record = &rest[..44 + sealed_bytes];
            let before = self.salts.insert(record[12..44].to_vec(), record.to_vec());
            assert!(before.is_none_or(|before| before == record), "two messages have one nonce and one key");
            rest = rest.get(record.len().next_multiple_of(SECTOR_BYTES)..).unwrap_or_default();
        }
    }
}

fn full() -> io::Error {
    io::ErrorKind::StorageFull.into()
}

impl Disk for Platter {
    fn read(&self, name: &str, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
        let state = self.state();
        let found = state.files.get(name).cloned();
        assert!(found.as_ref().is_none_or(|bytes| bytes.len() as u64 <= bytes_max));
        if state.is_dead { Err(dead()) } else { Ok(found) }
    }

    fn write(&mut self, name: &str, at: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        let is_whole = state.step()?;
        state.witness(bytes);
        let (length, at) = (state.files[name].len(), at as usize);
        assert!(length >= at, "nothing is left out");
        let has_room = state.has_room((at + bytes.len()).saturating_sub(length));
        if is_whole && has_room {
            let file = state.files.get_mut(name).expect("it is there");
            file.truncate(at);
            file.extend_from_slice(bytes);
        } else {
            let old = state.files[name].clone();
            let mut found = state.torn(&old, &[&old[..at], bytes].concat(), at);
            if is_whole {
                found.truncate(at); // what there was room for
            }
            state.files.insert(name.to_owned(), found);
        }
        match (is_whole, has_room) {
            (false, _) => Err(dead()),
            (_, false) => Err(full()),
            _ => Ok(()),
        }
    }

    fn prepare(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        let is_whole = state.step()?;
        state.prepared.remove(name);
        if name == "keys" {
            state.witness(&bytes[SECTOR_BYTES..]);
        }
        if is_whole && !state.has_room(bytes.len()) {
            return Err(full());
        }
        let found = if is_whole { bytes.to_vec() } else { state.torn(&[], bytes, 0) };
        state.prepared.insert(name.to_owned(), found);
        if is_whole { Ok(()) } else { Err(dead()) }
    }

    fn place(&mut self, name: &str) -> io::Result<()> {
        let mut state = self.state();
        let is_whole = state.step()?;
        let is_placed = is_whole || state.random.next_u32() & 1 == 0;
        if is_placed {
            let prepared = state.prepared.remove(name).expect("what is placed was prepared");
            state.files.insert(name.to_owned(), prepared);
        }
        if is_whole { Ok(()) } else { Err(dead()) }
    }

    fn discard(&mut self, name: &str) -> io::Result<()> {
        let mut state = self.state();
        state.prepared.remove(name);
        if state.is_dead { Err(dead()) } else { Ok(()) }
    }
}

/// Randomness that a machine has again when it is woken from the same snapshot.
struct Again(ChaCha8Rng);

impl Randomness for Again {
    fn fill(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.0.fill_bytes(bytes);
        Ok(())
    }
}

fn key() -> SealingKey {
    SealingKey::new(Key::copied_from(&[0x5A; 32]), "a test".to_owned())
}

fn open(platter: &Platter) -> Result<Opened, StoreFault> {
    Store::open(Box::new(platter.clone()), Box::new(platter.clone()), &key(), QUICK)
}

fn start(platter: &Platter) -> Asking {
    let opened = open(platter).unwrap_or_else(|fault| panic!("the store opens: {fault}"));
    asking(provided(&[]).with_store(opened).unwrap())
}

fn asking(engine: SoftwareEngine) -> Asking {
    let mut asking = Asking { engine, connection: broker::wire::Connection(1) };
    asking.introduce(1, 1000, &[1000]);
    asking
}

fn persistent(algorithm: Algorithm, usages: Usages) -> Template {
    Template { is_persistent: true, ..Template::new(algorithm, usages) }
}

fn aes() -> Template {
    persistent(Algorithm::Aes256, Usages::SEAL.and(Usages::OPEN))
}

fn listed(asking: &mut Asking) -> BTreeSet<KeyHandle> {
    let handles = asking.ask(Operation::KeyList, KeyHandle::NONE, &[0; 8], &[]).unwrap();
    handles.as_chunks::<8>().0.iter().map(|bytes| KeyHandle(u64::from_le_bytes(*bytes))).collect()
}

#[test]
fn each_kind_of_key_is_the_same_after_a_restart() {
    use Algorithm::*;
    let platter = Platter::new(1);
    let mut before = start(&platter);
    let signs = Usages::SIGN.and(Usages::VERIFY);
    let seals = Usages::SEAL.and(Usages::OPEN);
    let all = [
        (Aes128, seals),
        (Aes192, seals),
        (Aes256, seals),
        (Ascon128, seals),
        (Hmac, Usages::MAC),
        (Hkdf, Usages::DERIVE),
        (P256, signs.and(Usages::AGREE)),
        (Ed25519, signs),
        (X25519, Usages::AGREE),
        (Rsa2048, signs),
        (Rsa3072, signs.and(Usages::DECRYPT)),
    ];
    assert_eq!(all.map(|(algorithm, _)| algorithm), *Algorithm::ALL);
    let mut kept = Vec::new();
    let told = |asking: &mut Asking, handle| {
        let mac = asking.ask(Operation::Mac, handle, &[2], b"message");
        let attributes = asking.ask(Operation::KeyAttributes, handle, &[], &[]).unwrap();
        (attributes, asking.ask(Operation::KeyPublic, handle, &[], &[]), mac)
    };
    for (algorithm, usages) in all {
        let name = format!("my {}", algorithm.name()).into_bytes();
        let handle = before.generate(&Template { name, ..persistent(algorithm, usages) }).unwrap();
        let sealed = before.ask(Operation::Seal, handle, &GCM, b"text");
        kept.push((handle, told(&mut before, handle), sealed));
    }
    let public = before.ask(Operation::KeyPublic, kept[7].0, &[], &[]).unwrap();
    let public = before.import_public(&persistent(Ed25519, Usages::VERIFY), &public).unwrap();
    kept.push((public, told(&mut before, public), Err(Status::WrongPurpose)));
    let session = before.generate(&Template::new(Aes256, seals)).unwrap();
    drop(before);
    let mut after = start(&platter);
    assert_eq!(listed(&mut after), kept.iter().map(|(handle, ..)| *handle).collect());
    for (handle, before, sealed) in kept {
        assert_eq!(told(&mut after, handle), before);
        if let Ok(sealed) = sealed {
            assert_eq!(after.ask(Operation::Open, handle, &GCM, &sealed).unwrap(), b"text");
        }
    }
    let found = after.make(Operation::FindKey, KeyHandle::NONE, &[], b"my hmac");
    assert!(found.is_ok(), "names are kept");
    assert_eq!(after.ask(Operation::KeyAttributes, session, &[], &[]), Err(Status::UnknownKey));
    after.introduce(2, 1001, &[]);
    assert!(listed(&mut after).is_empty(), "owners are kept");
}

#[test]
fn no_secret_is_in_the_files() {
    let platter = Platter::new(2);
    let mut asking = start(&platter);
    let secret = [0xC5; 32];
    asking.import(&aes(), &secret).unwrap();
    for (name, bytes) in platter.files() {
        assert!(!bytes.windows(8).any(|window| window == &secret[..8]), "{name}");
    }
}

/// Does what a user does until the power fails: what was answered, and what was asked last.
struct Promised {
    there: BTreeSet<KeyHandle>,
    gone: BTreeSet<KeyHandle>,
    /// Asked to go, and not answered.
    going: Option<KeyHandle>,
    /// Keys may be there of which nobody was told: one for each time that it failed.
    unsaid: usize,
}

fn live(platter: &Platter, random: &mut ChaCha8Rng, promised: &mut Promised) {
    let Ok(opened) = open(platter) else {
        assert!(platter.state().is_dead, "only a failure of the power keeps a store closed");
        return;
    };
    let mut asking = asking(provided(&[]).with_store(opened).unwrap());
    let found = listed(&mut asking);
    if let Some(going) = promised.going.take() {
        promised.there.remove(&going);
        if found.contains(&going) {
            promised.there.insert(going);
        } else {
            promised.gone.insert(going);
        }
    }
    assert!(promised.there.is_subset(&found), "a key whose handle was told is there");
    assert!(promised.gone.is_disjoint(&found), "a key that was destroyed stays so");
    let more = found.difference(&promised.there).count();
    assert!(more <= promised.unsaid, "{more} keys that nobody made");
    promised.unsaid = 0;
    promised.there = found;
    for handle in &promised.there {
        let sealed = asking.ask(Operation::Seal, *handle, &GCM, b"text").unwrap();
        assert_eq!(
            asking.ask(Operation::Open, *handle, &GCM, &sealed).unwrap(),
            b"text",
            "none is half there"
        );
    }
    for _ in 0..8 {
        let victim = promised.there.iter().copied().next();
        match victim.filter(|_| random.next_u32().is_multiple_of(3)) {
            Some(victim) => match asking.ask(Operation::KeyDestroy, victim, &[], &[]) {
                Ok(_) => {
                    promised.there.remove(&victim);
                    promised.gone.insert(victim);
                }
                Err(status) => {
                    assert_eq!(status, Status::DeviceFault);
                    promised.going = Some(victim);
                    return;
                }
            },
            None => match asking.generate(&aes()) {
                Ok(handle) => drop(promised.there.insert(handle)),
                Err(status) => {
                    assert_eq!(status, Status::DeviceFault);
                    promised.unsaid = 1;
                    return;
                }
            },
        }
    }
}

#[test]
fn whatever_step_the_power_fails_in_what_was_answered_is_there_and_nothing_is_half() {
    let mut failures = 0;
    for seed in 0..60 {
        // The seed is said when something fails.
        println!("seed {seed}");
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let platter = Platter::new(seed);
        let (there, gone) = (BTreeSet::new(), BTreeSet::new());
        let mut promised = Promised { there, gone, going: None, unsaid: 0 };
        for steps in 0..30 {
            platter.state().steps = Some(steps);
            live(&platter, &mut random, &mut promised);
            failures += u32::from(platter.state().is_dead);
            platter.revive();
        }
        live(&platter, &mut random, &mut promised);
    }
    println!("{failures} failures of the power");
    assert!(failures > 1000);
}

#[test]
fn no_salt_is_used_twice_however_often_it_is_killed_and_put_back() {
    let platter = Platter::new(3);
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let mut snapshots = vec![(platter.files(), random.clone())];
    for _ in 0..1000 {
        let again = Box::new(Again(random.clone()));
        let opened =
            Store::open_with(Box::new(platter.clone()), Box::new(platter.clone()), &key(), QUICK, again);
        let mut asking = asking(provided(&[]).with_store(opened.unwrap()).unwrap());
        for _ in 0..1 + random.next_u32() % 3 {
            asking.generate(&aes()).unwrap();
        }
        let some = listed(&mut asking).into_iter().next().unwrap();
        if random.next_u32().is_multiple_of(2) {
            asking.ask(Operation::KeyDestroy, some, &[], &[]).unwrap();
        }
        snapshots.push((platter.files(), random.clone()));
        // Files and randomness as they were at any time before: both files, or nothing would open.
        let (files, then) = snapshots[random.next_u32() as usize % snapshots.len()].clone();
        platter.state().files = files;
        if random.next_u32().is_multiple_of(2) {
            random = then;
            random.next_u32();
        }
    }
    let salts = platter.state().salts.len();
    assert!(salts > 1000, "only {salts} records");
}

#[test]
fn two_users_of_one_key_never_repeat_a_nonce_across_kills_and_snapshots() {
    let platter = Platter::new(4);
    let mut random = ChaCha8Rng::seed_from_u64(4);
    let mut first = start(&platter);
    let access = vec![broker::engine::keys::Grant {
        grantee: broker::engine::keys::Grantee::User(1001),
        usages: Usages::SEAL,
    }];
    let shared = first.generate(&Template { access, ..aes() }).unwrap();
    drop(first);
    let files = platter.files();
    let mut nonces = BTreeSet::new();
    let mut sealed_count = 0;
    for _ in 0..1000 {
        platter.state().files = files.clone();
        let mut asking = start(&platter);
        asking.introduce(2, 1001, &[]);
        for _ in 0..1 + random.next_u32() % 4 {
            asking.connection = broker::wire::Connection(1 + u64::from(random.next_u32() % 2));
            let sealed = asking.ask(Operation::Seal, shared, &GCM, b"text").unwrap();
            sealed_count += 1;
            assert!(nonces.insert(sealed[..44].to_vec()), "a salt and a nonce came twice");
        }
    }
    assert_eq!(nonces.len(), sealed_count);
}

#[test]
fn a_full_disk_refuses_a_key_and_leaves_nothing_of_it() {
    for room_bytes in (0..6000).step_by(100) {
        let platter = Platter::new(5);
        let mut asking = start(&platter);
        let first = asking.generate(&aes()).unwrap();
        let used: usize = platter.files().values().map(Vec::len).sum();
        platter.state().room_bytes = used + room_bytes;
        let mut there = BTreeSet::from([first]);
        let refused = loop {
            match asking.generate(&aes()) {
                Ok(handle) => drop(there.insert(handle)),
                Err(status) => break status,
            }
        };
        assert_eq!(refused, Status::StoreFull);
        assert_eq!(listed(&mut asking), there);
        assert_eq!(asking.ask(Operation::KeyDestroy, first, &[], &[]), Err(Status::StoreFull));
        let session = asking.generate(&Template::new(Algorithm::Aes128, Usages::SEAL));
        assert!(session.is_ok(), "what is not kept needs no room");
        assert_eq!(listed(&mut start(&platter)), there);
        platter.state().room_bytes = usize::MAX;
        there.insert(asking.generate(&aes()).unwrap());
        assert_eq!(listed(&mut start(&platter)), there);
    }
}

#[test]
fn an_older_copy_is_refused_and_stays_as_it_is() {
    let platter = Platter::new(6);
    let mut asking = start(&platter);
    let mut copies = vec![platter.files()];
    let made: Vec<KeyHandle> = (0..3)
        .map(|_| {
            let made = asking.generate(&aes()).unwrap();
            copies.push(platter.files());
            made
        })
        .collect();
    asking.ask(Operation::KeyDestroy, made[0], &[], &[]).unwrap();
    copies.push(platter.files());
    drop(asking);
    drop(start(&platter)); // written anew without the one that is gone
    let now = platter.files();
    for (generation, copy) in copies.iter().enumerate().take(4) {
        platter.put_back("keys", &copy["keys"]);
        let fault = open(&platter).err().expect("an older copy is not opened");
        let found = generation as u64;
        assert!(matches!(fault, StoreFault::RolledBack { found: is, .. } if is == found), "{fault}");
        assert_eq!(platter.files()["keys"], copy["keys"]);
    }
    platter.state().files = now.clone();
    // An anchor that is older than the keys loses nothing.
    platter.put_back("anchor", &copies[4]["anchor"]);
    assert_eq!(listed(&mut start(&platter)), made[1..].iter().copied().collect());
    for name in ["keys", "anchor"] {
        platter.state().files = now.clone();
        platter.state().files.remove(name);
        let fault = open(&platter).err().expect("half a store is not opened");
        let named = matches!(
            (name, &fault),
            ("keys", StoreFault::KeysMissing) | ("anchor", StoreFault::AnchorMissing)
        );
        assert!(named, "{fault}");
    }
    // Both of one time are a store: nothing here could tell.
    platter.state().files = copies[2].clone();
    assert_eq!(listed(&mut start(&platter)), made[..2].iter().copied().collect());
}

#[test]
fn two_futures_of_one_store_are_told_apart() {
    let platter = Platter::new(7);
    start(&platter).generate(&aes()).unwrap();
    let past = platter.files();
    start(&platter).generate(&aes()).unwrap();
    let one = platter.files();
    platter.state().files = past;
    start(&platter).generate(&aes()).unwrap();
    platter.put_back("keys", &one["keys"]);
    assert!(matches!(open(&platter), Err(StoreFault::Forked { generation: 2 })));
    let other = Platter::new(8);
    start(&other).generate(&aes()).unwrap();
    platter.put_back("anchor", &other.files()["anchor"]);
    assert!(matches!(open(&platter), Err(StoreFault::AnchorOfAnother)));
}

#[test]
fn damage_is_named_wherever_it_is_and_nothing_is_cut_that_counts() {
    let platter = Platter::new(9);
    let mut asking = start(&platter);
    for _ in 0..3 {
        asking.generate(&aes()).unwrap();
    }
    let whole = platter.files();
    let mut random = ChaCha8Rng::seed_from_u64(9);
    for at in 0..whole["keys"].len() {
        let mut damaged = whole["keys"].clone();
        damaged[at] ^= 1 << (random.next_u32() % 8);
        platter.put_back("keys", &damaged);
        platter.put_back("anchor", &whole["anchor"]);
        match open(&platter) {
            // Zeros between records are nobody's.
            Ok(opened) => assert_eq!((opened.keys.len(), opened.cut_bytes), (3, 0), "byte {at}"),
            Err(StoreFault::Alien | StoreFault::OtherKey | StoreFault::Passphrase) => assert!(at < 116),
            Err(StoreFault::Damaged { at: record }) => {
                let from = record as usize;
                assert!((from..from + SECTOR_BYTES).contains(&at), "byte {at} is in the record at {from}");
                assert_eq!(platter.files()["keys"], damaged, "it stays as it is");
            }
            Err(fault) => panic!("byte {at}: {fault}"),
        }
    }
    platter.state().files = whole.clone();
    for at in 0..whole["anchor"].len() {
        let mut damaged = whole["anchor"].clone();
        damaged[at] ^= 1;
        platter.put_back("anchor", &damaged);
        let fault = open(&platter).err().expect("an anchor has no byte too many");
        assert!(
            matches!(fault, StoreFault::AnchorDamaged | StoreFault::AnchorOfAnother),
            "byte {at}: {fault}"
        );
    }
    for length in 0..whole["keys"].len() {
        platter.state().files = whole.clone();
        platter.put_back("keys", &whole["keys"][..length]);
        match open(&platter) {
            Ok(opened) => assert_eq!(opened.keys.len(), 3, "only zeros are missing at {length}"),
            Err(fault) => assert!(
                matches!(
                    fault,
                    StoreFault::Alien | StoreFault::Damaged { .. } | StoreFault::RolledBack { .. }
                ),
                "{length} bytes: {fault}"
            ),
        }
    }
}

#[test]
fn a_torn_end_is_cut_off_and_said() {
    let platter = Platter::new(10);
    start(&platter).generate(&aes()).unwrap();
    let whole = platter.files();
    for torn in [&[0; 100][..], &[0xFF; 700], &[0; 2048]] {
        platter.put_back("keys", &[&whole["keys"][..], torn].concat());
        let opened = open(&platter).unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!((opened.keys.len(), opened.cut_bytes), (1, torn.len() as u64));
        assert_eq!(platter.files(), whole);
    }
}

#[test]
fn another_key_and_another_kind_of_key_are_named() {
    let passphrase = |words: &[u8]| SealingKey::passphrase(words.to_vec().into());
    let open_with = |platter: &Platter, key: &SealingKey| {
        Store::open(Box::new(platter.clone()), Box::new(platter.clone()), key, QUICK).map(drop)
    };
    let other = SealingKey::new(Key::copied_from(&[1; 32]), String::new());
    let given = Platter::new(11);
    drop(start(&given));
    assert!(matches!(open_with(&given, &other), Err(StoreFault::OtherKey)));
    assert!(matches!(open_with(&given, &passphrase(b"words")), Err(StoreFault::NoPassphrase)));
    let remembered = Platter::new(12);
    open_with(&remembered, &passphrase(b"words")).unwrap();
    open_with(&remembered, &passphrase(b"words")).unwrap();
    assert!(matches!(open_with(&remembered, &passphrase(b"Words")), Err(StoreFault::OtherKey)));
    assert!(matches!(open_with(&remembered, &other), Err(StoreFault::Passphrase)));
}

#[test]
fn a_store_that_is_full_of_what_is_gone_is_written_anew() {
    let platter = Platter::new(13);
    let mut asking = start(&platter);
    let kept = asking.generate(&aes()).unwrap();
    for _ in 0..broker::limits::STORE_RECORDS_MAX / 2 + 10 {
        let handle = asking.generate(&aes()).unwrap();
        asking.ask(Operation::KeyDestroy, handle, &[], &[]).unwrap();
    }
    let length = platter.files()["keys"].len();
    assert!(length < 64 * SECTOR_BYTES, "{length} bytes");
    assert_eq!(listed(&mut start(&platter)), BTreeSet::from([kept]));
}

fn real(path: &Path, anchor: &Path) -> Result<SoftwareEngine, broker::Error> {
    provided(&[]).with_store(Store::in_folder(path, Some(anchor), &key())?)
}

#[test]
fn a_folder_is_a_store_of_one_process_that_nobody_else_can_enter() {
    let folder = tempfile::tempdir().unwrap();
    let (path, anchor) = (folder.path().join("keys"), folder.path().join("anchor"));
    let mut asking = asking(real(&path, &anchor).unwrap());
    let made: BTreeSet<KeyHandle> = (0..3).map(|_| asking.generate(&aes()).unwrap()).collect();
    assert!(matches!(real(&path, &anchor), Err(broker::Error::Store { fault: StoreFault::InUse, .. })));
    drop(asking);
    fs::write(path.join("keys.new"), "half").unwrap();
    let mut asking = self::asking(real(&path, &anchor).unwrap());
    assert_eq!(listed(&mut asking), made);
    drop(asking);
    let names =
        |path: &Path| fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
    assert_eq!((names(&path), names(&anchor)), (vec!["keys".into()], vec!["anchor".into()]));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(&path.join("keys")), mode(&anchor.join("anchor"))), (0o700, 0o600, 0o600));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    let fault = real(&path, &anchor).err().expect("others can enter it");
    assert!(matches!(fault, broker::Error::Store { fault: StoreFault::Open { mode: 0o750, .. }, .. }));
}
