//! A broker as a process, and its log.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

pub const SELVEDGE: &str = env!("CARGO_BIN_EXE_selvedge");
/// Only for a test that hangs; no test that passes waits for it.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Looks again and again.
#[track_caller]
pub fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "not in time: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// It is killed when it is dropped.
pub struct Broker {
    child: Child,
    log: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Broker {
    /// `broker serve --config` with this configuration, in this folder.
    pub fn start(folder: &Path, configuration: &str, prepare: impl FnOnce(&mut Command)) -> Broker {
        let path = folder.join("broker.toml");
        fs::write(&path, configuration).unwrap();
        let mut command = Command::new(SELVEDGE);
        command.args(["broker", "serve", "--config"]).arg(path);
        prepare(&mut command);
        Broker::spawn(&mut command).expect("it is our executable")
    }

    /// None if there is no such executable.
    pub fn spawn(command: &mut Command) -> Option<Broker> {
        command
            .env_remove("JOURNAL_STREAM")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command.spawn().ok()?;
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let log = Arc::new(Mutex::new(String::new()));
        let written = Arc::clone(&log);
        let reader = thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                *written.lock().unwrap() += &format!("{line}\n");
            }
        });
        Some(Broker { child, log, reader: Some(reader) })
    }

    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// The value of a key in the line of an event, without its quotes. It waits for the line, which may still be on its
    /// way when what it tells of is seen.
    #[track_caller]
    pub fn field(&self, event: &str, key: &str) -> String {
        eventually(event, || self.log().contains(&format!("event={event} ")));
        let log = self.log();
        let line =
            log.lines().find(|line| line.contains(&format!("event={event} "))).expect("it is in the log");
        let value = line.split_once(&format!(" {key}=")).expect("it has the key").1;
        match value.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next().unwrap().to_owned(),
            None => value.split(' ').next().unwrap().to_owned(),
        }
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for it, and gives its log.
    pub fn ends_well(mut self) -> String {
        let status = self.child.wait().unwrap();
        self.reader.take().unwrap().join().unwrap();
        assert!(status.success(), "{status}\n{}", self.log());
        self.log()
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        // One that has ended is not there any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
