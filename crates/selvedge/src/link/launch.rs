//! The only place that starts our own processes: each in the foreground, from our own executable, dead with us.
//!
//! Owns starting, readiness, restarting after a crash, and stopping in order. A child says that it is ready by
//! writing a line to a descriptor that it inherits (`--ready-fd`); it asks the kernel to be ended with its parent.
//! Leaves what a child does to its verb.

use crate::error::Error;
use crate::limits::{READY_S_MAX, RESTARTS_MAX, STOP_S_MAX};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, kill_process, set_parent_process_death_signal};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A process of ours.
pub struct Process {
    name: &'static str,
    arguments: Vec<OsString>,
    run: PathBuf,
    child: Child,
    output: Option<JoinHandle<io::Result<Vec<String>>>>,
    restarts: u32,
}

impl Process {
    /// Starts `selvedge ARGUMENTS --ready-fd N`, waits until it is ready, and leaves its number in
    /// `RUN/NAME.pid`.
    ///
    /// # Errors
    /// The environment's, or that the child ended before it was ready; its own words are on stderr by then.
    pub fn start(name: &'static str, arguments: Vec<OsString>, run: &Path) -> Result<Process, Error> {
        let (child, output) = spawn(name, &arguments, run)?;
        Ok(Process { name, arguments, run: run.to_owned(), child, output: Some(output), restarts: 0 })
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// How often it had to be started again.
    pub fn restarts(&self) -> u32 {
        self.restarts
    }

    /// Whether it has ended, and how.
    ///
    /// # Errors
    /// The environment's.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>, Error> {
        self.child.try_wait().map_err(Error::process(self.name))
    }

    /// Starts it again after a crash.
    ///
    /// # Errors
    /// As [`Process::start`], and that it crashed too often.
    pub fn restart(&mut self, status: ExitStatus) -> Result<(), Error> {
        self.restarts += 1;
        if self.restarts > RESTARTS_MAX {
            return Err(Error::CrashedTooOften { process: self.name, status, limit: RESTARTS_MAX });
        }
        self.collect_output()?;
        let (child, output) = spawn(self.name, &self.arguments, &self.run)?;
        (self.child, self.output) = (child, Some(output));
        Ok(())
    }

    /// Asks it to finish, waits, and returns how it ended and the lines that it wrote.
    ///
    /// # Errors
    /// The environment's, and that it did not end in time (it is killed then).
    pub fn stop(mut self) -> Result<(ExitStatus, Vec<String>), Error> {
        // A failure means that it has ended already, which the wait below reports.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        self.wait()
    }

    /// Waits for it to end by itself, for as long as [`Process::stop`] would.
    ///
    /// # Errors
    /// As [`Process::stop`].
    pub fn wait(&mut self) -> Result<(ExitStatus, Vec<String>), Error> {
        let deadline = Instant::now() + Duration::from_secs(STOP_S_MAX);
        loop {
            if let Some(status) = self.ended()? {
                let _ = fs::remove_file(pid_file(&self.run, self.name));
                return Ok((status, self.collect_output()?));
            }
            if Instant::now() > deadline {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return Err(Error::DidNotStop { process: self.name, limit_s: STOP_S_MAX });
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn collect_output(&mut self) -> Result<Vec<String>, Error> {
        let Some(reader) = self.output.take() else { return Ok(Vec::new()) };
        reader.join().expect("the reader does not panic").map_err(Error::process(self.name))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        let _ = fs::remove_file(pid_file(&self.run, self.name));
    }
}

fn pid_file(run: &Path, name: &str) -> PathBuf {
    run.join(format!("{name}.pid"))
}

type Started = (Child, JoinHandle<io::Result<Vec<String>>>);

fn spawn(name: &'static str, arguments: &[OsString], run: &Path) -> Result<Started, Error> {
    let failed = || Error::process(name);
    let (ready, inherited) = pipe_with(PipeFlags::CLOEXEC).map_err(io::Error::from).map_err(failed())?;
    // Only this child may inherit the descriptor; processes are started one at a time.
    fcntl_setfd(&inherited, FdFlags::empty()).map_err(io::Error::from).map_err(failed())?;
    let executable = std::env::current_exe().map_err(failed())?;
    let mut child = Command::new(executable)
        .args(arguments)
        .arg("--ready-fd")
        .arg(inherited.as_raw_fd().to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed())?;
    drop(inherited);
    fs::write(pid_file(run, name), format!("{}\n", child.id())).map_err(failed())?;
    let stdout = child.stdout.take().expect("stdout is piped");
    let output = std::thread::spawn(move || BufReader::new(stdout).lines().collect());
    if !becomes_ready(ready).map_err(failed())? {
        let _ = child.kill();
        let status = child.wait().map_err(failed())?;
        return Err(Error::NotReady { process: name, status, limit_s: READY_S_MAX });
    }
    Ok((child, output))
}

/// Waits for the child's line. False when it closed the descriptor without one, or time ran out.
fn becomes_ready(ready: OwnedFd) -> io::Result<bool> {
    let mut waiting = [PollFd::new(&ready, PollFlags::IN)];
    let limit = Timespec { tv_sec: READY_S_MAX as i64, tv_nsec: 0 };
    if poll(&mut waiting, Some(&limit))? == 0 {
        return Ok(false);
    }
    let mut line = String::new();
    BufReader::new(File::from(ready)).read_line(&mut line)?;
    Ok(line == "ready\n")
}

/// The child's side: tells the parent on descriptor `ready_fd` that it is ready. Without a descriptor the
/// process was started by a person, and nobody waits.
///
/// # Errors
/// That the descriptor is not open.
pub fn tell_ready(ready_fd: Option<u32>) -> io::Result<()> {
    let Some(descriptor) = ready_fd else { return Ok(()) };
    let mut pipe = OpenOptions::new().write(true).open(format!("/proc/self/fd/{descriptor}"))?;
    pipe.write_all(b"ready\n")
}

/// The child's side: asks the kernel to end this process when its parent ends, if a parent waits for it.
///
/// # Errors
/// The kernel's.
pub fn die_with_parent(ready_fd: Option<u32>) -> io::Result<()> {
    if ready_fd.is_some() {
        set_parent_process_death_signal(Some(Signal::TERM))?;
    }
    Ok(())
}
