//! Which deployment a verb works on, where, and what every verb of the link does first.

use std::path::PathBuf;
use std::sync::Arc;

use selvedge::error::Error;
use selvedge::link::deployment::{self, Cell, Deployment};
use selvedge::link::keys::Keys;
use selvedge::link::launch;
use selvedge::link::layout::Layout;

/// A deployment and the folder of its run.
#[derive(clap::Args)]
pub struct Place {
    /// The deployment
    pub deployment: PathBuf,
    /// The folder of the run: keys, sockets, store, results
    #[arg(long, value_name = "DIR", default_value = "out")]
    pub out: PathBuf,
    /// Descriptor to write to when ready, for a process that waits for it
    #[arg(long, hide = true)]
    pub ready_fd: Option<u32>,
}

/// What a place holds, checked.
pub struct Opened {
    /// The deployment.
    pub deployment: Deployment,
    /// Its keys.
    pub keys: Arc<Keys>,
    /// Where everything is.
    pub layout: Layout,
    ready_fd: Option<u32>,
}

impl Place {
    /// Reads the deployment, makes the folder, opens the keys.
    pub fn open(self) -> Result<Opened, Error> {
        launch::die_with_parent(self.ready_fd).map_err(Error::process("selvedge"))?;
        let deployment = deployment::load(&self.deployment)?;
        let layout = Layout::create(&self.out)?;
        let keys = Arc::new(Keys::of(&deployment, &self.out)?);
        Ok(Opened { deployment, keys, layout, ready_fd: self.ready_fd })
    }
}

impl Opened {
    /// The cell of that name, or the only one.
    pub fn cell(&self, name: Option<&str>) -> Result<&Cell, Error> {
        let cells = &self.deployment.cells;
        let found = match name {
            Some(name) => cells.iter().find(|cell| cell.name == name),
            None => (cells.len() == 1).then(|| &cells[0]),
        };
        found.ok_or_else(|| Error::WhichCell {
            found: name.map(str::to_owned),
            cells: cells.iter().map(|cell| cell.name.clone()).collect(),
        })
    }

    /// What to call when this process is ready.
    pub fn ready(&self) -> Box<dyn FnOnce() + Send> {
        let ready_fd = self.ready_fd;
        Box::new(move || {
            // A parent that does not wait any more has ended, and so does this process.
            let _ = launch::tell_ready(ready_fd);
        })
    }
}
