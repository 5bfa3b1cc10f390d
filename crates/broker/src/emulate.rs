//! The device's side of the link: the process that a host opens, and the engine behind it.
//!
//! [`serve`] puts a [`SoftwareEngine`] behind a Unix socket, [`serve_clocked`] behind a wire that the host clocks and that
//! takes its time, [`serve_line`] behind a pseudo-terminal, which is a UART to the host, and [`serve_port`] behind TCP. What
//! it computes is `engine`'s. The keys live in this process and nowhere else in the broker.

use std::future::Future;
use std::pin::Pin;

pub mod clocked;
pub(crate) mod draws;
pub mod faults;
mod line;
pub mod mpsse;
pub mod preset;
mod serve;
mod tcp;

pub use line::{Config as LineConfig, Terminal, serve as serve_line};
pub use serve::{Config as ClockedConfig, serve as serve_clocked};
pub use tcp::{Config as PortConfig, Port, serve as serve_port};

use tokio::io::{AsyncRead, AsyncWrite};

use crate::engine::store::Opened;
use crate::engine::{Engine, NamedKey, SoftwareEngine};
use crate::error::Error;
use crate::limits::IN_FLIGHT_MAX;
use crate::listen::{Endpoint, Listener};
use crate::stream::{End, Framing, Incoming, write};
use crate::wire::{Head, KeyHandle, Operation, Pdu, Status};

/// What an emulated device is told at its start.
pub struct Config {
    /// Where the broker connects.
    pub endpoint: Endpoint,
    /// The keys.
    pub keys: Vec<NamedKey>,
    /// Where persistent keys are kept; without one they end with the device.
    pub store: Option<Opened>,
    /// Called once, when the broker can connect.
    pub ready: Box<dyn FnOnce() + Send>,
    /// The device ends when this does.
    pub stop: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// What an emulated device did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Times that it was opened.
    pub links: u64,
    /// Requests that it answered.
    pub requests: u64,
    /// Times that what it got was damaged; it hangs up then.
    pub corruptions: u64,
}

/// Is a device in software until `stop`. One host has it open at a time; another waits.
///
/// # Errors
/// When the endpoint, the keys or the store cannot be used, or there is no randomness.
pub async fn serve(config: Config) -> Result<Served, Error> {
    let Config { endpoint, keys, store, ready, stop } = config;
    let mut engine = SoftwareEngine::with(keys, store)?;
    let listener = Listener::open(endpoint)?;
    ready();
    let mut served = Served::default();
    tokio::select! {
        () = stop => {}
        () = serve_links(&listener, &mut engine, &mut served) => {}
    }
    Ok(served)
}

async fn serve_links(listener: &Listener, engine: &mut SoftwareEngine, served: &mut Served) {
    loop {
        match listener.accept().await {
            Ok(stream) => {
                served.links += 1;
                let (reader, writer) = stream.into_split();
                serve_link(reader, writer, engine, served).await;
            }
            Err(_) => tokio::time::sleep(crate::limits::ACCEPT_PAUSE).await,
        }
    }
}

/// Answers until the host hangs up or what it sends is damaged.
async fn serve_link(
    reader: impl AsyncRead + Unpin,
    mut writer: impl AsyncWrite + Unpin,
    engine: &mut impl Engine,
    served: &mut Served,
) {
    engine.opened();
    let mut requests = Incoming::new(reader, Framing::Checked);
    loop {
        let first = match requests.next().await {
            Ok(request) => Ok(request),
            Err(End::Broken(broken)) => Err(broken),
            Err(End::HungUp | End::Io(_)) => return,
        };
        // All that has come is answered with one write.
        let mut answers = Vec::new();
        let mut next = first.map(Some);
        while let Ok(Some(request)) = &next {
            if let Some(answer) = engine.execute(request) {
                answers.push(answer);
                served.requests += 1;
            }
            next = if answers.len() < IN_FLIGHT_MAX { requests.buffered() } else { Ok(None) };
        }
        let damaged = next.is_err();
        if damaged {
            served.corruptions += 1;
            answers.push(Pdu::empty(
                Head::request(Operation::Info, 0, KeyHandle::NONE).answer(Status::WireCorrupt),
            ));
        }
        if write(&mut writer, &answers, Framing::Checked).await.is_err() || damaged {
            return;
        }
    }
}
