//! The only place that starts our own processes: each in the foreground, from our own executable, dead with us.
//!
//! Owns starting, readiness, restarting after a crash, and stopping in order. A child says that it is ready by
//! writing a line to a descriptor that it inherits (`--ready-fd`); it asks the kernel to be ended with its parent.
//! Its errors go to the same stderr as ours, so a fault that a child has told is not told again. Leaves what a child
//! does to its verb.
//!
//! Invariant: no process outlives who started it. One that is dropped is killed and waited for; one whose parent is
//! killed gets SIGTERM from the kernel, or finds at its start that nobody waits for it.

use crate::error::Error;
use crate::limits::{READY_S_MAX, RESTARTS_MAX, STOP_S_MAX};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, kill_process, set_parent_process_death_signal};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Between two looks at whether a process has ended, or we are to end.
const LOOK: Duration = Duration::from_millis(5);

/// What all processes of a run have in common.
#[derive(Clone)]
pub struct Launcher {
    run: PathBuf,
    interrupted: Arc<AtomicBool>,
    input: Option<Arc<OwnedFd>>,
}

/// A process of ours.
pub struct Process {
    name: String,
    pid_file: PathBuf,
    child: Child,
    output: Option<JoinHandle<io::Result<Vec<String>>>>,
    launcher: Launcher,
    /// It was waited for, and its number is nobody's any more.
    is_over: bool,
}

/// A process that serves others until it is stopped, and is started again when it crashes.
pub struct Daemon {
    process: Process,
    stem: String,
    arguments: Vec<OsString>,
    restarts: u32,
}

/// What a daemon leaves when it was stopped.
pub struct Stopped {
    /// Its name.
    pub name: String,
    /// How often it had to be started again.
    pub restarts: u32,
    /// The lines that it wrote. None if it was killed before it could write them.
    pub lines: Vec<String>,
}

/// Daemons in the order in which they were started. Later ones use earlier ones, so they end before them.
#[derive(Default)]
pub struct Daemons(Vec<Daemon>);

impl Launcher {
    /// Process numbers are left in the folder `run`; nothing is waited for once `interrupted` is set.
    pub fn new(run: &Path, interrupted: Arc<AtomicBool>) -> Launcher {
        Launcher { run: run.to_owned(), interrupted, input: None }
    }

    /// The same, whose processes have this on their standard input, and not nothing.
    pub fn with_input(self, input: OwnedFd) -> Launcher {
        Launcher { input: Some(Arc::new(input)), ..self }
    }

    /// Starts `selvedge ARGUMENTS --ready-fd N`, waits until it is ready, and leaves its number in `RUN/STEM.pid`.
    ///
    /// # Errors
    /// The environment's, and that the child ended before it was ready or was not in time.
    pub fn start(&self, name: &str, stem: &str, arguments: &[OsString]) -> Result<Process, Error> {
        let (mut process, ready) = self.spawn(name, stem, arguments)?;
        match self.becomes_ready(ready)? {
            Readiness::Ready => Ok(process),
            Readiness::Ended => Err(process.wait()?.error(name)),
            Readiness::Late => Err(Error::NotReady { process: name.into(), limit_s: READY_S_MAX }),
        }
    }

    /// Starts a daemon.
    ///
    /// # Errors
    /// As [`Launcher::start`], and that it crashed too often.
    pub fn start_daemon(&self, name: &str, stem: &str, arguments: Vec<OsString>) -> Result<Daemon, Error> {
        let mut restarts = 0;
        let process = self.start_until_ready(name, stem, &arguments, &mut restarts)?;
        Ok(Daemon { process, stem: stem.to_owned(), arguments, restarts })
    }

    /// Starts it again as long as it is killed before it is ready.
    fn start_until_ready(
        &self,
        name: &str,
        stem: &str,
        arguments: &[OsString],
        restarts: &mut u32,
    ) -> Result<Process, Error> {
        loop {
            match self.start(name, stem, arguments) {
                Err(Error::Failed { .. }) if *restarts < RESTARTS_MAX => {
                    *restarts += 1;
                }
                Err(Error::Failed { status, .. }) => {
                    return Err(Error::CrashedTooOften { process: name.into(), status, limit: RESTARTS_MAX });
                }
                started => return started,
            }
        }
    }

    /// # Errors
    /// [`Error::Interrupted`] once this process was asked to end.
    pub fn check_interrupted(&self) -> Result<(), Error> {
        if self.interrupted.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }

    fn spawn(&self, name: &str, stem: &str, arguments: &[OsString]) -> Result<(Process, OwnedFd), Error> {
        let failed = || Error::process(name);
        let (ready, inherited) = pipe_with(PipeFlags::CLOEXEC).map_err(io::Error::from).map_err(failed())?;
        // Only this child may inherit the descriptor; processes are started one at a time.
        fcntl_setfd(&inherited, FdFlags::empty()).map_err(io::Error::from).map_err(failed())?;
        let executable = std::env::current_exe().map_err(failed())?;
        let input = match &self.input {
            Some(input) => input.try_clone().map_err(failed())?.into(),
            None => Stdio::null(),
        };
        let mut child = Command::new(executable)
            .args(arguments)
            .arg("--ready-fd")
            .arg(inherited.as_raw_fd().to_string())
            .stdin(input)
            .stdout(Stdio::piped())
            // A terminal interrupts us alone: we end the others in their order.
            .process_group(0)
            .spawn()
            .map_err(failed())?;
        drop(inherited);
        let stdout = child.stdout.take().expect("stdout is piped");
        let output = Some(thread::spawn(move || BufReader::new(stdout).lines().collect()));
        let pid_file = self.run.join(format!("{stem}.pid"));
        // From here on the process is killed if anything fails.
        let process =
            Process { name: name.into(), pid_file, child, output, launcher: self.clone(), is_over: false };
        fs::write(&process.pid_file, format!("{}\n", process.child.id()))
            .map_err(|cause| Error::io("write", &process.pid_file, cause))?;
        Ok((process, ready))
    }

    fn becomes_ready(&self, ready: OwnedFd) -> Result<Readiness, Error> {
        let deadline = Instant::now() + Duration::from_secs(READY_S_MAX);
        let look = Timespec { tv_sec: 0, tv_nsec: LOOK.as_nanos() as i64 };
        loop {
            self.check_interrupted()?;
            match poll(&mut [PollFd::new(&ready, PollFlags::IN)], Some(&look)) {
                Ok(0) if Instant::now() > deadline => return Ok(Readiness::Late),
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => break,
                Err(cause) => return Err(Error::process("selvedge")(cause.into())),
            }
        }
        let mut line = String::new();
        let read = BufReader::new(File::from(ready)).read_line(&mut line);
        read.map_err(Error::process("selvedge"))?;
        Ok(if line == "ready\n" { Readiness::Ready } else { Readiness::Ended })
    }
}

enum Readiness {
    Ready,
    /// It closed the descriptor without a word.
    Ended,
    Late,
}

fn is_error(value: &serde_json::Value) -> bool {
    value.get("error").is_some()
}

/// How a process ended, and the lines that it wrote.
pub struct Ended {
    /// How.
    pub status: ExitStatus,
    /// What it wrote on stdout.
    pub lines: Vec<String>,
}

impl Ended {
    /// The error of `process`, which did not do its work: one that it has told itself, or how it ended.
    pub fn error(self, process: &str) -> Error {
        let (Ended { status, lines }, process) = (self, process.to_owned());
        match status.code() {
            Some(code) if code != 0 => {
                let said = lines.last().and_then(|line| serde_json::from_str(line).ok()).filter(is_error);
                Error::Told { process, code: code as u8, said }
            }
            _ => Error::Failed { process, status },
        }
    }
}

impl Process {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it has ended, and how.
    ///
    /// # Errors
    /// The environment's.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>, Error> {
        self.child.try_wait().map_err(Error::process(&self.name))
    }

    /// Waits for it to end.
    ///
    /// # Errors
    /// The environment's, and that it did not end in time (it is killed when this process is dropped).
    pub fn wait(&mut self) -> Result<Ended, Error> {
        let deadline = Instant::now() + Duration::from_secs(STOP_S_MAX);
        loop {
            if let Some(status) = self.ended()? {
                let _ = fs::remove_file(&self.pid_file);
                self.is_over = true;
                return Ok(Ended { status, lines: self.lines()? });
            }
            self.launcher.check_interrupted()?;
            if Instant::now() > deadline {
                return Err(Error::DidNotStop { process: self.name.clone(), limit_s: STOP_S_MAX });
            }
            thread::sleep(LOOK);
        }
    }

    fn lines(&mut self) -> Result<Vec<String>, Error> {
        let Some(reader) = self.output.take() else { return Ok(Vec::new()) };
        reader.join().expect("the reader does not panic").map_err(Error::process(&self.name))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.is_over {
            let _ = self.child.kill();
            let _ = self.child.wait();
            let _ = fs::remove_file(&self.pid_file);
        }
    }
}

impl Daemon {
    /// Starts it again if it has crashed, or if somebody else has stopped it.
    ///
    /// # Errors
    /// As [`Launcher::start_daemon`], and what it ended with when that was no crash: it would be again.
    pub fn keep_up(&mut self) -> Result<(), Error> {
        if self.process.ended()?.is_none() {
            return Ok(());
        }
        let (name, launcher) = (self.process.name.clone(), self.process.launcher.clone());
        let ended = self.process.wait()?;
        let status = ended.status;
        if status.code().is_some_and(|code| code != 0) {
            return Err(ended.error(&name));
        }
        let mut restarts = self.restarts + 1;
        if restarts > RESTARTS_MAX {
            return Err(Error::CrashedTooOften { process: name, status, limit: RESTARTS_MAX });
        }
        self.process = launcher.start_until_ready(&name, &self.stem, &self.arguments, &mut restarts)?;
        self.restarts = restarts;
        Ok(())
    }

    /// Its number, as long as it is not started again.
    pub fn id(&self) -> u32 {
        self.process.child.id()
    }

    /// Asks it to end and waits for that. One that is killed meanwhile has nothing more to do for anybody.
    fn stop(mut self) -> Result<Stopped, Error> {
        let name = self.process.name.clone();
        // A failure means that it has ended already, which the wait reports.
        let _ = kill_process(Pid::from_child(&self.process.child), Signal::TERM);
        let ended = self.process.wait()?;
        match ended.status.code() {
            Some(0) => Ok(Stopped { name, restarts: self.restarts, lines: ended.lines }),
            Some(_) => Err(ended.error(&name)),
            None => Ok(Stopped { name, restarts: self.restarts + 1, lines: Vec::new() }),
        }
    }
}

impl Daemons {
    /// Adds one that was started after all others.
    pub fn push(&mut self, daemon: Daemon) {
        self.0.push(daemon);
    }

    /// [`Daemon::keep_up`] for each.
    ///
    /// # Errors
    /// Those of the first that cannot be kept up.
    pub fn keep_up(&mut self) -> Result<(), Error> {
        let mut index = 0;
        while let Some(daemon) = self.0.get_mut(index) {
            match daemon.keep_up() {
                Ok(()) => index += 1,
                // It cannot start without one that it uses, and that has crashed meanwhile: that one first.
                Err(Error::Told { .. }) if self.has_crashed_before(index)? => index = 0,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn has_crashed_before(&mut self, index: usize) -> Result<bool, Error> {
        // A process closes its sockets a moment before it counts as ended.
        thread::sleep(LOOK);
        let mut crashed = false;
        for daemon in &mut self.0[..index] {
            crashed |= daemon.process.ended()?.is_some();
        }
        Ok(crashed)
    }

    /// Stops all of them, the last one first.
    ///
    /// # Errors
    /// Those of the first that does not end well; the others are killed.
    pub fn stop(mut self) -> Result<Vec<Stopped>, Error> {
        let mut stopped = Vec::new();
        while let Some(daemon) = self.0.pop() {
            stopped.push(daemon.stop()?);
        }
        Ok(stopped)
    }
}

impl Drop for Daemons {
    fn drop(&mut self) {
        // Nobody shall complain about one that is gone already.
        while self.0.pop().is_some() {}
    }
}

/// The child's end of the pipe. Not waited for: without a reader there is no parent any more.
fn ready_pipe(descriptor: u32) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits() as i32;
    OpenOptions::new().write(true).custom_flags(flags).open(format!("/proc/self/fd/{descriptor}"))
}

/// The child's side: tells the parent on descriptor `ready_fd` that it is ready. Without a descriptor the
/// process was started by a person, and nobody waits.
///
/// # Errors
/// That the descriptor is not open, or the parent is gone.
pub fn tell_ready(ready_fd: Option<u32>) -> io::Result<()> {
    match ready_fd {
        Some(descriptor) => ready_pipe(descriptor)?.write_all(b"ready\n"),
        None => Ok(()),
    }
}

/// The child's side: asks the kernel to end this process when its parent ends, if a parent waits for it.
///
/// # Errors
/// The kernel's, and that the parent has ended already.
pub fn die_with_parent(ready_fd: Option<u32>) -> io::Result<()> {
    let Some(descriptor) = ready_fd else { return Ok(()) };
    set_parent_process_death_signal(Some(Signal::TERM))?;
    // A parent that ended before the kernel was asked is not noticed by the kernel.
    ready_pipe(descriptor).map(drop)
}
