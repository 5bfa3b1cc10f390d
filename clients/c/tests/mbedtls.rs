//! Mbed TLS with keys of the device: a server of its library and the one of its own tests, and OpenSSL's client, which checks.

#[path = "../../pkcs11/tests/broker_thread/mod.rs"]
mod broker_thread;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use broker::client::blocking::Client;
use broker::client::call::{KeyGenerate, KeyPublic};
use broker::template::{Algorithm, Template, Usages};
use broker_thread::{Running, built, has};
use tempfile::TempDir;

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");
const TOOLS: &str = "scripts/install.sh installs it";
/// Where `scripts/install.sh` puts the server of Mbed TLS's own tests.
const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools/ssl_server2");
/// What goes before a point on P-256 in a `SubjectPublicKeyInfo` (RFC 5480 section 2).
const P256: &[u8] =
    b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\0";
/// Keys to serve with, by a name.
const KEYS: [(&str, Algorithm); 3] =
    [("curve", Algorithm::P256), ("old", Algorithm::Rsa2048), ("long", Algorithm::Rsa3072)];

#[track_caller]
fn done(output: Output) -> String {
    let text = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{text}");
    text
}

/// A broker, and a folder with an authority.
struct Scene {
    running: Running,
    folder: TempDir,
    library: PathBuf,
}

impl Scene {
    /// One, if what it takes is installed.
    fn new() -> Option<Scene> {
        if !has("cc", TOOLS) || !has("openssl", TOOLS) {
            return None;
        }
        if !Path::new("/usr/include/mbedtls/pk_internal.h").exists() {
            println!("skip: Mbed TLS: no headers of 2.28: scripts/install.sh installs libmbedtls-dev");
            return None;
        }
        let library = built("libselvedge_c.so");
        let scene = Scene { running: Running::start(), folder: tempfile::tempdir().unwrap(), library };
        scene.run("openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=authority -days 2 -keyout ca.key -out ca.pem");
        Some(scene)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    #[track_caller]
    fn run(&self, line: &str) -> String {
        let words: Vec<&str> = line.split_whitespace().collect();
        done(Command::new(words[0]).args(&words[1..]).current_dir(self.folder.path()).output().unwrap())
    }

    /// Compiles sources of the folder above with Mbed TLS and the C library.
    fn compile(&self, sources: &[&str], options: &[&str], output: &str) {
        let mut compiler = Command::new("cc");
        compiler.args([
            "-std=c11",
            "-Wall",
            "-Wextra",
            "-Wpedantic",
            "-Werror",
            "-I",
            FOLDER,
            "-D_GNU_SOURCE",
        ]);
        compiler.args(options).args(sources.iter().map(|name| format!("{FOLDER}/{name}"))).arg(&self.library);
        compiler.args(["-lmbedtls", "-lmbedx509", "-lmbedcrypto", "-o"]).arg(self.at(output));
        done(compiler.output().unwrap());
    }

    /// Makes a key in the device, and a certificate of it, `NAME.pem`.
    fn certify(&self, name: &str, algorithm: Algorithm) {
        let template = Template::new(algorithm, Usages::SIGN);
        let template = Template { is_persistent: true, name: name.into(), ..template };
        let client = Client::new(&self.running.socket);
        let key = client.call(&KeyGenerate { template: &template }).unwrap();
        let public = client.call(&KeyPublic { key }).unwrap();
        if algorithm == Algorithm::P256 {
            fs::write(self.at("public.der"), [P256, &public].concat()).unwrap();
            self.run("openssl pkey -pubin -inform DER -in public.der -out public.pem");
        } else {
            fs::write(self.at("public.der"), public).unwrap();
            self.run("openssl rsa -RSAPublicKey_in -inform DER -in public.der -out public.pem");
        }
        let signed = "-force_pubkey public.pem -CA ca.pem -CAkey ca.key -subj /CN=localhost -days 2";
        self.run(&format!("openssl x509 -new {signed} -out {name}.pem"));
    }

    /// What OpenSSL's client says of the server, and the server of it: it goes on until that has closed.
    fn ask(&self, place: [&str; 2], request: &[u8]) -> Output {
        let mut client = Command::new("openssl");
        client
            .args(["s_client", "-verify_return_error", "-CAfile", "ca.pem", "-tls1_2", "-ign_eof"])
            .args(place);
        client
            .current_dir(self.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut client = client.spawn().unwrap();
        client.stdin.take().unwrap().write_all(request).unwrap();
        client.wait_with_output().unwrap()
    }
}

#[test]
fn a_server_of_mbed_tls_serves_with_keys_of_the_device() {
    let Some(scene) = Scene::new() else { return };
    scene.compile(&["mbedtls.c", "tests/tls_server.c"], &[], "server");
    for (name, algorithm) in KEYS {
        scene.certify(name, algorithm);
        let socket = format!("{name}.sock");
        let mut server = Command::new(scene.at("server"));
        server.current_dir(scene.folder.path()).env("SELVEDGE_BROKER", &scene.running.socket);
        server.env("LD_LIBRARY_PATH", scene.library.parent().unwrap());
        let server = server.args([&socket, name, &format!("{name}.pem")]);
        let mut server = server.stderr(Stdio::piped()).spawn().unwrap();
        while !scene.at(&socket).exists() && server.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        let said = scene.ask(["-unix", &socket], b"");
        let served = server.wait_with_output().unwrap();
        assert!(served.status.success(), "{name}: {}", String::from_utf8_lossy(&served.stderr));
        let said = done(said);
        assert!(said.contains("Verify return code: 0 (ok)"), "{said}");
        assert!(said.contains("served with a key of the device"), "{said}");
    }
}

/// The server of Mbed TLS's tests, which nobody here has changed, on an address of this process's own.
struct Server {
    tracer: Child,
    number: String,
}

impl Server {
    const PORT: u16 = 4433;

    fn address() -> [u8; 4] {
        let [_, high, middle, low] = std::process::id().to_be_bytes();
        [127, high, middle, low]
    }

    /// Starts it with a key file and the library that knows such files, and waits until it listens.
    fn start(scene: &Scene, certificate: &str, key: &str) -> Server {
        let mut tracer = Command::new("strace");
        // The shell says which process is to end, and becomes the server.
        tracer.args(["-f", "-e", "trace=open,openat,connect", "-o", "trace", "sh", "-c"]);
        tracer.args(["echo $$ >number; LD_PRELOAD=$PWD/libselvedge_mbedtls.so exec \"$@\"", "sh", SERVER]);
        let [_, high, middle, low] = Server::address();
        tracer
            .arg(format!("server_addr=127.{high}.{middle}.{low}"))
            .arg(format!("server_port={}", Server::PORT));
        tracer.arg(format!("crt_file={certificate}")).arg(format!("key_file={key}"));
        tracer.current_dir(scene.folder.path()).env("SELVEDGE_BROKER", &scene.running.socket);
        tracer.env("LD_LIBRARY_PATH", scene.library.parent().unwrap()).stdin(Stdio::null());
        let log = fs::File::create(scene.at("log")).unwrap();
        let mut tracer = tracer.stderr(log.try_clone().unwrap()).stdout(log).spawn().unwrap();
        while !Server::listens() {
            let ended = tracer.try_wait().unwrap();
            assert!(ended.is_none(), "{}", fs::read_to_string(scene.at("log")).unwrap());
            std::thread::yield_now();
        }
        Server { tracer, number: fs::read_to_string(scene.at("number")).unwrap().trim().to_owned() }
    }

    /// Whether somebody listens there (`TCP_LISTEN` is 10).
    fn listens() -> bool {
        let address = u32::from_le_bytes(Server::address());
        let line = format!(" {address:08X}:{:04X} 00000000:0000 0A ", Server::PORT);
        fs::read_to_string("/proc/net/tcp").unwrap().contains(&line)
    }
}

impl Drop for Server {
    /// It ends when it is asked to, and who traces it then.
    fn drop(&mut self) {
        let asked = Command::new("kill").arg(&self.number).status();
        assert!(asked.is_ok_and(|status| status.success()) || std::thread::panicking());
        let _ = self.tracer.wait();
    }
}

/// A file that names a key: the URI is DER's UTF8String in base64.
fn key_file(scene: &Scene, name: &str) {
    let uri = format!("selvedge:{name}");
    fs::write(scene.at("uri.der"), [&[0x0c, uri.len() as u8], uri.as_bytes()].concat()).unwrap();
    let base64 = scene.run("openssl base64 -in uri.der");
    let file = format!("-----BEGIN SELVEDGE KEY URI-----\n{base64}-----END SELVEDGE KEY URI-----\n");
    fs::write(scene.at(&format!("{name}.key")), file).unwrap();
}

#[test]
fn mbed_tls_own_server_serves_with_a_file_that_names_a_key_and_reads_no_other() {
    if !Path::new(SERVER).exists() {
        return println!("skip: ssl_server2 of Mbed TLS: scripts/install.sh has not brought it");
    }
    let Some(scene) = Scene::new().filter(|_| has("strace", TOOLS)) else { return };
    let library = ["-shared", "-fPIC"];
    scene.compile(&["mbedtls.c", "mbedtls_file.c"], &library, "libselvedge_mbedtls.so");
    let [_, high, middle, low] = Server::address();
    let place = format!("127.{high}.{middle}.{low}:{}", Server::PORT);
    let talk = || done(scene.ask(["-connect", &place], b"GET / HTTP/1.0\r\n\r\n"));
    for (name, algorithm) in KEYS {
        scene.certify(name, algorithm);
        key_file(&scene, name);
        let server = Server::start(&scene, &format!("{name}.pem"), &format!("{name}.key"));
        let said = talk();
        drop(server);
        assert!(said.contains("Verify return code: 0 (ok)"), "{said}");
        assert!(said.contains("mbed TLS Test Server") && said.contains("TLSv1.2"), "{said}");
        let trace = fs::read_to_string(scene.at("trace")).unwrap();
        assert!(
            trace.contains(&format!("{}", scene.running.socket.display())),
            "it asked the broker: {trace}"
        );
        let mut read: Vec<&str> = trace.lines().filter(|line| line.contains("open")).collect();
        read.retain(|line| [".pem", ".key", ".der", ".crt"].iter().any(|end| line.contains(end)));
        assert_eq!(read.len(), 2, "{read:?}");
        assert!(read[0].contains(&format!("\"{name}.pem\"")), "{read:?}");
        assert!(read[1].contains(&format!("\"{name}.key\"")), "{read:?}");
        let read = ["pem", "key"].map(|end| fs::read_to_string(scene.at(&format!("{name}.{end}"))).unwrap());
        assert!(!read.concat().contains("PRIVATE"), "{read:?}");
    }
    // Files of keys are read as ever, and one that names no key of the device is none.
    scene.run("openssl req -new -newkey rsa:2048 -nodes -subj /CN=localhost -keyout file.key -out file.req");
    scene
        .run("openssl x509 -req -in file.req -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out file.pem");
    let server = Server::start(&scene, "file.pem", "file.key");
    assert!(talk().contains("Verify return code: 0 (ok)"));
    drop(server);
    key_file(&scene, "nobody");
    let mut nobody = Command::new(SERVER);
    nobody.args(["crt_file=curve.pem", "key_file=nobody.key"]).current_dir(scene.folder.path());
    nobody
        .env("LD_LIBRARY_PATH", scene.library.parent().unwrap())
        .env("SELVEDGE_BROKER", &scene.running.socket);
    let refused = nobody.env("LD_PRELOAD", scene.at("libselvedge_mbedtls.so")).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stdout).into_owned();
    assert!(said.contains("parse_keyfile returned -0x3880"), "{said}");
}
