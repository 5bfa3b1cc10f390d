//! Power cuts: whenever the supply of a node fails, no counter is ever used twice, and the node goes on afterwards.
//!
//! The image is the real one, on both chips and under both suites; the witness is the bus: the header of every frame
//! that the gateway began to receive, torn ones among them. Cuts are aimed at every step of every EEPROM write of a
//! node's first life, and fall at random cycles of a long chain of lives, each of which begins with the EEPROM that
//! the cut before it left. Then the same with a server that tells the node to change its epoch all the time: no epoch
//! comes back, and counts go on over epochs. `SELVEDGE_SEED=n` repeats a run, `SELVEDGE_SOAK=1` makes the chain ten times as long. That the test sees a reuse when there is one is shown with firmware whose write-ahead is broken,
//! and with an EEPROM that is put back.

mod rig;
#[path = "../../cipher/tests/soak/mod.rs"]
mod soak;

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::Path;

use cell::bus::WIRES;
use cell::clock::{Clock, PS_PER_S, Picoseconds};
use cell::log::EepromWrite;
use cell::{Cell, Pace, Superframe};
use cipher::NodeMaster;
use collect::frame;
use isa::avr::{Chip, Drive};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rig::Rig;
use selvedge::link::deployment::Node;
use selvedge::toolchain::Compiler;
use soak::is_soak;

/// Cuts of both chips together.
const CUTS: usize = 1_000;

/// One node that sends in each superframe and reserves four counters at a time: its EEPROM is written much of the time.
fn text(case: &Case) -> String {
    let Case { chip, suite, superframe_ms, slot, .. } = case;
    format!(
        r#"
        [deployment]
        name = "power"
        seed = 1
        duration = "1 s"

        [input.ecg]
        file = "../data/ecg/ecg.csv"
        column = "mlii"
        rate = "360 Hz"
        zero = 1024
        scale = "5 uV"

        [cell.bench]
        id = 7
        superframe = "{superframe_ms} ms"
        slot = "3 ms"
        guard = "200 us"
        bus = "500 kHz"
        byte_gap = "250 ns"

        [[cell.bench.node]]
        id = 9
        slot = {slot}
        chip = "{chip}"
        suite = "{suite}"
        clock = "8 MHz"
        drift = "+60 ppm"
        input = "ecg"
        gain = "x300"
        offset = "1.28 V"
        reference = "2.56 V"
        rate = "200 Hz"
        bus = "f/16"
        counter_block = 4
        "#
    )
}

/// What the cuts of one chip depend on.
struct Case {
    chip: &'static str,
    suite: &'static str,
    /// As short as the node can seal and verify in one, with room.
    superframe_ms: u64,
    /// In an early one the node verifies the beacon while the downlink comes, and misses that.
    slot: u8,
    /// How long the programming of one byte takes, at 8 MHz (datasheet, "EEPROM Data Memory": 8.448 and 3.4 ms).
    write_cycles: u64,
    /// A life that is left alone this long has sent: joining takes two superframes and, where a slot was torn,
    /// reserving twice goes before.
    speaks_after_ps: Picoseconds,
}

const CASES: [Case; 2] = [
    Case {
        chip: "atmega128",
        suite: "ascon-aead128",
        superframe_ms: 20,
        slot: 1,
        write_cycles: 67_584,
        speaks_after_ps: PS_PER_S * 200 / 1000,
    },
    Case {
        chip: "atmega328p",
        suite: "aes-128-ccm",
        superframe_ms: 40,
        slot: 1,
        write_cycles: 27_200,
        speaks_after_ps: PS_PER_S * 300 / 1000,
    },
];

/// What must never be used twice under one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Nonce {
    suite: u8,
    node: u32,
    epoch: u8,
    counter: u32,
}

/// The nonce of every frame that began on the bus, with the life that it came from. A torn frame counts as soon as its
/// header went out whole: its node has sealed by then, and the next bit may be ciphertext.
fn nonces(life: usize, superframe: &Superframe) -> impl Iterator<Item = (Nonce, usize)> {
    superframe.received.iter().chain(&superframe.torn).filter_map(move |frame| {
        let header = frame.bytes.first_chunk::<10>()?;
        let four = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"));
        Some((Nonce { suite: header[0], node: four(1), epoch: header[5], counter: four(6) }, life))
    })
}

/// A node whose power is cut again and again, and what it has sent.
struct Lives<'a> {
    rig: &'a Rig,
    cell: Cell,
    now_ps: Picoseconds,
    /// When the present life began.
    born_ps: Picoseconds,
    life: usize,
    sent: Vec<(Nonce, usize)>,
    /// Length of each life, the running one left out.
    lengths_ps: Vec<Picoseconds>,
    /// The server that tells changes of the epoch, if there is one.
    server: Option<Server>,
}

/// Tells a node the epoch after that of its latest frame, in each superframe.
struct Server {
    master: NodeMaster,
    /// Downlink frames so far: the count of the next.
    told: u32,
}

impl Server {
    fn tell(&mut self, node: &Node, epoch: u8) -> Vec<u8> {
        let key = |epoch| self.master.traffic_key(node.id, epoch, node.suite);
        let counter = frame::DIRECTION_BIT | self.told;
        let header = frame::Header { suite: node.suite, node: node.id, epoch, counter };
        let sealed = frame::seal(&key(epoch), &header, frame::change(0, &key(epoch + 1)).as_slice());
        self.told += 1;
        sealed
    }
}

impl<'a> Lives<'a> {
    fn begin(rig: &'a Rig) -> Lives<'a> {
        let cell = rig.cell(Pace::RunAhead);
        let (sent, lengths_ps) = (Vec::new(), Vec::new());
        Lives { rig, cell, now_ps: 0, born_ps: 0, life: 0, sent, lengths_ps, server: None }
    }

    /// The same with a server that tells changes.
    fn told(rig: &'a Rig) -> Lives<'a> {
        let master = rig.keys.node(rig.plan().nodes[0].id).expect("the rig made it");
        Lives { server: Some(Server { master, told: 0 }), ..Lives::begin(rig) }
    }

    /// The epoch of the latest frame.
    fn epoch(&self) -> u8 {
        self.sent.last().map_or(0, |(nonce, _)| nonce.epoch)
    }

    fn chip(&self) -> &Chip {
        self.cell.nodes()[0].chip()
    }

    fn clock(&self) -> Clock {
        self.cell.nodes()[0].clock
    }

    /// Runs to `instant_ps` and notes what was sent. What a superframe brought is known at its end.
    fn live_until(&mut self, instant_ps: Picoseconds) {
        while let Some(superframe) = self.cell.run_until(instant_ps).expect("the program keeps to its chip") {
            assert_eq!(superframe.contentions, [], "two on the bus");
            self.sent.extend(nonces(self.life, &superframe));
            let epoch = self.epoch();
            if let Some(server) = self.server.as_mut().filter(|_| epoch < u8::MAX) {
                let told = server.tell(&self.rig.plan().nodes[0], epoch);
                self.cell.queue_downlink(told).expect("one goes out each superframe");
            }
        }
        self.now_ps = instant_ps;
    }

    /// Cuts the power now; it returns after `off_ps` to a chip whose EEPROM holds `eeprom`, or what the cut left.
    fn cut(&mut self, seed: u64, off_ps: Picoseconds, eeprom: Option<&[u8]>) {
        let superframe_ps = u64::from(self.rig.plan().superframe_us) * 1_000_000;
        assert!(off_ps >= superframe_ps, "a superframe ends before the next life begins");
        let mut node = self.cell.nodes()[0].cut_power(seed, self.now_ps + off_ps);
        if let Some(eeprom) = eeprom {
            node.set_eeprom(eeprom).expect("it is as large");
        }
        self.cell.replace(0, node, self.now_ps);
        self.lengths_ps.push(self.now_ps - self.born_ps);
        // What began on the bus in this life is known when its superframe ends, which it does before the next life.
        let end_ps = self.now_ps + off_ps;
        self.live_until(end_ps);
        self.born_ps = end_ps;
        self.life += 1;
    }

    /// The first nonce that was used twice, with the lives that did.
    fn reuse(&self) -> Option<(Nonce, usize, usize)> {
        let mut users = HashMap::new();
        self.sent
            .iter()
            .find_map(|&(nonce, life)| users.insert(nonce, life).map(|before| (nonce, before, life)))
    }

    /// Two frames of which the later one has no later count, or an earlier epoch.
    fn step_back(&self) -> Option<(Nonce, Nonce)> {
        let pairs = self.sent.windows(2).map(|pair| (pair[0].0, pair[1].0));
        let mut back = pairs.filter(|(one, next)| next.counter <= one.counter || next.epoch < one.epoch);
        back.next()
    }

    /// How many frames `life` sent.
    fn sent_by(&self, life: usize) -> usize {
        self.sent.iter().filter(|(_, by)| *by == life).count()
    }
}

/// The life from which cuts are aimed: four reservations and more.
const FIRST_LIFE_SUPERFRAMES: u64 = 20;

impl Case {
    fn superframe_ps(&self) -> Picoseconds {
        self.superframe_ms * PS_PER_S / 1000
    }

    /// With time for the node to hear what comes down.
    fn that_hears(&self) -> Case {
        Case { superframe_ms: 60, slot: 6, speaks_after_ps: PS_PER_S * 450 / 1000, ..*self }
    }

    /// Time without power that is not a multiple of anything, and longer than a superframe.
    fn off_ps(&self, random: &mut Random) -> Picoseconds {
        self.superframe_ps() + random.below(self.superframe_ps())
    }
}

/// Cycles at which to cut for the sake of one write, and what each is.
fn aims(case: &Case, write: &EepromWrite) -> [(&'static str, u64); 8] {
    let (start, done) = (write.cycle - case.write_cycles, write.cycle);
    let half = case.write_cycles / 2;
    [
        ("just before the write", start - 10),
        ("as erasing begins", start + 4),
        ("in the middle of erasing", start + half / 2),
        ("at the end of erasing", start + half - 10),
        ("as programming begins", start + half + 4),
        ("in the middle of programming", start + half + half / 2),
        ("just before the end of the write", done - 10),
        ("just after the write", done + 4),
    ]
}

/// Random numbers of a seed.
struct Random(ChaCha20Rng);

impl Random {
    fn new(seed: u64) -> Random {
        Random(ChaCha20Rng::seed_from_u64(seed))
    }

    fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `end`, near enough to uniform for a test.
    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// The case's rig with the image that `compiler` makes of the tree at `root`.
fn rig(case: &Case, compiler: &Compiler, root: &Path) -> Rig {
    let deployment = rig::deployment(&text(case));
    let images = rig::images(compiler, root, &deployment);
    Rig::new(deployment, images)
}

/// One cut at each of the aims of a first life, and a second life after it. Returns how many.
fn aimed_cuts(case: &Case, rig: &Rig, random: &mut Random) -> usize {
    let mut first = Lives::begin(rig);
    first.live_until(FIRST_LIFE_SUPERFRAMES * case.superframe_ps());
    let writes = first.cell.nodes_mut()[0].log_mut().take_eeprom_writes();
    let targets: BTreeSet<u16> = writes.iter().map(|write| write.address).collect();
    assert!(writes.len() >= 20 && targets.len() >= 8, "found {} writes of {targets:x?}", writes.len());
    let clock = first.clock();
    let aims = writes
        .iter()
        .enumerate()
        .flat_map(|(step, write)| aims(case, write).map(|(what, cycle)| (step, what, cycle)));
    let mut cuts = 0;
    for (step, what, cycle) in aims {
        let seed = random.next();
        let mut lives = Lives::begin(rig);
        lives.live_until(clock.at(cycle));
        let late = lives.chip().cycle() - cycle;
        assert!(late < 6, "the cut {what} of write {step} missed its cycle by {late}");
        lives.cut(seed, case.off_ps(random), None);
        lives.live_until(lives.born_ps + case.speaks_after_ps);
        lives.live_until(lives.now_ps + case.superframe_ps());
        assert_eq!(lives.reuse(), None, "{}: cut {what} of write {step}, seed {seed}", case.chip);
        assert!(
            lives.sent_by(1) > 0,
            "{}: silent after a cut {what} of write {step}, seed {seed}",
            case.chip
        );
        cuts += 1;
    }
    cuts
}

/// A chain of lives, `cuts` of them ended by a cut at a random cycle.
fn random_cuts(case: &Case, rig: &Rig, random: &mut Random, cuts: usize) {
    let mut lives = Lives::begin(rig);
    for _ in 0..cuts {
        let life_ps = random.below(2 * case.speaks_after_ps);
        lives.live_until(lives.born_ps + life_ps);
        lives.cut(random.next(), case.off_ps(random), None);
    }
    assert_eq!(lives.reuse(), None, "{}: {:?}", case.chip, lives.lengths_ps);
    for (life, length_ps) in lives.lengths_ps.iter().enumerate() {
        let must_speak = *length_ps >= case.speaks_after_ps;
        assert!(
            !must_speak || lives.sent_by(life) > 0,
            "{}: life {life} of {length_ps} ps was silent",
            case.chip
        );
    }
    let speakers = (0..cuts).filter(|life| lives.sent_by(*life) > 0).count();
    println!(
        "{}: {cuts} random cuts, {speakers} of the lives spoke, {} frames began",
        case.chip,
        lives.sent.len()
    );
    assert!(2 * speakers > cuts, "{}: only {speakers} of {cuts} lives spoke", case.chip);
}

fn no_counter_is_used_twice(case: &Case) {
    let name = format!("power cuts of an {}", case.chip);
    let Some(compiler) = rig::compiler(&name) else { return };
    let rig = rig(case, &compiler, &rig::root());
    let mut random = Random::new(rig::seed(&name));
    let cuts = CUTS / CASES.len();
    let aimed = aimed_cuts(case, &rig, &mut random);
    println!("{}: {aimed} aimed cuts", case.chip);
    assert!(aimed < cuts, "{aimed} aims leave no cut to chance");
    let chain = if is_soak() { 10 } else { 1 } * (cuts - aimed);
    random_cuts(case, &rig, &mut random, chain);
}

#[test]
fn no_counter_of_an_atmega128_is_used_twice_whenever_its_power_is_cut() {
    no_counter_is_used_twice(&CASES[0]);
}

#[test]
fn no_counter_of_an_atmega328p_is_used_twice_whenever_its_power_is_cut() {
    no_counter_is_used_twice(&CASES[1]);
}

#[test]
fn an_eeprom_that_is_put_back_is_seen_as_reuse() {
    for case in &CASES {
        let Some(compiler) = rig::compiler("an EEPROM that is put back") else { return };
        let rig = rig(case, &compiler, &rig::root());
        let mut lives = Lives::begin(&rig);
        let kept = lives.chip().eeprom().to_vec();
        for _ in 0..2 {
            lives.live_until(lives.born_ps + case.speaks_after_ps);
            lives.cut(1, case.superframe_ps(), Some(&kept));
        }
        let (nonce, before, after) = lives.reuse().expect("the second life counts as the first did");
        assert_eq!((nonce.counter, before, after), (0, 0, 1));
    }
}

/// Where the places for traffic keys begin (`firmware/node/provision.h`).
const EPOCHS_AT: u16 = 0x38;

/// Cuts aimed at every write of a change of the epoch, and a chain of cuts at random cycles.
fn no_epoch_comes_back(case: &Case) {
    let case = &case.that_hears();
    let name = format!("power cuts while epochs of an {} change", case.chip);
    let Some(compiler) = rig::compiler(&name) else { return };
    let rig = rig(case, &compiler, &rig::root());
    let mut random = Random::new(rig::seed(&name));
    let mut first = Lives::told(&rig);
    while first.epoch() < 2 {
        first.live_until(first.now_ps + case.superframe_ps());
        assert!(first.now_ps < 20 * PS_PER_S, "{}: still in epoch {}", case.chip, first.epoch());
    }
    let writes = first.cell.nodes_mut()[0].log_mut().take_eeprom_writes();
    let writes: Vec<_> = writes.into_iter().filter(|write| write.address >= EPOCHS_AT).collect();
    assert!(writes.len() >= 70, "two changes are {} writes", writes.len());
    let clock = first.clock();
    let mut aimed = 0;
    for (step, write) in writes.iter().enumerate() {
        // Another of the aims for each write: each write is cut, and each aim comes often.
        let aims = aims(case, write);
        let (what, cycle) = aims[(step + random.below(2) as usize) % aims.len()];
        let mut lives = Lives::told(&rig);
        lives.live_until(clock.at(cycle));
        let epoch = lives.epoch();
        lives.cut(random.next(), case.off_ps(&mut random), None);
        lives.live_until(lives.born_ps + case.speaks_after_ps);
        lives.live_until(lives.now_ps + case.superframe_ps());
        let place = format!("{}: cut {what} of write {step}", case.chip);
        assert_eq!((lives.reuse(), lives.step_back()), (None, None), "{place}");
        assert!(lives.sent_by(1) > 0, "{place}: silent");
        assert!((epoch..=epoch + 1).contains(&lives.epoch()), "{place}: {epoch} to {}", lives.epoch());
        aimed += 1;
    }
    let mut lives = Lives::told(&rig);
    let cuts = if is_soak() { 10 } else { 1 } * 60;
    for _ in 0..cuts {
        let life_ps = random.below(10 * case.speaks_after_ps);
        lives.live_until(lives.born_ps + life_ps);
        lives.cut(random.next(), case.off_ps(&mut random), None);
    }
    assert_eq!((lives.reuse(), lives.step_back()), (None, None), "{}: {:?}", case.chip, lives.lengths_ps);
    println!("{}: {aimed} aimed cuts, {cuts} random ones, up to epoch {}", case.chip, lives.epoch());
    assert!(lives.epoch() >= 8, "{}: only epoch {}", case.chip, lives.epoch());
}

#[test]
fn no_epoch_of_an_atmega128_comes_back_whenever_its_power_is_cut() {
    no_epoch_comes_back(&CASES[0]);
}

#[test]
fn no_epoch_of_an_atmega328p_comes_back_whenever_its_power_is_cut() {
    no_epoch_comes_back(&CASES[1]);
}

/// The tree's firmware with one line of `counter.c` changed, in a folder of its own.
fn mutant(from: &str, to: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for part in ["firmware/node", "firmware/crypto"] {
        let (source, copy) = (rig::root().join(part), folder.path().join(part));
        fs::create_dir_all(&copy).expect("a folder");
        for entry in fs::read_dir(source).expect("the tree is there").map(|entry| entry.expect("an entry")) {
            if entry.file_type().expect("a type").is_file() {
                fs::copy(entry.path(), copy.join(entry.file_name())).expect("a copy");
            }
        }
    }
    let path = folder.path().join("firmware/node/counter.c");
    let text = fs::read_to_string(&path).expect("it was copied");
    assert_eq!(text.matches(from).count(), 1, "counter.c has `{from}` once: change the mutant with it");
    fs::write(&path, text.replace(from, to)).expect("it can be changed");
    folder
}

#[test]
fn firmware_that_writes_its_limit_behind_is_seen_to_reuse_counters() {
    let case = &CASES[0];
    let Some(compiler) = rig::compiler("firmware that writes its limit behind") else { return };
    // The limit that is written is the one that was in force, and not the one that will be.
    let tree = mutant(
        "counter->slot + LIMIT_AT, counter->reserved + counter->block",
        "counter->slot + LIMIT_AT, counter->reserved",
    );
    let rig = rig(case, &compiler, tree.path());
    let mut random = Random::new(rig::seed("firmware that writes its limit behind"));
    let mut lives = Lives::begin(&rig);
    let mut cuts = 0;
    while lives.reuse().is_none() {
        // Twenty are not enough for one seed in thirty.
        assert!(cuts < 200, "{cuts} cuts did not bring it to light");
        lives.live_until(lives.born_ps + random.below(2 * case.speaks_after_ps));
        lives.cut(random.next(), case.off_ps(&mut random), None);
        cuts += 1;
    }
    println!("{cuts} cuts brought it to light");
}

/// Spoils the bytes of a slot of the counter.
type Damage = fn(&mut [u8], &mut Random);

/// Ways in which a slot can be damaged.
const DAMAGES: [(&str, Damage); 4] = [
    ("zeros", |slot, _| slot.fill(0)),
    ("ones", |slot, _| slot.fill(0xff)),
    ("noise", |slot, random| slot.fill_with(|| random.next() as u8)),
    ("a wrong CRC", |slot, random| slot[6 + random.below(2) as usize] ^= 1 << random.below(8)),
];

/// Where the counter's slots are (`firmware/node/provision.h`).
const SLOTS_AT: [usize; 2] = [0x28, 0x30];
const SLOT_BYTES: usize = 8;

/// Runs a node whose EEPROM is `eeprom` for 5 s; whether it drove a wire of the bus.
fn drives_the_bus(rig: &Rig, eeprom: &[u8]) -> bool {
    let mut cell = rig.cell(Pace::RunAhead);
    let mut node = cell.nodes()[0].cut_power(0, 0);
    node.set_eeprom(eeprom).expect("it is as large");
    let wiring = node.wiring();
    cell.replace(0, node, 0);
    let superframes = 5 * PS_PER_S / (u64::from(rig.plan().superframe_us) * 1_000_000);
    let (mut ended, mut drove) = (0, false);
    while ended < superframes && !drove {
        ended += u64::from(cell.step().expect("the program keeps to its chip").is_some());
        let node = cell.nodes()[0].chip();
        drove |= WIRES
            .iter()
            .any(|wire| !matches!(node.drive(wiring.pins[*wire as usize]), Drive::Floating | Drive::PullUp));
    }
    let transmissions = cell.run_superframe().expect("it goes on").transmissions;
    assert!(drove || transmissions.iter().all(|transmission| transmission.node.is_none()));
    drove
}

#[test]
fn a_node_with_both_counter_slots_damaged_never_drives_the_bus() {
    let mut random = Random::new(rig::seed("both counter slots damaged"));
    for case in &CASES {
        let Some(compiler) = rig::compiler("both counter slots damaged") else { return };
        let rig = rig(case, &compiler, &rig::root());
        let sound = rig.cell(Pace::RunAhead).nodes()[0].chip().eeprom().to_vec();
        for (first, damage_first) in &DAMAGES {
            let mut one = sound.clone();
            damage_first(&mut one[SLOTS_AT[0]..][..SLOT_BYTES], &mut random);
            assert!(drives_the_bus(&rig, &one), "{}: one sound slot is enough: {first}", case.chip);
            for (second, damage_second) in &DAMAGES {
                let mut both = one.clone();
                damage_second(&mut both[SLOTS_AT[1]..][..SLOT_BYTES], &mut random);
                assert!(!drives_the_bus(&rig, &both), "{}: {first} and {second}", case.chip);
            }
        }
    }
}
