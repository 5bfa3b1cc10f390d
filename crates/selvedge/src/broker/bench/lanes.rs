//! What a second lane of the software device is worth: the same applications beside one lane, and beside two.
//!
//! Applications are threads here, with the blocking client: what they ask is the work, not the way to it.

use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use broker::client::blocking::Client;
use broker::client::call::{KeyGenerate, Seal, Sign};
use broker::engine::keys::{Algorithm, Template, Usages};
use broker::parameters::{Aead, Hash, Scheme, Signed, Suite};
use broker::wire::KeyHandle;
use selvedge::error::Error;
use selvedge::link::launch::Daemon;

use super::{Bench, WARM_UP_MS, Wanted, median, stop};

/// Applications at a time.
const APPLICATIONS: usize = 8;
const LANES: [usize; 2] = [1, 2];

/// What is asked, and how much more of it two lanes are to do.
struct Task {
    name: &'static str,
    algorithm: Algorithm,
    usages: Usages,
    suite: Option<Suite>,
    payload_bytes: usize,
    wanted: Wanted,
}

#[rustfmt::skip]
const TASKS: [Task; 4] = [
    Task { name: "P-256 signatures", algorithm: Algorithm::P256, usages: Usages::SIGN,
           suite: None, payload_bytes: 32, wanted: Wanted::AtLeast(1.3) },
    Task { name: "AES-256-GCM of 64 KiB", algorithm: Algorithm::Aes256, usages: Usages::SEAL,
           suite: Some(Suite::Gcm), payload_bytes: 64 * 1024, wanted: Wanted::AtLeast(1.0) },
    Task { name: "Ascon-AEAD128 of 64 KiB", algorithm: Algorithm::Ascon128, usages: Usages::SEAL,
           suite: Some(Suite::Ascon), payload_bytes: 64 * 1024, wanted: Wanted::AtLeast(1.5) },
    Task { name: "AES-256-GCM of 64 B", algorithm: Algorithm::Aes256, usages: Usages::SEAL,
           suite: Some(Suite::Gcm), payload_bytes: 64, wanted: Wanted::AtLeast(0.95) },
];

pub(super) fn measure(bench: &mut Bench) -> Result<(), Error> {
    for task in TASKS {
        let mut rates = [Vec::new(), Vec::new()];
        let mut alone = [Vec::new(), Vec::new()];
        for _ in 0..bench.rounds {
            for (index, lanes) in LANES.into_iter().enumerate() {
                let (server, socket) = start(bench, lanes)?;
                let duration = Duration::from_millis(bench.duration_ms.into());
                rates[index].push(task.rate(&socket, APPLICATIONS, duration)?);
                alone[index].push(task.rate(&socket, 1, duration)?);
                stop(server)?;
            }
        }
        let [one, two] = rates.map(median);
        let [one_alone, two_alone] = alone.map(median);
        for (lanes, rate, alone) in [(1, one, one_alone), (2, two, two_alone)] {
            let case = format!("{}, lanes: {lanes}", task.name);
            bench.row(&case, "requests of 8 applications", rate, "1/s");
            bench.row(&case, "requests of one application", alone, "1/s");
        }
        let what = format!("{}, 8 applications: two lanes, of one lane's rate", task.name);
        bench.goal(&what, two / one, "one lane", format!("{one:.0}/s"), task.wanted);
    }
    Ok(())
}

fn start(bench: &Bench, lanes: usize) -> Result<(Daemon, PathBuf), Error> {
    bench.server_with("soft", &["--lanes".into(), lanes.to_string().into()])
}

impl Task {
    /// Requests a second of so many applications.
    fn rate(&self, socket: &Path, applications: usize, duration: Duration) -> Result<f64, Error> {
        let (answered, is_counted, is_over) =
            (AtomicU64::new(0), AtomicBool::new(false), AtomicBool::new(false));
        let begin = Barrier::new(applications + 1);
        let application = || -> Result<(), broker::Error> {
            let client = Client::new(socket);
            let key = client.call(&KeyGenerate { template: &Template::new(self.algorithm, self.usages) });
            begin.wait();
            let (key, payload) = (key?, vec![0x5E; self.payload_bytes]);
            while !is_over.load(Ordering::Relaxed) {
                self.ask(&client, key, &payload)?;
                answered.fetch_add(is_counted.load(Ordering::Relaxed).into(), Ordering::Relaxed);
            }
            Ok(())
        };
        thread::scope(|scope| {
            let threads: Vec<_> = (0..applications).map(|_| scope.spawn(application)).collect();
            begin.wait();
            thread::sleep(Duration::from_millis(WARM_UP_MS));
            is_counted.store(true, Ordering::Relaxed);
            let began = Instant::now();
            thread::sleep(duration);
            let count = answered.load(Ordering::Relaxed);
            let took = began.elapsed();
            is_over.store(true, Ordering::Relaxed);
            for thread in threads {
                thread.join().expect("an application does not panic")?;
            }
            Ok(count as f64 / took.as_secs_f64())
        })
    }

    fn ask(&self, client: &Client, key: KeyHandle, payload: &[u8]) -> Result<(), broker::Error> {
        match self.suite {
            Some(suite) => {
                let aead = Aead { suite, tag_bytes: 16, nonce: &[], associated_data: &[] };
                client.call(&Seal { key, aead, plaintext: payload }).map(drop)
            }
            None => {
                let (scheme, signed) = (Scheme::Ecdsa(Hash::Sha256), Signed::Digest(payload));
                client.call(&Sign { key, scheme, signed }).map(drop)
            }
        }
    }
}
