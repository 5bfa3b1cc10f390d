//! A broker with a software device, in a thread of the test; and where a library was built.

use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use broker::device::Device;
use broker::engine::SoftwareEngine;
use broker::{Config, Endpoint, Settings, serve};
use tempfile::TempDir;
use tokio::sync::oneshot;

/// A broker, which ends with this.
pub struct Running {
    pub socket: PathBuf,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    _folder: TempDir,
}

impl Running {
    /// Starts one on a socket of its own.
    pub fn start() -> Running {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("broker.sock");
        let (stop, stopped) = oneshot::channel::<()>();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let path = socket.clone();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
            let engine = SoftwareEngine::new(Vec::new()).unwrap();
            let served = serve(Config {
                endpoint: Endpoint::Path(path),
                devices: vec![Device::Inline(Box::new(engine)).into()],
                settings: Settings::default(),
                ready: Box::new(move || ready.send(()).expect("the test waits")),
                stop: Box::pin(async { drop(stopped.await) }),
            });
            runtime.unwrap().block_on(served).expect("the broker serves");
        });
        is_ready.recv().expect("the broker starts");
        Running { socket, stop: Some(stop), thread: Some(thread), _folder: folder }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stop.take());
        let ended = self.thread.take().expect("it ends once").join();
        assert!(ended.is_ok() || thread::panicking(), "the broker ends");
    }
}

/// A library, as other programs load it: cargo leaves it beside the tests.
pub fn built(name: &str) -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let path = tests.with_file_name(name);
    assert!(path.exists(), "no library at `{}`", path.display());
    path
}

/// Whether a program is installed; else says that the test is skipped.
pub fn has(program: &str, why: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path).any(|folder| Path::new(&folder).join(program).exists());
    if !is_there {
        println!("skip: {program}: not installed: {why}");
    }
    is_there
}
