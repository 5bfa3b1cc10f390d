//! A broker and its device as processes, with each kind of wire between them that can be had without hardware: a
//! pseudo-terminal for a UART, TCP, and for SPI and I2C the drivers' ioctls, kept by `devices/shim.c` in the broker's
//! process.
//!
//! Owns the processes and the questions; what each wire must show is its test's.

#[path = "devices/modules.rs"]
mod modules;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use broker::device::tcp::DEVICE_NAME;
use broker::stream::{Decoder, Framing};
use broker::wire::{Head, KeyHandle, Operation, Pdu, Status};
use rustix::process::{Pid, Signal, kill_process};
use selvedge::link::certificates::Identity;
use selvedge::link::deployment;
use selvedge::link::keys::Keys;
use sha2::{Digest, Sha256};
use spidev::{Spidev, SpidevTransfer};
use tempfile::TempDir;

/// After so long something hangs, on any machine.
const HANGS: Duration = Duration::from_secs(120);
const SPI_FILE: &str = "/dev/spidev7.3";
const I2C_FILE: &str = "/dev/i2c-7";

/// A folder of a run, and processes that work in it.
struct Scene {
    folder: TempDir,
    processes: Vec<Child>,
}

impl Scene {
    fn new() -> Scene {
        Scene { folder: tempfile::tempdir().unwrap(), processes: Vec::new() }
    }

    fn run(&self, name: &str) -> PathBuf {
        self.folder.path().join("out/run").join(name)
    }

    fn spawn(&self, verb: &str, flags: &[&str], environment: &[(&str, &Path)]) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
        command.args(["broker", verb]).arg(deployment()).arg("--out").arg(self.folder.path().join("out"));
        command.args(flags).envs(environment.iter().copied()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Starts `selvedge broker VERB`, and waits until `file` of the run's folder is there and, if it is a socket, somebody
    /// listens on it.
    fn start(&mut self, verb: &str, flags: &[&str], environment: &[(&str, &Path)], file: &str) {
        let child = self.spawn(verb, flags, environment);
        self.processes.push(child);
        let (file, until) = (self.run(file), Instant::now() + HANGS);
        let is_socket = file.extension().is_some_and(|extension| extension == "sock");
        while !(if is_socket { listens(&file) } else { fs::symlink_metadata(&file).is_ok() }) {
            let ended = self.processes.last_mut().unwrap().try_wait().unwrap();
            assert!(ended.is_none() && Instant::now() < until, "`broker {verb}` does not start: {ended:?}");
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Starts `selvedge broker device` on TCP, and says where.
    fn start_on_tcp(&mut self, place: &str) -> String {
        let mut child = self.spawn("device", &["--tcp", place], &[]);
        let (mut line, mut byte) = (Vec::new(), [0]);
        let stdout = child.stdout.as_mut().unwrap();
        while stdout.read(&mut byte).unwrap() == 1 && byte[0] != b'\n' {
            line.push(byte[0]);
        }
        self.processes.push(child);
        String::from_utf8(line).unwrap()
    }

    /// Ends the youngest process, and gives what it said.
    fn stop(&mut self) -> String {
        let mut child = self.processes.pop().expect("it was started");
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        let mut said = String::new();
        child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        let status = child.wait().unwrap();
        assert!(status.success(), "{status}: {said}");
        said
    }

    fn kill(&mut self) {
        let mut child = self.processes.pop().expect("it was started");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        for child in &mut self.processes {
            // One that has ended is waited for all the same.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A socket has its name before anybody listens on it: `__SO_ACCEPTCON` of its flags says it.
fn listens(socket: &Path) -> bool {
    let sockets = fs::read_to_string("/proc/net/unix").unwrap();
    let path = socket.display().to_string();
    sockets.lines().any(|line| line.ends_with(&path) && line.split_whitespace().nth(3) == Some("00010000"))
}

fn deployment() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deployments/ecg.toml")
}

/// What a row of a process's table says.
fn count(said: &str, metric: &str) -> u64 {
    let line = said.lines().find(|line| line.contains(metric)).unwrap_or_else(|| panic!("{metric}: {said}"));
    let is_number = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit() || byte == b',');
    let word =
        line.split(|c: char| c.is_whitespace() || c == '│').filter(|word| !word.is_empty()).find(is_number);
    word.unwrap_or_else(|| panic!("{line}")).replace(',', "").parse().unwrap()
}

/// An application's connection.
struct Asker {
    stream: UnixStream,
    decoder: Decoder,
    asked: u32,
}

impl Asker {
    fn connect(socket: &Path) -> Asker {
        let until = Instant::now() + HANGS;
        let stream = loop {
            match UnixStream::connect(socket) {
                Ok(stream) => break stream,
                Err(error) => assert!(Instant::now() < until, "{error}"),
            }
        };
        stream.set_read_timeout(Some(HANGS)).unwrap();
        Asker { stream, decoder: Decoder::new(Framing::Plain), asked: 0 }
    }

    fn send(&mut self, operation: Operation, key: KeyHandle, parameters: &[u8], payload: &[u8]) -> u32 {
        self.asked += 1;
        let head = Head::request(operation, self.asked, key);
        self.stream.write_all(Pdu::new(head, parameters, payload).unwrap().bytes()).unwrap();
        self.asked
    }

    fn answer(&mut self) -> Pdu {
        let mut buffer = [0; 4096];
        loop {
            let read_bytes = self.stream.read(&mut buffer).unwrap();
            assert!(read_bytes > 0, "the broker hung up");
            let mut input = &buffer[..read_bytes];
            let answer = self.decoder.next(&mut input).unwrap();
            assert!(answer.is_none() || input.is_empty(), "an answer at a time");
            if let Some(answer) = answer {
                return answer;
            }
        }
    }

    /// Asks until it is done, however often the device is lost meanwhile.
    fn done(&mut self, operation: Operation, parameters: &[u8], payload: &[u8]) -> Pdu {
        loop {
            let id = self.send(operation, KeyHandle::NONE, parameters, payload);
            let answer = self.answer();
            assert_eq!(answer.head().request, id);
            match answer.status().unwrap() {
                Status::Done => return answer,
                status => assert!(status.may_repeat(), "{status:?}"),
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Several applications ask for what they can check.
fn converse(socket: &Path, applications: u8, payload_bytes: &[usize]) {
    /// `hash` by SHA-256, `engine/digest.rs`.
    const SHA_256: u8 = 2;
    let mut tasks = Vec::new();
    for number in 0..applications {
        let (socket, lengths) = (socket.to_owned(), payload_bytes.to_owned());
        tasks.push(thread::spawn(move || {
            let mut asker = Asker::connect(&socket);
            for (round, length) in lengths.into_iter().enumerate() {
                let payload: Vec<u8> = (0..length).map(|at| (at * 7 + round) as u8 ^ number).collect();
                assert_eq!(asker.done(Operation::Echo, &[], &payload).payload(), payload);
                let digest = asker.done(Operation::Hash, &[SHA_256], &payload);
                assert_eq!(digest.payload(), &Sha256::digest(&payload)[..]);
            }
        }));
    }
    tasks.into_iter().for_each(|task| task.join().unwrap());
}

#[test]
fn a_broker_shares_a_device_on_a_serial_line_that_is_pulled_out_and_put_back() {
    let mut scene = Scene::new();
    let flags = ["--preset", "uart-115200", "--pty"];
    scene.start("device", &flags, &[], "device.tty");
    let line = fs::read_link(scene.run("device.tty")).unwrap();
    let at = format!("uart:{},baud=115200", scene.run("device.tty").display());
    scene.start("serve", &["--device", &at], &[], "broker.sock");
    let socket = scene.run("broker.sock");
    converse(&socket, 3, &[0, 1, 200, 1500]);
    // Killed, it leaves its link behind.
    let broker = scene.processes.pop().unwrap();
    scene.kill();
    scene.start("device", &flags, &[], "device.tty");
    scene.processes.push(broker);
    converse(&socket, 2, &[64]);
    let said = scene.stop();
    assert_eq!((count(&said, "device openings"), count(&said, "device losses")), (2, 1), "{said}");
    let said = scene.stop();
    assert!(said.starts_with("/dev/pts/") && line.starts_with("/dev/pts"), "{said}");
    assert!(count(&said, "requests") >= 4);
}

#[test]
fn a_broker_and_its_device_know_each_other_over_tcp() {
    let mut scene = Scene::new();
    let address = scene.start_on_tcp("127.0.0.1:0");
    let at = format!("tcp:{address}");
    // Who says nothing keeps nobody out.
    let silent: Vec<TcpStream> = (0..4).map(|_| TcpStream::connect(&address).unwrap()).collect();
    scene.start("serve", &["--device", &at], &[], "broker.sock");
    let socket = scene.run("broker.sock");
    converse(&socket, 3, &[0, 1, 300, 5000, 65_000]);
    drop(silent);
    let broker = scene.processes.pop().unwrap();
    scene.kill();
    assert_eq!(scene.start_on_tcp(&address), address);
    scene.processes.push(broker);
    converse(&socket, 2, &[64]);
    let said = scene.stop();
    assert_eq!((count(&said, "device openings"), count(&said, "device losses")), (2, 1), "{said}");
    assert!(count(&scene.stop(), "requests") >= 4);
}

#[test]
fn a_device_on_tcp_answers_its_broker_and_nobody_else() {
    let mut scene = Scene::new();
    let address = scene.start_on_tcp("127.0.0.1:0");
    let out = scene.folder.path().join("out");
    let keys = Keys::of(&deployment::load(&self::deployment()).unwrap(), &out).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let other = Keys::of(&deployment::load(&self::deployment()).unwrap(), elsewhere.path()).unwrap();
    let question = Pdu::empty(Head::request(Operation::Info, 0, KeyHandle::NONE));
    let mut wire = question.bytes().to_vec();
    wire.extend(crc32c::crc32c(question.bytes()).to_le_bytes());
    let answered = |identity: &Identity| {
        let shown = collect::tls::Identity {
            certificates_pem: &identity.certificate,
            private_key_pem: &identity.key,
            peer_authority_pem: &identity.authority,
        };
        let name = DEVICE_NAME.try_into().unwrap();
        let session = rustls::ClientConnection::new(shown.client().unwrap(), name).unwrap();
        let mut stream = rustls::StreamOwned::new(session, TcpStream::connect(&address).unwrap());
        let mut answer = [0; 40];
        stream.write_all(&wire).and_then(|()| stream.read_exact(&mut answer))
    };
    answered(&keys.certificates().broker().unwrap()).expect("the broker is answered");
    for (who, identity) in [
        ("a bridge", keys.certificates().bridge(7).unwrap()),
        ("a device", keys.certificates().device().unwrap()),
        (
            "a stranger",
            Identity {
                authority: keys.certificates().broker().unwrap().authority,
                ..other.certificates().broker().unwrap()
            },
        ),
    ] {
        assert!(answered(&identity).is_err(), "{who} is answered");
    }
    let mut plain = TcpStream::connect(&address).unwrap();
    plain.set_read_timeout(Some(HANGS)).unwrap();
    plain.write_all(&wire).unwrap();
    let mut said = Vec::new();
    // An alert, or nothing, but no answer.
    let _ = plain.read_to_end(&mut said);
    assert!(said.len() < 40, "{said:?}");
}

#[test]
fn a_broker_says_why_it_does_not_believe_a_device() {
    let mut scene = Scene::new();
    let address = scene.start_on_tcp("127.0.0.1:0");
    // A broker of another deployment.
    let other = Scene::new();
    let ended =
        other.spawn("serve", &["--device", &format!("tcp:{address}")], &[]).wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(!ended.status.success());
    assert!(said.contains(&format!("cannot open the device `{address} (invalid peer certificate")), "{said}");
}

#[test]
fn on_one_machine_tcp_may_be_plain() {
    let mut scene = Scene::new();
    let address = scene.start_on_tcp("127.0.0.1:0,tls=no");
    scene.start("serve", &["--device", &format!("tcp:{address},tls=no")], &[], "broker.sock");
    converse(&scene.run("broker.sock"), 2, &[0, 5000]);
    let said = scene.stop();
    assert_eq!((count(&said, "device openings"), count(&said, "device losses")), (1, 0), "{said}");
    let refused = scene.spawn("device", &["--tcp", "0.0.0.0:0,tls=no"], &[]).wait_with_output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("found address `0.0.0.0:0`, expected a loopback address"), "{said}");
}

/// The shim, or `None` after saying that `test` is skipped.
fn shim(test: &str, folder: &Path) -> Option<PathBuf> {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    if Command::new(&compiler).arg("--version").output().is_err() {
        println!("skip: {test}: found no C compiler");
        return None;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/devices/shim.c");
    let library = folder.join("shim.so");
    let mut compile = Command::new(compiler);
    compile.args(["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"]).arg(&library);
    assert!(compile.arg(source).args(["-ldl", "-lpthread"]).status().unwrap().success());
    Some(library)
}

/// The counts of the shim's log, by their names.
fn log(path: &Path) -> BTreeMap<String, u64> {
    let text = fs::read_to_string(path).unwrap();
    let words: Vec<&str> = text.split_whitespace().collect();
    words.chunks(2).map(|pair| (pair[0].to_owned(), pair[1].parse().unwrap())).collect()
}

/// A conversation over a bus whose driver is the shim; its counts, and what the broker said.
fn over_shim(
    test: &str,
    preset: &str,
    device: &str,
    settings: &[(&str, &str)],
) -> Option<(BTreeMap<String, u64>, String)> {
    let mut scene = Scene::new();
    let library = shim(test, scene.folder.path())?;
    let (log_path, socket) = (scene.folder.path().join("log"), scene.run("device.sock"));
    scene.start("device", &["--preset", preset], &[], "device.sock");
    let mut environment = vec![("LD_PRELOAD", &*library), ("BUS_LOG", &*log_path), ("BUS_SOCKET", &*socket)];
    environment.extend(settings.iter().map(|(name, value)| (*name, Path::new(value))));
    scene.start("serve", &["--device", device], &environment, "broker.sock");
    converse(&scene.run("broker.sock"), 4, &[0, 1, 300, 5000, 20_000]);
    let said = scene.stop();
    let device_said = scene.stop();
    let counts = log(&log_path);
    println!("{counts:?}\n{said}\n{device_said}");
    assert_eq!(count(&device_said, "transactions"), counts["messages"], "each message is a transaction");
    assert_eq!((counts["refused"], count(&said, "device losses")), (0, 0), "{counts:?}");
    Some((counts, said))
}

#[test]
fn a_broker_shares_a_device_on_spidev() {
    let device = format!("spi:{SPI_FILE},mode=1,hz=16000000");
    let settings = [("BUS_FILE", SPI_FILE)];
    let Some((counts, _)) = over_shim("a device on spidev", "spidev", &device, &settings) else { return };
    assert_eq!((counts["mode"], counts["speed_hz"]), (1, 16_000_000));
    assert!((1000..=4096).contains(&counts["longest"]), "{counts:?}");
}

#[test]
fn a_broker_sends_no_longer_messages_than_the_spidev_that_was_loaded_takes() {
    let device = format!("spi:{SPI_FILE}");
    let settings = [("BUS_FILE", SPI_FILE), ("BUS_BUFSIZ", "1024")];
    let Some((counts, _)) = over_shim("a smaller spidev", "spidev", &device, &settings) else { return };
    assert_eq!(counts["longest"], 1024, "{counts:?}");
}

#[test]
fn a_broker_shares_a_device_on_i2c_that_is_busy_and_slow_at_times() {
    let device = format!("i2c:{I2C_FILE},address=0x60");
    let settings =
        [("BUS_FILE", I2C_FILE), ("BUS_ADDRESS", "0x60"), ("BUS_NACK", "7"), ("BUS_STRETCH", "11")];
    // As fast as it goes: at 400 kHz the same takes minutes.
    let Some((counts, _)) = over_shim("a device on i2c-dev", "loopback", &device, &settings) else { return };
    assert!(counts["nacks"] > 0 && counts["nacks"] % 3 == 0 && counts["stretches"] > 0, "{counts:?}");
    assert!((500..=8192).contains(&counts["longest"]), "{counts:?}");
}

#[test]
fn a_broker_does_not_find_a_device_at_another_address() {
    let mut scene = Scene::new();
    let Some(library) = shim("no device on i2c-dev", scene.folder.path()) else { return };
    let socket = scene.run("device.sock");
    scene.start("device", &["--preset", "loopback"], &[], "device.sock");
    let environment: [(&str, &Path); 4] = [
        ("LD_PRELOAD", &library),
        ("BUS_SOCKET", &socket),
        ("BUS_FILE", Path::new(I2C_FILE)),
        ("BUS_ADDRESS", Path::new("0x60")),
    ];
    let device = format!("i2c:{I2C_FILE},address=0x61");
    let ended = scene.spawn("serve", &["--device", &device], &environment).wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(!ended.status.success());
    assert!(said.contains("cannot open the device `/dev/i2c-7, address 0x61`"), "{said}");
}

/// The shim is worth nothing if it lets through what the drivers do not.
#[test]
fn the_shim_keeps_the_drivers_limits() {
    let mut scene = Scene::new();
    let Some(library) = shim("the drivers' limits", scene.folder.path()) else { return };
    scene.start("device", &["--preset", "loopback"], &[], "device.sock");
    let test = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "messages_over_the_limit_are_refused", "--ignored"])
        .env("LD_PRELOAD", library)
        .env("BUS_SOCKET", scene.run("device.sock"))
        .env("BUS_FILE", SPI_FILE)
        .env("BUS_ADDRESS", "0x60")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&test.stdout);
    assert!(test.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
#[ignore = "it is started by `the_shim_keeps_the_drivers_limits`, with the shim"]
fn messages_over_the_limit_are_refused() {
    use i2cdev::core::{I2CMessage, I2CTransfer};
    use i2cdev::linux::{LinuxI2CBus, LinuxI2CMessage};
    let errno = |error: std::io::Error| error.raw_os_error();
    let spidev = Spidev::open(SPI_FILE).unwrap();
    let transfer = |bytes: usize| {
        let (there, mut back) = (vec![0; bytes], vec![1; bytes]);
        spidev.transfer(&mut SpidevTransfer::read_write(&there, &mut back)).map(|()| back)
    };
    assert!(transfer(4096).unwrap().iter().all(|byte| *byte == 0));
    assert_eq!(errno(transfer(4097).unwrap_err()), Some(rustix::io::Errno::MSGSIZE.raw_os_error()));
    drop(spidev);
    let mut bus = LinuxI2CBus::new(SPI_FILE).unwrap();
    let mut transfer = |bytes: usize, address: u16| {
        let (there, mut back) = (vec![0; bytes], vec![1; bytes]);
        let write = LinuxI2CMessage::write(&there).with_address(address);
        let read = LinuxI2CMessage::read(&mut back).with_address(address);
        bus.transfer(&mut [write, read]).map_err(|error| errno(error.into()))
    };
    assert_eq!(transfer(8192, 0x60), Ok(2));
    assert_eq!(transfer(8193, 0x60), Err(Some(rustix::io::Errno::INVAL.raw_os_error())));
    assert_eq!(transfer(1, 0x61), Err(Some(rustix::io::Errno::NXIO.raw_os_error())));
}
