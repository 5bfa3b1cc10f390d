//! How the broker shares: equal applications, and one that asks for little beside those that ask for much.

use std::time::Duration;

use broker::emulate::preset::Preset;
use broker::simulation::fairness::{Fairness, fairness};
use rustix::process::geteuid;
use selvedge::error::Error;

use super::{Bench, Crowd, Wanted, median, stop};
use crate::broker::part::{Counted, DIRECT_PRESET};

const EQUAL: Crowd = Crowd { count: 80, pdu_bytes: 1024, outstanding: 4, pause_us: 0, user: None };
const LIGHT: Crowd = Crowd { count: 1, pdu_bytes: 64, outstanding: 1, pause_us: 10_000, user: None };
const GREEDY: Crowd = Crowd { count: 16, pdu_bytes: 64 * 1024, outstanding: 8, pause_us: 0, user: None };

pub(super) fn measure(bench: &mut Bench) -> Result<(), Error> {
    let (bare, bare_socket) = bench.server("bare")?;
    let (loopback, loopback_socket) = bench.server("loopback")?;
    let mut indices = Vec::new();
    let mut tails = [Vec::new(), Vec::new()];
    for _ in 0..bench.rounds {
        indices.push(bench.ask(&loopback_socket, &[EQUAL])?[0].jain());
        for (socket, tails) in [&bare_socket, &loopback_socket].into_iter().zip(&mut tails) {
            tails.push(bench.ask(socket, &[LIGHT, GREEDY])?[0].latency_us(0.99));
        }
    }
    let index = median(indices);
    let [bare_us, us] = tails.map(median);
    let case = "64 B each 10 ms beside 16 applications with 8 times 64 KiB outstanding";
    bench.row(&format!("{case}, bare socket"), "latency, p99", bare_us, "us");
    bench.row(&format!("{case}, broker"), "latency, p99", us, "us");
    bench.row("80 equal applications, broker", "Jain's index", index, "");
    bench.goal("80 equal applications: Jain's index", index, "-", "-".to_owned(), Wanted::AtLeast(0.99));
    bench.goal(
        "a light application beside 16 greedy ones: p99, of a bare socket's",
        us / bare_us,
        "bare socket",
        format!("{bare_us:.0} us"),
        Wanted::AtMost(1.0),
    );
    stop(loopback)?;
    stop(bare)?;
    for users in [1, 1 + GREEDY.count as u32] {
        simulated_on_ftdi(bench, users);
        on_ftdi(bench, users)?;
    }
    Ok(())
}

/// The first of as many users as there are applications, none of whom need be known.
const USER: u32 = 30_000;
/// What a small request waits for at most.
const TRANSFER_BYTES: usize = 8192;
/// What part of the time the wire must be clocked.
const BUSY: f64 = 0.9;

fn ftdi() -> (Preset, f64) {
    let preset = Preset::named(DIRECT_PRESET).expect("it is in the table");
    let transfers = 2 * preset.time(preset.cycles(TRANSFER_BYTES));
    (preset, us(transfers))
}

fn us(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

fn case(users: u32) -> String {
    let users = if users == 1 { "one user".to_owned() } else { format!("{users} users") };
    format!("{DIRECT_PRESET}, 64 B each 10 ms beside 16 with 8 times 64 KiB, {users}")
}

/// What the core, the link and the wire do, when nothing else takes time.
fn simulated_on_ftdi(bench: &mut Bench, users: u32) {
    let (preset, transfers_us) = ftdi();
    let Fairness { alone_p99, p99, busy, shares } = fairness(preset, users);
    let case = case(users);
    bench.simulated_row(&case, "latency, p99, alone", us(alone_p99), "us");
    bench.simulated_row(&case, "latency, p99", us(p99), "us");
    bench.simulated_row(&case, "wire clocked", 100.0 * busy, "%");
    for (share, what) in shares.into_iter().zip(["requests", "answers"]) {
        bench.simulated_row(&case, &format!("cycles with {what}"), 100.0 * share, "%");
    }
    say(bench, &format!("{case}, simulated"), [us(alone_p99), us(p99), busy], transfers_us);
}

/// The same of processes: device, broker and applications.
fn on_ftdi(bench: &mut Bench, users: u32) -> Result<(), Error> {
    let is_root = geteuid().is_root();
    if users > 1 && !is_root {
        eprintln!("skip (machine): {}: only root can be several users", case(users));
        return Ok(());
    }
    let user = |number| (users > 1).then_some(USER + number);
    let (light, greedy) = (Crowd { user: user(0), ..LIGHT }, Crowd { user: user(1), ..GREEDY });
    let (preset, transfers_us) = ftdi();
    let (mut alone, mut beside, mut busy) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..bench.rounds {
        let (seen, _) = ask_clocked(bench, &[light])?;
        alone.push(seen[0].latency_us(0.99));
        let (seen, counted) = ask_clocked(bench, &[light, greedy])?;
        beside.push(seen[0].latency_us(0.99));
        busy.push(preset.time(counted.cycles).as_secs_f64() / seen[1].time_s);
    }
    let values = [alone, beside, busy].map(median);
    let case = case(users);
    for (metric, value, unit) in [
        ("latency, p99, alone", values[0], "us"),
        ("latency, p99", values[1], "us"),
        ("wire clocked", 100.0 * values[2], "%"),
    ] {
        bench.row(&case, metric, value, unit);
    }
    say(bench, &case, values, transfers_us);
    Ok(())
}

fn say(bench: &mut Bench, case: &str, [alone_us, p99_us, busy]: [f64; 3], transfers_us: f64) {
    let peer = format!("{alone_us:.0} us");
    let what = format!("{case}: p99 beyond that alone, us");
    bench.goal(&what, p99_us - alone_us, "alone", peer, Wanted::AtMost(transfers_us.floor()));
    let what = format!("{case}: part of the time that the wire is clocked");
    bench.goal(&what, busy, "-", "-".to_owned(), Wanted::AtLeast(BUSY));
}

/// Has crowds ask a broker of its own with a device of its own.
fn ask_clocked(bench: &Bench, crowds: &[Crowd]) -> Result<(Vec<super::Seen>, Counted), Error> {
    let stage = &bench.stage;
    let (device, device_socket) = stage.server("clocked", &["--preset".into(), DIRECT_PRESET.into()])?;
    let options = ["--preset".into(), DIRECT_PRESET.into(), "--device".into(), device_socket.into()];
    let (broker, socket) = stage.server_named("clocked", "before", &options)?;
    let seen = bench.ask(&socket, crowds)?;
    stop(broker)?;
    let lines = stop(device)?;
    Ok((seen, Counted::of(&lines)?))
}
