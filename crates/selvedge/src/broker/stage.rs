//! Where a benchmark's processes play: servers, and applications that begin at one instant.
//!
//! Owns starting them, the gate, and reading what each says at its end. Their other side is `part`'s.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use broker::load::no_latencies;
use hdrhistogram::Histogram;
use rustix::fs::{FlockOperation, flock};
use selvedge::error::Error;
use selvedge::link::launch::{Daemon, Daemons, Launcher};

use super::part::Told;
use super::switches::Switches;
use crate::stop;

/// A folder for sockets, and who starts processes.
pub struct Stage {
    launcher: Launcher,
    folder: tempfile::TempDir,
}

/// Applications that are alike.
#[derive(Clone, Copy)]
pub struct Crowd {
    pub count: usize,
    pub pdu_bytes: usize,
    pub outstanding: usize,
    pub pause_us: u64,
    /// The uid of the first, if not our own; each further one has the next.
    pub user: Option<u32>,
}

/// What a crowd saw.
pub struct Seen {
    /// Requests that were answered, of each.
    pub answered: Vec<u64>,
    pub latency_ns: Histogram<u64>,
    /// From the opening of the gate to the end of the last, in seconds.
    pub time_s: f64,
    /// Of all of them together, while they asked.
    pub switches: Switches,
}

/// Command lines of applications, which begin together.
pub type Script = Vec<Vec<OsString>>;

impl Stage {
    /// An empty one.
    ///
    /// # Errors
    /// The environment's.
    pub fn new() -> Result<Stage, Error> {
        let failed = || Error::process("selvedge");
        let folder = tempfile::tempdir().map_err(failed())?;
        // Applications of other users come to the sockets, whose names they are told.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o711)).map_err(failed())?;
        let interrupted: Arc<AtomicBool> = stop::flag().map_err(failed())?;
        Ok(Stage { launcher: Launcher::new(folder.path(), interrupted), folder })
    }

    /// Who starts the processes.
    pub fn launcher(&self) -> &Launcher {
        &self.launcher
    }

    /// The path of a file of this name.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Starts a server, `broker VERB SOCKET OPTIONS`.
    ///
    /// # Errors
    /// As [`Launcher::start_daemon`].
    pub fn server(&self, verb: &str, options: &[OsString]) -> Result<(Daemon, PathBuf), Error> {
        self.server_named(verb, verb, options)
    }

    /// The same, when there are two of one verb.
    ///
    /// # Errors
    /// As [`Launcher::start_daemon`].
    pub fn server_named(
        &self,
        verb: &str,
        name: &str,
        options: &[OsString],
    ) -> Result<(Daemon, PathBuf), Error> {
        let socket = self.path(&format!("{name}.sock"));
        // A server that was killed leaves it behind.
        let _ = std::fs::remove_file(&socket);
        let mut arguments = vec!["broker".into(), verb.into(), socket.clone().into_os_string()];
        arguments.extend_from_slice(options);
        Ok((self.launcher.start_daemon(verb, name, arguments)?, socket))
    }

    /// Applications that a launcher starts which is made of ours.
    pub fn with_launcher(&self, launcher: impl FnOnce(Launcher) -> Launcher) -> Cast<'_> {
        Cast { stage: self, launcher: launcher(self.launcher.clone()) }
    }

    /// Has crowds ask a server at the same time, for so long or so often.
    ///
    /// # Errors
    /// The environment's, and what an application says.
    pub fn ask(&self, socket: &Path, crowds: &[Crowd], until: Until) -> Result<Vec<Seen>, Error> {
        let script = |crowd: &Crowd| -> Script {
            (0..crowd.count)
                .map(|member| {
                    let mut arguments = vec!["broker".into(), "application".into(), socket.into()];
                    let options = [
                        ("--pdu-bytes", crowd.pdu_bytes as u64),
                        ("--outstanding", crowd.outstanding as u64),
                        ("--pause-us", crowd.pause_us),
                        ("--warm-up-ms", until.warm_up_ms),
                        ("--duration-ms", until.duration_ms),
                        ("--total", until.total),
                    ];
                    for (option, value) in options {
                        arguments.extend([option.into(), value.to_string().into()]);
                    }
                    if let Some(user) = crowd.user {
                        arguments.extend(["--user".into(), (user + member as u32).to_string().into()]);
                    }
                    arguments
                })
                .collect()
        };
        self.with_launcher(|launcher| launcher).play(crowds.iter().map(script).collect())
    }
}

/// When applications end.
#[derive(Clone, Copy)]
pub struct Until {
    /// Before what is counted.
    pub warm_up_ms: u64,
    /// What is counted.
    pub duration_ms: u64,
    /// Requests of each, at most.
    pub total: u64,
}

/// Applications on a stage.
pub struct Cast<'a> {
    stage: &'a Stage,
    launcher: Launcher,
}

impl Cast<'_> {
    /// Starts `selvedge ARGUMENTS --gate FILE` for each, opens the gate, and waits for all of them.
    ///
    /// # Errors
    /// The environment's, and what an application says.
    pub fn play(&self, scripts: Vec<Script>) -> Result<Vec<Seen>, Error> {
        let path = self.stage.path("gate");
        let gate = File::create(&path).map_err(|cause| Error::io("create", &path, cause))?;
        let locked = |errno: rustix::io::Errno| Error::io("lock", &path, errno.into());
        flock(&gate, FlockOperation::LockExclusive).map_err(locked)?;
        let mut crowds = Vec::new();
        for (number, script) in scripts.into_iter().enumerate() {
            let mut applications = Vec::new();
            for (member, mut arguments) in script.into_iter().enumerate() {
                arguments.extend(["--gate".into(), path.clone().into_os_string()]);
                let stem = format!("application-{number}-{member}");
                applications.push(self.launcher.start("application", &stem, &arguments)?);
            }
            crowds.push(applications);
        }
        let opened_at = SystemTime::now();
        flock(&gate, FlockOperation::Unlock).map_err(locked)?;
        let mut all = Vec::new();
        for applications in crowds {
            let mut seen = Seen {
                answered: Vec::new(),
                latency_ns: no_latencies(),
                time_s: 0.0,
                switches: Switches::default(),
            };
            for mut application in applications {
                let ended = application.wait()?;
                let told = ended.lines.last().and_then(|line| serde_json::from_str::<Told>(line).ok());
                let Some(told) = told.filter(|_| ended.status.success()) else {
                    return Err(ended.error("application"));
                };
                let time = told.ended_at.duration_since(opened_at).unwrap_or_default();
                seen.time_s = seen.time_s.max(time.as_secs_f64());
                seen.switches = seen.switches + told.switches;
                seen.answered.push(told.answered);
                for (latency_ns, count) in told.latency_ns {
                    seen.latency_ns.saturating_record_n(latency_ns, count);
                }
            }
            all.push(seen);
        }
        Ok(all)
    }
}

impl Seen {
    /// Requests a second of all together.
    pub fn rate(&self, duration_ms: u32) -> f64 {
        self.answered.iter().sum::<u64>() as f64 * 1000.0 / f64::from(duration_ms)
    }

    /// A latency that this part of all are not above.
    pub fn latency_us(&self, quantile: f64) -> f64 {
        self.latency_ns.value_at_quantile(quantile) as f64 / 1000.0
    }

    /// Jain's index of what each got: 1 when all got the same, 1/n when one got all.
    pub fn jain(&self) -> f64 {
        let sum: f64 = self.answered.iter().map(|answered| *answered as f64).sum();
        let squares: f64 = self.answered.iter().map(|answered| (*answered as f64).powi(2)).sum();
        sum * sum / (self.answered.len() as f64 * squares)
    }
}

/// The middle one, or the mean of the two in the middle.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let (lower, upper) = ((values.len() - 1) / 2, values.len() / 2);
    f64::midpoint(values[lower], values[upper])
}

/// Ends a server; what it said.
///
/// # Errors
/// As [`Daemons::stop`].
pub fn stop(server: Daemon) -> Result<Vec<String>, Error> {
    let mut servers = Daemons::default();
    servers.push(server);
    Ok(servers.stop()?.into_iter().flat_map(|stopped| stopped.lines).collect())
}
