//! The broker as a service of its machine: its configuration, log, metrics, units, and what its manager sees.
//!
//! Owns a broker in a process of its own with a device in software. What it decides is tested in the broker's crate.

mod brokered;

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use broker::client::{Client, blocking, call};
use broker::template::{Algorithm, Template, Usages};
use broker::wire::{KeyHandle, Status};
use brokered::{Broker, PATIENCE, SELVEDGE, eventually};
use rustix::process::Signal;
use selvedge::link::service::{self, LIMITS};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What a monitor is answered: status line and headers, and the text.
fn get(mut stream: impl Read + Write, request: &str) -> (String, String) {
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    (head.to_owned(), body.to_owned())
}

const GET: &str = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";

#[tokio::test]
async fn a_service_starts_says_so_reloads_and_drains() {
    let folder = tempfile::tempdir().unwrap();
    let manager = folder.path().join("notify.sock");
    let told = UnixDatagram::bind(&manager).unwrap();
    told.set_read_timeout(Some(PATIENCE)).unwrap();
    let says = |expected: &str| {
        let mut buffer = [0; 256];
        let bytes = told.recv(&mut buffer).expect("the manager is told");
        assert_eq!(String::from_utf8_lossy(&buffer[..bytes]).trim(), expected);
    };
    let configuration = "[broker]\nsocket = \"broker.sock\"\nmode = \"0600\"\n[limits]\nconnections = 8\n\
                         connections_per_user = 2\n[metrics]\nlisten = \"127.0.0.1:0\"\n";
    let broker = Broker::start(folder.path(), configuration, |command| {
        command.env("NOTIFY_SOCKET", &manager);
    });
    says("READY=1");
    let socket = folder.path().join("broker.sock");
    let first = Client::connect(&socket).await.unwrap();
    let second = Client::connect(&socket).await.unwrap();
    assert!(first.info().await.unwrap().name.contains("software"));
    second.info().await.unwrap();
    let third = Client::connect(&socket).await.unwrap().info().await.unwrap_err();
    assert!(matches!(third, broker::Error::Refused { status: Status::ConnectionsFull, .. }), "{third}");

    let address = broker.field("started", "metrics");
    let (head, text) = get(TcpStream::connect(&address).unwrap(), GET);
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("text/plain; version=0.0.4"), "{head}");
    assert!(text.contains("\nselvedge_broker_connections 2\n"), "{text}");
    assert!(text.contains("\nselvedge_broker_connections_refused_total 1\n"), "{text}");
    check_with_promtool(&text);
    let (head, _) = get(TcpStream::connect(&address).unwrap(), "GET /secrets HTTP/1.1\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 404"), "{head}");
    // Monitors that say nothing keep nobody waiting but monitors.
    let _silent: Vec<_> = (0..8).map(|_| TcpStream::connect(&address).unwrap()).collect();
    first.info().await.unwrap();

    // What can change does, and the rest is named.
    let path = folder.path().join("broker.toml");
    fs::write(&path, configuration.replace("per_user = 2", "per_user = 3").replace("0600", "0660")).unwrap();
    broker.signal(Signal::HUP);
    eventually("it is reloaded", || broker.log().contains("event=reloaded"));
    eventually("it says what is fixed", || broker.log().contains("event=needs-restart keys=mode"));
    let third = Client::connect(&socket).await.unwrap();
    third.info().await.unwrap();
    // A configuration with a fault changes nothing.
    fs::write(&path, "[limits]\nconnections = 0\n").unwrap();
    broker.signal(Signal::HUP);
    eventually("it says what is wrong", || broker.log().contains("event=not-reloaded"));
    third.info().await.unwrap();

    broker.signal(Signal::TERM);
    says("STOPPING=1");
    let log = broker.ends_well();
    assert!(!socket.exists());
    let order = [
        "device-opened",
        "started",
        "connection-refused",
        "needs-restart",
        "reloaded",
        "not-reloaded",
        "draining",
        "stopped",
    ];
    check_order(&log, &order);
}

/// Each event is in the log, behind the one before it, on a line that begins as all do.
fn check_order(log: &str, order: &[&str]) {
    assert!(log.lines().all(|line| line.starts_with("time=") && line.contains(" level=")), "{log}");
    let events = log.lines().filter_map(|line| line.split_once("event="));
    let mut events = events.map(|(_, event)| event.split(' ').next().expect("a word"));
    for expected in order {
        assert!(events.any(|event| event == *expected), "`{expected}` in its place:\n{log}");
    }
}

/// Prometheus' own opinion of the text.
fn check_with_promtool(text: &str) {
    let tool = root().join("target/tools/promtool");
    let child =
        Command::new(&tool).args(["check", "metrics"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let Ok(mut child) = child else {
        return println!("skip: promtool: scripts/install.sh has not brought it");
    };
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}");
}

#[test]
fn metrics_come_over_a_unix_socket_too() {
    let folder = tempfile::tempdir().unwrap();
    let configuration = "[broker]\nsocket = \"broker.sock\"\n[metrics]\nlisten = \"./metrics.sock\"\n";
    let broker = Broker::start(folder.path(), configuration, |_| {});
    eventually("it starts", || broker.log().contains("event=started"));
    let (head, text) = get(UnixStream::connect(folder.path().join("metrics.sock")).unwrap(), GET);
    assert!(head.starts_with("HTTP/1.1 200 OK") && text.contains("selvedge_broker_connections 0"));
    broker.signal(Signal::TERM);
    broker.ends_well();
}

#[test]
fn the_first_device_that_can_be_opened_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let configuration = "[broker]\nsocket = \"broker.sock\"\n[[device]]\nkind = \"socket\"\npath = \"gone.sock\"\n\
                         [[device]]\nkind = \"clocked\"\npath = \"gone.sock\"\npreset = \"spidev\"\n[[device]]\n\
                         kind = \"soft\"\n";
    let broker = Broker::start(folder.path(), configuration, |_| {});
    eventually("it starts", || broker.log().contains("event=started"));
    assert!(broker.field("started", "device").contains("software"));
    broker.signal(Signal::TERM);
    broker.ends_well();
}

/// A process that is a device, in a folder of its own. It is killed when it is dropped.
struct Device(Child);

impl Device {
    fn start(folder: &Path) -> Device {
        let mut command = Command::new(SELVEDGE);
        command.args(["broker", "device"]).arg(root().join("deployments/ecg.toml")).arg("--out").arg(folder);
        Device(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn a_device_that_is_gone_is_followed_by_the_next_and_the_list_begins_anew_after_each_loss() {
    let folder = tempfile::tempdir().unwrap();
    let places = ["one", "two"].map(|name| folder.path().join(name));
    let socket = |place: &Path| place.join("run/device.sock");
    let first = Device::start(&places[0]);
    let second = Device::start(&places[1]);
    eventually("both listen", || places.iter().all(|place| UnixStream::connect(socket(place)).is_ok()));
    let configuration = format!(
        "[broker]\nsocket = \"broker.sock\"\noperator = \"{}\"\n[[device]]\nkind = \"socket\"\npath = \"one/run/device.sock\"\n\
         [[device]]\nkind = \"socket\"\npath = \"two/run/device.sock\"\n",
        rustix::process::getuid().as_raw()
    );
    let broker = Broker::start(folder.path(), &configuration, |_| {});
    eventually("it starts", || broker.log().contains("event=started"));
    let client = blocking::Client::new(&folder.path().join("broker.sock"));
    let served = || {
        let text = client.call(&call::Status {}).unwrap();
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(&format!("selvedge_broker_{name} ")));
            line.expect("there is a gauge").parse::<u32>().unwrap()
        };
        (value("device"), value("epoch"))
    };
    // It is answered, perhaps after a loss was noticed.
    let is_answered = || client.call(&call::Random { count_bytes: 16 }).is_ok();
    eventually("the first answers", is_answered);
    assert_eq!(served(), (1, 0));
    drop(first);
    eventually("the second is served", || is_answered() && served() == (2, 1));
    // That the first is there again changes nothing as long as the second is.
    let _first = Device::start(&places[0]);
    eventually("the first listens", || UnixStream::connect(socket(&places[0])).is_ok());
    assert!(is_answered());
    assert_eq!(served(), (2, 1));
    drop(second);
    eventually("the first is served again", || is_answered() && served() == (1, 2));
    broker.signal(Signal::TERM);
    let log = broker.ends_well();
    let order = ["device-opened", "started", "device-lost", "device-opened", "device-lost", "device-opened"];
    check_order(&log, &order);
}

#[test]
fn a_service_in_whose_process_the_device_is_keeps_keys_in_a_sealed_store() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("store.key");
    fs::write(&key, format!("{}\n", "5a".repeat(32))).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let configuration = "[broker]\nsocket = \"broker.sock\"\n[[device]]\nkind = \"soft\"\nstore = \"keys\"\n\
                         store_key = \"file:store.key\"\n";
    let mut made = None;
    for _ in 0..2 {
        let broker = Broker::start(folder.path(), configuration, |_| {});
        eventually("it starts", || broker.log().contains("event=started"));
        let client = blocking::Client::new(&folder.path().join("broker.sock"));
        let keys = client.call(&call::KeyList { after: KeyHandle::NONE }).unwrap();
        assert_eq!(keys, Vec::from_iter(made));
        let template = Template { is_persistent: true, ..Template::new(Algorithm::Aes256, Usages::SEAL) };
        if made.is_none() {
            made = Some(client.call(&call::KeyGenerate { template: &template }).unwrap());
        }
        broker.signal(Signal::TERM);
        broker.ends_well();
    }
    fs::write(&key, format!("{}\n", "5b".repeat(32))).unwrap();
    let path = folder.path().join("broker.toml");
    let output = Command::new(SELVEDGE).args(["broker", "serve", "--config"]).arg(&path).output().unwrap();
    assert!(!output.status.success(), "another key opens no store");
}

#[test]
fn too_few_descriptors_are_named_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("broker.toml");
    fs::write(&path, "[broker]\nsocket = \"broker.sock\"\n[limits]\nconnections = 300\n").unwrap();
    let script = format!("ulimit -n 200; exec {SELVEDGE} broker serve --config {} --check", path.display());
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("found a limit of 200 open files, expected 364 for 300 connections"), "{said}");
    // The soft limit alone is raised.
    let script = script.replace("ulimit -n", "ulimit -Sn");
    assert!(Command::new("sh").args(["-c", &script]).output().unwrap().status.success());
}

#[test]
fn the_documentation_has_each_limit_and_metric() {
    let path = root().join("docs/broker.md");
    let found = fs::read_to_string(&path).unwrap();
    let usual = broker::Settings::default();
    let mut limits =
        String::from("\n| key | usually | from | to | reload | |\n|---|---:|---:|---:|---|---|\n");
    for limit in LIMITS {
        let [value, min, max] = [limit.of(&usual), limit.min, limit.max].map(|value| limit.text(value));
        let reload = if limit.reloads { "yes" } else { "–" };
        limits.push_str(&format!(
            "| `{}` | {value} | {min} | {max} | {reload} | {} |\n",
            limit.key, limit.meaning
        ));
    }
    let stats = broker::Stats::default();
    let mut metrics = String::from("\n| metric | kind | |\n|---|---|---|\n");
    let text = stats.exposition(&broker::Broker::new(usual).gauges());
    let mut lines = text.lines().filter(|line| line.starts_with('#'));
    while let (Some(help), Some(kind)) = (lines.next(), lines.next()) {
        let (name, help) = help.trim_start_matches("# HELP ").split_once(' ').expect("a name and words");
        let kind = kind.rsplit(' ').next().expect("a kind");
        metrics.push_str(&format!("| `{name}` | {kind} | {help} |\n"));
    }
    let mut expected = found.clone();
    for (name, table) in [("limits", limits), ("metrics", metrics)] {
        let begins = format!("<!-- {name} -->");
        let from = expected.find(&begins).expect("the table's place is marked") + begins.len();
        let to = from + expected[from..].find("<!-- end -->").expect("and its end");
        expected.replace_range(from..to, &table);
    }
    if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        return fs::write(&path, expected).unwrap();
    }
    assert!(found == expected, "`BLESS=1 cargo test -p selvedge --test service` writes the tables");
}

#[test]
fn the_configuration_that_ships_is_sound() {
    let path = root().join("packaging/broker.toml");
    let service = service::load(&path).unwrap_or_else(|error| panic!("{error}"));
    assert!(service.metrics.is_some());
    let names: Vec<&str> = LIMITS.iter().map(|limit| limit.key).collect();
    assert_eq!(names.iter().collect::<std::collections::BTreeSet<_>>().len(), names.len());
}

/// The units, with our own executable and configuration in them.
fn units(folder: &Path) -> PathBuf {
    for unit in ["selvedge-broker.service", "selvedge-broker.socket"] {
        let text = fs::read_to_string(root().join("packaging/systemd").join(unit)).unwrap();
        fs::write(folder.join(unit), text.replace("/usr/bin/selvedge", SELVEDGE)).unwrap();
    }
    folder.join("selvedge-broker.service")
}

#[test]
fn systemd_finds_no_fault_with_the_units() {
    let folder = tempfile::tempdir().unwrap();
    let unit = units(folder.path());
    let analyze = |arguments: &[&str]| {
        let output = Command::new("systemd-analyze").args(arguments).arg(&unit).output();
        output.map(|output| {
            (
                output.status.success(),
                String::from_utf8_lossy(&output.stderr).into_owned(),
                String::from_utf8_lossy(&output.stdout).into_owned(),
            )
        })
    };
    let Ok((is_sound, said, _)) = analyze(&["verify", "--recursive-errors=no"]) else {
        return println!("skip: systemd-analyze: it is not installed");
    };
    assert!(is_sound && !said.contains("selvedge-broker"), "{said}");
    // Tenths: at most 2.0 of 10, where 10 is a service that may do all that root may.
    let (is_closed, said, report) = analyze(&["security", "--offline=true", "--threshold=20"]).unwrap();
    println!("{}", report.lines().next_back().unwrap_or_default());
    assert!(is_closed, "{said}{report}");
}

#[tokio::test]
async fn a_socket_that_systemd_passes_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("passed.sock");
    let path = folder.path().join("broker.toml");
    fs::write(&path, "").unwrap();
    let listen = format!("--listen={}", socket.display());
    let mut command = Command::new("systemd-socket-activate");
    command.args([&listen, SELVEDGE, "broker", "serve", "--config"]).arg(&path);
    let Some(broker) = Broker::spawn(&mut command) else {
        return println!("skip: systemd-socket-activate: it is not installed");
    };
    // A socket has its name before anybody listens on it.
    eventually("systemd listens", || broker.log().contains("Listening on"));
    assert!(!broker.log().contains("event=started"), "nobody has come");
    // It waits in the socket until the broker is there.
    let client = Client::connect(&socket).await.unwrap();
    client.info().await.unwrap();
    eventually("it is in the log", || broker.log().contains("event=started"));
    assert_eq!(broker.field("started", "socket"), "passed");
    broker.signal(Signal::TERM);
    broker.ends_well();
}
