//! A cell for tests, as the program itself makes one: a deployment's text, keys, the real images, simulated chips.
//!
//! Owns what a test must not repeat: finding the compiler, fixed keys, where the input lies, the seed. Leaves what is
//! done to the cell, and what must hold then, to the test.

use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use cell::{Cell, Pace};
use cipher::{OsRandomness, Randomness};
use selvedge::error::Error;
use selvedge::link::deployment::{self, Cell as Plan, Deployment};
use selvedge::link::eeproms::Eeproms;
use selvedge::link::keys::Keys;
use selvedge::link::layout::Layout;
use selvedge::link::simulation;
use selvedge::toolchain::{Compiler, Fault, Image};
use tempfile::TempDir;

/// A deployment with one cell, ready to be powered as often as a test likes.
pub struct Rig {
    pub deployment: Deployment,
    pub keys: Keys,
    /// One for each node of the cell.
    pub images: Vec<Image>,
    pub eeproms: Eeproms,
    _folder: TempDir,
}

/// The compiler for the node's images; `None` after saying that `test` is skipped.
pub fn compiler(test: &str) -> Option<Compiler> {
    match Compiler::find(&env::var_os("PATH").unwrap_or_default()) {
        Ok(compiler) => Some(compiler),
        Err(Error::Toolchain(Fault::NoCompiler)) => {
            println!("skip: {test}: found no avr-gcc");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The checked deployment of `text`, which lies, as it were, beside `deployments/ecg.toml`.
pub fn deployment(text: &str) -> Deployment {
    let path = root().join("deployments/of-a-test.toml");
    deployment::check(&path, text.into()).unwrap_or_else(|problems| panic!("{problems}"))
}

/// The node's image for each node of the deployment's cell, from the source tree at `root`.
pub fn images(compiler: &Compiler, root: &Path, deployment: &Deployment) -> Vec<Image> {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("selvedge");
    let images = simulation::images(compiler, root, &deployment.cells[0], Some(&cache));
    images.unwrap_or_else(|error| panic!("{}", error.lines()))
}

impl Rig {
    /// The rig of `deployment`, whose nodes run `images`. Its master keys are fixed, so that equal seeds are equal
    /// runs to the last bit.
    pub fn new(deployment: Deployment, images: Vec<Image>) -> Rig {
        let folder = tempfile::tempdir().expect("a folder");
        let keys = folder.path().join("keys");
        fs::create_dir(&keys).expect("a folder for keys");
        fs::set_permissions(&keys, Permissions::from_mode(0o700)).expect("for its owner only");
        let plan = &deployment.cells[0];
        let key = |byte: u8| format!("{byte:02x}").repeat(32) + "\n";
        let mut files = vec![
            (format!("cell-{}.key", plan.id), key(0xce)),
            (format!("cell-{}.superframe", plan.id), "next 0\n".to_owned()),
        ];
        for node in &plan.nodes {
            files.push((format!("node-{}.key", node.id), key(node.id as u8)));
            files.push((format!("node-{}.epoch", node.id), "next 0\nstores 0\n".to_owned()));
        }
        for (name, content) in files {
            let path = keys.join(name);
            fs::write(&path, content).expect("a file of a fresh key");
            fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("for its owner only");
        }
        let keys = Keys::create(&keys, &deployment).expect("keys");
        let layout = Layout::create(folder.path()).expect("folders");
        let eeproms = Eeproms::open(&layout, plan, &keys).expect("EEPROMs");
        Rig { deployment, keys, images, eeproms, _folder: folder }
    }

    /// The cell's plan.
    pub fn plan(&self) -> &Plan {
        &self.deployment.cells[0]
    }

    /// The cell, its power just switched on.
    pub fn cell(&self, pace: Pace) -> Cell {
        let Rig { deployment, keys, images, eeproms, .. } = self;
        simulation::cell(deployment, self.plan(), keys, images, eeproms, None, pace)
            .unwrap_or_else(|error| panic!("{}", error.lines()))
    }
}

/// The seed of a test: `SELVEDGE_SEED`, or else a fresh one. It is printed, so that a failure can be repeated.
pub fn seed(test: &str) -> u64 {
    let seed = match env::var("SELVEDGE_SEED") {
        Ok(seed) => seed.parse().expect("SELVEDGE_SEED is a number"),
        Err(_) => {
            let mut bytes = [0; 8];
            OsRandomness.fill(&mut bytes).expect("the operating system has randomness");
            u64::from_le_bytes(bytes)
        }
    };
    println!("{test}: SELVEDGE_SEED={seed}");
    seed
}
