//! The second witness: the same work by real processes, in the time that passes here.
//!
//! A device process keeps the wire's time. Applications that share it by a lock are processes, too: the lock is a file's, in
//! which the link's session goes from one to the next, and a handle that stays open is one descriptor that all inherit.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use broker::device::{Alone, SocketBus};
use broker::simulation::sharing::{Sharing, Work};
use cipher::{OsRandomness, Randomness};
use selvedge::error::Error;

use super::sweep::{DATA_BYTES, DEVICES, preset, work};
use crate::broker::part::Counted;
use crate::broker::stage::{Crowd, Seen, Stage, Until, median, stop};
use crate::broker::switches::Switches;

/// What is run: the figure's first number of applications by all ways, and others where they take seconds and not minutes.
const RUNS: [(Sharing, usize, usize); 12] = [
    (Sharing::Reopened, 5, DATA_BYTES),
    (Sharing::Locked, 5, DATA_BYTES),
    (Sharing::OneByOne, 5, DATA_BYTES),
    (Sharing::Gathered, 5, DATA_BYTES),
    (Sharing::Locked, 80, DATA_BYTES),
    (Sharing::OneByOne, 80, DATA_BYTES),
    (Sharing::Gathered, 80, DATA_BYTES),
    (Sharing::Locked, 20, 1024),
    (Sharing::OneByOne, 20, 1024),
    (Sharing::Gathered, 20, 1024),
    (Sharing::Locked, 5, 1024),
    (Sharing::Gathered, 80, 1024),
];

/// How far the two witnesses may be apart, as a part of simulated time: a process that waits for each answer is woken for
/// each, which adds up to a sixth where requests have 1 KiB.
pub const TOLERANCE: f64 = 0.20;

/// What processes took, and what simulation says.
#[derive(Clone, Copy, Debug)]
pub struct Witnessed {
    /// How the device is shared.
    pub sharing: Sharing,
    /// What is done.
    pub work: Work,
    /// Until the last was done, the median of rounds.
    pub time_s: f64,
    /// In simulated time.
    pub simulated_s: f64,
    /// Context switches of applications and broker, for each request.
    pub switches: f64,
    /// Those of them that end with a wake-up.
    pub wake_ups: f64,
    /// Openings of the device, for each request. The first one, before anybody asks, is not counted.
    pub opens: f64,
}

impl Witnessed {
    /// All that are run.
    ///
    /// # Errors
    /// The environment's, and what a process says.
    pub fn all(rounds: u32) -> Result<Vec<Witnessed>, Error> {
        let stage = Stage::new()?;
        RUNS.iter()
            .map(|&(sharing, count, pdu_bytes)| measure(&stage, sharing, work(count, pdu_bytes), rounds))
            .collect()
    }

    /// How far processes are from simulation, as a part of that.
    pub fn off(&self) -> f64 {
        self.time_s / self.simulated_s - 1.0
    }

    /// Whether the two agree.
    pub fn agrees(&self) -> bool {
        self.off().abs() <= TOLERANCE
    }
}

fn measure(stage: &Stage, sharing: Sharing, work: Work, rounds: u32) -> Result<Witnessed, Error> {
    let requests = (work.count * work.requests) as f64;
    let (mut times, mut switches, mut wake_ups, mut opens) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let (seen, counted) = run(stage, sharing, work)?;
        times.push(seen.time_s);
        switches.push(seen.switches.total() as f64 / requests);
        wake_ups.push(seen.switches.voluntary as f64 / requests);
        opens.push((counted.opens - 1) as f64 / requests);
    }
    let simulated_s = sharing.simulate(preset(DEVICES[0]), work).time.as_secs_f64();
    let [time_s, switches, wake_ups, opens] = [times, switches, wake_ups, opens].map(median);
    Ok(Witnessed { sharing, work, time_s, simulated_s, switches, wake_ups, opens })
}

/// Does the work once.
fn run(stage: &Stage, sharing: Sharing, work: Work) -> Result<(Seen, Counted), Error> {
    let mut options = vec!["--preset".into(), DEVICES[0].into()];
    if sharing != Sharing::Gathered {
        options.push("--one-by-one".into());
    }
    let (device, socket) = stage.server("clocked", &options)?;
    let seen = match sharing {
        Sharing::Reopened | Sharing::Locked => by_lock(stage, &socket, sharing, work)?,
        Sharing::OneByOne | Sharing::Gathered => {
            options.extend(["--device".into(), socket.into()]);
            let (broker, socket) = stage.server_named("clocked", "before", &options)?;
            let failed = || Error::process("clocked");
            let process = broker.id().to_string();
            let before = Switches::of(&process).map_err(failed())?;
            let Work { count, requests, pdu_bytes, outstanding } = work;
            let crowd = Crowd { count, pdu_bytes, outstanding, pause_us: 0, user: None };
            let until = Until { warm_up_ms: 0, duration_ms: DURATION_MS_MAX, total: requests as u64 };
            let mut seen = stage.ask(&socket, &[crowd], until)?.remove(0);
            seen.switches = seen.switches + (Switches::of(&process).map_err(failed())? - before);
            stop(broker)?;
            seen
        }
    };
    let asked = seen.answered.iter().sum::<u64>();
    assert_eq!(asked, (work.count * work.requests) as u64, "each request has an answer");
    Ok((seen, Counted::of(&stop(device)?)?))
}

/// Longer than any run takes that does not fail.
const DURATION_MS_MAX: u64 = 600_000;

/// Applications that have the device in turn.
fn by_lock(stage: &Stage, device: &Path, sharing: Sharing, work: Work) -> Result<Seen, Error> {
    let lock = stage.path("lock");
    let handle = begin_session(device, &lock).map_err(Error::process("direct"))?;
    let script = (0..work.count).map(|_| {
        let mut arguments = vec!["broker".into(), "direct".into(), device.into()];
        arguments.extend(["--lock".into(), lock.clone().into_os_string()]);
        for (option, value) in [("--pdu-bytes", work.pdu_bytes), ("--total", work.requests)] {
            arguments.extend([option.into(), value.to_string().into()]);
        }
        if sharing == Sharing::Locked {
            arguments.push("--kept".into());
        }
        arguments
    });
    let script = script.collect();
    let cast = match sharing {
        // The device is closed before the first of them opens it.
        Sharing::Reopened => stage.with_launcher(|launcher| {
            drop(handle);
            launcher
        }),
        _ => stage.with_launcher(|launcher| launcher.with_input(handle)),
    };
    Ok(cast.play(vec![script])?.remove(0))
}

/// Opens the device and the session that all go on with, and puts what they need to know into the file of the lock.
fn begin_session(device: &Path, lock: &Path) -> io::Result<OwnedFd> {
    let stream = SocketBus { path: device.to_owned() }.open_for_others()?;
    let preset = Sharing::Locked.preset(preset(DEVICES[0]));
    let bus = SocketBus::adopt(stream.try_clone()?, preset.transaction_bytes_max, preset.depth);
    let mut session = [0; 8];
    OsRandomness.fill(&mut session)?;
    let rest = Alone::new(bus)?.begin(u64::from_le_bytes(session))?;
    File::create(lock)?.write_all_at(&rest.to_bytes(), 0)?;
    Ok(stream.into())
}
