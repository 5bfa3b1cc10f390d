//! A computer under a legacy suite beside the nodes of a deployment: what a server takes of it over UDP is marked wherever it
//! is shown. What is stored, and what is not, is `collect`'s tests' business.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use cipher::{Aead, Suite};
use collect::batch::{Answer, BatchId, Entry, HEADER_BYTES, NONCE_BYTES, Receipt, entries_to_bytes};
use collect::client::udp::Link;
use collect::frame::{self, Header, Samples};
use collect::limits::RESEND_MS;
use collect::waveform::{Format, Kind, Waveform};
use rustix::process::{Pid, Signal, kill_process};
use selvedge::link::deployment;
use selvedge::link::keys::Keys;
use serde_json::Value;

const ECG: &str = include_str!("../../../deployments/ecg.toml");
const COMPUTER: u32 = 9;
const CELL: u16 = 7;

/// A deployment in a folder of its own, and its server.
struct Scene {
    folder: tempfile::TempDir,
    server: Child,
    /// Where the live page is.
    page: String,
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn selvedge(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
    command.args(words).arg(folder.join("ecg.toml")).arg("--out").arg(folder.join("out")).arg("--json");
    command
}

impl Scene {
    fn start() -> Scene {
        let folder = tempfile::tempdir().expect("a folder");
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/ecg/ecg.csv").canonicalize();
        let data = data.expect("it is there").display().to_string();
        let text = ECG.replace("../data/ecg/ecg.csv", &data);
        let text = text.replace("[collect]\n", "[collect]\ntransport = \"udp\"\nallow_legacy = true\n");
        let computer = "\n[[cell.ward.computer]]\nid = 9\nrate = \"1 kHz\"\nsuite = \"aes-128-cbc\"\n";
        fs::write(folder.path().join("ecg.toml"), text + computer).expect("it can be written");
        let mut command = selvedge(folder.path(), &["collect", "serve"]);
        let mut server = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut lines = BufReader::new(server.stderr.take().expect("it is piped"));
        let mut said = String::new();
        let page = loop {
            let mut line = String::new();
            assert!(lines.read_line(&mut line).expect("it can be read") > 0, "it ended: {said}");
            if let Some(place) = line.strip_prefix("live page: http://") {
                break place.trim_end().trim_end_matches('/').to_owned();
            }
            said += &line;
        };
        Scene { folder, server, page }
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    fn told(&self, words: &[&str]) -> Vec<Value> {
        let output = selvedge(self.folder.path(), words).output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        lines(&output.stdout)
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.page).expect("it listens");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.page)
            .expect("it reads");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("it answers");
        text
    }

    /// Waits for where the server listens.
    fn address(&self) -> SocketAddr {
        let path = self.out().join("run/collect.address");
        loop {
            if let Ok(text) = fs::read_to_string(&path) {
                return text.trim_end().parse().expect("it is an address");
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

fn lines(text: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(text).expect("it is text");
    text.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect()
}

/// The frames that the computer seals under the key of an epoch; the second is changed on its way.
fn frames(keys: &Keys, epoch: u8) -> Vec<Vec<u8>> {
    let key = keys.node(COMPUTER).expect("it has a key").traffic_key(COMPUTER, epoch, Suite::Aes128Cbc);
    let frame = |counter: u32| {
        let format = Format { kind: Kind::F64, is_big_endian: false };
        let values = (0..500).flat_map(|sample| f64::from(counter * 500 + sample).to_le_bytes());
        let waveform = Waveform::new(format, values.collect()).expect("whole samples");
        let samples = Samples { first: u64::from(counter) * 500, channel: 3, waveform };
        let header = Header { suite: Suite::Aes128Cbc, node: COMPUTER, epoch, counter };
        frame::seal(&key, &header, &samples.to_bytes())
    };
    let mut frames = vec![frame(0), frame(1)];
    frames[1][2000] ^= 1;
    frames
}

/// Sends them as one batch of the cell; the receipt.
fn send(keys: &Keys, server: SocketAddr, frames: &[Vec<u8>]) -> Receipt {
    let id = BatchId { cell: CELL, spool: 0x9999, number: 0 };
    let entry = |frame| Entry { superframe: 0, slot: 0, received_ps: 0, frame };
    let entries: Vec<Entry<'_>> = frames.iter().map(|frame| entry(frame.as_slice())).collect();
    let nonce = [7; NONCE_BYTES];
    let mut body = [&id.header()[..], &nonce, &entries_to_bytes(&entries)].concat();
    let cell = keys.cell(CELL).expect("it has a key");
    let aead = |key: cipher::Key<32>| Aead::new(Suite::Aes256Gcm, key.expose());
    aead(cell.batch_key(CELL)).seal_tail(&nonce, &id.header(), &mut body, HEADER_BYTES + NONCE_BYTES);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("it starts");
    let answer = runtime.block_on(async {
        let mut link = Link::open(server, RESEND_MS).await.expect("it is there");
        link.send(&id, &body[HEADER_BYTES..], frames.len()).await.expect("it is sent");
        link.next().await.expect("it is answered")
    });
    let Answer::Receipt { mut sealed, .. } = answer else { panic!("found {answer:?}") };
    let (nonce, sealed) = sealed.split_at_mut(NONCE_BYTES);
    let opened = aead(cell.receipt_key(CELL)).open_tail(nonce, &id.answer_header(), sealed);
    Receipt::parse(opened.expect("it is the server's")).expect("it is a receipt")
}

#[test]
fn what_a_computer_sends_without_a_tag_is_marked_wherever_it_is_shown() {
    let mut scene = Scene::start();
    let deployment = deployment::load(&scene.folder.path().join("ecg.toml")).expect("it is sound");
    let keys = Keys::of(&deployment, &scene.out()).expect("the server made them");
    let epoch = keys.take_epoch(COMPUTER).expect("there is one");
    let receipt = send(&keys, scene.address(), &frames(&keys, epoch));
    assert_eq!((receipt.stored, receipt.failed.len(), receipt.downlinks.len()), (2, 0, 0), "{receipt:?}");

    let records = scene.told(&["collect", "read"]);
    assert_eq!(records.len(), 2);
    assert!(
        records.iter().all(|record| record["authenticated"] == false && record["suite"] == "aes-128-cbc")
    );
    let is_sound = |record: &Value| {
        let samples = record["samples"].as_array().expect("samples").iter().map(|sample| sample.as_f64());
        samples
            .eq((0..500).map(|sample| Some(record["first"].as_f64().expect("a number") + f64::from(sample))))
    };
    assert_eq!(records.iter().map(is_sound).collect::<Vec<_>>(), [true, false]);
    let file = scene.folder.path().join("ward.csv").display().to_string();
    scene.told(&["collect", "read", "--export", &file]);
    assert!(fs::read_to_string(&file).expect("it was written").contains("ward/9/3/f64/unauthenticated"));

    let metric = "\nselvedge_collect_frames_unauthenticated_total 2\n";
    assert!(scene.get("/metrics").contains(metric));
    let seen = scene.get("/live.json?nodes=9");
    let seen: Value =
        serde_json::from_str(seen.split_once("\r\n\r\n").expect("it has a body").1).expect("JSON");
    for node in seen["nodes"].as_array().expect("nodes") {
        assert_eq!(node["is_authenticated"], node["node"] != COMPUTER, "{node}");
    }
    let listed = scene.told(&["collect", "keys", "list"]);
    let of =
        |node: u32| &listed.iter().find(|line| line["node"] == node).expect("it is listed")["authenticated"];
    assert!(of(COMPUTER) == false && of(1) == true);

    kill_process(Pid::from_child(&scene.server), Signal::INT).expect("it runs");
    let mut rows = Vec::new();
    scene.server.stdout.take().expect("it is piped").read_to_end(&mut rows).expect("it ends");
    let rows = lines(&rows);
    let row = rows.iter().find(|row| row["metric"] == "frames stored, not authenticated");
    assert_eq!(row.expect("it is a row")["value"], 2);
}
