//! When a process of ours ends: on SIGTERM or SIGINT.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tokio::signal::unix::{SignalKind, signal};

/// Ready when this process is asked to end. Listens from this call on, which is within a tokio runtime that goes on: who is
/// told that this process is ready may ask it to end at once.
pub fn asked() -> Pin<Box<dyn Future<Output = ()> + Send>> {
    let signals = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    Box::pin(async {
        // A process that cannot listen for signals is ended by them, which is what they ask for.
        let (Ok(mut terminate), Ok(mut interrupt)) = signals else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// A flag that is set when this process is asked to end, for a verb that looks now and then.
///
/// # Errors
/// The environment's.
pub fn flag() -> io::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let raised = Arc::clone(&flag);
    let (listening, listens) = std::sync::mpsc::channel();
    thread::Builder::new().name("stop".into()).spawn(move || {
        runtime.block_on(async {
            let asked = asked();
            // The receiver waits for this.
            let _ = listening.send(());
            asked.await;
        });
        raised.store(true, Ordering::Relaxed);
    })?;
    // The thread is ours and sends before anything else.
    let _ = listens.recv();
    Ok(flag)
}
