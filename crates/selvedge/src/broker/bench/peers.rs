//! The broker beside p11-kit and Parsec: the same operation on as many bytes for as many applications, each asked as its
//! own clients ask it.
//!
//! All three compute in software: the broker with its own device, p11-kit with SoftHSM, which it starts once for each
//! application, Parsec with Mbed Crypto or with SoftHSM. Servers are started for their turn, and stopped: Parsec looks for
//! new connections every 10 ms as it comes, or, told not to pause, with all of a core, and each is measured.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use selvedge::error::Error;
use selvedge::limits::READY_S_MAX;

use super::{Bench, WARM_UP_MS, Wanted, median, stop};
use crate::broker::peer::module::{PIN, client_module};
use crate::broker::peer::{Side, Work};

const PAYLOAD_BYTES: [usize; 3] = [64, 1024, 64 * 1024];
const APPLICATIONS: [usize; 3] = [1, 4, 16];
/// Of the time that other scenarios give a point: there are many here.
const PART: u32 = 4;
const SOFTHSM: &str = "/usr/lib/softhsm/libsofthsm2.so";
const TOKEN: &str = "selvedge bench";
/// Between two looks at whether a peer listens.
const LOOK: Duration = Duration::from_millis(10);

/// A server, and how it is configured.
#[derive(Clone, Copy, PartialEq)]
struct Peer {
    side: Side,
    /// Of Parsec, whether it pauses when nobody comes, as it does if it is not told otherwise.
    pauses: bool,
    name: &'static str,
}

const BROKER: Peer = Peer { side: Side::Broker, pauses: true, name: "broker" };
const P11_KIT: Peer = Peer { side: Side::P11Kit, pauses: true, name: "p11-kit" };
#[rustfmt::skip]
const PARSECS: [Peer; 3] = [
    Peer { side: Side::ParsecMbed, pauses: true, name: "Parsec, Mbed Crypto, as it comes" },
    Peer { side: Side::ParsecMbed, pauses: false, name: "Parsec, Mbed Crypto, without pause" },
    Peer { side: Side::ParsecModule, pauses: false, name: "Parsec, PKCS#11, without pause" },
];

/// What one side did.
#[derive(Clone, Copy)]
struct Measured {
    peer: Peer,
    rate: f64,
}

/// A process of others, which ends when it is dropped, or with this one.
struct Foreign(Child);

impl Drop for Foreign {
    fn drop(&mut self) {
        // One that has ended is not there any more.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(super) fn measure(bench: &mut Bench) -> Result<(), Error> {
    let peers = installed();
    if peers.is_empty() {
        return Ok(());
    }
    make_token(bench)?;
    for &work in Work::value_variants() {
        let mut sides = vec![BROKER];
        sides.extend(peers.iter().filter(|peer| has(peer.side, work)));
        if sides.len() == 1 {
            continue;
        }
        // What is signed is a digest.
        let lengths = if work == Work::EcdsaP256 { &[32][..] } else { &PAYLOAD_BYTES };
        for &payload_bytes in lengths {
            for count in APPLICATIONS {
                let point = Point { work, payload_bytes, count };
                let measured = point.measure(bench, &sides)?;
                point.judge(bench, &measured);
            }
        }
    }
    Ok(())
}

/// The peers that are there; says which are not.
fn installed() -> Vec<Peer> {
    let is_there = |program: &str| Command::new(program).arg("--help").output().is_ok();
    let has_token = is_there("softhsm2-util") && Path::new(SOFTHSM).exists();
    let mut peers = Vec::new();
    if has_token && is_there("p11-kit") && client_module().is_some() {
        peers.push(P11_KIT);
    } else {
        eprintln!("skip: p11-kit as a peer: found no p11-kit with SoftHSM; `scripts/peers.sh` installs them");
    }
    if has_token && is_there("parsec") {
        peers.extend(PARSECS);
    } else {
        eprintln!("skip: Parsec as a peer: found no `parsec`; `scripts/peers.sh` builds it");
    }
    peers
}

/// Whether it offers this.
fn has(side: Side, work: Work) -> bool {
    match side {
        Side::Broker => true,
        // That of Debian 12 passes on mechanisms without parameters.
        Side::P11Kit => work != Work::Aes256Gcm,
        Side::ParsecMbed => matches!(work, Work::Sha256 | Work::Aes256Gcm | Work::EcdsaP256),
        Side::ParsecModule => work == Work::EcdsaP256,
    }
}

struct Point {
    work: Work,
    payload_bytes: usize,
    count: usize,
}

impl Point {
    fn case(&self) -> String {
        let Point { work, payload_bytes, count } = self;
        let work = match work {
            Work::Sha256 => "SHA-256",
            Work::HmacSha256 => "HMAC-SHA-256",
            Work::Aes256Ecb => "AES-256-ECB",
            Work::Aes256Gcm => "AES-256-GCM",
            Work::EcdsaP256 => "ECDSA P-256",
        };
        let applications = if *count == 1 { "application" } else { "applications" };
        format!("{work} of {payload_bytes} B, {count} {applications}")
    }

    /// What each side does, in rounds that alternate.
    fn measure(&self, bench: &mut Bench, sides: &[Peer]) -> Result<Vec<Measured>, Error> {
        let duration_ms = bench.duration_ms / PART;
        let mut seen: Vec<[Vec<f64>; 3]> = sides.iter().map(|_| Default::default()).collect();
        for _ in 0..bench.rounds {
            for (peer, [rates, medians, tails]) in sides.iter().zip(&mut seen) {
                let crowd = self.ask(bench, *peer, duration_ms)?;
                rates.push(crowd.rate(duration_ms));
                medians.push(crowd.latency_us(0.5));
                tails.push(crowd.latency_us(0.99));
            }
        }
        let mut measured = Vec::new();
        for (peer, seen) in sides.iter().zip(seen) {
            let [rate, median_us, p99_us] = seen.map(median);
            let case = format!("{}, {}", self.case(), peer.name);
            bench.row(&case, "requests", rate, "1/s");
            bench.row(&case, "latency, median", median_us, "us");
            bench.row(&case, "latency, p99", p99_us, "us");
            measured.push(Measured { peer: *peer, rate });
        }
        Ok(measured)
    }

    fn ask(&self, bench: &Bench, peer: Peer, duration_ms: u32) -> Result<super::Seen, Error> {
        let play = |socket: &Path| {
            let (side, work) = (word(&peer.side), word(&self.work));
            let application = || {
                let mut arguments = vec!["broker".into(), "peer".into(), side.clone()];
                arguments.extend([work.clone(), socket.into()]);
                for (option, value) in [
                    ("--payload-bytes", self.payload_bytes as u64),
                    ("--warm-up-ms", WARM_UP_MS),
                    ("--duration-ms", duration_ms.into()),
                ] {
                    arguments.extend([option.into(), value.to_string().into()]);
                }
                arguments
            };
            let script = (0..self.count).map(|_| application()).collect();
            let crowds = bench.stage.with_launcher(|launcher| launcher).play(vec![script])?;
            Ok(crowds.into_iter().next().expect("there is one crowd"))
        };
        match peer.side {
            Side::Broker => {
                let lanes = thread::available_parallelism().map_or(1, usize::from);
                let (server, socket) =
                    bench.server_with("soft", &["--lanes".into(), lanes.to_string().into()])?;
                let seen = play(&socket);
                stop(server)?;
                seen
            }
            Side::P11Kit => {
                let (_server, socket) = start_p11_kit(bench)?;
                play(&socket)
            }
            Side::ParsecMbed | Side::ParsecModule => {
                let (_server, socket) = start_parsec(bench, peer.pauses)?;
                play(&socket)
            }
        }
    }

    /// What is wanted of the broker beside each peer, and which way to run Parsec was the better one.
    fn judge(&self, bench: &mut Bench, measured: &[Measured]) {
        let rate = measured[0].rate;
        let is_long = self.payload_bytes > 1024;
        let p11_kit = measured.iter().find(|other| other.peer == P11_KIT);
        let parsecs = measured.iter().filter(|other| PARSECS.contains(&other.peer));
        let parsec = parsecs.max_by(|one, other| one.rate.total_cmp(&other.rate));
        let goals = [
            (p11_kit, Some(if is_long { 1.3 } else { 2.0 })),
            // At 64 KiB nothing was promised; its rows are there.
            (parsec, (!is_long).then_some(4.0)),
        ];
        for (other, wanted) in goals {
            let (Some(other), Some(wanted)) = (other, wanted) else { continue };
            let what = format!("{}: requests, of {}'s", self.case(), other.peer.name);
            let peer_rate = format!("{:.0}/s", other.rate);
            bench.goal(&what, rate / other.rate, other.peer.name, peer_rate, Wanted::AtLeast(wanted));
        }
    }
}

/// What a value is called on the command line.
fn word(value: &impl ValueEnum) -> OsString {
    value.to_possible_value().expect("no value is hidden").get_name().into()
}

/// A token in the folder of the benchmark.
fn make_token(bench: &Bench) -> Result<(), Error> {
    let (config, tokens) = (bench.stage.path("softhsm2.conf"), bench.stage.path("tokens"));
    fs::create_dir(&tokens).map_err(|cause| Error::io("make", &tokens, cause))?;
    write(&config, &format!("directories.tokendir = {}\nlog.level = ERROR\n", tokens.display()))?;
    let made = Command::new("softhsm2-util")
        .args(["--init-token", "--free", "--label", TOKEN, "--so-pin", PIN, "--pin", PIN])
        .env("SOFTHSM2_CONF", &config)
        .stdout(Stdio::null())
        .status();
    let made = made.map_err(Error::process("softhsm2-util"))?;
    if made.success() { Ok(()) } else { Err(Error::Failed { process: "softhsm2-util".into(), status: made }) }
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(|cause| Error::io("write", path, cause))
}

fn start_p11_kit(bench: &Bench) -> Result<(Foreign, PathBuf), Error> {
    let socket = bench.stage.path("p11-kit.sock");
    let mut command = Foreign::command(bench, "p11-kit");
    command.args(["server", "--foreground", "--provider", SOFTHSM, "--name"]).arg(&socket);
    command.arg(format!("pkcs11:token={}", TOKEN.replace(' ', "%20")));
    Ok((Foreign::start("p11-kit", &mut command, &socket)?, socket))
}

fn start_parsec(bench: &Bench, pauses: bool) -> Result<(Foreign, PathBuf), Error> {
    // It keeps keys where it is started, and those of the turn before are not to be found.
    let (folder, socket) = (bench.stage.path("parsec"), bench.stage.path("parsec/parsec.sock"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).map_err(|cause| Error::io("make", &folder, cause))?;
    let config = folder.join("config.toml");
    let pause = if pauses { "" } else { "idle_listener_sleep_duration = 0\n" };
    let (keys, socket_text) =
        (folder.join("keys.sqlite3").display().to_string(), socket.display().to_string());
    let provider =
        |kind: &str| format!("[[provider]]\nprovider_type = \"{kind}\"\nkey_info_manager = \"keys\"\n");
    write(
        &config,
        &format!(
            "[core_settings]\nallow_root = true\nlog_level = \"error\"\n{pause}\
             [listener]\nlistener_type = \"DomainSocket\"\ntimeout = 200\nsocket_path = {socket_text:?}\n\
             [authenticator]\nauth_type = \"UnixPeerCredentials\"\n\
             [[key_manager]]\nname = \"keys\"\nmanager_type = \"SQLite\"\nsqlite_db_path = {keys:?}\n\
             {}{}library_path = {SOFTHSM:?}\nuser_pin = {PIN:?}\n",
            provider("MbedCrypto"),
            provider("Pkcs11"),
        ),
    )?;
    let mut command = Foreign::command(bench, "parsec");
    let log = folder.join("log");
    let log_file = File::create(&log).map_err(|cause| Error::io("create", &log, cause))?;
    command.arg("--config").arg(&config).current_dir(&folder).stderr(log_file);
    Ok((Foreign::start("parsec", &mut command, &socket)?, socket))
}

impl Foreign {
    /// A program that uses the token, and is told to end when this process does.
    fn command(bench: &Bench, program: &str) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM", "--", program]);
        command.env("SOFTHSM2_CONF", bench.stage.path("softhsm2.conf"));
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// Waits until it listens.
    fn start(name: &str, command: &mut Command, socket: &Path) -> Result<Foreign, Error> {
        let _ = fs::remove_file(socket);
        let mut foreign = Foreign(command.spawn().map_err(Error::process(name))?);
        let deadline = Instant::now() + Duration::from_secs(READY_S_MAX);
        while UnixStream::connect(socket).is_err() {
            if let Some(status) = foreign.0.try_wait().map_err(Error::process(name))? {
                return Err(Error::Failed { process: name.into(), status });
            }
            if Instant::now() > deadline {
                return Err(Error::NotReady { process: name.into(), limit_s: READY_S_MAX });
            }
            thread::sleep(LOOK);
        }
        Ok(foreign)
    }
}
