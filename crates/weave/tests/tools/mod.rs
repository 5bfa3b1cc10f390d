//! Whether the tools are here that a test runs. Leaves running them to the tests.

use std::process::Command;

/// Whether all tools are there; says which is not, and under CI that is a failure.
pub fn present(what: &str, tools: &[&str]) -> bool {
    let missing = tools.iter().find(|tool| Command::new(tool).arg("--version").output().is_err());
    if let Some(tool) = missing {
        assert!(std::env::var_os("CI").is_none(), "{tool} is missing, and under CI it must not be");
        eprintln!("skip: {what}: {tool} is not installed");
    }
    missing.is_none()
}
