//! Three servers of NATS in a folder, on ports that were free, which end with the test.
#![allow(dead_code, reason = "each test file uses its part")]

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use collect::nats::{Cluster, Protection};
use rustix::process::{Pid, Signal, kill_process};

/// A test that waits this long has failed.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Where `scripts/nats.sh` leaves the program; `None` after saying that `test` is skipped.
pub fn nats_server(test: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/nats-server");
    if path.is_file() {
        return Some(path);
    }
    println!("skip: {test}: found no nats-server, which scripts/nats.sh brings");
    None
}

/// Calls `look` until it returns something.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited {PATIENCE:?} for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The servers.
pub struct Servers {
    program: PathBuf,
    folder: tempfile::TempDir,
    ports: Vec<u16>,
    children: Vec<Child>,
}

impl Servers {
    pub fn start(program: &Path) -> Servers {
        Servers::start_with(program, "")
    }

    /// The same, with this behind what each is told.
    pub fn start_with(program: &Path, more: &str) -> Servers {
        let folder = tempfile::tempdir().unwrap();
        // All at once, so that no port is given twice.
        let held: Vec<_> = (0..6).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let ports: Vec<u16> = held.iter().map(|listener| listener.local_addr().unwrap().port()).collect();
        drop(held);
        let routes: Vec<_> = ports[3..].iter().map(|port| format!("\"nats://127.0.0.1:{port}\"")).collect();
        for index in 0..3 {
            let (port, route) = (ports[index], ports[3 + index]);
            let configuration = format!(
                "server_name: s{index}\nlisten: \"127.0.0.1:{port}\"\n\
                 jetstream {{ store_dir: \"{}/{index}\", sync_interval: always }}\n\
                 cluster {{ name: test, listen: \"127.0.0.1:{route}\", routes: [{}] }}\n{more}\n",
                folder.path().display(),
                routes.join(", ")
            );
            fs::write(folder.path().join(format!("{index}.conf")), configuration).unwrap();
        }
        let mut servers = Servers { program: program.to_owned(), folder, ports, children: Vec::new() };
        servers.children = (0..3).map(|index| servers.spawn(index)).collect();
        servers.listen();
        servers
    }

    fn spawn(&self, index: usize) -> Child {
        let at = |name: String| self.folder.path().join(name);
        Command::new(&self.program)
            .arg("--config")
            .arg(at(format!("{index}.conf")))
            .arg("--log")
            .arg(at(format!("{index}.log")))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// Waits until all listen.
    fn listen(&mut self) {
        for port in &self.ports[..3] {
            wait_for("a server of NATS", || TcpStream::connect(("127.0.0.1", *port)).ok());
        }
    }

    pub fn cluster(&self, partitions: u16) -> Cluster {
        let servers = self.ports[..3].iter().map(|port| format!("nats://127.0.0.1:{port}")).collect();
        Cluster { servers, partitions, protection: Protection::Loopback }
    }

    /// Stops one of them for a while: it says nothing, and keeps its connections.
    pub fn stop_for(&self, index: usize, pause: Duration) {
        self.signal(index, Signal::STOP);
        std::thread::sleep(pause);
        self.signal(index, Signal::CONT);
    }

    /// The same while the caller goes on.
    pub fn stop_beside(&self, index: usize, pause: Duration) {
        let child = Pid::from_child(&self.children[index]);
        self.signal(index, Signal::STOP);
        std::thread::spawn(move || {
            std::thread::sleep(pause);
            // It may have been killed meanwhile.
            let _ = kill_process(child, Signal::CONT);
        });
    }

    pub fn signal(&self, index: usize, signal: Signal) {
        kill_process(Pid::from_child(&self.children[index]), signal).unwrap();
    }

    /// Kills one of them and starts it again.
    pub fn kill(&mut self, index: usize) {
        self.children[index].kill().unwrap();
        self.children[index].wait().unwrap();
        self.children[index] = self.spawn(index);
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
