//! What people see of a measurement server: over real sockets, of a whole deployment that runs, and in a browser.
//!
//! Owns who is answered what, and that the page shows what the server has. What a snapshot is, `collect`'s tests say.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const ECG: &str = include_str!("../../../deployments/ecg.toml");
const METRICS: &str = "metrics = \"127.0.0.1:0\"";
/// After so long something hangs, on any machine.
const HANGS: Duration = Duration::from_secs(600);
const LOOK: Duration = Duration::from_millis(50);

fn tree() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("this is the tree")
}

#[track_caller]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + HANGS;
    while !is_so() {
        assert!(Instant::now() < deadline, "waiting for {what} hangs");
        thread::sleep(LOOK);
    }
}

/// A process of ours in a folder of its own. It is killed when it is dropped, and what it started ends with it.
struct Scene {
    folder: tempfile::TempDir,
    process: Option<Child>,
}

impl Drop for Scene {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

impl Scene {
    /// The example, changed like this.
    fn new(change: impl FnOnce(String) -> String) -> Scene {
        let folder = tempfile::tempdir().expect("a folder");
        let recording = tree().join("data/ecg/ecg.csv").display().to_string();
        let text = change(ECG.replace("../data/ecg/ecg.csv", &recording));
        fs::write(folder.path().join("ecg.toml"), text).expect("it can be written");
        Scene { folder, process: None }
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
        command
            .args(words)
            .arg(self.folder.path().join("ecg.toml"))
            .arg("--out")
            .arg(self.out())
            .arg("--json");
        command.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    /// Before a run, which waits for a node that is to be ready, and not for a slow machine's compiler.
    fn build(&self, root: &str) {
        let built = self.command(&["node", "build", "--root", root]).output().expect("it starts");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        // What was compiled is in the cache.
        fs::remove_dir_all(self.out()).expect("it is there");
    }

    fn start(&mut self, words: &[&str]) {
        self.process = Some(self.command(words).spawn().expect("it starts"));
    }

    /// Waits for the line that says where the live page is, and leaves the others to be read.
    fn told(&mut self) -> String {
        let mut lines =
            BufReader::new(self.process.as_mut().expect("it runs").stderr.take().expect("it is piped"));
        let mut said = String::new();
        loop {
            let mut line = String::new();
            assert!(lines.read_line(&mut line).expect("it can be read") > 0, "it ended: {said}");
            if let Some(place) = line.strip_prefix("live page: ") {
                let place = place.trim_end().to_owned();
                // Nobody shall wait for a reader.
                thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
                return place;
            }
            said += &line;
        }
    }

    /// Where it says in its folder that it is, once it does.
    fn address(&self) -> String {
        let path = self.out().join("run/collect.metrics");
        wait_until("the address", || path.exists());
        fs::read_to_string(path).expect("it can be read").trim_end().to_owned()
    }

    fn signal(&self, signal: Signal) {
        let process = self.process.as_ref().expect("it runs");
        kill_process(Pid::from_child(process), signal).expect("it is there");
    }
}

/// What is answered: status line and headers, and the text.
fn ask(mut stream: impl Read + Write, request: &str) -> (String, String) {
    stream.write_all(request.as_bytes()).expect("it is read");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it is answered");
    let (head, body) =
        answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("a head and a body: {answer:?}"));
    (head.to_owned(), body.to_owned())
}

fn get(address: &str, path: &str) -> (String, String) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n");
    ask(TcpStream::connect(address).expect("it listens"), &request)
}

fn live(address: &str, query: &str) -> Value {
    let (head, body) = get(address, &format!("/live.json?{query}"));
    assert!(head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"), "{head}");
    serde_json::from_str(&body).expect("it is JSON")
}

#[test]
fn the_page_is_answered_to_who_asks_by_an_address_and_metrics_to_everybody() {
    let mut scene = Scene::new(|text| text);
    scene.start(&["collect", "serve"]);
    let told = scene.told();
    let address = scene.address();
    assert_eq!(told, format!("http://{address}/"));

    let (head, page) = get(&address, "/");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/html"), "{head}");
    for header in [
        "Content-Security-Policy: default-src 'none'; ",
        "Cache-Control: no-store",
        "Cross-Origin-Resource-Policy: same-origin",
    ] {
        assert!(head.contains(header), "{head}");
    }
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("</html>"));
    let shown = live(&address, "nodes=1,2,99&past=1");
    assert_eq!(shown["name"], "ecg");
    let nodes: Vec<_> = shown["nodes"].as_array().unwrap().iter().map(|node| &node["node"]).collect();
    assert_eq!(nodes, [1, 2, 3, 4]);
    assert_eq!((&shown["nodes"][0]["heard"], &shown["nodes"][0]["cell"]), (&false.into(), &"ward".into()));
    assert!(shown["past"].is_array() && shown["drawn"] == serde_json::json!({}), "{shown}");
    assert!(shown["disk"]["free_bytes"].as_u64().unwrap() > 0);

    // Another site's name was pointed here.
    let by = |host: &str, path: &str| {
        let request = format!("GET {path} HTTP/1.1\r\n{host}\r\n");
        ask(TcpStream::connect(&address).unwrap(), &request).0
    };
    for path in ["/", "/live.json"] {
        for host in ["Host: evil.example:80\r\n", "Host: 127.0.0.1.evil.example\r\n", ""] {
            assert!(by(host, path).starts_with("HTTP/1.1 421 "), "{host:?} {path}");
        }
        assert!(by("Host: localhost:1\r\n", path).starts_with("HTTP/1.1 200 OK"));
        // Another site's page, in a browser that says so.
        for site in ["cross-site", "same-site"] {
            let headers = format!("Host: localhost\r\nSec-Fetch-Site: {site}\r\n");
            assert!(by(&headers, path).starts_with("HTTP/1.1 403 "), "{site} {path}");
        }
        let own = "Host: localhost\r\nSec-Fetch-Site: same-origin\r\n";
        assert!(by(own, path).starts_with("HTTP/1.1 200 OK"));
    }
    assert!(by("Host: collect.example\r\n", "/metrics").starts_with("HTTP/1.1 200 OK"));
    assert!(get(&address, "/store").0.starts_with("HTTP/1.1 404"));
    assert!(get(&address, "/live.json?nodes=1;2").0.starts_with("HTTP/1.1 400"));
    // Who says nothing keeps nobody waiting for longer than it is waited for.
    let _silent: Vec<_> = (0..8).map(|_| TcpStream::connect(&address).unwrap()).collect();
    assert_eq!(live(&address, "")["name"], "ecg");

    // Any port will do, but a page that is open asks at the one of before. Somebody else may take it meanwhile: not each
    // time.
    let started_ms = live(&address, "")["started_ms"].clone();
    let mut told = told;
    let stays = (0..5).any(|_| {
        scene.signal(Signal::KILL);
        scene.process.take().unwrap().wait().unwrap();
        scene.start(&["collect", "serve"]);
        let before = std::mem::replace(&mut told, scene.told());
        told == before
    });
    assert!(stays, "{told}");
    // And sees that it asks another server.
    assert_ne!(live(&scene.address(), "")["started_ms"], started_ms);
    scene.signal(Signal::TERM);
    assert!(scene.process.take().unwrap().wait().unwrap().success());
}

#[test]
fn what_nodes_measure_is_not_shown_where_others_come_by_unless_it_is_said() {
    let others = METRICS.replace("127.0.0.1", "0.0.0.0");
    let local = |address: String| address.replace("0.0.0.0", "127.0.0.1");
    let mut scene = Scene::new(|text| text.replace(METRICS, &others));
    scene.start(&["collect", "serve"]);
    let address = local(scene.address());
    for path in ["/", "/live.json?nodes=1"] {
        let (head, words) = get(&address, path);
        assert!(head.starts_with("HTTP/1.1 403 ") && words.contains("`live = true`"), "{head}\n{words}");
    }
    assert!(get(&address, "/metrics").0.starts_with("HTTP/1.1 200 OK"));
    drop(scene);
    let mut scene = Scene::new(|text| text.replace(METRICS, &format!("{others}\nlive = true")));
    scene.start(&["collect", "serve"]);
    assert!(get(&local(scene.address()), "/").0.starts_with("HTTP/1.1 200 OK"));
    drop(scene);
    let mut scene = Scene::new(|text| text.replace(METRICS, &format!("{METRICS}\nlive = false")));
    scene.start(&["collect", "serve"]);
    assert!(get(&scene.address(), "/").0.starts_with("HTTP/1.1 403 "));
}

#[test]
fn over_a_socket_the_page_is_its_owners_alone() {
    let mut scene = Scene::new(|text| text.replace(METRICS, "metrics = \"./live.sock\""));
    scene.start(&["collect", "serve"]);
    let place = PathBuf::from(scene.address());
    assert_eq!(place, scene.folder.path().join("./live.sock"));
    assert_eq!(fs::metadata(&place).unwrap().permissions().mode() & 0o777, 0o600);
    let by = |host: &str, path: &str| {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        ask(UnixStream::connect(&place).unwrap(), &request).0
    };
    for path in ["/", "/live.json"] {
        assert!(by("localhost", path).starts_with("HTTP/1.1 200 OK"));
        // A browser asks here through a tunnel, at whose other end any name may have been pointed.
        assert!(by("evil.example:8080", path).starts_with("HTTP/1.1 421 "));
    }
    assert!(by("evil.example:8080", "/metrics").starts_with("HTTP/1.1 200 OK"));
}

/// Prometheus' own opinion of the text.
fn check_with_promtool(text: &str) {
    let tool = tree().join("target/tools/promtool");
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

/// What a browser has of a page after so many milliseconds of its own time: its document, and what it said. None where
/// there is no browser.
fn browse(folder: &Path, page: &str, ms: u32) -> Option<(String, String, PathBuf)> {
    let (profile, requests) = (folder.join("profile"), folder.join("requests.json"));
    let mut command = Command::new("chromium");
    command.args([
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
    ]);
    command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
    command.args(["--enable-logging=stderr", "--window-size=1440,3000", "--dump-dom"]);
    command.arg(format!("--virtual-time-budget={ms}")).arg(format!("--user-data-dir={}", profile.display()));
    command.arg(format!("--log-net-log={}", requests.display())).arg(page);
    let Ok(Output { status, stdout, stderr }) = command.output() else {
        println!("skip: the live page in a browser: found no chromium");
        return None;
    };
    let said = String::from_utf8_lossy(&stderr).into_owned();
    assert!(status.success(), "{said}");
    Some((String::from_utf8_lossy(&stdout).into_owned(), said, requests))
}

/// Where the pages of a browser asked for something: what asked, and for what.
fn asked_for(requests: &Path) -> Vec<(String, String)> {
    let log: Value = serde_json::from_str(&fs::read_to_string(requests).unwrap()).expect("it is JSON");
    let events = log["events"].as_array().expect("there are events").iter().map(|event| &event["params"]);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    events.filter_map(|event| Some((text(&event["initiator"])?, text(&event["url"])?))).collect()
}

/// What stands between these in the text, each time.
fn between<'a>(text: &'a str, from: &str, to: char) -> Vec<&'a str> {
    text.split(from).skip(1).filter_map(|rest| rest.split(to).next()).collect()
}

/// The lines that a page has drawn of nodes.
fn lines(document: &str) -> Vec<&str> {
    between(document, "class=\"series stroke-accent line\" d=\"", '"')
}

/// A page that complains, and asks elsewhere.
const BAD_PAGE: &str =
    "<img src='http://127.0.0.1:9/foreign.png'><script>console.error('complaint')</script>";

#[test]
fn of_a_deployment_that_runs_a_browser_and_prometheus_see_what_the_server_has() {
    if Command::new("avr-gcc").arg("--version").output().is_err() {
        return println!("skip: the live page of a run: found no avr-gcc");
    }
    // Longer than anybody looks at it.
    let endless = |text: String| {
        text.replace("\"120 s\"", "\"2 h\"").replace("zero = 1024", "zero = 1024\nrepeat = true")
    };
    let mut scene = Scene::new(endless);
    let root = tree().display().to_string();
    scene.build(&root);
    scene.start(&["run", "--root", &root]);
    let page = scene.told();
    let address = scene.address();
    wait_until("samples of all nodes", || {
        let shown = live(&address, "nodes=1,2,3,4");
        shown["drawn"].as_object().unwrap().len() == 4
    });
    // Nobody may have looked for so long, on a slow machine, that they were wiped meanwhile.
    let mut before = Value::Null;
    wait_until("samples of two nodes, and of no other", || {
        before = live(&address, "nodes=2,3");
        let nodes: Vec<_> = before["drawn"].as_object().unwrap().keys().collect();
        assert!(nodes.iter().all(|node| ["2", "3"].contains(&node.as_str())), "{nodes:?}");
        nodes.len() == 2
    });
    let drawn = &before["drawn"];
    assert_eq!((&drawn["2"]["unit"], &drawn["2"]["kind"]), (&"V".into(), &"code".into()));
    let columns = drawn["2"]["columns"].as_array().unwrap();
    assert!(
        columns.len() >= 2 * 90
            && columns.iter().all(|code| code.is_null() || code.as_f64().unwrap() < 1024.0)
    );
    assert_eq!(before["alarms"]["failed_frames"], 0);

    let least = before["stats"]["frames_stored"].as_f64().unwrap();
    let [frames, samples] = check_metrics(&address, least);
    let number = |text: &str| text.replace('\u{202f}', "").parse::<f64>().expect("a number");
    let mut found = None;
    // The time of the page is not that in which nodes send: it may have gone by before the next of a node's frames.
    wait_until("a page that draws all nodes", || {
        found = browse(scene.folder.path(), &page, 4000);
        found.as_ref().is_none_or(|(document, _, _)| {
            let lines = lines(document);
            let updates = number(between(document, "data-updates=\"", '"')[0]);
            updates >= 3.0 && lines.len() == 4 && lines.iter().all(|line| line.matches('L').count() >= 80)
        })
    });
    let Some((document, said, requests)) = found else { return };
    // The first two figures say how much there was in all.
    let in_all: Vec<f64> = between(&document, "<dd class=\"aside\">", '<')
        .into_iter()
        .filter_map(|words| words.strip_suffix(" in all").map(number))
        .collect();
    assert!(in_all[0] > frames && in_all[1] > samples, "{in_all:?} after {frames} and {samples}");
    assert!(lines(&document).iter().all(|line| line.starts_with('M')), "{document}");
    for words in ["ward / 4", "Silent nodes", "arrival to durable", "mV"] {
        assert!(document.contains(words), "{words}");
    }
    assert!(!said.contains("CONSOLE"), "{said}");
    let asked = asked_for(&requests);
    let (foreign, own): (Vec<_>, Vec<_>) = asked.iter().partition(|(_, url)| !url.starts_with(&page));
    assert!(foreign.iter().all(|(by, _)| !by.contains("127.0.0.1")), "{foreign:?}");
    assert!(own.iter().filter(|(_, url)| url.contains("/live.json?nodes=")).count() >= 3, "{asked:?}");

    check_that_a_bad_page_is_seen(scene.folder.path());
}

/// Frames and samples that a monitor is told of, while they grow.
fn check_metrics(address: &str, frames_min: f64) -> [f64; 2] {
    let (head, text) = get(address, "/metrics");
    assert!(head.contains("text/plain; version=0.0.4"), "{head}");
    check_with_promtool(&text);
    let of = |text: &str, name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("selvedge_collect_{name} ")));
        line.unwrap_or_else(|| panic!("there is a `{name}`:\n{text}")).parse::<f64>().unwrap()
    };
    assert_eq!(of(&text, "nodes_heard"), 4.0);
    let [frames, samples] = ["frames_stored_total", "samples_stored_total"].map(|name| of(&text, name));
    assert!(frames >= frames_min && samples >= 45.0 * frames);
    wait_until("more than that", || of(&get(address, "/metrics").1, "frames_stored_total") > frames);
    [frames, samples]
}

/// The same eyes see a page that is not like that.
fn check_that_a_bad_page_is_seen(folder: &Path) {
    let bad = folder.join("bad.html");
    fs::write(&bad, BAD_PAGE).unwrap();
    let bad = format!("file://{}", bad.display());
    let (_, said, requests) = browse(folder, &bad, 1000).expect("it was there before");
    assert!(said.contains("CONSOLE") && said.contains("complaint"), "{said}");
    assert!(asked_for(&requests).iter().any(|(_, url)| url.ends_with("/foreign.png")));
}
