//! What the environment says, to a program that may believe it.
//!
//! One that runs with more rights than whoever started it (set-user-ID, set-group-ID, capabilities of its file) has the
//! environment of somebody who must not choose where its messages go, nor what it executes. It is told nothing.
#![allow(unsafe_code)]

use std::ffi::OsString;

/// A variable of the environment, if it is there and may be believed.
pub fn variable(name: &str) -> Option<OsString> {
    // SAFETY: it reads a number that the kernel gave this process at its start (getauxval(3)).
    let is_anothers = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    if is_anothers { None } else { std::env::var_os(name) }
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, copy, set_permissions};
    use std::os::unix::fs::{PermissionsExt, chown};
    use std::process::Command;

    use super::super::{Place, SOCKET_VARIABLE, place};

    #[test]
    #[ignore = "is a program of the next test, in a process of its own"]
    fn program() {
        match place() {
            Place::Socket(path) => println!("it asks {}", path.display()),
            Place::Own(_) => println!("it starts what is called `selvedge`"),
        }
    }

    #[test]
    fn a_program_with_more_rights_than_who_started_it_asks_nobody_that_they_name() {
        const SOMEBODY: u32 = 65_533;
        if !rustix::process::geteuid().is_root() {
            return println!(
                "skip (machine): set-user-ID of another user: only root can make such a program"
            );
        }
        let folder = tempfile::tempdir().unwrap();
        let own = std::env::current_exe().unwrap();
        let other = folder.path().join("other");
        copy(&own, &other).unwrap();
        let said = |program: &std::path::Path, place: &str| {
            let mut command = Command::new(program);
            command.args(["--ignored", "--exact", "--nocapture", "client::environment::tests::program"]);
            let output = command.current_dir("/").env(SOCKET_VARIABLE, place).output().unwrap();
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        assert!(said(&other, "/elsewhere").contains("it asks /elsewhere\n"));
        chown(&other, Some(SOMEBODY), None).unwrap();
        set_permissions(&other, Permissions::from_mode(0o4755)).unwrap();
        for place in ["/elsewhere", "own", "own:/elsewhere"] {
            let said = said(&other, place);
            assert!(said.contains("it asks /run/selvedge/broker.sock\n"), "{said}");
        }
    }
}
