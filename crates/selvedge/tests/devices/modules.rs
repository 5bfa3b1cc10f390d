//! A PKCS#11 module as the broker's device: SoftHSM, Kryoptic, and a TPM that is started anew.
//!
//! Each token is made for its test, and what it signs is checked by another library (ring) and by the module's own verify
//! where it has one.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use broker::engine::keys::{Algorithm, Template, Usages};
use broker::wire::{KeyHandle, Operation, Pdu, Status};
use sha2::{Digest, Sha256};

use super::{Asker, HANGS, Scene, count};

const PIN: &str = "271828";
const TOKEN: &str = "selvedge test";
const TPM2_PKCS11: &str = "/usr/lib/x86_64-linux-gnu/pkcs11/libtpm2_pkcs11.so";

/// Whether what a test needs is there; says why it is skipped if not.
fn is_there(test: &str, module: &str, programs: &[&str]) -> bool {
    let missing = programs.iter().find(|program| Command::new(program).arg("--help").output().is_err());
    if let Some(program) = missing {
        println!("skip: {test}: found no {program}");
    } else if !Path::new(module).exists() {
        println!("skip: {test}: found no {module}");
    }
    missing.is_none() && Path::new(module).exists()
}

/// A module whose tokens are files.
struct Module {
    name: &'static str,
    library: &'static str,
    /// What says where its configuration is.
    variable: &'static str,
    /// That, for tokens in `FOLDER`.
    configuration: &'static str,
}

const SOFTHSM: Module = Module {
    name: "SoftHSM",
    library: "/usr/lib/softhsm/libsofthsm2.so",
    variable: "SOFTHSM2_CONF",
    configuration: "directories.tokendir = FOLDER\nlog.level = ERROR\n",
};
/// As `scripts/install.sh` builds it.
const KRYOPTIC: Module = Module {
    name: "Kryoptic",
    library: concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools/libkryoptic.so"),
    variable: "KRYOPTIC_CONF",
    configuration: "[[slots]]\nslot = 0\ndbtype = \"sqlite\"\ndbargs = \"FOLDER/token.sql\"\n",
};

impl Module {
    /// Whether it and some programs are there; says what is skipped if not.
    fn is_there(&self, test: &str, programs: &[&str]) -> bool {
        let programs = [&["pkcs11-tool"], programs].concat();
        is_there(&format!("{test} of {}", self.name), self.library, &programs)
    }

    /// Makes a token. Answers where the module's configuration is, and the token's PIN.
    fn token(&self, scene: &Scene) -> (PathBuf, PathBuf) {
        let folder = scene.folder.path();
        let (config, pin) = (folder.join("module.conf"), folder.join("pin"));
        fs::create_dir(folder.join("tokens")).unwrap();
        let tokens = folder.join("tokens").display().to_string();
        fs::write(&config, self.configuration.replace("FOLDER", &tokens)).unwrap();
        fs::write(&pin, format!("{PIN}\n")).unwrap();
        fs::set_permissions(&pin, Permissions::from_mode(0o600)).unwrap();
        let as_officer =
            ["--login", "--login-type", "so", "--token-label", TOKEN, "--init-pin", "--new-pin", PIN];
        for arguments in [&["--slot-index", "0", "--init-token", "--label", TOKEN][..], &as_officer] {
            let mut tool = Command::new("pkcs11-tool");
            tool.args(["--module", self.library, "--so-pin", "31415926"]).args(arguments);
            let made = tool.env(self.variable, &config).output().unwrap();
            assert!(made.status.success(), "{}: {}", self.name, String::from_utf8_lossy(&made.stderr));
        }
        (config, pin)
    }
}

fn at(module: &str, pin: &Path) -> String {
    format!("pkcs11:{module},token={TOKEN},pin_file={}", pin.display())
}

impl Asker {
    fn ask(&mut self, operation: Operation, key: KeyHandle, parameters: &[u8], payload: &[u8]) -> Pdu {
        let id = self.send(operation, key, parameters, payload);
        let answer = self.answer();
        assert_eq!(answer.head().request, id);
        answer
    }

    fn get(&mut self, operation: Operation, key: KeyHandle, parameters: &[u8], payload: &[u8]) -> Vec<u8> {
        let answer = self.ask(operation, key, parameters, payload);
        assert_eq!(answer.status(), Ok(Status::Done), "{}", operation.name());
        answer.payload().to_vec()
    }

    fn refusal(&mut self, operation: Operation, key: KeyHandle, parameters: &[u8], payload: &[u8]) -> Status {
        self.ask(operation, key, parameters, payload).status().unwrap()
    }

    fn generate(&mut self, template: &Template) -> KeyHandle {
        let answer = self.ask(Operation::KeyGenerate, KeyHandle::NONE, &template.to_bytes(), &[]);
        assert_eq!(answer.status(), Ok(Status::Done), "{}", template.algorithm.name());
        answer.head().key
    }
}

fn template(algorithm: Algorithm, usages: Usages, name: &str) -> Template {
    Template { is_persistent: true, name: name.as_bytes().to_vec(), ..Template::new(algorithm, usages) }
}

/// Signs with a key of the token, and has another library check it.
fn check_p256(asker: &mut Asker, key: KeyHandle) {
    const ECDSA_SHA_256: [u8; 4] = [1, 2, 0, 0];
    let public = asker.get(Operation::KeyPublic, key, &[], &[]);
    let signature = asker.get(Operation::Sign, key, &ECDSA_SHA_256, b"what is signed");
    let theirs = ring::signature::UnparsedPublicKey::new(&ring::signature::ECDSA_P256_SHA256_FIXED, &public);
    theirs.verify(b"what is signed", &signature).expect("another library agrees");
    let parameters = [&ECDSA_SHA_256[..], &signature].concat();
    assert!(asker.get(Operation::Verify, key, &parameters, b"what is signed").is_empty());
    assert_eq!(asker.refusal(Operation::Verify, key, &parameters, b"something else"), Status::Rejected);
}

fn check_rsa(asker: &mut Asker, key: KeyHandle) {
    let public = asker.get(Operation::KeyPublic, key, &[], &[]);
    for (scheme, algorithm) in
        [(3, &ring::signature::RSA_PKCS1_2048_8192_SHA256), (4, &ring::signature::RSA_PSS_2048_8192_SHA256)]
    {
        let signature = asker.get(Operation::Sign, key, &[scheme, 2, 0, 0], b"what is signed");
        let theirs = ring::signature::UnparsedPublicKey::new(algorithm, &public);
        theirs.verify(b"what is signed", &signature).expect("another library agrees");
    }
    let digest = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, b"what is signed");
    let signature = asker.get(Operation::Sign, key, &[3, 0, 1, 0], digest.as_ref());
    let sha1 = &ring::signature::RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY;
    let theirs = ring::signature::UnparsedPublicKey::new(sha1, &public);
    theirs.verify(b"what is signed", &signature).expect("another library agrees");
    let refused = asker.refusal(Operation::Sign, key, &[3, 0, 0, 0], b"what is signed");
    assert_eq!(refused, Status::WrongParameters);
}

fn check_aes(asker: &mut Asker, key: KeyHandle) {
    let iv = [7; 16];
    let padded = [&[3, 0, 0, 0][..], &iv].concat();
    for length in [0, 1, 16, 1000, 65_536 - 16] {
        let plaintext = vec![length as u8; length];
        let ciphertext = asker.get(Operation::Encrypt, key, &padded, &plaintext);
        assert_eq!(ciphertext.len(), (length / 16 + 1) * 16);
        assert_eq!(asker.get(Operation::Decrypt, key, &padded, &ciphertext), plaintext);
    }
    let mut ciphertext = asker.get(Operation::Encrypt, key, &padded, &[1; 15]);
    ciphertext[15] ^= 0xFF;
    assert_eq!(asker.refusal(Operation::Decrypt, key, &padded, &ciphertext), Status::Rejected);
    let whole = [&[2, 0, 0, 0][..], &iv].concat();
    assert_eq!(asker.refusal(Operation::Encrypt, key, &whole, &[1; 15]), Status::WrongParameters);
}

fn check_gcm(asker: &mut Asker, key: KeyHandle) {
    let parameters = [&[1, 16, 12, 0][..], &[9; 12], b"associated"].concat();
    let sealed = asker.get(Operation::Seal, key, &parameters, b"plaintext");
    assert_eq!(sealed.len(), 9 + 16);
    assert_eq!(asker.get(Operation::Open, key, &parameters, &sealed), b"plaintext");
    for at in 0..sealed.len() {
        let mut broken = sealed.clone();
        broken[at] ^= 1;
        assert_eq!(asker.refusal(Operation::Open, key, &parameters, &broken), Status::Rejected);
    }
}

fn check_mac(asker: &mut Asker, key: KeyHandle) {
    let mac = asker.get(Operation::Mac, key, &[2], b"message");
    assert_eq!(mac.len(), 32);
    let verify = |mac: &[u8]| [&[2], mac].concat();
    assert!(asker.get(Operation::MacVerify, key, &verify(&mac), b"message").is_empty());
    assert!(asker.get(Operation::MacVerify, key, &verify(&mac[..8]), b"message").is_empty());
    assert_eq!(asker.refusal(Operation::MacVerify, key, &verify(&mac), b"messagf"), Status::Rejected);
    assert_eq!(
        asker.refusal(Operation::MacVerify, key, &verify(&mac[..7]), b"message"),
        Status::WrongParameters
    );
}

#[test]
fn a_token_is_shared_and_keeps_its_keys() {
    for module in [SOFTHSM, KRYOPTIC] {
        if module.is_there("a token", &[]) {
            shares_and_keeps(&module);
        }
    }
}

fn shares_and_keeps(module: &Module) {
    let mut scene = Scene::new();
    let (config, pin) = module.token(&scene);
    let device = at(module.library, &pin);
    let environment: [(&str, &Path); 1] = [(module.variable, &config)];
    scene.start("serve", &["--device", &device], &environment, "broker.sock");
    let mut asker = Asker::connect(&scene.run("broker.sock"));
    assert_eq!(asker.get(Operation::Echo, KeyHandle::NONE, &[], b"here"), b"here");
    assert_eq!(asker.get(Operation::Hash, KeyHandle::NONE, &[2], b"message"), Sha256::digest(b"message")[..]);
    let random = asker.get(Operation::Random, KeyHandle::NONE, &5000u32.to_le_bytes(), &[]);
    assert_eq!(random.len(), 5000);
    assert!(random.chunks(1000).all(|piece| piece.iter().any(|byte| *byte != 0)));
    let signs = Usages::SIGN.and(Usages::VERIFY);
    let p256 = asker.generate(&template(Algorithm::P256, signs, "p256"));
    let rsa = asker.generate(&template(Algorithm::Rsa2048, signs, "rsa"));
    let aes = asker.generate(&template(Algorithm::Aes256, Usages::ENCRYPT.and(Usages::DECRYPT), "aes"));
    let hmac = asker.generate(&template(Algorithm::Hmac, Usages::MAC.and(Usages::MAC_VERIFY), "hmac"));
    let seals = Template {
        is_caller_nonce: true,
        ..template(Algorithm::Aes128, Usages::SEAL.and(Usages::OPEN), "gcm")
    };
    let gcm = asker.generate(&seals);
    let session = asker.generate(&Template::new(Algorithm::Aes128, Usages::ENCRYPT));
    let all = |asker: &mut Asker| {
        check_p256(asker, p256);
        check_rsa(asker, rsa);
        check_aes(asker, aes);
        check_mac(asker, hmac);
        check_gcm(asker, gcm);
    };
    all(&mut asker);
    // What a module does not do, or not as it should be done, is refused by name.
    let device_nonce = template(Algorithm::Aes256, Usages::SEAL, "sealing");
    let refused = asker.refusal(Operation::KeyGenerate, KeyHandle::NONE, &device_nonce.to_bytes(), &[]);
    assert_eq!(refused, Status::UnknownOperation);
    assert_eq!(asker.refusal(Operation::KeyWrap, aes, &p256.0.to_le_bytes(), &[]), Status::UnknownOperation);
    assert_eq!(asker.refusal(Operation::Sign, aes, &[1, 2, 0, 0], b"m"), Status::WrongPurpose);
    let taken = template(Algorithm::P256, signs, "p256");
    assert_eq!(
        asker.refusal(Operation::KeyGenerate, KeyHandle::NONE, &taken.to_bytes(), &[]),
        Status::NameTaken
    );
    // Another opening of the token finds what was kept, and nothing else.
    let listed = asker.get(Operation::KeyList, KeyHandle::NONE, &[0; 8], &[]);
    assert_eq!(listed.len(), 8 * 6);
    let mac = asker.get(Operation::Mac, hmac, &[2], b"before");
    scene.stop();
    scene.start("serve", &["--device", &device], &environment, "broker.sock");
    let mut asker = Asker::connect(&scene.run("broker.sock"));
    assert_eq!(asker.get(Operation::KeyList, KeyHandle::NONE, &[0; 8], &[]).len(), 8 * 5);
    assert_eq!(asker.refusal(Operation::Encrypt, session, &[1, 0, 0, 0], &[0; 16]), Status::UnknownKey);
    assert_eq!(asker.get(Operation::Mac, hmac, &[2], b"before"), mac);
    let found = asker.ask(Operation::FindKey, KeyHandle::NONE, &[], b"rsa");
    assert_eq!((found.status(), found.head().key), (Ok(Status::Done), rsa));
    all(&mut asker);
    asker.get(Operation::KeyDestroy, rsa, &[], &[]);
    assert_eq!(asker.refusal(Operation::KeyPublic, rsa, &[], &[]), Status::UnknownKey);
    scene.stop();
    scene.start("serve", &["--device", &device], &environment, "broker.sock");
    let mut asker = Asker::connect(&scene.run("broker.sock"));
    assert_eq!(asker.get(Operation::KeyList, KeyHandle::NONE, &[0; 8], &[]).len(), 8 * 4);
    let said = scene.stop();
    assert_eq!(count(&said, "device losses"), 0, "{said}");
}

#[test]
fn a_token_that_is_not_there_or_not_to_be_opened_is_named() {
    // Each is waited for as long as a broker waits for its device.
    thread::scope(|scope| {
        for module in [SOFTHSM, KRYOPTIC] {
            if module.is_there("a token that is not there", &[]) {
                scope.spawn(move || names_its_faults(&module));
            }
        }
    });
}

fn names_its_faults(module: &Module) {
    let scene = Scene::new();
    let (config, pin) = module.token(&scene);
    let said = |device: &str| {
        let environment: [(&str, &Path); 1] = [(module.variable, &config)];
        let ended = scene.spawn("serve", &["--device", device], &environment).wait_with_output().unwrap();
        assert!(!ended.status.success());
        String::from_utf8(ended.stderr).unwrap()
    };
    let open = fs::canonicalize(&pin).unwrap();
    fs::set_permissions(&open, Permissions::from_mode(0o644)).unwrap();
    let words = said(&at(module.library, &pin));
    assert!(words.contains("with mode 644, expected 600") && !words.contains(PIN), "{words}");
    fs::set_permissions(&open, Permissions::from_mode(0o600)).unwrap();
    let words = said(&format!("pkcs11:{},token=another,pin_file={}", module.library, pin.display()));
    assert!(words.contains("found no token `another`"), "{words}");
    fs::write(&pin, "161803\n").unwrap();
    let words = said(&at(module.library, &pin));
    assert!(words.to_lowercase().contains("pin") && !words.contains("161803"), "{words}");
}

/// A TPM, and its resource manager on a bus of their own.
struct Tpm {
    folder: PathBuf,
    processes: Vec<Child>,
}

impl Tpm {
    fn start(folder: &Path) -> Tpm {
        let mut tpm = Tpm { folder: folder.to_owned(), processes: Vec::new() };
        let bus = folder.join("bus");
        let mut daemon = Command::new("dbus-daemon");
        daemon.args(["--session", "--nofork", "--nopidfile"]);
        daemon.arg(format!("--address=unix:path={}", bus.display()));
        tpm.spawn(&mut daemon, &bus);
        tpm.start_all();
        tpm
    }

    fn environment(&self) -> [(&'static str, PathBuf); 4] {
        let bus = format!("unix:path={}", self.folder.join("bus").display());
        [
            ("DBUS_SESSION_BUS_ADDRESS", bus.into()),
            ("TPM2_PKCS11_STORE", self.folder.join("store")),
            ("TPM2_PKCS11_TCTI", "tabrmd:bus_type=session".into()),
            ("TPM2TOOLS_TCTI", "tabrmd:bus_type=session".into()),
        ]
    }

    fn start_all(&mut self) {
        let socket = self.folder.join("tpm.sock");
        let control = self.folder.join("tpm.sock.ctrl");
        let at = |path: &Path| format!("type=unixio,path={}", path.display());
        let mut tpm = Command::new("swtpm");
        tpm.args(["socket", "--tpm2", "--flags", "not-need-init,startup-clear", "--tpmstate"]);
        tpm.arg(format!("dir={}", self.folder.join("state").display()));
        tpm.args(["--server", &at(&socket), "--ctrl", &at(&control)]);
        self.spawn(&mut tpm, &control);
        let mut manager = Command::new("tpm2-abrmd");
        manager.args(["--session", "--allow-root"]).arg(format!("--tcti=swtpm:path={}", socket.display()));
        self.spawn(&mut manager, &control);
        let until = Instant::now() + HANGS;
        while !self.ask_tpm() {
            assert!(Instant::now() < until, "the TPM does not start");
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn ask_tpm(&self) -> bool {
        let asked = Command::new("tpm2_getrandom").arg("4").envs(self.environment()).output();
        asked.unwrap().status.success()
    }

    fn spawn(&mut self, command: &mut Command, file: &Path) {
        command.envs(self.environment()).stdout(Stdio::null()).stderr(Stdio::null());
        self.processes.push(command.spawn().unwrap());
        let until = Instant::now() + HANGS;
        while !file.exists() {
            assert!(Instant::now() < until, "`{command:?}` does not start");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Kills the TPM and its manager; the bus stays, to which the module's D-Bus library connects once in a process.
    fn kill(&mut self) {
        self.kill_all_but(1);
    }

    fn kill_all_but(&mut self, first: usize) {
        for mut child in self.processes.drain(first..).rev() {
            // One that has ended is waited for all the same.
            let _ = child.kill();
            let _ = child.wait();
        }
        for name in ["tpm.sock", "tpm.sock.ctrl"] {
            let _ = fs::remove_file(self.folder.join(name));
        }
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let ran = Command::new(program).args(arguments).envs(self.environment()).output().unwrap();
        assert!(ran.status.success(), "{program}: {}", String::from_utf8_lossy(&ran.stderr));
    }
}

impl Drop for Tpm {
    fn drop(&mut self) {
        self.kill_all_but(0);
    }
}

#[test]
fn a_tpm_is_shared_and_found_again_when_it_was_killed() {
    let programs = ["swtpm", "tpm2-abrmd", "dbus-daemon", "tpm2_ptool", "tpm2_getrandom"];
    if !is_there("a TPM", TPM2_PKCS11, &programs) {
        return;
    }
    let mut scene = Scene::new();
    let folder = scene.folder.path().join("tpm");
    for name in ["state", "store"] {
        fs::create_dir_all(folder.join(name)).unwrap();
    }
    let mut tpm = Tpm::start(&folder);
    let store = folder.join("store").display().to_string();
    tpm.run("tpm2_ptool", &["init", "--path", &store]);
    let made =
        ["addtoken", "--pid=1", "--label", TOKEN, "--userpin", PIN, "--sopin", "31415926", "--path", &store];
    tpm.run("tpm2_ptool", &made);
    let pin = scene.folder.path().join("pin");
    fs::write(&pin, PIN).unwrap();
    fs::set_permissions(&pin, Permissions::from_mode(0o600)).unwrap();
    let environment = tpm.environment();
    let environment = environment.each_ref().map(|(name, value)| (*name, value.as_path()));
    scene.start("serve", &["--device", &at(TPM2_PKCS11, &pin)], &environment, "broker.sock");
    let mut asker = Asker::connect(&scene.run("broker.sock"));
    let key = asker.generate(&template(Algorithm::P256, Usages::SIGN.and(Usages::VERIFY), "p256"));
    check_p256(&mut asker, key);
    // The TPM has no GCM.
    let seals = Template { is_caller_nonce: true, ..Template::new(Algorithm::Aes128, Usages::SEAL) };
    let gcm = asker.ask(Operation::KeyGenerate, KeyHandle::NONE, &seals.to_bytes(), &[]);
    if gcm.status() == Ok(Status::Done) {
        let parameters = [&[1, 16, 12, 0][..], &[9; 12]].concat();
        let refused = asker.refusal(Operation::Seal, gcm.head().key, &parameters, b"plaintext");
        assert_eq!(refused, Status::UnknownOperation);
    }
    tpm.kill();
    let refused = asker.refusal(Operation::Sign, key, &[1, 2, 0, 0], b"what is signed");
    assert!(refused.may_repeat(), "{refused:?}");
    tpm.start_all();
    let until = Instant::now() + HANGS;
    loop {
        let answer = asker.ask(Operation::Sign, key, &[1, 2, 0, 0], b"what is signed");
        match answer.status().unwrap() {
            Status::Done => break,
            status => assert!(status.may_repeat() && Instant::now() < until, "{status:?}"),
        }
        thread::sleep(Duration::from_millis(50));
    }
    check_p256(&mut asker, key);
    let said = scene.stop();
    assert!(count(&said, "device losses") >= 1 && count(&said, "device openings") >= 2, "{said}");
}

#[test]
fn an_application_of_the_benchmark_asks_a_token_behind_p11_kit() {
    if !SOFTHSM.is_there("a token behind p11-kit", &["p11-kit"]) {
        return;
    }
    let mut scene = Scene::new();
    let (config, _) = SOFTHSM.token(&scene);
    let socket = scene.folder.path().join("p11-kit.sock");
    let server = Command::new("p11-kit")
        .args(["server", "--foreground", "--provider", SOFTHSM.library, "--name"])
        .arg(&socket)
        .arg(format!("pkcs11:token={}", TOKEN.replace(' ', "%20")))
        .env(SOFTHSM.variable, &config)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    scene.processes.push(server);
    let until = Instant::now() + HANGS;
    while UnixStream::connect(&socket).is_err() {
        assert!(Instant::now() < until, "p11-kit does not start");
        thread::sleep(Duration::from_millis(2));
    }
    for (work, payload_bytes) in
        [("sha256", "65536"), ("hmac-sha256", "64"), ("aes256-ecb", "1024"), ("ecdsa-p256", "32")]
    {
        let asked = Command::new(env!("CARGO_BIN_EXE_selvedge"))
            .args(["--json", "broker", "peer", "p11-kit", work])
            .arg(&socket)
            .args(["--payload-bytes", payload_bytes, "--warm-up-ms", "0", "--duration-ms", "50", "--gate"])
            .arg(&config)
            .output()
            .unwrap();
        assert!(asked.status.success(), "{work}: {}", String::from_utf8_lossy(&asked.stderr));
        let told: serde_json::Value = serde_json::from_slice(&asked.stdout).unwrap();
        assert!(told["answered"].as_u64() > Some(0), "{work}: {told}");
    }
}
