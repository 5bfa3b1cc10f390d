//! A server behind a cluster of NATS: takes leases of partitions, and stores what comes for them.
//!
//! Every third of the lease time it renews what it holds, looks at what others hold, and takes what is free or silent,
//! as far as its share goes; what it has beyond that it gives back. A lease that cannot be renewed in time, or is
//! somebody else's, ends with its log.
//!
//! ```text
//! bucket selvedge-leases     lease.<partition>   the owner's name; the revision under which it was taken is the
//!                                                fencing number
//!                            owner.<name>        written again and again by a server that is there
//! bucket selvedge-counters   setup               what the cluster was set up for: partitions, and a random identity
//! ```
//! A store remembers the identity: with another bucket of counters, or one that was emptied, they would begin anew under
//! keys that have used them, so it is refused.

use std::collections::BTreeMap;
use std::fs;
use std::future::Future;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use async_nats::jetstream::kv::{self, Store};
use async_nats::jetstream::stream::{self, DiscardPolicy, RetentionPolicy, Stream};
use async_nats::jetstream::{Context, kv::CreateErrorKind};
use cipher::{OsRandomness, Randomness};

use super::client::connect;
use super::ground::{Ground, Later, Shared, Tally};
use super::lease::{Peers, Step, View};
use super::owner::Owner;
use super::{COUNTERS, Cluster, LEASES, SETUP, STREAM};
use crate::error::Error;
use crate::keys::KeyRing;
use crate::limits::{Limits, MESSAGE_BYTES_MAX, NATS_START_MS_MAX, NATS_START_PAUSE, NATS_STREAM_BYTES_MAX};
use crate::realtime::Realtime;
use crate::record::Lease;
use crate::serve::{Clock, write_stats};
use crate::stats::{Counter, Stats};

/// The file of a store that says with which cluster it was begun.
const CLUSTER_FILE: &str = "cluster";

/// What a server needs.
#[derive(Debug)]
pub struct Config {
    /// The cluster.
    pub cluster: Cluster,
    /// Its keys.
    pub keys: KeyRing,
    /// The folder of its logs; made when it is missing.
    pub store: PathBuf,
    /// Its limits.
    pub limits: Limits,
    /// Where the counts are written as JSON when it ends cleanly.
    pub stats: Option<PathBuf>,
    /// What its threads are given. Those of a second lease cannot have deadlines: the first has all that is dealt.
    pub realtime: Realtime,
}

/// Serves until `shutdown` is ready, then answers what it has received, gives its leases back and returns the counts.
///
/// `ready` is called when it has tried to take its leases for the first time.
///
/// # Errors
/// [`Error::Nats`] when the cluster cannot be used, [`Error::OtherCluster`], [`Error::LockMemory`],
/// [`Error::Scheduling`], and those of a log: it stores nothing more.
pub fn serve(
    config: Config,
    ready: impl FnOnce(),
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<Stats, Error> {
    let Config { cluster, keys, store, limits, stats: path, realtime } = config;
    limits.check()?;
    realtime.prepare()?;
    let runtime = realtime.runtime()?;
    let stats = runtime.block_on(async {
        let mut server = open(cluster, Arc::new(keys), store, limits, realtime).await?;
        let served = server.serve(ready, shutdown).await;
        let ended = server.end().await;
        served.and(ended)
    })?;
    if let Some(path) = path {
        write_stats(&path, &stats)?;
    }
    Ok(stats)
}

/// One of the servers that share the partitions.
pub(super) struct Server<G: Ground> {
    name: String,
    partitions: u16,
    lease_ns: u64,
    ground: Arc<G>,
    views: Vec<View>,
    peers: Peers,
    owners: BTreeMap<u16, Owner<G>>,
    /// What the logs counted that are closed, and the leases.
    counter: Counter,
}

fn drawn() -> Result<u64, Error> {
    let mut bytes = [0; 8];
    OsRandomness.fill(&mut bytes).map_err(Error::io("draw randomness for", "a name"))?;
    Ok(u64::from_le_bytes(bytes))
}

async fn open(
    cluster: Cluster,
    keys: Arc<KeyRing>,
    store: PathBuf,
    limits: Limits,
    realtime: Realtime,
) -> Result<Server<Shared>, Error> {
    let Begun { context, stream, leases, counters, setup } = begin_patiently(&cluster).await?;
    check_setup(&setup, &cluster, &store)?;
    let (client, partitions, name) = (context.client(), cluster.partitions, drawn()?);
    let (clock, tally, chosen) = (Clock::start(), Tally::new(), limits.clone());
    let ground =
        Shared { client, stream, partitions, leases, counters, keys, store, clock, tally, limits, realtime };
    let name = format!("{}-{name:016x}", std::process::id());
    Ok(Server::new(ground, name, partitions, &chosen))
}

impl<G: Ground> Server<G> {
    /// One that has no lease yet.
    pub fn new(ground: G, name: String, partitions: u16, limits: &Limits) -> Server<G> {
        Server {
            name,
            partitions,
            lease_ns: limits.lease_ms * 1_000_000,
            views: (0..partitions).map(|_| View::default()).collect(),
            ground: Arc::new(ground),
            peers: Peers::default(),
            owners: BTreeMap::new(),
            counter: Counter::new(limits.deadline_ns),
        }
    }

    /// Takes leases, and works under them, until `shutdown` is ready; `ready` is called when it has tried for the first time.
    ///
    /// # Errors
    /// Those of a log: it stores nothing more.
    pub async fn serve(
        &mut self,
        ready: impl FnOnce(),
        shutdown: impl Future<Output = ()> + Send,
    ) -> Result<(), Error> {
        tokio::pin!(shutdown);
        let mut ready = Some(ready);
        loop {
            self.round().await?;
            if let Some(ready) = ready.take() {
                ready();
            }
            tokio::select! {
                biased;
                () = &mut shutdown => return Ok(()),
                () = self.ground.sleep_until(self.now_ns() + self.lease_ns / 3) => {}
            }
        }
    }

    /// Renews, looks, takes and gives back.
    async fn round(&mut self) -> Result<(), Error> {
        for partition in 0..self.partitions {
            let owner = self.owners.get_mut(&partition);
            let (has_failed, is_over) =
                owner.map_or((false, false), |owner| (owner.has_failed(), !owner.is_valid()));
            if has_failed || is_over {
                // What is over may be ours still, but nobody can count on that.
                self.counter.stats.leases_lost += u64::from(is_over);
                self.close(partition).await?;
            }
        }
        // What cannot be asked now is asked in the next round, or the leases run out.
        let _: Result<(), Later> = match self.share().await {
            Ok(share) => self.take_leases(share).await?,
            Err(later) => Err(later),
        };
        Ok(())
    }

    /// How many partitions are ours to have.
    async fn share(&mut self) -> Result<usize, Later> {
        let own = format!("owner.{}", self.name);
        self.ground.put(&own).await?;
        let mut entries = Vec::new();
        for key in self.ground.keys().await?.into_iter().filter(|key| key.starts_with("owner.")) {
            if let Some(entry) = self.ground.entry(&key).await? {
                entries.push((key, entry.revision));
            }
        }
        let now_ns = self.now_ns();
        let share = self.peers.share(&entries, &own, now_ns, self.lease_ns, self.partitions);
        for name in self.peers.gone(now_ns, 10 * self.lease_ns) {
            self.ground.purge(&name).await?;
        }
        Ok(share)
    }

    async fn take_leases(&mut self, share: usize) -> Result<Result<(), Later>, Error> {
        for partition in 0..self.partitions {
            let wants_more = self.owners.len() < share;
            let key = format!("lease.{partition}");
            let entry = match self.ground.entry(&key).await {
                Ok(entry) => entry,
                Err(later) => return Ok(Err(later)),
            };
            // The lease is counted from before it is asked for.
            let asked_ns = self.now_ns();
            // Others wait for the whole lease from a later moment on.
            let until_ns = asked_ns + self.lease_ns / 4 * 3;
            let view = &mut self.views[usize::from(partition)];
            let step = view.look(entry.as_ref(), asked_ns, self.lease_ns, wants_more);
            let result = match step {
                Step::Wait => continue,
                Step::Lost => {
                    self.counter.stats.leases_lost += 1;
                    self.close(partition).await?;
                    continue;
                }
                Step::Renew(_) if self.owners.len() > share => {
                    self.give_back(partition).await?;
                    continue;
                }
                Step::Create => self.ground.create(&key, &self.name).await,
                Step::TakeOver(revision) | Step::Renew(revision) => {
                    self.ground.update(&key, &self.name, revision).await
                }
            };
            match result {
                Err(later) => return Ok(Err(later)),
                Ok(None) if matches!(step, Step::Renew(_)) => {
                    self.counter.stats.leases_lost += 1;
                    self.close(partition).await?;
                }
                // Somebody else was first.
                Ok(None) => {}
                Ok(Some(revision)) => {
                    self.views[usize::from(partition)].hold(revision);
                    self.hold(partition, revision, until_ns, step).await?;
                }
            }
        }
        Ok(Ok(()))
    }

    fn now_ns(&self) -> u64 {
        self.ground.now().monotonic_ns
    }

    async fn hold(&mut self, partition: u16, revision: u64, until_ns: u64, step: Step) -> Result<(), Error> {
        match self.owners.get(&partition) {
            Some(owner) => owner.extend(until_ns),
            None => {
                self.counter.stats.leases_taken += 1;
                self.counter.stats.leases_taken_over += u64::from(matches!(step, Step::TakeOver(_)));
                let lease = Lease { partition, fencing: revision };
                match Owner::begin(&self.ground, lease, until_ns).await {
                    Ok(owner) => drop(self.owners.insert(partition, owner)),
                    // The consumer cannot be had now: the lease runs out, or is renewed.
                    Err(Error::Nats { .. }) => self.views[usize::from(partition)].forget(),
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// Ends what works under a lease.
    async fn close(&mut self, partition: u16) -> Result<(), Error> {
        self.views[usize::from(partition)].forget();
        if let Some(owner) = self.owners.remove(&partition) {
            self.counter.add(&owner.end().await?);
        }
        Ok(())
    }

    /// Ends it in order, and lets others have it at once.
    async fn give_back(&mut self, partition: u16) -> Result<(), Error> {
        let held = self.views[usize::from(partition)].held();
        self.close(partition).await?;
        let key = format!("lease.{partition}");
        // If that fails others wait for the lease time.
        let _: Result<(), Later> = self.ground.delete(&key, held).await;
        Ok(())
    }

    /// Gives everything back, and adds up.
    ///
    /// # Errors
    /// Those of a log.
    pub async fn end(mut self) -> Result<Stats, Error> {
        let mut ended = Ok(());
        for partition in 0..self.partitions {
            if self.owners.contains_key(&partition) {
                ended = ended.and(self.give_back(partition).await);
            }
        }
        let own = format!("owner.{}", self.name);
        let _: Result<(), Later> = self.ground.purge(&own).await;
        self.ground.flush().await;
        ended?;
        let mut stats = self.counter.stats();
        let tally = self.ground.tally();
        for (name, count) in tally.refused().iter() {
            *stats.refused.entry(name).or_default() += count;
        }
        stats.answers_withheld = tally.withheld.load(Ordering::Relaxed);
        stats.stages.answering = tally.answering.latency();
        Ok(stats)
    }
}

/// What is there in a cluster.
pub(super) struct Begun {
    pub context: Context,
    pub stream: Stream,
    leases: Store,
    counters: Store,
    /// What the cluster was set up for.
    setup: String,
}

/// Begins again as long as a cluster that is just starting has no leader.
pub(super) async fn begin_patiently(cluster: &Cluster) -> Result<Begun, Error> {
    let deadline = Instant::now() + Duration::from_millis(NATS_START_MS_MAX);
    loop {
        match begin(cluster).await {
            Err(Error::Nats { .. }) if Instant::now() < deadline => {
                tokio::time::sleep(NATS_START_PAUSE).await;
            }
            begun => return begun,
        }
    }
}

/// Connects, and makes what is not there yet.
async fn begin(cluster: &Cluster) -> Result<Begun, Error> {
    let context = connect(cluster).await?;
    let config = stream::Config {
        name: STREAM.to_owned(),
        subjects: vec!["selvedge.batch.*".to_owned()],
        retention: RetentionPolicy::WorkQueue,
        discard: DiscardPolicy::New,
        max_bytes: NATS_STREAM_BYTES_MAX as i64,
        max_message_size: MESSAGE_BYTES_MAX as i32,
        num_replicas: cluster.replicas(),
        ..stream::Config::default()
    };
    let stream = context.get_or_create_stream(config).await;
    let stream = stream.map_err(|cause| Error::nats("make", STREAM, &cause))?;
    let leases = bucket(&context, LEASES, cluster).await?;
    let counters = bucket(&context, COUNTERS, cluster).await?;
    let fresh = format!("partitions {}\nstore {:016x}{:016x}\n", cluster.partitions, drawn()?, drawn()?);
    let created = counters.create(SETUP, fresh.into()).await;
    if let Err(cause) = created.as_ref().map_err(|error| error.kind())
        && cause != CreateErrorKind::AlreadyExists
    {
        return Err(Error::nats("write", SETUP, &cause));
    }
    let setup = counters.get(SETUP).await.map_err(|cause| Error::nats("read", SETUP, &cause))?;
    let setup = setup.ok_or_else(|| Error::nats("read", SETUP, &"it is not there yet"))?;
    let setup = String::from_utf8_lossy(&setup).into_owned();
    Ok(Begun { context, stream, leases, counters, setup })
}

async fn bucket(context: &Context, name: &str, cluster: &Cluster) -> Result<Store, Error> {
    if let Ok(store) = context.get_key_value(name).await {
        return Ok(store);
    }
    let config = kv::Config {
        bucket: name.to_owned(),
        history: 1,
        num_replicas: cluster.replicas(),
        ..kv::Config::default()
    };
    context.create_key_value(config).await.map_err(|cause| Error::nats("make", name, &cause))
}

/// Compares what the cluster was set up for with what is wanted, and with what the store was begun with.
fn check_setup(setup: &str, cluster: &Cluster, store: &Path) -> Result<(), Error> {
    let value = |name| setup.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().to_owned();
    let (partitions, identity) = (value("partitions "), value("store "));
    let other = |what, found, expected| Err(Error::OtherCluster { what, found, expected });
    if partitions != cluster.partitions.to_string() {
        return other("number of partitions", partitions, cluster.partitions.to_string());
    }
    let path = store.join(CLUSTER_FILE);
    let failed = |doing| Error::io(doing, path.display().to_string());
    fs::create_dir_all(store).map_err(failed("make the folder of"))?;
    let expected = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
            let beside = path.with_extension(format!("new-{:016x}", drawn()?));
            let write = || {
                let mut file = fs::File::create_new(&beside)?;
                file.write_all(identity.as_bytes())?;
                file.sync_all()?;
                // Of several that begin at once the first one counts.
                let linked = fs::hard_link(&beside, &path);
                fs::remove_file(&beside)?;
                match linked {
                    Err(cause) if cause.kind() != io::ErrorKind::AlreadyExists => return Err(cause),
                    _ => fs::File::open(store)?.sync_all()?,
                }
                fs::read_to_string(&path)
            };
            write().map_err(failed("write"))?
        }
        Err(cause) => return Err(failed("read")(cause)),
    };
    if expected != identity { other("identity", identity, expected) } else { Ok(()) }
}
