//! Settings on the simulated chips of the example, woven ones and one without room for that: from its sample on, and not
//! before, a node converts the input that it was told, and each frame names the input that its samples are from.
//!
//! Owns the tests of the node's side with the real images; the judge is the check of a run. What the server tells when is
//! in `collect`, a run of the whole link at the end of this file.

mod rig;

use std::fs;
use std::num::NonZeroU32;
use std::process::Command;

use cell::clock::PS_PER_S;
use cell::{Cell, Pace};
use cipher::TrafficKey;
use collect::batch::BatchId;
use collect::frame::{self, DIRECTION_BIT, Header, Samples, Setting};
use collect::keys::Grid;
use collect::record::Record;
use rig::Rig;
use selvedge::limits::PS_PER_US;
use selvedge::link::check::{self, Found, Nominal};
use selvedge::link::deployment::{Deployment, Node as Plan};
use selvedge::link::journal::Sample;
use selvedge::link::leads::Lead;
use selvedge::link::{provision, simulation};
use serde_json::Value;

const ECG: &str = include_str!("../../../deployments/ecg.toml");
/// Samples of a frame, of each node.
const SAMPLES: u32 = 90;

/// The example's nodes, each with a second lead on channel 3, and a server that tells what a test wants.
struct Scene<'a> {
    rig: &'a Rig,
    cell: Cell,
    /// By node.
    records: Vec<Vec<Record>>,
    took: Vec<Vec<Sample>>,
    /// Downlink frames so far: the count of the next.
    told: u32,
    superframe: u32,
}

fn rig() -> Option<Rig> {
    let compiler = rig::compiler("settings")?;
    let mut deployment: Deployment = rig::deployment(ECG);
    for node in &mut deployment.cells[0].nodes {
        node.wiring.leads = vec![Lead { channel: 3, start_ps: node.start_ps + 60 * PS_PER_S }];
    }
    let images = rig::images(&compiler, &rig::root(), &deployment);
    Some(Rig::new(deployment, images))
}

impl<'a> Scene<'a> {
    fn begin(rig: &'a Rig) -> Scene<'a> {
        let nodes = rig.plan().nodes.len();
        let (records, took) = (vec![Vec::new(); nodes], vec![Vec::new(); nodes]);
        Scene { rig, cell: rig.cell(Pace::RunAhead), records, took, told: 0, superframe: 0 }
    }

    fn key(&self, plan: &Plan) -> TrafficKey {
        let master = self.rig.keys.node(plan.id).expect("the rig made it");
        master.traffic_key(plan.id, provision::FIRST_EPOCH, plan.suite)
    }

    /// A sealed setting for each node.
    fn seal(&mut self, setting: Setting) -> Vec<Vec<u8>> {
        let counter = DIRECTION_BIT | self.told;
        self.told += 1;
        let seal = |plan: &Plan| {
            let header = Header { suite: plan.suite, node: plan.id, epoch: provision::FIRST_EPOCH, counter };
            frame::seal(&self.key(plan), &header, &frame::setting(0, setting))
        };
        self.rig.plan().nodes.iter().map(seal).collect()
    }

    fn queue(&mut self, frames: &[Vec<u8>]) {
        frames.iter().for_each(|frame| self.cell.queue_downlink(frame.clone()).expect("there is room"));
    }

    /// Runs so many superframes, in each of which `setting` is told.
    fn run(&mut self, superframes: u32, setting: Option<Setting>) {
        for _ in 0..superframes {
            if let Some(setting) = setting {
                let told = self.seal(setting);
                self.queue(&told);
            }
            let superframe = self.cell.run_superframe().expect("the program keeps to its chip");
            self.superframe = superframe.number + 1;
            for received in &superframe.received {
                let nodes = &self.rig.plan().nodes;
                let place = nodes.iter().position(|plan| plan.slot == received.slot).expect("an owner");
                let parsed = frame::parse(&received.bytes).expect("a frame");
                let plaintext = frame::open(&self.key(&nodes[place]), &parsed).expect("an authentic frame");
                let Samples { first, channel, waveform } = Samples::parse(&plaintext).expect("samples");
                let Header { suite, node, epoch, counter } = parsed.header;
                let batch = BatchId { cell: self.rig.plan().id, spool: 0, number: 0 };
                let (superframe, slot) = (received.superframe, received.slot);
                let (received_ps, arrived_ns, sample_ps) = (0, 0, 0);
                self.records[place].push(Record {
                    node,
                    epoch,
                    counter,
                    suite,
                    batch,
                    superframe,
                    slot,
                    received_ps,
                    arrived_ns,
                    first,
                    sample_ps,
                    uncertainty_ns: 0,
                    channel,
                    stride: SAMPLES as u8 / waveform.len() as u8,
                    waveform,
                });
            }
            for (node, took) in self.cell.nodes_mut().iter_mut().zip(&mut self.took) {
                let clock = node.clock;
                let taken = node.log_mut().take_samples();
                took.extend(
                    taken.iter().map(|taken| Sample { instant_ps: clock.at(taken.cycle), code: taken.code }),
                );
            }
        }
    }

    /// First sample and channel of each frame of a node.
    fn channels(&self, node: usize) -> Vec<(u32, u8)> {
        self.records[node].iter().map(|record| (record.first as u32, record.channel)).collect()
    }

    fn check(&self, node: usize, records: &[Record]) -> Found {
        let plan = &self.rig.plan().nodes[node];
        let superframe_ps = u64::from(self.rig.plan().superframe_us) * PS_PER_US;
        let samples_per_superframe = NonZeroU32::new(SAMPLES).expect("90");
        let grid = Grid { superframe_ps, samples_per_superframe, uncertainty_ns: 0 };
        let nominal = Nominal { grid, superframe: 0, superframes: self.superframe };
        let feeds = simulation::feeds(&self.rig.deployment, plan);
        let master = self.rig.keys.node(plan.id).expect("the rig made it");
        check::node(records, &self.took[node], &[], &feeds, nominal, plan, &master)
    }

    /// Each sample is what its frame's channel had, and the other channel had not the same.
    fn check_all(&self) {
        for node in 0..self.records.len() {
            let found = self.check(node, &self.records[node]);
            assert_eq!(found.mismatched_samples, 0, "node {node}");
            let mut records = self.records[node].clone();
            let last = records.last_mut().expect("it sent");
            last.channel ^= 3;
            assert!(self.check(node, &records).mismatched_samples > 0, "node {node}: any channel would do");
        }
    }
}

fn setting(superframe: u32, channel: u8) -> Setting {
    Setting { first: superframe * SAMPLES, channel, stride: 1 }
}

#[test]
fn a_node_converts_what_it_was_told_from_its_sample_on_and_every_frame_says_so() {
    let Some(rig) = rig() else { return };
    let mut scene = Scene::begin(&rig);
    scene.run(4, None);
    // Each node has a turn in four superframes, and a woven one misses the first.
    scene.run(14, Some(setting(20, 3)));
    scene.run(6, None);
    // Past when it is heard, and in the middle of a superframe.
    scene.run(8, Some(setting(22, 0)));
    scene.run(8, Some(Setting { first: 38 * SAMPLES + 1, channel: 0, stride: 1 }));
    scene.run(4, None);
    scene.check_all();
    for node in 0..4 {
        let channels = scene.channels(node);
        assert!(channels.len() >= 36, "node {node}: {} frames", channels.len());
        for (first, channel) in channels {
            assert_eq!(channel, if first < 20 * SAMPLES { 0 } else { 3 }, "node {node}: sample {first}");
        }
    }
}

#[test]
fn a_node_samples_every_so_manieth_of_its_grid_from_the_sample_on_that_it_was_told() {
    let Some(rig) = rig() else { return };
    let mut scene = Scene::begin(&rig);
    scene.run(4, None);
    let strided = |superframe, stride| Setting { stride, ..setting(superframe, 0) };
    scene.run(14, Some(strided(20, 2)));
    scene.run(6, None);
    // 90 samples have no fourth part; then a third of them, and each again.
    scene.run(8, Some(strided(32, 4)));
    scene.run(14, Some(strided(48, 3)));
    scene.run(6, None);
    scene.run(14, Some(strided(68, 1)));
    scene.run(8, None);
    scene.check_all();
    for node in 0..4 {
        let frames = &scene.records[node];
        assert!(frames.len() >= 70, "node {node}: {} frames", frames.len());
        for record in frames {
            let superframe = record.first as u32 / SAMPLES;
            let stride =
                [(68, 1), (48, 3), (20, 2), (0, 1)].into_iter().find(|(from, _)| superframe >= *from);
            assert_eq!(
                Some(record.stride),
                stride.map(|(_, stride)| stride),
                "node {node}: superframe {superframe}"
            );
        }
    }
}

#[test]
fn a_node_that_was_reset_begins_with_its_own_input_and_no_replay_sets_another() {
    let Some(rig) = rig() else { return };
    let mut scene = Scene::begin(&rig);
    scene.run(4, None);
    let seed = rig::seed("settings after a reset");
    let heard = scene.seal(setting(22, 3));
    for _ in 0..16 {
        scene.queue(&heard);
        scene.run(1, None);
    }
    scene.run(8, None);
    let now_ps = u64::from(scene.superframe) * u64::from(rig.plan().superframe_us) * PS_PER_US;
    for node in [1, 3] {
        let reset = scene.cell.nodes()[node].cut_power(seed, now_ps + PS_PER_S);
        scene.cell.replace(node, reset, now_ps);
    }
    for _ in 0..30 {
        scene.queue(&heard);
        scene.run(1, None);
    }
    let replayed_until = scene.superframe;
    scene.run(16, Some(setting(replayed_until + 20, 3)));
    scene.run(8, None);
    scene.check_all();
    for node in 0..4 {
        let channels = scene.channels(node);
        let changes: Vec<_> = channels.windows(2).filter(|pair| pair[0].1 != pair[1].1).collect();
        let again = (replayed_until + 20) * SAMPLES;
        if node % 2 == 0 {
            assert_eq!(changes.len(), 1, "node {node} was not reset: {channels:?}");
            assert_eq!(changes[0][1], (22 * SAMPLES, 3));
        } else {
            assert_eq!(changes.len(), 3, "node {node} was reset: {channels:?}");
            assert_eq!((changes[0][1], changes[1][1].1, changes[2][1]), ((22 * SAMPLES, 3), 0, (again, 3)));
        }
    }
}

#[test]
fn a_run_tells_settings_and_compares_each_sample_with_the_input_that_its_frame_names() {
    if rig::compiler("a run with settings").is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let recording = rig::root().join("data/ecg/ecg.csv").canonicalize().expect("it is there");
    let text = ECG.replace("../data/ecg/ecg.csv", &recording.display().to_string());
    let short = text.replace("\"120 s\"", "\"40 s\"").replace("first = 14400", "first = 7200");
    let short =
        short.replace("first = 28800", "first = 10800").replace("epoch_frames = 100", "epoch_frames = 20");
    let deployment = folder.path().join("ecg.toml");
    fs::write(&deployment, short).expect("it can be written");
    let ran = Command::new(env!("CARGO_BIN_EXE_selvedge"))
        .args(["run", "--json", "--root"])
        .arg(rig::root())
        .arg("--out")
        .arg(folder.path().join("out"))
        .arg(&deployment)
        .output()
        .expect("the program runs");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let rows: Vec<Value> = String::from_utf8_lossy(&ran.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let row = |case: &str, metric: &str| {
        let mut rows = rows.iter().filter(|row| row["case"] == case && row["metric"] == metric);
        rows.next().and_then(|row| row["value"].as_f64()).unwrap_or_else(|| panic!("no row {case}: {metric}"))
    };
    for (node, changes) in [("node 1", 0.0), ("node 2", 2.0), ("node 3", 0.0), ("node 4", 1.0)] {
        assert_eq!(row(node, "input changes"), changes, "{node}");
        assert_eq!(row(node, "mismatched samples"), 0.0, "{node}");
        assert_eq!(row(node, "lost"), 0.0, "{node}");
    }
    assert!(row("node 1", "epoch changes") >= 1.0);
}
