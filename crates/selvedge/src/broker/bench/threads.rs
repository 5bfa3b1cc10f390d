//! Applications that are threads here, with the blocking client: what they ask is the work, not the way to it.

use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use broker::client::blocking::{Client, Settings};
use broker::client::call::{KeyGenerate, Seal, Sign};
use broker::engine::keys::{Algorithm, Template, Usages};
use broker::parameters::{Aead, Hash, Scheme, Signed, Suite};
use broker::wire::KeyHandle;
use selvedge::error::Error;

use super::WARM_UP_MS;

/// What is asked.
pub struct Task {
    /// In words.
    pub name: &'static str,
    algorithm: Algorithm,
    usages: Usages,
    suite: Option<Suite>,
    payload_bytes: usize,
}

pub const P256: Task = Task {
    name: "P-256 signatures",
    algorithm: Algorithm::P256,
    usages: Usages::SIGN,
    suite: None,
    payload_bytes: 32,
};
pub const GCM_64_B: Task = sealing("AES-256-GCM of 64 B", Algorithm::Aes256, Suite::Gcm, 64);
pub const GCM_64_KIB: Task = sealing("AES-256-GCM of 64 KiB", Algorithm::Aes256, Suite::Gcm, 64 * 1024);
pub const ASCON_64_KIB: Task =
    sealing("Ascon-AEAD128 of 64 KiB", Algorithm::Ascon128, Suite::Ascon, 64 * 1024);

const fn sealing(name: &'static str, algorithm: Algorithm, suite: Suite, payload_bytes: usize) -> Task {
    Task { name, algorithm, usages: Usages::SEAL, suite: Some(suite), payload_bytes }
}

impl Task {
    /// Requests a second of so many applications.
    pub fn rate(
        &self,
        socket: &Path,
        applications: usize,
        duration: Duration,
        settings: Settings,
    ) -> Result<f64, Error> {
        let (answered, is_counted, is_over) =
            (AtomicU64::new(0), AtomicBool::new(false), AtomicBool::new(false));
        let begin = Barrier::new(applications + 1);
        let application = || -> Result<(), broker::Error> {
            let client = Client::with(socket, settings);
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
