//! When a daemon of ours ends: on SIGTERM or SIGINT.

use std::future::Future;
use std::pin::Pin;

use tokio::signal::unix::{SignalKind, signal};

/// Ready when this process is asked to end. Polled within a tokio runtime.
pub fn asked() -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async {
        // A process that cannot listen for signals is ended by them, which is what they ask for.
        let (Ok(mut terminate), Ok(mut interrupt)) =
            (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
        else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
