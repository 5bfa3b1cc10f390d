//! Ten thousand connections at once, one of which never reads its answers, and some more than the server serves: who is
//! answered, who is refused by which name, and what memory that takes.

use std::collections::BTreeMap;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use collect::batch::Answer;
use collect::error::Refusal;
use collect::limits::BATCH_FRAMES_MAX;
use collect::load::{Load, NODES, Plant};
use report::row::Clock;
use selvedge::error::Error;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::cores::resident_bytes;
use super::gateway::{Gateway, Message, Received, message_of};
use super::server::Server;
use super::{Bench, LOAD, RETAIN_BYTES};
use crate::goals::Wanted;

/// Connections at once, the slow reader's among them.
const CONNECTIONS: usize = 10_000;
/// To see that it works.
const QUICK_CONNECTIONS: usize = 40;
/// Beyond what the server serves.
const EXTRA: usize = 10;
/// Handshakes at a time.
const HANDSHAKES: usize = 32;
/// Short frames of a bus: it is the connections that count here.
const SHORT: Load = Load { suite: LOAD.suite, frame_bytes: 32, frames_per_batch: 64, nodes_per_batch: 64 };
/// Who has sent nothing for so long is not read any more: the server waits for the answers to be read.
const QUIET: Duration = Duration::from_secs(1);
/// The server gives up a peer that does not read long before this.
const STUCK: Duration = Duration::from_secs(60);
/// What the slow reader sends, again and again: its receipts are as long as any.
const LONG: Load = Load { frames_per_batch: BATCH_FRAMES_MAX, nodes_per_batch: BATCH_FRAMES_MAX, ..SHORT };
/// As many as fill what both systems keep of answers that nobody reads, many times over.
const SLOW_BATCHES: u64 = 100_000;

/// Measures.
///
/// # Errors
/// The environment's: also that it allows too few descriptors.
pub fn measure(bench: &mut Bench) -> Result<(), Error> {
    let connections = if bench.is_quick { QUICK_CONNECTIONS } else { CONNECTIONS };
    broker::descriptors::raise(connections + EXTRA)?;
    let server = bench.server("connections", connections, RETAIN_BYTES)?;
    let failed = || Error::process("collect bench");
    let empty = resident_bytes(server.id()).map_err(failed())?;
    let begin = Instant::now();
    let gateways = connect(bench, &server, 1..=connections as u64)?;
    let connected_s = begin.elapsed().as_secs_f64();
    let full = resident_bytes(server.id()).map_err(failed())?;
    let mut plant = Plant::new(SHORT, 0..NODES, bench.seed);
    // A gateway does not hear that its hello was read: only when each has had an answer are all places taken.
    let (mut gateways, admitted, failure) = answer(bench, gateways, &mut plant, 0);
    failure.map_or(Ok(()), Err)?;
    let refused = refused(bench, &server, connections as u64)?;
    let slow = gateways.pop().expect("there are some");
    let message = message_of(Plant::new(LONG, 0..NODES, bench.seed).batch(slow.spool(), 1));
    let (tell_stuck, stuck) = oneshot::channel();
    let slow = bench.runtime.spawn(be_slow(slow, message, tell_stuck));
    // The others are to be answered beside one that is not read, and not before.
    let never = |_| failed()(io::Error::other("the server read all that the slow reader sent"));
    bench.runtime.block_on(stuck).map_err(never)?;
    let begin = Instant::now();
    let (_, answered, first_failure) = answer(bench, gateways, &mut plant, 1);
    let answered_s = begin.elapsed().as_secs_f64();
    let slow = bench.runtime.block_on(slow).expect("it does not panic");
    let end = resident_bytes(server.id()).map_err(failed())?;
    let counted = server.stop()?;
    let of_others = admitted.batches + answered.batches;
    let mut row = |metric: &str, value: u64, unit: &str| {
        bench.goals.row("connections", metric, value, unit, Clock::None);
    };
    row("at once", connections as u64, "");
    row("answered beside a slow reader", answered.batches, "");
    row("not answered", connections as u64 - 1 - answered.batches, "");
    row("batches that the slow reader sent until it was given up", slow.sent, "");
    row("of these taken by the server", counted.batches.saturating_sub(of_others), "");
    row("of these with a receipt that it read at last", slow.answered, "");
    row("connections that ended before a hello, or were one too many", counted.connections_failed, "");
    refused.iter().for_each(|(name, count)| row(&format!("refused: {name}"), *count, ""));
    row("resident, no connection", empty, "B");
    row("resident, all connected", full, "B");
    row("resident, at the end", end, "B");
    row("memory of a connection", full.saturating_sub(empty) / connections as u64, "B");
    bench.goals.row("connections", "connected in", connected_s, "s", Clock::Wall);
    bench.goals.row("connections", "answered in", answered_s, "s", Clock::Wall);
    let (others, mut peer) = (connections as f64 - 1.0, format!("{EXTRA} more refused"));
    if let Some(failure) = first_failure {
        peer = format!("{peer}; first failure: {}", failure.to_string().replace(['\n', '\t'], " "));
    }
    let value = answered.batches as f64;
    bench.goals.goal(
        "connections at once, answered beside a slow reader",
        value,
        "-",
        peer,
        Wanted::AtLeast(others),
    );
    Ok(())
}

fn connect(bench: &Bench, server: &Server, spools: impl Iterator<Item = u64>) -> Result<Vec<Gateway>, Error> {
    let (address, places) = (server.address(), Arc::new(Semaphore::new(HANDSHAKES)));
    let bar = bench.progress("connections", spools.size_hint().0 as u64);
    let connected = bench.runtime.block_on(async {
        let mut connecting = JoinSet::new();
        for spool in spools {
            let (tls, places) = (bench.tls.clone(), places.clone());
            connecting.spawn(async move {
                let _place = places.acquire().await.expect("nobody closes it");
                Gateway::connect(address, tls, spool).await
            });
        }
        let mut gateways = Vec::new();
        while let Some(joined) = connecting.join_next().await {
            gateways.push(joined.expect("connecting does not panic")?);
            bar.inc(1);
        }
        Ok(gateways)
    });
    bar.finish_and_clear();
    connected
}

/// What connections beyond the last are told, by name.
fn refused(bench: &Bench, server: &Server, last: u64) -> Result<BTreeMap<&'static str, u64>, Error> {
    let gateways = connect(bench, server, last + 1..=last + EXTRA as u64)?;
    bench.runtime.block_on(async {
        let mut refused = BTreeMap::new();
        for gateway in gateways {
            let (_sender, mut answers, _) = gateway.into_parts();
            let name = match answers.next().await? {
                Some(Answer::Refused { status, .. }) => {
                    Refusal::from_number(status).map_or("unknown", Refusal::name)
                }
                Some(Answer::Receipt { .. }) => "answered",
                None => "closed",
            };
            *refused.entry(name).or_default() += 1;
        }
        Ok(refused)
    })
}

/// All send a batch of that number at once: who still is connected, who was answered, and what befell the first who was
/// not.
fn answer(
    bench: &Bench,
    gateways: Vec<Gateway>,
    plant: &mut Plant,
    number: u64,
) -> (Vec<Gateway>, Received, Option<Error>) {
    let messages: Vec<Message> =
        gateways.iter().map(|gateway| message_of(plant.batch(gateway.spool(), number))).collect();
    let bar = bench.progress("answered", messages.len() as u64);
    let answered = bench.runtime.block_on(async {
        let mut sending = JoinSet::new();
        for (mut gateway, message) in gateways.into_iter().zip(messages) {
            sending.spawn(async move {
                let received = gateway.send_all(&[message], 1).await;
                (gateway, received)
            });
        }
        // All stay connected until the last of them is answered.
        let (mut gateways, mut all, mut first_failure) = (Vec::new(), Received::default(), None);
        while let Some(joined) = sending.join_next().await {
            let (gateway, received) = joined.expect("sending does not panic");
            gateways.push(gateway);
            match received {
                Ok(received) => all = all.and(received),
                Err(error) => first_failure = first_failure.or(Some(error)),
            }
            bar.inc(1);
        }
        (gateways, all, first_failure)
    });
    bar.finish_and_clear();
    answered
}

/// What became of who does not read.
struct Slow {
    sent: u64,
    answered: u64,
}

/// Sends until nobody reads it any more, which `tell_stuck` hears, and until it is given up; only then it reads what was
/// answered.
async fn be_slow(gateway: Gateway, message: Message, tell_stuck: oneshot::Sender<()>) -> Slow {
    let (mut sender, mut answers, opener) = gateway.into_parts();
    let (mut slow, mut tell_stuck) = (Slow { sent: 0, answered: 0 }, Some(tell_stuck));
    while slow.sent < SLOW_BATCHES {
        let mut sending = pin!(sender.send_bytes(&message.bytes));
        let sent = match timeout(QUIET, &mut sending).await {
            Ok(sent) => Ok(sent),
            Err(_) => {
                // Whoever waits for it is gone only when the bench has failed.
                if let Some(stuck) = tell_stuck.take() {
                    let _ = stuck.send(());
                }
                timeout(STUCK, sending).await
            }
        };
        match sent {
            Ok(Ok(())) => slow.sent += 1,
            // The server has closed the connection, or does not read it.
            Ok(Err(_)) | Err(_) => break,
        }
    }
    // Whoever waits for it to be stuck waits no longer.
    drop(tell_stuck);
    while let Ok(Some(answer)) = answers.next().await {
        slow.answered += u64::from(opener.open(answer).is_ok());
    }
    slow
}
