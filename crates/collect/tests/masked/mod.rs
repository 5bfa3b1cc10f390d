//! A processor without instructions for AES: the tests of a program once more under QEMU, which is told to have none.

use std::env;
use std::process::Command;

/// Set for the program that runs there.
const MASKED: &str = "SELVEDGE_MASKED";
/// Everything that QEMU has, but for what the backends ask for.
const PROCESSOR: &str = "max,aes=off,pclmulqdq=off,avx=off,avx2=off,vaes=off,avx512f=off";

/// Whether this is that processor.
pub fn is_masked() -> bool {
    env::var_os(MASKED).is_some()
}

/// Runs these tests of this program there.
///
/// # Panics
/// When one of them fails there, or is not found. Under CI also when there is no QEMU.
pub fn run_masked(tests: &[&str]) {
    if cfg!(not(all(target_arch = "x86_64", target_os = "linux"))) {
        return println!(
            "skip (machine): AES without its instructions: QEMU runs programs of an x86-64 with Linux"
        );
    }
    let mut qemu = Command::new("qemu-x86_64");
    qemu.args(["-cpu", PROCESSOR]).arg(env::current_exe().expect("this program has a path"));
    qemu.args(["--exact", "--nocapture"]).args(tests).env(MASKED, "1");
    let output = match qemu.output() {
        Ok(output) => output,
        Err(error) => {
            assert!(env::var_os("CI").is_none(), "qemu-x86_64 is missing, and under CI it must not be");
            return println!("skip: AES without its instructions: qemu-x86_64: {error}");
        }
    };
    let words = String::from_utf8_lossy(&output.stdout);
    let all = format!("test result: ok. {} passed", tests.len());
    let is_good = output.status.success() && words.contains(&all);
    assert!(is_good, "{}\n{words}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
}
