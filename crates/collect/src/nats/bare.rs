//! A consumer that acknowledges without storing: what a server behind a cluster is compared with.
//!
//! It answers each batch with a word that is no receipt, so that who measures knows that it was taken; a bridge believes no
//! such word, and keeps its frames.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_nats::Client;
use async_nats::jetstream::AckKind;
use async_nats::jetstream::consumer::PullConsumer;
use futures_util::StreamExt;
use tokio::task::JoinSet;

use super::ground::consumer;
use super::serve::begin_patiently;
use super::{Cluster, receipt_subject};
use crate::batch::{Answer, Request};
use crate::error::Error;
use crate::limits::{Limits, NATS_FETCH_PAUSE};

/// What it answers: no status of a refusal.
pub const ACKNOWLEDGED: u16 = 0;

/// Consumes all partitions until `shutdown` is ready; returns how many batches it acknowledged. `ready` is called when it
/// consumes.
///
/// # Errors
/// [`Error::Nats`] when the cluster cannot be used.
pub async fn acknowledge(
    cluster: &Cluster,
    limits: &Limits,
    ready: impl FnOnce(),
    shutdown: impl Future<Output = ()>,
) -> Result<u64, Error> {
    let begun = begin_patiently(cluster).await?;
    let (batches, mut consuming) = (Arc::new(AtomicU64::new(0)), JoinSet::new());
    for partition in 0..cluster.partitions {
        let consumer = consumer(&begun.stream, limits, partition).await?;
        consuming.spawn(consume(consumer, begun.context.client(), batches.clone()));
    }
    ready();
    shutdown.await;
    consuming.shutdown().await;
    // What was acknowledged last is still to leave.
    let _ = begun.context.client().flush().await;
    Ok(batches.load(Ordering::Relaxed))
}

async fn consume(consumer: PullConsumer, client: Client, batches: Arc<AtomicU64>) {
    loop {
        if let Ok(mut messages) = consumer.messages().await {
            while let Some(Ok(message)) = messages.next().await {
                if let Ok(Request::Batch(batch)) = Request::parse(&message.payload) {
                    let id = batch.id;
                    let answer = Answer::Refused { id, status: ACKNOWLEDGED }.to_message()[4..].to_vec();
                    let _ = client.publish(receipt_subject(id.cell, id.spool), answer.into()).await;
                    batches.fetch_add(1, Ordering::Relaxed);
                }
                // If that is lost it is handed out once more.
                let _ = message.ack_with(AckKind::Ack).await;
            }
        }
        tokio::time::sleep(NATS_FETCH_PAUSE).await;
    }
}
