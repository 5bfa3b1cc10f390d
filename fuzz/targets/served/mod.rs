//! A broker with a software device, in a thread of a target.

use std::path::PathBuf;

use broker::device::Device;
use broker::engine::SoftwareEngine;
use broker::{Config, Endpoint, Settings, serve};

/// Starts one, and tells its socket when it is ready.
pub fn start() -> PathBuf {
    let socket = std::env::temp_dir().join(format!("selvedge-fuzz-{}.sock", std::process::id()));
    let (ready, is_ready) = std::sync::mpsc::channel();
    let path = socket.clone();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let engine = SoftwareEngine::new(Vec::new()).expect("there is randomness");
        let served = serve(Config {
            endpoint: Endpoint::Path(path),
            devices: vec![Device::Inline(Box::new(engine)).into()],
            settings: Settings::default(),
            ready: Box::new(move || ready.send(()).expect("the target waits")),
            stop: Box::pin(std::future::pending()),
        });
        runtime.expect("there is a runtime").block_on(served).expect("the broker serves");
    });
    is_ready.recv().expect("the broker starts");
    socket
}
