//! GNU binutils as a witness: whether they are here, running them, and folders for what they read and write.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Whether these tools are here. Under CI a missing tool is a failure, elsewhere a printed skip.
pub fn present(tools: &[&str], what: &str) -> bool {
    let missing = tools.iter().find(|&&tool| Command::new(tool).arg("--version").output().is_err());
    if let Some(tool) = missing {
        assert!(std::env::var_os("CI").is_none(), "{tool} is missing, and under CI it must not be");
        eprintln!("skip: {what}: {tool} is not installed");
    }
    missing.is_none()
}

/// What a tool prints.
pub fn run(tool: &str, arguments: &[&str], folder: &Path) -> String {
    let output = Command::new(tool).args(arguments).current_dir(folder).output().expect(tool);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{tool} {arguments:?}: {words}");
    String::from_utf8(output.stdout).expect("binutils print ASCII")
}

/// A folder under the test's target folder.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("create a folder under the target folder");
    folder
}
