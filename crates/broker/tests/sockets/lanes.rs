//! The software device on several threads: each its own answers, what is in parts in its order, and nobody kept waiting.

use std::sync::Condvar;

use broker::device::{Device, DeviceInfo};
use broker::engine::{Engine, SoftwareEngine};
use broker::limits::SEARCHES_PER_USER_MAX;
use sha2::{Digest, Sha256};

use super::*;

fn soft(lanes: usize) -> Device {
    Device::soft(SoftwareEngine::new(keys()).unwrap(), Some(lanes))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_of_several_lanes_get_each_their_own_answers() {
    let running = Running::start(soft(3), Settings::default()).await;
    let info = running.client().await.info().await.unwrap();
    assert_eq!((info.lanes, info.store.as_str()), (3, ""));
    ask_all(&running, 16, (0..40).collect(), 40).await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_in_parts_is_put_together_in_the_order_in_which_it_was_asked() {
    let running = Running::start(soft(3), Settings::default()).await;
    for turn in 0..10u8 {
        let mut raw = running.raw().await;
        let hash = [Operation::Hash.number().to_le_bytes().as_slice(), &[2]].concat();
        let begun = asked(&mut raw, Operation::Begin, KeyHandle::NONE, &hash).await;
        // Long and short ones mixed, none of which is waited for.
        let parts: Vec<Vec<u8>> = (0..30)
            .map(|part| vec![part * 7 + turn; [5, 60_000, 0, 5_000, 100][part as usize % 5]])
            .collect();
        for (number, part) in parts.iter().enumerate() {
            let operation = if number + 1 < parts.len() { Operation::Update } else { Operation::Finish };
            let head = Head::request(operation, number as u32, KeyHandle::NONE);
            let request = Pdu::new(head, begun.payload(), part).unwrap();
            raw.write_all(request.bytes()).await.unwrap();
        }
        let mut answers = Incoming::new(&mut raw, Framing::Plain);
        let mut digest = Vec::new();
        for _ in &parts {
            let answer = answers.next().await.unwrap();
            assert_eq!(answer.status(), Ok(Status::Done), "{:?}", answer.head());
            digest.extend_from_slice(answer.payload());
        }
        assert_eq!(digest, Sha256::digest(parts.concat()).to_vec());
    }
    running.stop().await;
}

/// Looks for primes until it is told to stop, and does all else at once.
struct Patient {
    engine: SoftwareEngine,
    is_told: Arc<(Mutex<bool>, Condvar)>,
}

impl Engine for Patient {
    fn info(&self) -> DeviceInfo {
        self.engine.info()
    }

    fn opened(&mut self) {
        self.engine.opened();
    }

    fn execute(&mut self, request: &Pdu) -> Option<Pdu> {
        if request.operation() == Ok(Operation::KeyGenerate) {
            let (told, rings) = &*self.is_told;
            drop(rings.wait_while(told.lock().unwrap(), |told| !*told).unwrap());
            return Some(Pdu::empty(request.head().answer(Status::DeviceFault)));
        }
        self.engine.execute(request)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_looks_for_primes_leaves_a_lane_to_the_others() {
    // More than the device takes of anything.
    const SEARCHES: u32 = 40;
    let engine = SoftwareEngine::new(keys()).unwrap().with_lanes(2);
    let is_told = Arc::new((Mutex::new(false), Condvar::new()));
    let patient = || Box::new(Patient { engine: engine.clone(), is_told: is_told.clone() });
    let engines: Vec<Box<dyn Engine>> = vec![patient(), patient(), patient()];
    let running =
        Running::start(Device::Lanes { name: "patient".to_owned(), engines }, Settings::default()).await;
    let mut searching = running.raw().await;
    let rsa = Template::new(Algorithm::Rsa3072, Usages::SIGN).to_bytes();
    for number in 0..SEARCHES {
        let head = Head::request(Operation::KeyGenerate, number, KeyHandle::NONE);
        searching.write_all(Pdu::new(head, &rsa, &[]).unwrap().bytes()).await.unwrap();
    }
    let client = running.client().await;
    let batches = client.find_key("batch/7").await.unwrap();
    for length in [0, 60_000, 100, 30_000] {
        client.seal(batches, &[], &vec![7; length]).await.unwrap();
    }
    *is_told.0.lock().unwrap() = true;
    is_told.1.notify_all();
    let mut answers = Incoming::new(&mut searching, Framing::Plain);
    let mut begun = 0;
    for _ in 0..SEARCHES {
        match answers.next().await.unwrap().status().unwrap() {
            Status::DeviceFault => begun += 1,
            status => assert_eq!(status, Status::Busy, "it may ask again"),
        }
    }
    assert!((SEARCHES_PER_USER_MAX as u32..SEARCHES).contains(&begun), "{begun} were begun");
    drop((client, searching));
    running.stop().await;
}
