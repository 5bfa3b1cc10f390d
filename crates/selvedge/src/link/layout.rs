//! What lies where in the folder of a run.
//!
//! ```text
//! OUT/keys/                 secrets (unless the deployment names a key folder)
//! OUT/run/                  sockets, process numbers, the server's address; only its owner may enter it
//! OUT/spool-CELL/           the bridge's durable queue
//! OUT/store/                the server's log
//! OUT/cell-CELL/            what the simulated cell did: samples and timeline of each node
//! OUT/waveforms/            the stored samples, a file a node
//! OUT/rows.ndjson           every measured value
//! OUT/report.html
//! ```

use super::folder::Folder;
use crate::error::{Error, PlaceFault};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Says that a folder is a run's, and may be emptied.
const MARKER: &str = "selvedge-run";

/// The folder of a run, which nobody empties as long as somebody has it open.
#[derive(Clone, Debug)]
pub struct Layout {
    out: PathBuf,
    /// Locked: shared by all who work in the folder, exclusive for who empties it.
    _folder: Arc<File>,
}

impl Layout {
    /// The folder at `out`, made where missing, with the folder for sockets in it.
    ///
    /// # Errors
    /// [`Error::Place`] for a folder that is being emptied, and the environment's.
    pub fn create(out: &Path) -> Result<Layout, Error> {
        let folder = opened(out)?;
        Layout::share(out, folder)
    }

    fn share(out: &Path, folder: File) -> Result<Layout, Error> {
        lock(out, &folder, FlockOperation::NonBlockingLockShared)?;
        let layout = Layout { out: out.into(), _folder: Arc::new(folder) };
        Folder::create(&layout.run())?;
        Ok(layout)
    }

    /// The folder at `out`, made where missing and emptied of what an earlier run left in it: a run begins with
    /// fresh keys and an empty store.
    ///
    /// # Errors
    /// [`Error::Place`] for a folder that holds something else, or a file or folder of `needed`, or in which another
    /// process works; and the environment's.
    pub fn begin(out: &Path, needed: &[&Path]) -> Result<Layout, Error> {
        let failed = |action| move |cause| Error::io(action, out, cause);
        let marker = out.join(MARKER);
        let folder = opened(out)?;
        lock(out, &folder, FlockOperation::NonBlockingLockExclusive)?;
        let is_empty = fs::read_dir(out).map_err(failed("list"))?.next().is_none();
        if !is_empty && !marker.is_file() {
            return Err(Error::place(out, PlaceFault::NotOurs));
        }
        let real = |path: &Path| path.canonicalize().map_err(|cause| Error::io("find", path, cause));
        for path in needed {
            if real(path)?.starts_with(real(out)?) {
                return Err(Error::place(out, PlaceFault::Needed { needed: path.to_path_buf() }));
            }
        }
        fs::write(&marker, "The folder of a run of selvedge, which empties it before the next.\n")
            .map_err(failed("mark"))?;
        for entry in fs::read_dir(out).map_err(failed("list"))? {
            let path = entry.map_err(failed("list"))?.path();
            if path != marker {
                let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
                removed.map_err(|cause| Error::io("remove", &path, cause))?;
            }
        }
        // Whoever else begins here before the lock is shared has the folder, and this call fails.
        Layout::share(out, folder)
    }

    /// The folder itself.
    pub fn out(&self) -> &Path {
        &self.out
    }

    /// Where sockets and process numbers are.
    pub fn run(&self) -> PathBuf {
        self.out.join("run")
    }

    /// The socket on which applications reach the broker.
    pub fn broker_socket(&self) -> PathBuf {
        self.run().join("broker.sock")
    }

    /// The socket on which the broker reaches its device.
    pub fn device_socket(&self) -> PathBuf {
        self.run().join("device.sock")
    }

    /// The link to the pseudo-terminal behind which the device is.
    pub fn device_terminal(&self) -> PathBuf {
        self.run().join("device.tty")
    }

    /// The socket on which cell `id` reaches its bridge.
    pub fn bridge_socket(&self, id: u16) -> PathBuf {
        self.run().join(format!("bridge-{id}.sock"))
    }

    /// The file in which the server says where it listens.
    pub fn server_address(&self) -> PathBuf {
        self.run().join("collect.address")
    }

    /// The file in which the server says where monitors and browsers ask it.
    pub fn server_monitor(&self) -> PathBuf {
        self.run().join("collect.metrics")
    }

    /// The socket on which people ask the server something while it runs.
    pub fn server_control(&self) -> PathBuf {
        self.run().join("collect.sock")
    }

    /// The server's log.
    pub fn store(&self) -> PathBuf {
        self.out.join("store")
    }

    /// The bridge's durable queue.
    pub fn spool(&self, id: u16) -> PathBuf {
        self.out.join(format!("spool-{id}"))
    }

    /// What the simulated cell did.
    pub fn cell(&self, id: u16) -> PathBuf {
        self.out.join(format!("cell-{id}"))
    }

    /// When the node's converter sampled, and what.
    pub fn samples(&self, cell: u16, node: u32) -> PathBuf {
        self.cell(cell).join(format!("node-{node}-samples.csv"))
    }

    /// The frames that the cell's gateway received.
    pub fn received(&self, cell: u16) -> PathBuf {
        self.cell(cell).join("received.csv")
    }

    /// Who was on the bus and what each processor did.
    pub fn timeline(&self, cell: u16) -> PathBuf {
        self.cell(cell).join("timeline.json")
    }

    /// The stored samples of a node.
    pub fn waveform(&self, node: u32) -> PathBuf {
        self.out.join("waveforms").join(format!("node-{node}.csv"))
    }

    /// Makes a folder and those above it.
    ///
    /// # Errors
    /// The environment's.
    pub fn folder(&self, path: &Path) -> Result<(), Error> {
        fs::create_dir_all(path).map_err(|cause| Error::io("make", path, cause))
    }
}

fn opened(out: &Path) -> Result<File, Error> {
    fs::create_dir_all(out).map_err(|cause| Error::io("make", out, cause))?;
    File::open(out).map_err(|cause| Error::io("open", out, cause))
}

fn lock(out: &Path, folder: &File, operation: FlockOperation) -> Result<(), Error> {
    flock(folder, operation).map_err(|errno| match errno {
        Errno::WOULDBLOCK => Error::place(out, PlaceFault::InUse),
        errno => Error::io("lock", out, errno.into()),
    })
}
