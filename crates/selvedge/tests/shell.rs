//! What a shell sees of us: exit codes when the outside or we ourselves fail, and completions that it can read.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn selvedge(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
    command
        .args(arguments)
        .stdin(Stdio::null())
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli"));
    command
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A device on which every write fails for want of space.
fn full() -> File {
    OpenOptions::new().write(true).open("/dev/full").expect("Linux has it")
}

#[test]
fn a_bug_of_ours_is_70_in_any_thread() {
    for arguments in [&["bug"][..], &["bug", "--thread"]] {
        let output = selvedge(arguments).output().expect("it starts");
        assert_eq!(output.status.code(), Some(70), "{}", stderr(&output));
        assert!(stderr(&output).contains("this is a bug in selvedge"), "{}", stderr(&output));
        let silent = selvedge(arguments).stderr(full()).status().expect("it starts");
        assert_eq!(silent.code(), Some(70));
    }
}

#[test]
fn an_answer_that_cannot_be_written_is_the_environments_fault() {
    let output = selvedge(&["man"]).stdout(full()).output().expect("it starts");
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(stderr(&output), "error: failed to write to standard output: no space left on device\n");
}

#[test]
fn a_reader_that_has_gone_had_what_it_wanted() {
    let (reader, writer) = io::pipe().expect("a pipe");
    drop(reader);
    let output = selvedge(&["man"]).stdout(writer).output().expect("it starts");
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
}

#[test]
fn an_error_that_cannot_be_shown_keeps_its_exit_code() {
    let status = selvedge(&["run", "nowhere.toml", "--check"]).stderr(full()).status().expect("it starts");
    assert_eq!(status.code(), Some(3));
}

#[test]
fn bash_reads_its_completions() {
    let output = selvedge(&["completions", "bash"]).output().expect("it starts");
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("selvedge");
    fs::write(&script, &output.stdout).expect("it can be written");
    let asked = "source \"$1\"; COMP_WORDS=(selvedge ru); COMP_CWORD=1; _selvedge selvedge ru selvedge; echo \"${COMPREPLY[@]}\"";
    let output = Command::new("bash").args(["-c", asked, "bash"]).arg(&script).output();
    match output {
        Ok(output) => {
            assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "run", "{}", stderr(&output))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => println!("skip: completions: found no bash"),
        Err(error) => panic!("bash: {error}"),
    }
}
