//! Verilog as programs: Verilator makes C++ of it, once for what it is made of. Modules of `rtl/` have C++ beside each of
//! them, which asks its ports what comes on its input; others bring theirs.
#![allow(dead_code)] // each test file uses some of it

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;

use sha2::{Digest, Sha256};

/// What is built, or being built: each keeps a core busy, and no two tests build the same.
static BUILT: Mutex<BTreeMap<PathBuf, Arc<OnceLock<()>>>> = Mutex::new(BTreeMap::new());

/// Where the Verilog is.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rtl")
}

/// The files of that folder, in the order of their names.
fn files() -> Vec<PathBuf> {
    files_in(&folder())
}

/// The files of a folder, in the order of their names.
pub fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("`{}`: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    let mut files: Vec<_> = paths.filter(|path| path.is_file()).collect();
    files.sort();
    files
}

/// The names of all modules, a file each.
pub fn modules() -> Vec<String> {
    let verilog =
        files().into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "v"));
    verilog.map(|path| path.file_stem().expect("it has a name").to_str().expect("UTF-8").to_owned()).collect()
}

/// The SHA-256 of all Verilog and of the script that synthesises it, as that writes it down.
pub fn sources() -> String {
    let mut digest = Sha256::new();
    for module in modules() {
        digest.update(fs::read(folder().join(module).with_extension("v")).expect("it can be read"));
    }
    digest.update(fs::read(folder().join("../scripts/rtl.sh")).expect("it is in the repository"));
    digits(&digest.finalize())
}

/// What `scripts/rtl.sh synth --csv` printed.
pub fn synthesis() -> String {
    fs::read_to_string(folder().join("synthesis.csv")).expect("it is in the repository")
}

/// What is said of it.
pub fn page() -> String {
    fs::read_to_string(folder().join("README.md")).expect("it is in the repository")
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Runs Verilator; `None`, and said, where it is not installed.
fn verilator(what: &str, arguments: &[&str]) -> Option<Output> {
    match Command::new("verilator").args(arguments).current_dir(folder()).stdin(Stdio::null()).output() {
        Ok(output) => Some(output),
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "verilator: {error}, and under CI it must be there");
            eprintln!("skip: {what}: verilator is not installed");
            None
        }
    }
}

/// Parameters as Verilator takes them.
fn values(parameters: &[(&str, u32)]) -> Vec<String> {
    parameters.iter().map(|(name, value)| format!("-G{name}={value}")).collect()
}

/// What Verilator has to say against a module with these parameters and those in it; `None` where it is not installed.
pub fn faults(module: &str, parameters: &[(&str, u32)]) -> Option<String> {
    let (file, values) = (format!("{module}.v"), values(parameters));
    let mut arguments = vec!["--lint-only", "-Wall", "-y", ".", "--top-module", module, &file];
    arguments.extend(values.iter().map(String::as_str));
    let output = verilator("lint of the Verilog", &arguments)?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() || !said.is_empty(), "Verilator fails without a word");
    Some(said)
}

/// A module that can be asked.
pub struct Model {
    program: PathBuf,
}

impl Model {
    /// Of a module with these parameters; `None` where Verilator is not installed.
    pub fn new(module: &str, parameters: &[(&str, u32)]) -> Option<Model> {
        let mut name = module.to_owned();
        for (parameter, value) in parameters {
            write!(name, "-{parameter}{value}").expect("a string takes it");
        }
        // The compiler runs in the folder of what is made.
        let program =
            folder().join(format!("{module}_tb.cpp")).canonicalize().expect("it is beside the module");
        let mut arguments = vec!["-O3".to_owned(), "-Wall".to_owned(), "-y".to_owned(), ".".to_owned()];
        // A test asks too little for more.
        arguments.extend(["-MAKEFLAGS", "OPT_FAST=-O1 OPT_GLOBAL=-O0"].map(str::to_owned));
        arguments.extend(["--top-module", module].map(str::to_owned));
        arguments.extend(values(parameters));
        arguments.extend([format!("{module}.v"), program.to_str().expect("a path is UTF-8").to_owned()]);
        let built = made(&format!("{module}.v against Rust"), &name, &files(), &arguments)?;
        Some(Model { program: built.join(format!("V{module}")) })
    }

    /// What it answers to these lines.
    pub fn answers(&self, questions: &str) -> Vec<String> {
        let mut child = Command::new(&self.program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("`{}`: {error}", self.program.display()));
        let mut input = child.stdin.take().expect("it was piped");
        // It answers while it is asked, and neither waits for the other.
        let output = thread::scope(|scope| {
            scope.spawn(move || input.write_all(questions.as_bytes()).expect("it reads"));
            child.wait_with_output().expect("it ends")
        });
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("digits").lines().map(str::to_owned).collect()
    }
}

/// The folder of the program that Verilator makes of these files with these arguments, paths in which are from `rtl/`;
/// made once. `None` where Verilator is not installed.
pub fn made(what: &str, name: &str, files: &[PathBuf], arguments: &[String]) -> Option<PathBuf> {
    let version = verilator(what, &["--version"])?.stdout;
    let mut digest = Sha256::new_with_prefix(version);
    arguments.iter().for_each(|argument| digest.update(argument));
    for file in files {
        digest.update(fs::read(file).unwrap_or_else(|error| panic!("`{}`: {error}", file.display())));
    }
    let name = format!("{name}-{}", digits(&digest.finalize()[..8]));
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rtl").join(name);
    let once = {
        let mut all = BUILT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        Arc::clone(all.entry(built.clone()).or_default())
    };
    once.get_or_init(|| {
        if !built.exists() {
            build(what, arguments, &built);
        }
    });
    Some(built)
}

/// Makes a program, in a folder that appears when it is whole.
fn build(what: &str, wanted: &[String], built: &Path) {
    let partial = built.with_extension(std::process::id().to_string());
    let mut arguments = vec!["--cc", "--exe", "--build", "-j", "1"];
    arguments.extend(["--Mdir", partial.to_str().expect("a path is UTF-8")]);
    arguments.extend(wanted.iter().map(String::as_str));
    fs::create_dir_all(built.parent().expect("it is in a folder")).expect("the folder can be made");
    let output = verilator(what, &arguments).expect("it said its version");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        fs::remove_dir_all(&partial).expect("it is ours");
        panic!("verilator {arguments:?}: {said}");
    }
    if let Err(error) = fs::rename(&partial, built) {
        // Another process was faster.
        assert!(built.exists(), "`{}`: {error}", built.display());
        fs::remove_dir_all(&partial).expect("it is ours");
    }
}
