//! `selvedge broker serve`: the broker of a run, a service of the machine, or one user's own.
//!
//! Owns what a daemon does besides serving: which device it takes, what it writes in its log, what it tells its service
//! manager, and what it reads again on SIGHUP.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use broker::client::start;
use broker::device::Choice;
use broker::journal::Level;
use broker::{Config, Control, Endpoint, Settings, Stats, control, descriptors, serve_operated};
use listenfd::ListenFd;
use report::row::{Clock, Experiment};
use rustix::process::getuid;
use sd_notify::NotifyState;
use selvedge::error::Error;
use selvedge::link::launch::tell_ready;
use selvedge::link::service::{self, LIMITS, Service};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;

use super::address;
use super::device::Chosen;
use super::log::Log;
use crate::monitor::{Answers, Monitors, Reply, Wanted};
use crate::output::Output;
use crate::place::Place;
use crate::stop;

/// Which broker.
#[derive(clap::Args)]
pub struct Arguments {
    /// The deployment of whose run it is
    #[arg(required_unless_present_any = ["config", "own"], conflicts_with_all = ["config", "own"])]
    deployment: Option<PathBuf>,
    /// The folder of the run: keys, sockets, store, results
    #[arg(long, value_name = "DIR", default_value = "out")]
    out: PathBuf,
    #[command(flatten)]
    device: Chosen,
    /// Be a service of this machine, as this file says
    #[arg(long, value_name = "FILE", conflicts_with_all = ["out", "device", "preset"])]
    config: Option<PathBuf>,
    /// Look at the file, and start nothing
    #[arg(long, requires = "config")]
    check: bool,
    /// Be one user's own: serve nobody else, and end when nobody is connected any more
    #[arg(long, conflicts_with_all = ["out", "device", "preset"])]
    own: bool,
    /// Go on in the background; what waits for it is told when it is ready
    #[arg(long, hide = true, requires = "own")]
    detach: bool,
    /// Descriptor to write to when ready, for a process that waits for it
    #[arg(long, hide = true)]
    ready_fd: Option<u32>,
}

/// How long an own broker lasts without a connection, if its configuration does not say it.
const IDLE: Duration = Duration::from_secs(60);
/// How long it waits for the one before it, which is ending.
const PREDECESSOR_MAX: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(10);
/// Permissions of a socket on which metrics are asked for.
const METRICS_MODE: u32 = 0o660;

/// Serves.
pub async fn serve(arguments: Arguments, output: &Output) -> Result<(), Error> {
    let Arguments { deployment, out, device, config, check, own, detach, ready_fd } = arguments;
    if let Some(deployment) = deployment {
        return serve_run(Place { deployment, out, ready_fd }, device, output).await;
    }
    if detach {
        return go_on_in_background(config);
    }
    let service = match &config {
        Some(path) => service::load(path)?,
        None => Service::default(),
    };
    if check {
        return show(&service, output);
    }
    let log = Arc::new(Log::new(service.level));
    let served = if own {
        serve_own(service, &config, ready_fd, &log).await
    } else {
        serve_machine(service, &config, ready_fd, &log).await
    };
    let stats = served.inspect_err(|error| {
        log.line(Level::Error, "failed", &[("error", error.to_string())]);
    })?;
    let counts = [
        ("requests", stats.requests_admitted),
        ("refused", stats.connections_refused),
        ("device_losses", stats.device_losses),
    ];
    log.line(Level::Info, "stopped", &counts.map(|(key, count)| (key, count.to_string())));
    Ok(())
}

/// The broker of a run, whose parent or whose terminal reads what it counted.
async fn serve_run(place: Place, device: Chosen, output: &Output) -> Result<(), Error> {
    let opened = place.open()?;
    let device = device.of(&opened)?;
    let stats = broker::serve(Config {
        endpoint: Endpoint::Path(opened.layout.broker_socket()),
        devices: vec![device],
        settings: Settings { operator: Some(getuid().as_raw()), ..Settings::default() },
        ready: opened.ready(),
        stop: stop::asked(),
    })
    .await?;
    let experiment = Experiment::new(&opened.deployment.name, "selvedge broker serve");
    let count = |metric, value: u64| experiment.row("broker", metric, value, "", Clock::Wall);
    output.rows(
        "broker",
        &[
            count("requests", stats.requests_admitted),
            count("connections refused", stats.connections_refused),
            count("device openings", stats.device_opens),
            count("device losses", stats.device_losses),
            count("queued at most", stats.queued_max as u64),
        ],
    )
}

/// A service of the machine: on the socket that its manager passes, or on its own.
async fn serve_machine(
    service: Service,
    config: &Option<PathBuf>,
    ready_fd: Option<u32>,
    log: &Arc<Log>,
) -> Result<Stats, Error> {
    let passed = ListenFd::from_env().take_unix_listener(0).map_err(Error::process("broker"))?;
    let endpoint = match (passed, &service.socket) {
        (Some(listener), _) => Endpoint::Listener(listener),
        (None, Some(path)) => {
            Endpoint::Opened { path: path.clone(), mode: service.mode, group: service.group }
        }
        (None, None) => return Err(Error::NoSocket),
    };
    run(service, config, endpoint, ready_fd, log).await
}

/// The paper's start rule: whoever is first starts it, and it serves its own user and ends when nobody is left.
async fn serve_own(
    mut service: Service,
    config: &Option<PathBuf>,
    ready_fd: Option<u32>,
    log: &Arc<Log>,
) -> Result<Stats, Error> {
    let user = getuid().as_raw();
    (service.settings.only_user, service.settings.operator) = (Some(user), Some(user));
    service.settings.idle_max.get_or_insert(IDLE);
    let path = start::socket(&start::folder()?);
    let began = Instant::now();
    loop {
        let endpoint = Endpoint::Path(path.clone());
        match run(service.clone(), config, endpoint, ready_fd, log).await {
            // Who started this one found nobody, so that the one before it has said that it ends.
            Err(Error::Broker(broker::Error::AlreadyServed { .. })) if began.elapsed() < PREDECESSOR_MAX => {
                tokio::time::sleep(LOOK).await;
            }
            ended => return ended,
        }
    }
}

async fn run(
    service: Service,
    config: &Option<PathBuf>,
    endpoint: Endpoint,
    ready_fd: Option<u32>,
    log: &Arc<Log>,
) -> Result<Stats, Error> {
    descriptors::raise(service.settings.bounds.connections)?;
    let devices = service.devices.iter().map(|choice| address::device(choice, None, None));
    let devices: Vec<Choice> = devices.collect::<Result<_, _>>()?;
    let (control, orders) = control()?;
    let monitors = match &service.metrics {
        Some(address) => Some(Monitors::listen(address, METRICS_MODE, Status(control.clone())).await?),
        None => None,
    };
    let names: Vec<String> = devices.iter().map(|choice| choice.device.name()).collect();
    let mut fields = vec![("device", names.join(","))];
    match &endpoint {
        Endpoint::Opened { path, .. } | Endpoint::Path(path) => {
            fields.push(("socket", path.display().to_string()));
        }
        _ => fields.push(("socket", "passed".to_owned())),
    }
    fields.extend(monitors.as_ref().map(|monitors| ("metrics", monitors.address())));
    fields.push(("connections", service.settings.bounds.connections.to_string()));
    let settings = service.settings;
    let (reader, starter) = (Arc::clone(log), Arc::clone(log));
    let beside = [
        monitors.map(|monitors| tokio::spawn(monitors.answer())),
        config.clone().and_then(|path| {
            // From now on, and not when the task begins: a process that does not listen for it is ended by it.
            let hangup = signal(SignalKind::hangup()).ok()?;
            Some(tokio::spawn(reload(hangup, path, service, control.clone(), Arc::clone(log))))
        }),
    ];
    let served = serve_operated(
        Config {
            endpoint,
            devices,
            settings,
            ready: Box::new(move || {
                starter.line(Level::Info, "started", &fields);
                // Neither has to be there: who started us by hand waits for nothing.
                let _ = (tell_ready(ready_fd), sd_notify::notify(&[NotifyState::Ready]));
            }),
            stop: stop_and_tell(),
        },
        orders,
        Box::new(move |entry| reader.entry(&entry)),
    )
    .await;
    beside.into_iter().flatten().for_each(|task: JoinHandle<()>| task.abort());
    Ok(served?)
}

/// What `broker status --prometheus` prints. The broker's loop is asked between two of its turns.
#[derive(Clone)]
struct Status(Control);

impl Answers for Status {
    async fn answer(&self, wanted: &Wanted) -> Reply {
        match &*wanted.path {
            "/metrics" => Reply::metrics(self.0.status().await),
            _ => Reply::nowhere(),
        }
    }
}

fn stop_and_tell() -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> {
    let asked = stop::asked();
    Box::pin(async {
        asked.await;
        // There need not be a manager.
        let _ = sd_notify::notify(&[NotifyState::Stopping]);
    })
}

/// Reads the configuration again at each SIGHUP. One with faults changes nothing.
async fn reload(mut hangup: Signal, path: PathBuf, mut service: Service, control: Control, log: Arc<Log>) {
    while hangup.recv().await.is_some() {
        let new = match service::load(&path).and_then(|new| {
            descriptors::raise(new.settings.bounds.connections)?;
            Ok(new)
        }) {
            Ok(new) => new,
            Err(error) => {
                log.line(Level::Error, "not-reloaded", &[("error", error.to_string())]);
                continue;
            }
        };
        let fixed = service.fixed(&new);
        service = service.reloaded(new);
        log.set(service.level);
        if !fixed.is_empty() {
            log.line(Level::Warning, "needs-restart", &[("keys", fixed.join(","))]);
        }
        control.set(service.settings);
    }
}

/// What holds, for `--check`.
fn show(service: &Service, output: &Output) -> Result<(), Error> {
    descriptors::raise(service.settings.bounds.connections)?;
    let experiment = Experiment::new("broker", "selvedge broker serve --check");
    let row = |limit: &service::Limit| {
        let value = limit.text(limit.of(&service.settings));
        experiment.row("limits", limit.key, value, "", Clock::None)
    };
    output.rows("limits", &LIMITS.iter().map(row).collect::<Vec<_>>())
}

/// Starts the same again as nobody's child, so that who wanted it has nobody to wait for. Its log is in its folder.
fn go_on_in_background(config: Option<PathBuf>) -> Result<(), Error> {
    let failed = || Error::process("broker");
    let mut command = Command::new(std::env::current_exe().map_err(failed())?);
    command.args(["broker", "serve", "--own", "--ready-fd", "1"]);
    if let Some(path) = config {
        command.arg("--config").arg(std::path::absolute(path).map_err(failed())?);
    }
    let log = start::log(&start::folder()?)?;
    // It outlives who wanted it: it keeps no folder of theirs in use, nor what they left open.
    descriptors::end_at_exec().map_err(failed())?;
    command.current_dir("/");
    // Standard output goes to whoever waits.
    // A terminal that interrupts who wanted it does not interrupt it.
    let started = command.stdin(Stdio::null()).stderr(log).process_group(0).spawn();
    started.map(drop).map_err(failed())
}
