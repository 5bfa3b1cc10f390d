//! The node's own tests: its pure parts on the host under sanitizers, its images against their budgets.
//!
//! Owns that they are run with everything else. What they hold is theirs: `firmware/node/test/`.

use std::path::Path;
use std::process::Command;

#[test]
fn the_nodes_own_tests_pass_and_its_images_keep_their_budgets() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if Command::new("avr-gcc").arg("--version").output().is_err() {
        eprintln!("skip: the node's own tests: avr-gcc is not installed");
        return;
    }
    let run =
        Command::new("sh").arg(root.join("firmware/node/test/run.sh")).output().expect("there is a shell");
    let said = format!("{}{}", String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    print!("{said}");
    assert!(run.status.success(), "{said}");
}
