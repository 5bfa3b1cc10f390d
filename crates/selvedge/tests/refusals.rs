//! What the command line refuses that no file test can prepare: a port that is taken, a key that others can read, a
//! disk that is full.
//!
//! Owns the preparation. The words of an error are the golden files' business; here each is one, says what was found
//! and what was expected, and ends with the right code.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use collect::disk::RealDisk;
use selvedge::limits::SPOOL_SECTOR_BYTES;
use selvedge::link::bridge::record::Frame;
use selvedge::link::bridge::spool::{Capacity, Spool};

/// A new folder, and in it a deployment whose server listens on `address`.
fn place(address: &str) -> (tempfile::TempDir, PathBuf) {
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("this is the tree");
    let folder = tempfile::tempdir().expect("a folder");
    let deployment = folder.path().join("ecg.toml");
    let text = fs::read_to_string(tree.join("deployments/ecg.toml")).expect("it is there");
    let recording = tree.join("data/ecg/ecg.csv").display().to_string();
    let text = text.replace("../data/ecg/ecg.csv", &recording).replace("127.0.0.1:0", address);
    assert!(text.contains(&recording) && text.contains(address));
    fs::write(&deployment, text).expect("it can be written");
    (folder, deployment)
}

fn selvedge(verb: &[&str], deployment: &Path, out: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
    command.args(verb).arg(deployment).arg("--out").arg(out).stdin(Stdio::null());
    command.output().expect("it starts")
}

/// It ended with `code` and one error that says all of `words`.
#[track_caller]
fn assert_refused(output: &Output, code: i32, words: &[&str]) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert_eq!(stderr.matches("error: ").count(), 1, "{stderr}");
    assert!(words.iter().all(|word| stderr.contains(word)) && !stderr.contains("panicked"), "{stderr}");
}

#[test]
fn a_port_that_is_taken_is_named_once() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("it listens").to_string();
    let (folder, deployment) = place(&address);
    for verb in [&["collect", "serve"][..], &["run"]] {
        let refused = selvedge(verb, &deployment, &folder.path().join(verb.concat()));
        assert_refused(&refused, 3, &[&address, "address already in use"]);
    }
}

#[test]
fn a_key_that_others_can_read_is_refused_with_both_modes() {
    let (folder, deployment) = place("127.0.0.1:0");
    let out = folder.path().join("out");
    // There is no store yet; its key is made all the same.
    assert_refused(&selvedge(&["collect", "read"], &deployment, &out), 3, &["store"]);
    let key = out.join("keys/store.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).expect("it is ours");
    let secret = fs::read_to_string(&key).expect("it is text");
    let refused = selvedge(&["collect", "read"], &deployment, &out);
    assert_refused(&refused, 1, &["store.key", "mode is 0644, expected 0600", "help: `chmod 0600"]);
    let said = [refused.stdout, refused.stderr].concat();
    assert!(!String::from_utf8_lossy(&said).contains(secret.trim()), "a secret is shown");
}

#[test]
fn a_damaged_spool_is_refused_and_left_as_it_was() {
    let (folder, deployment) = place("127.0.0.1:0");
    let out = folder.path().join("out");
    fs::create_dir(&out).expect("it is new");
    let disk = RealDisk::lock(&out.join("spool-7")).expect("nobody has it");
    let mut spool = Spool::open(disk, 1, Capacity::default()).expect("the disk works");
    for superframe in 0..3 {
        let frame = Frame { superframe, slot: 1, received_ps: 1, bytes: vec![7; 60] };
        spool.accept(frame).expect("the disk works");
        spool.close(superframe, true).expect("the disk works");
    }
    drop(spool);
    let file = out.join("spool-7/0000000000000001.spool");
    let mut bytes = fs::read(&file).expect("it is there");
    bytes[2 * SPOOL_SECTOR_BYTES + 30] ^= 1;
    fs::write(&file, &bytes).expect("it is ours");
    let refused = selvedge(&["bridge"], &deployment, &out);
    assert_refused(&refused, 3, &["0000000000000001.spool` at byte 8192: found no record", "help: "]);
    let entries = fs::read_dir(out.join("spool-7")).expect("it is there").flatten();
    let names: Vec<_> = entries.map(|entry| entry.path()).filter(|path| path.extension().is_some()).collect();
    assert_eq!(names, std::slice::from_ref(&file), "beside it there is the reserve alone");
    assert!(fs::read(&file).expect("it is there") == bytes);
}

#[test]
fn a_run_does_not_empty_a_folder_that_holds_its_keys_its_deployment_or_its_input() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let (folder, deployment) = place(&taken.local_addr().expect("it listens").to_string());
    let out = folder.path().join("out");
    // The folder of a run, which did not come far.
    assert_refused(&selvedge(&["run"], &deployment, &out), 3, &["address already in use"]);
    let text = fs::read_to_string(&deployment).expect("it is there");
    fs::write(&deployment, format!("{text}\n[keys]\nfolder = \"out/keys\"\n")).expect("it can be written");
    let secret = fs::read(out.join("keys/node-1.key")).expect("it is there");
    assert_refused(&selvedge(&["run"], &deployment, &out), 1, &["out/keys` lies in", "which a run empties"]);
    assert_eq!(fs::read(out.join("keys/node-1.key")).expect("it is still there"), secret);
    // Through a link, too.
    let link = folder.path().join("link");
    symlink(&out, &link).expect("a link");
    assert_refused(&selvedge(&["run"], &deployment, &link), 1, &["lies in"]);
    fs::write(out.join("ecg.toml"), text).expect("it can be written");
    assert_refused(&selvedge(&["run"], &out.join("ecg.toml"), &out), 1, &["out/ecg.toml` lies in"]);
    assert_eq!(fs::read(out.join("keys/node-1.key")).expect("it is still there"), secret);
    // A key folder that must not be believed is told before anything is removed.
    fs::write(out.join("rows.ndjson"), "").expect("it can be written");
    fs::rename(out.join("keys"), folder.path().join("keys")).expect("one file system");
    let text = fs::read_to_string(&deployment).expect("it is there").replace("out/keys", "keys");
    fs::write(&deployment, text).expect("it can be written");
    fs::remove_file(folder.path().join("keys/store.key")).expect("it is there");
    assert_refused(&selvedge(&["run"], &deployment, &out), 1, &["keys/store.key`: not found"]);
    assert!(out.join("rows.ndjson").exists());
}

/// A small file system of its own; `None` where we may not mount one.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount(bytes: u64) -> Option<SmallDisk> {
        let folder = tempfile::tempdir().expect("a folder");
        let options = format!("size={bytes},mode=0700");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &options, "selvedge-test"]).arg(folder.path());
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        mounted.then_some(SmallDisk(folder))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_disk_without_room_is_an_environment_error_of_whoever_finds_it() {
    let Some(disk) = SmallDisk::mount(128 << 10) else {
        println!("skip (machine): full disk: only root can mount a small one");
        return;
    };
    let (_folder, deployment) = place("127.0.0.1:0");
    let out = disk.path().join("out");
    fs::create_dir(&out).expect("there is room for it");
    fs::write(disk.path().join("ballast"), vec![0; 96 << 10]).expect("there is room for it");
    assert_refused(&selvedge(&["run"], &deployment, &out), 3, &["no space left on device"]);
    // With room again, the same folder serves.
    fs::remove_file(disk.path().join("ballast")).expect("it is there");
    assert_refused(&selvedge(&["collect", "read"], &deployment, &out), 3, &["store"]);
}
