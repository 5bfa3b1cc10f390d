//! What applications that mean harm cost the others: thousands that say nothing, many that ask and never read, and many that
//! begin a request and never end it.
//!
//! They are another user than the others, for whom this process must be root: what one user holds is that user's own loss.

use std::fs;
use std::path::Path;

use broker::Settings;
use broker::client::blocking::Client;
use broker::client::call;
use broker::quota::Bounds;
use rustix::process::geteuid;
use selvedge::error::Error;

use super::{Bench, Crowd, Wanted, median, stop};

/// They ask now and then, so that what they wait for is the broker and not each other.
const OTHERS: Crowd = Crowd { count: 8, pdu_bytes: 64, outstanding: 1, pause_us: 1000, user: None };
const SILENT: usize = 10_000;
const DEAF: usize = 1000;
const HALVES: usize = 1000;
/// Nobody's, on most systems.
const USER: u32 = 61_000;
/// What the server is told: room for all of them, of which one user may have as many as are hostile.
const CONNECTIONS: usize = SILENT + DEAF + HALVES + 100;

/// The bounds of the server of this scenario.
pub fn settings(connections: Option<usize>) -> Settings {
    // This process asks it what it holds.
    let mut settings = Settings { operator: Some(geteuid().as_raw()), ..Settings::default() };
    if let Some(connections) = connections {
        settings.bounds = Bounds { connections, connections_per_user: connections, ..settings.bounds };
    }
    settings
}

pub(super) fn measure(bench: &mut Bench) -> Result<(), Error> {
    let connections = ["--connections".into(), CONNECTIONS.to_string().into()];
    let (server, socket) = bench.server_with("loopback", &connections)?;
    let mut hostile = vec!["broker".into(), "hostile".into(), socket.clone().into_os_string()];
    for (option, count) in [("--silent", SILENT), ("--deaf", DEAF), ("--halves", HALVES)] {
        hostile.extend([option.into(), count.to_string().into()]);
    }
    if geteuid().is_root() {
        hostile.extend(["--user".into(), USER.to_string().into()]);
    }
    let mut tails = [Vec::new(), Vec::new()];
    let (mut memory, mut unfinished) = (Vec::new(), Vec::new());
    for _ in 0..bench.rounds {
        tails[0].push(bench.ask(&socket, &[OTHERS])?[0].latency_us(0.99));
        let crowd = bench.stage.launcher().start_daemon("hostile", "hostile", hostile.clone())?;
        tails[1].push(bench.ask(&socket, &[OTHERS])?[0].latency_us(0.99));
        memory.push(resident_bytes(&bench.stage.path("loopback.pid"))?);
        unfinished.push(unfinished_bytes(&socket)?);
        stop(crowd)?;
    }
    stop(server)?;
    let [alone_us, us] = tails.map(median);
    let settings = settings(Some(CONNECTIONS));
    let (memory_bytes, sum_bytes) = (median(memory), settings.memory_bytes_max() as f64);
    let case = format!(
        "8 applications beside {SILENT} that say nothing, {DEAF} that never read and {HALVES} that do not end a request"
    );
    bench.row("8 applications alone", "latency, p99", alone_us, "us");
    bench.row(&case, "latency, p99", us, "us");
    bench.row(&case, "memory", memory_bytes, "B");
    bench.row(&case, "memory, the sum of what is configured", sum_bytes, "B");
    bench.row(&case, "unfinished", median(unfinished), "B");
    bench.row(&case, "unfinished, the bound", settings.bounds.unfinished_bytes as f64, "B");
    let mib = |bytes: f64| format!("{:.0} MiB", bytes / 1024.0 / 1024.0);
    let peer = format!("{alone_us:.0} us");
    bench.goal(
        "others beside hostile ones: p99, of theirs alone",
        us / alone_us,
        "alone",
        peer,
        Wanted::AtMost(1.5),
    );
    bench.goal(
        "memory beside hostile ones, of the configured sum",
        memory_bytes / sum_bytes,
        "configured",
        mib(sum_bytes),
        Wanted::AtMost(1.0),
    );
    Ok(())
}

/// What connections hold of which no request is charged, by the server's own word.
fn unfinished_bytes(socket: &Path) -> Result<f64, Error> {
    let text = Client::new(socket).call(&call::Status {})?;
    let value = text.lines().find_map(|line| line.strip_prefix("selvedge_broker_unfinished_bytes "));
    Ok(value.and_then(|value| value.parse().ok()).expect("the server says it"))
}

/// What a process has in memory, by proc(5), of the number in a file.
fn resident_bytes(pid_file: &Path) -> Result<f64, Error> {
    let read = |path: &Path| fs::read_to_string(path).map_err(|cause| Error::io("read", path, cause));
    let path = format!("/proc/{}/status", read(pid_file)?.trim());
    let status = read(path.as_ref())?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<f64>().ok());
    Ok(1024.0 * kib.expect("proc(5) says what a process has in memory"))
}
