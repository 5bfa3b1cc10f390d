//! Batches through NATS JetStream: several servers share the nodes of a deployment, and take over from each other.
//!
//! ```text
//! bridge ── selvedge.batch.<partition> ──► stream `selvedge` (replicated) ── a pull consumer each ──► the owner
//!    ▲                                                                                               │
//!    └────────────────── selvedge.receipt.<cell>.<spool> ◄── receipt, then acknowledgement ◄── its log, synced
//! ```
//! A node belongs to one partition, by its number. A partition has one owner at a time, by a lease in the bucket
//! `selvedge-leases`; each lease has a log of its own, `<store>/<partition>-<fencing>`, whose segments begin with it, and
//! which nobody else ever appends to. The fencing number is the revision under which the lease was taken: it rises with
//! every owner. What two owners stored, because the one did not know yet that it had lost the lease, is in two logs and is
//! read once.
//!
//! What must not happen twice is not left to leases: downlink counters, and the next epoch of a node, are taken from the
//! bucket `selvedge-counters` by compare-and-set before they are used (`fence`). So an owner that sleeps through a
//! takeover can only use what nobody else was given. From which count on a node is in an epoch that it was told is noted
//! there, too: the next owner takes no more of the epoch before than its predecessor would.
//!
//! A publish acknowledgement says that the cluster has a batch, a consumer's that a log has it; neither is a receipt. A
//! batch is acknowledged after it is durable in a log, and after its receipt has left, together with those of a while. One
//! that fails its tag is terminated and counted.
//!
//! Owns names, what a deployment says of a cluster, and the division into partitions; `lease` judges who owns what, [`serve`]
//! does what follows from it, `ground` is what it asks for that, [`client`] is the bridge's side, and [`bare`] what a server is
//! compared with.

pub mod bare;
pub mod client;
mod fence;
mod ground;
mod lease;
mod owner;
#[cfg(test)]
mod schedules;
pub mod serve;

use std::path::PathBuf;

pub use client::is_loopback;
pub use fence::Fence;

/// The stream of batches.
pub const STREAM: &str = "selvedge";
/// The bucket of leases.
pub const LEASES: &str = "selvedge-leases";
/// The bucket of downlink counters and epochs that were taken, and of what the cluster was set up for.
pub const COUNTERS: &str = "selvedge-counters";
/// The key in it of what the cluster was set up for.
pub(crate) const SETUP: &str = "setup";
/// Partitions where nothing else is said: enough for as many servers as share a deployment, and each costs a log, a
/// consumer and five threads.
pub const PARTITIONS: u16 = 16;

/// A cluster of NATS servers, as a deployment names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// Where they listen, as `nats://host:port`.
    pub servers: Vec<String>,
    /// Among how many partitions the nodes are divided.
    pub partitions: u16,
    /// How connections to it are protected.
    pub protection: Protection,
}

/// How connections to a cluster are protected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Protection {
    /// By nothing: all its servers are on this machine, or none is connected to.
    #[default]
    Loopback,
    /// By nothing, wherever its servers are: somebody has said that nobody else comes by there.
    Plain,
    /// By TLS 1.3, with these certificates.
    Tls(TlsFiles),
}

/// The files of a client of TLS, all of them PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// Who signs the servers' certificates.
    pub authority: PathBuf,
    /// Our certificate, and those between it and its authority.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

impl Cluster {
    /// How often everything is kept: by three servers where there are as many.
    pub fn replicas(&self) -> usize {
        if self.servers.len() >= 3 { 3 } else { 1 }
    }
}

/// The subject of the batches of a partition.
pub fn batch_subject(partition: u16) -> String {
    format!("selvedge.batch.{partition}")
}

/// The subject of the receipts for a spool.
pub fn receipt_subject(cell: u16, spool: u64) -> String {
    format!("selvedge.receipt.{cell}.{spool:016x}")
}

/// The partition of a node.
pub fn partition_of(node: u32, partitions: u16) -> u16 {
    // Spread by Fibonacci hashing; other bits than those that shards are chosen by.
    let spread = u64::from(node).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
    (spread % u64::from(partitions)) as u16
}

/// The partition of a node's frame. One too short to name a node counts as node 0's.
pub fn partition_of_frame(frame: &[u8], partitions: u16) -> u16 {
    let node = frame.get(1..5).map_or(0, |node| u32::from_le_bytes(node.try_into().expect("four bytes")));
    partition_of(node, partitions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_spread_over_all_partitions_and_frames_follow_their_nodes() {
        for partitions in [1, 3, 16, 256] {
            let mut found = vec![0; usize::from(partitions)];
            for node in 0..u32::from(partitions) * 64 {
                found[usize::from(partition_of(node, partitions))] += 1;
                let frame = [&[9][..], &node.to_le_bytes(), &[1, 2, 3]].concat();
                assert_eq!(partition_of_frame(&frame, partitions), partition_of(node, partitions));
            }
            assert!(found.iter().all(|nodes| (32..=128).contains(nodes)), "{partitions}: {found:?}");
            assert_eq!(partition_of_frame(&[1, 2], partitions), partition_of(0, partitions));
        }
    }
}
