//! A program that reads all that it is given and writes what comes of it.

use std::io::Write;
use std::process::{Command, Stdio};

/// What the program writes for `bytes`, or the exit code with which it failed.
pub fn exchange(mut command: Command, bytes: Vec<u8>) -> Result<Vec<u8>, Option<i32>> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    // From a thread, so that neither side waits for the other with both pipes full.
    let writer = std::thread::spawn(move || stdin.write_all(&bytes));
    let output = child.wait_with_output().expect("the program ends");
    let written = writer.join().expect("the writer ends");
    if !output.status.success() {
        return Err(output.status.code());
    }
    written.expect("the program takes all that it is given");
    Ok(output.stdout)
}
