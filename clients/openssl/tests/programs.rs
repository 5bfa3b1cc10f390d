//! The provider under `openssl`, before a broker with a software device.

#[path = "../../pkcs11/tests/broker_thread/mod.rs"]
mod broker_thread;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use broker::client::blocking::Client;
use broker::client::call::{KeyGenerate, KeyImport, KeyList};
use broker::template::{Algorithm, Template, Usages};
use broker::wire::KeyHandle;
use broker_thread::{Running, built, has};
use tempfile::TempDir;

const TOOLS: &str = "scripts/install.sh installs it";
const LIBRARY: &str = "libselvedge_openssl";

/// Which OpenSSL loads the provider.
#[derive(Clone, Copy, PartialEq)]
enum Which {
    /// The distribution's.
    Installed,
    /// 3.5, of its next suite.
    Next,
}

/// Where `scripts/install.sh` puts that.
const NEXT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools/openssl-3.5");

struct Scene {
    running: Running,
    folder: TempDir,
    which: Which,
}

impl Scene {
    fn new(which: Which) -> Scene {
        Scene { running: Running::start(), folder: tempfile::tempdir().unwrap(), which }
    }

    /// One before each OpenSSL that there is.
    fn each() -> Vec<Scene> {
        let mut whiches = Vec::new();
        if has("openssl", TOOLS) {
            whiches.push(Which::Installed);
        }
        match Path::new(NEXT).join("run").exists() {
            true => whiches.push(Which::Next),
            false => println!("skip: OpenSSL 3.5: scripts/install.sh has not brought it"),
        }
        whiches.into_iter().map(Scene::new).collect()
    }

    /// One before the distribution's.
    fn installed() -> Option<Scene> {
        has("openssl", TOOLS).then(|| Scene::new(Which::Installed))
    }

    /// A program with this OpenSSL's libraries, and the provider.
    fn program(&self, path: &Path) -> Command {
        let mut command = match self.which {
            Which::Installed => Command::new(path),
            Which::Next => Command::new(format!("{NEXT}/run")),
        };
        if self.which == Which::Next {
            command.arg(path);
        }
        let modules = built(&format!("{LIBRARY}.so"));
        command.current_dir(self.folder.path()).env("SELVEDGE_BROKER", &self.running.socket);
        command.env("OPENSSL_MODULES", modules.parent().unwrap()).stdin(Stdio::null());
        command
    }

    /// `openssl` without a word about providers.
    fn openssl(&self) -> Command {
        match self.which {
            Which::Installed => self.program(Path::new("openssl")),
            Which::Next => self.program(&Path::new(NEXT).join("usr/bin/openssl")),
        }
    }

    /// `openssl` with the provider beside its own, which it prefers where `prefers` says so.
    fn command(&self, verb: &str, prefers: bool) -> Command {
        let mut command = self.openssl();
        command.arg(verb).args(["-provider", "default", "-provider", LIBRARY]);
        if prefers {
            command.args(["-propquery", "provider=selvedge"]);
        }
        command
    }

    #[track_caller]
    fn done(&self, output: Output) -> String {
        let text = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
        assert!(output.status.success(), "{text}");
        text
    }

    #[track_caller]
    fn ours(&self, line: &str) -> String {
        let (verb, rest) = line.split_once(' ').unwrap();
        self.done(self.command(verb, true).args(rest.split_whitespace()).output().unwrap())
    }

    /// With keys of the device, and everything else of OpenSSL's own.
    #[track_caller]
    fn keys(&self, line: &str) -> String {
        let (verb, rest) = line.split_once(' ').unwrap();
        self.done(self.command(verb, false).args(rest.split_whitespace()).output().unwrap())
    }

    /// OpenSSL without the provider.
    #[track_caller]
    fn plain(&self, line: &str) -> String {
        self.done(self.openssl().args(line.split_whitespace()).output().unwrap())
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.folder.path().join(name)).unwrap()
    }

    fn generate(&self, name: &str, algorithm: Algorithm) {
        self.generate_for(name, algorithm, Usages::SIGN.and(Usages::VERIFY));
    }

    fn generate_for(&self, name: &str, algorithm: Algorithm, usages: Usages) {
        let template = Template {
            is_persistent: true,
            name: name.as_bytes().to_vec(),
            ..Template::new(algorithm, usages)
        };
        Client::new(&self.running.socket).call(&KeyGenerate { template: &template }).unwrap();
    }
}

/// A key that OpenSSL knows too, so that what is done under it can be compared.
const KEY: &[u8; 32] = b"an AES key that the device knows";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Scene {
    fn import(&self, name: &str, template: Template) {
        let template = Template { is_persistent: true, name: name.as_bytes().to_vec(), ..template };
        Client::new(&self.running.socket).call(&KeyImport { template: &template, secret: KEY }).unwrap();
    }

    /// The keys that a program in C and the command lines here name.
    fn import_all(&self) {
        let ciphers = Usages::ENCRYPT.and(Usages::DECRYPT);
        self.import("cipher", Template::new(Algorithm::Aes256, ciphers));
        let aead = Template::new(Algorithm::Aes256, Usages::SEAL.and(Usages::OPEN));
        self.import("aead", Template { is_caller_nonce: true, ..aead });
        self.import("mac", Template::new(Algorithm::Hmac, Usages::MAC));
        self.import("cmac", Template::new(Algorithm::Aes256, Usages::MAC));
    }

    /// Keys that the device has besides.
    fn keys_left(&self) -> usize {
        Client::new(&self.running.socket).call(&KeyList { after: KeyHandle::NONE }).unwrap().len()
    }
}

#[test]
fn mac_and_kdf_give_what_openssls_own_give() {
    for scene in Scene::each() {
        scene.import_all();
        let key = hex(KEY);
        // Less and more than one request takes.
        for message_bytes in [11, 200_000] {
            fs::write(scene.folder.path().join("message"), vec![0x5a; message_bytes]).unwrap();
            for (options, name, mac) in [
                ("-digest SHA256", "mac", "HMAC"),
                ("-digest SHA512", "mac", "HMAC"),
                ("-cipher AES-256-CBC", "cmac", "CMAC"),
            ] {
                let expected = scene.plain(&format!("mac {options} -macopt hexkey:{key} -in message {mac}"));
                let named =
                    scene.ours(&format!("mac {options} -macopt selvedge-key:{name} -in message {mac}"));
                let given = scene.ours(&format!("mac {options} -macopt hexkey:{key} -in message {mac}"));
                assert_eq!([&named, &given], [&expected; 2], "{options}");
            }
        }
        for rest in ["-keylen 100 -kdfopt digest:SHA256 -kdfopt info:a", "-keylen 48 -kdfopt digest:SHA384"] {
            for mode in ["EXTRACT_AND_EXPAND -kdfopt salt:white", "EXTRACT_AND_EXPAND", "EXPAND_ONLY"] {
                let options = format!("{rest} -kdfopt mode:{mode}");
                let expected = scene.plain(&format!("kdf {options} -kdfopt hexkey:{key} HKDF"));
                assert_eq!(
                    scene.ours(&format!("kdf {options} -kdfopt hexkey:{key} HKDF")),
                    expected,
                    "{options}"
                );
                let named = format!("kdf {options} -kdfopt selvedge-key:mac HKDF");
                if mode == "EXPAND_ONLY" {
                    assert_eq!(scene.ours(&named), expected, "{options}");
                } else {
                    let mut refused = scene.command("kdf", true);
                    let refused = refused.args(named.split_whitespace().skip(1)).output().unwrap();
                    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
                    assert!(said.contains("the key is not one for this operation"), "{said}");
                }
            }
        }
        let extract = "-keylen 32 -kdfopt digest:SHA256 -kdfopt mode:EXTRACT_ONLY -kdfopt hexsalt:00ff";
        let line = format!("kdf {extract} -kdfopt hexkey:{key} HKDF");
        assert_eq!(scene.ours(&line), scene.plain(&line));
        assert_eq!(scene.keys_left(), 4, "a key that was given is destroyed with what used it");
    }
}

#[test]
fn a_program_in_c_seals_copies_and_is_refused() {
    if !has("cc", TOOLS) {
        return;
    }
    for scene in Scene::each() {
        scene.import_all();
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-std=c11", "-Wall", "-Wextra", "-Werror", source, "-o", "program"]);
        if scene.which == Which::Next {
            let found = fs::read_dir(format!("{NEXT}/usr/lib")).unwrap().map(|entry| entry.unwrap().path());
            let libraries = found.filter(|path| path.join("libcrypto.so").exists());
            for libraries in libraries {
                let headers = Path::new(NEXT).join("usr/include");
                compiler.arg("-I").arg(&headers).arg("-I").arg(headers.join(libraries.file_name().unwrap()));
                // It may want a younger libc than the compiler's, which the loader has.
                compiler.arg("-L").arg(libraries).arg("-Wl,--allow-shlib-undefined");
            }
        }
        scene.done(compiler.arg("-lcrypto").current_dir(scene.folder.path()).output().unwrap());
        let mut program = scene.program(&scene.folder.path().join("program"));
        let said = scene.done(program.output().unwrap());
        assert!(said.contains("all is well"), "{said}");
        assert_eq!(said.matches(" 3.5.").count(), if scene.which == Which::Next { 2 } else { 0 }, "{said}");
        assert_eq!(scene.keys_left(), 4);
    }
}

/// Since 3.5 a program has keys that it cannot see the bytes of.
#[test]
fn enc_encrypts_with_a_secret_key_of_the_device() {
    for scene in Scene::each().into_iter().filter(|scene| scene.which == Which::Next) {
        scene.import_all();
        fs::write(scene.folder.path().join("message"), vec![0x5a; 100_001]).unwrap();
        let cipher = "-aes-256-cbc -iv 000102030405060708090a0b0c0d0e0f -in message";
        scene.ours(&format!("enc {cipher} -skeymgmt AES -skeyopt selvedge-key:cipher -out ours"));
        scene.plain(&format!("enc {cipher} -K {} -out own", hex(KEY)));
        assert!(scene.read("ours") == scene.read("own"));
        let mut other = scene.command("enc", true);
        let other = other.args(cipher.split(' ')).args(["-skeymgmt", "AES", "-skeyopt", "selvedge-key:mac"]);
        assert!(!other.output().unwrap().status.success(), "a key of HMAC encrypted");
        // A key that the device makes stays if it has a name, which is taken then.
        let made = "-skeymgmt AES -skeyopt selvedge-key:made";
        let generate = format!("skeyutl -genkey {made} -skeyopt key-length:32");
        let said = scene.ours(&generate);
        assert!(said.contains("identified by made"), "{said}");
        scene.ours(&format!("enc {cipher} {made} -out ours"));
        let sealed = "-d -aes-256-cbc -iv 000102030405060708090a0b0c0d0e0f -in ours -out opened";
        scene.ours(&format!("enc {sealed} {made}"));
        assert!(scene.read("opened") == scene.read("message") && scene.read("ours") != scene.read("own"));
        let mut again = scene.command("skeyutl", true);
        let again = again.args(generate.split(' ').skip(1)).output().unwrap();
        assert!(!again.status.success(), "a name was taken twice");
        assert_eq!(scene.keys_left(), 5);
    }
}

/// OpenSSL's own S/MIME and record layer, over ciphers and digests of the device.
#[test]
fn cms_and_speed_seal_with_the_device() {
    for scene in Scene::each() {
        fs::write(scene.folder.path().join("message"), b"a message to be sealed").unwrap();
        scene
            .plain("req -x509 -newkey rsa:2048 -nodes -keyout own.key -subj /CN=reader -days 2 -out own.pem");
        let prefer = ["-propquery", "?provider=selvedge"];
        for cipher in ["aes-128-gcm", "aes-256-gcm"] {
            let mut cms = scene.command("cms", false);
            cms.args(prefer).args(["-encrypt", "-binary", &format!("-{cipher}"), "-in", "message"]);
            scene.done(cms.args(["-out", "sealed", "-outform", "DER", "own.pem"]).output().unwrap());
            scene.plain("cms -decrypt -inform DER -in sealed -inkey own.key -out opened");
            assert_eq!(scene.read("opened"), scene.read("message"), "{cipher}");
            let mut cms = scene.command("cms", false);
            cms.args(prefer).args(["-decrypt", "-inform", "DER", "-in", "sealed", "-inkey", "own.key"]);
            scene.done(cms.args(["-out", "again"]).output().unwrap());
            assert_eq!(scene.read("again"), scene.read("message"), "{cipher}");
            let alone = cms.env("SELVEDGE_BROKER", "/nowhere").output().unwrap();
            assert!(!alone.status.success(), "it was not the device that opened it");
        }
        let speed = ["-seconds", "1", "-bytes", "1024", "-aead", "-evp", "aes-256-gcm"];
        let said = scene.done(scene.command("speed", true).args(speed).output().unwrap());
        assert!(said.to_lowercase().contains("aes-256-gcm"), "{said}");
    }
}

#[test]
fn enc_and_dgst_give_what_openssls_own_give() {
    for scene in Scene::each() {
        fs::write(scene.folder.path().join("message"), vec![0x5a; 300_001]).unwrap();
        for hash in ["sha224", "sha256", "sha384", "sha512"] {
            scene.ours(&format!("dgst -{hash} -binary -out ours message"));
            scene.plain(&format!("dgst -{hash} -binary -out own message"));
            assert_eq!(scene.read("ours"), scene.read("own"), "{hash}");
        }
        let iv = "-iv 000102030405060708090a0b0c0d0e0f";
        for (cipher, key) in [
            ("aes-128-cbc", "11".repeat(16)),
            ("aes-256-cbc", "22".repeat(32)),
            ("aes-192-ctr", "33".repeat(24)),
        ] {
            scene.ours(&format!("enc -{cipher} -K {key} {iv} -in message -out ours"));
            scene.plain(&format!("enc -{cipher} -K {key} {iv} -in message -out own"));
            assert!(scene.read("ours") == scene.read("own"), "{cipher}");
            scene.ours(&format!("enc -d -{cipher} -K {key} {iv} -in own -out back"));
            assert!(scene.read("back") == scene.read("message"), "{cipher}");
        }
        let client = Client::new(&scene.running.socket);
        let left = client.call(&KeyList { after: KeyHandle::NONE }).unwrap();
        assert_eq!(left, [], "a key of a cipher is destroyed with it");
        let speed = scene
            .command("speed", false)
            .args(["-seconds", "1", "-bytes", "1024", "-evp", "sha256"])
            .output();
        scene.done(speed.unwrap());
    }
}

#[test]
fn pkeyutl_and_dgst_sign_with_keys_of_the_device() {
    for scene in Scene::each() {
        fs::write(scene.folder.path().join("message"), b"a message to be signed").unwrap();
        for (name, algorithm, options) in [
            ("curve", Algorithm::P256, ""),
            ("rsa", Algorithm::Rsa2048, ""),
            ("pss", Algorithm::Rsa3072, "-sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:digest"),
        ] {
            scene.generate(name, algorithm);
            scene.keys(&format!("pkey -in selvedge:{name} -pubout -out public.pem"));
            scene.keys(&format!("dgst -sha256 -sign selvedge:{name} {options} -out signature message"));
            scene.plain(&format!("dgst -sha256 -verify public.pem {options} -signature signature message"));
        }
        scene.generate("edwards", Algorithm::Ed25519);
        scene.keys("pkey -in selvedge:edwards -pubout -out public.pem");
        scene.keys("pkeyutl -sign -rawin -inkey selvedge:edwards -in message -out signature");
        scene.plain("pkeyutl -verify -rawin -pubin -inkey public.pem -in message -sigfile signature");
        let private = scene
            .command("pkey", false)
            .args(["-in", "selvedge:curve", "-out", "private.pem"])
            .output()
            .unwrap();
        assert!(!private.status.success(), "a private half was exported");
        let written = fs::read(scene.folder.path().join("private.pem")).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&written).contains("PRIVATE"), "a private half was written");
        let nobody =
            scene.command("pkey", false).args(["-in", "selvedge:nobody", "-pubout"]).output().unwrap();
        let said = String::from_utf8_lossy(&nobody.stderr).into_owned();
        assert!(said.contains("the device has no such key"), "{said}");
    }
}

#[test]
fn pkeyutl_and_cms_decrypt_with_keys_of_the_device() {
    for scene in Scene::each() {
        fs::write(scene.folder.path().join("message"), b"a message to be read by one").unwrap();
        scene.generate_for("reads", Algorithm::Rsa2048, Usages::DECRYPT.and(Usages::SIGN));
        scene.keys("pkey -in selvedge:reads -pubout -out public.pem");
        let long = "-pkeyopt rsa_padding_mode:oaep -pkeyopt rsa_oaep_md:sha256 -pkeyopt rsa_mgf1_md:sha256";
        for options in ["", "-pkeyopt rsa_padding_mode:oaep", long] {
            scene.plain(&format!(
                "pkeyutl -encrypt -pubin -inkey public.pem {options} -in message -out sealed"
            ));
            scene.keys(&format!("pkeyutl -decrypt -inkey selvedge:reads {options} -in sealed -out opened"));
            assert_eq!(scene.read("opened"), scene.read("message"), "{options}");
        }
        let mut mixed = scene.command("pkeyutl", false);
        mixed.args(["-decrypt", "-inkey", "selvedge:reads", "-in", "sealed"]).args(long.split(' '));
        let mixed = mixed.args(["-pkeyopt", "rsa_mgf1_md:sha512"]).output().unwrap();
        assert!(!mixed.status.success(), "the device has one hash for both");
        scene.keys("req -x509 -key selvedge:reads -subj /CN=reader -days 2 -out reader.pem");
        scene.plain("cms -encrypt -binary -aes-256-gcm -in message -outform DER -out sealed reader.pem");
        scene.keys("cms -decrypt -inform DER -in sealed -inkey selvedge:reads -recip reader.pem -out opened");
        assert_eq!(scene.read("opened"), scene.read("message"));
    }
}

/// A query that prefers the device has it check ECDSA's signatures over P-256, and leaves other curves alone.
#[test]
fn dgst_checks_signatures_by_the_device_where_a_query_prefers_it() {
    for scene in Scene::each() {
        fs::write(scene.folder.path().join("message"), b"a message that was signed").unwrap();
        fs::write(scene.folder.path().join("other"), b"a message that was not").unwrap();
        for (curve, is_devices) in [("prime256v1", true), ("secp384r1", false)] {
            scene.plain(&format!("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:{curve} -out own.pem"));
            scene.plain("pkey -in own.pem -pubout -out public.pem");
            scene.plain("dgst -sha256 -sign own.pem -out signature message");
            let check = |message: &str, broker: Option<&str>| {
                let mut dgst = scene.command("dgst", false);
                dgst.args(["-propquery", "?provider=selvedge", "-sha256", "-verify", "public.pem"]);
                dgst.args(["-signature", "signature", message]);
                dgst.envs(broker.map(|broker| ("SELVEDGE_BROKER", broker)));
                dgst.output().unwrap().status.success()
            };
            assert!(check("message", None) && !check("other", None), "{curve}");
            assert!(!check("message", Some("/nowhere")), "the digest is the device's");
            let mut pkeyutl = scene.command("pkeyutl", false);
            scene.plain("dgst -sha256 -binary -out digest message");
            pkeyutl.args(["-propquery", "?provider=selvedge", "-verify", "-pubin", "-inkey", "public.pem"]);
            pkeyutl.args(["-sigfile", "signature", "-in", "digest"]);
            assert!(pkeyutl.output().unwrap().status.success(), "{curve}");
            let alone = pkeyutl.env("SELVEDGE_BROKER", "/nowhere").output().unwrap();
            assert_eq!(alone.status.success(), !is_devices, "{curve}");
        }
        assert_eq!(scene.keys_left(), 0);
    }
}

#[test]
fn pkeyutl_derives_what_openssl_derives_from_the_other_side() {
    let agrees = Usages::AGREE.and(Usages::DERIVE);
    for scene in Scene::each() {
        for (name, algorithm, other) in [
            ("curve", Algorithm::P256, "EC -pkeyopt ec_paramgen_curve:prime256v1"),
            ("montgomery", Algorithm::X25519, "X25519"),
        ] {
            scene.generate_for(name, algorithm, agrees);
            scene.keys(&format!("pkey -in selvedge:{name} -pubout -out public.pem"));
            scene.plain(&format!("genpkey -algorithm {other} -out other.pem"));
            scene.plain("pkey -in other.pem -pubout -out other.pub");
            scene.keys(&format!("pkeyutl -derive -inkey selvedge:{name} -peerkey other.pub -out ours"));
            scene.plain("pkeyutl -derive -inkey other.pem -peerkey public.pem -out own");
            assert_eq!((scene.read("ours").len(), scene.read("ours")), (32, scene.read("own")), "{name}");
            // Nothing is told of a key that does something else, or whose secret stays in the device.
            let others = [("keeps", Usages::DERIVE), ("signs", Usages::SIGN)];
            for (other, usages) in others.into_iter().take(if name == "curve" { 2 } else { 1 }) {
                let other = format!("{name}-{other}");
                scene.generate_for(&other, algorithm, usages);
                let mut derive = scene.command("pkeyutl", false);
                derive.args(["-derive", "-peerkey", "other.pub", "-out", "no"]);
                let output = derive.args(["-inkey", &format!("selvedge:{other}")]).output().unwrap();
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                assert!(!output.status.success(), "{other} agreed");
                assert!(said.contains("the key is not one for this operation"), "{said}");
                assert_eq!(fs::read(scene.folder.path().join("no")).unwrap_or_default(), b"");
            }
        }
    }
}

#[test]
fn a_program_that_signs_reads_no_key_and_has_no_other_thread() {
    let Some(scene) = Scene::installed().filter(|_| has("strace", TOOLS)) else { return };
    scene.generate("curve", Algorithm::P256);
    fs::write(scene.folder.path().join("message"), b"a message to be signed").unwrap();
    let openssl = scene.command("dgst", false);
    let mut traced = Command::new("strace");
    traced.args(["-f", "-e", "trace=openat,open,connect,clone,clone3,fork,vfork", "-o", "trace"]);
    traced.arg(openssl.get_program()).args(openssl.get_args()).current_dir(scene.folder.path());
    traced.envs(openssl.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let signs = ["-sha256", "-sign", "selvedge:curve", "-out", "signature", "message"];
    scene.done(traced.args(signs).output().unwrap());
    let trace = String::from_utf8(scene.read("trace")).unwrap();
    assert!(trace.contains(&format!("{}", scene.running.socket.display())), "it asked the broker");
    let opened: Vec<&str> =
        trace.lines().filter(|line| line.contains("open") && !line.contains("ENOENT")).collect();
    assert!(opened.iter().any(|line| line.contains(LIBRARY)), "{trace}");
    for line in trace.lines() {
        let is_key =
            line.contains("open") && [".pem", ".key", ".der", ".p12"].iter().any(|end| line.contains(end));
        let starts_one = ["clone(", "clone3(", "fork("].iter().any(|call| line.contains(call));
        assert!(!is_key && !starts_one, "{line}");
    }
}

#[test]
fn s_server_serves_tls_with_a_key_of_the_device() {
    for scene in Scene::each() {
        // The last has its digests and its records of the device too.
        for (name, algorithm, version, query) in [
            ("web", Algorithm::P256, "-tls1_3", ""),
            ("old", Algorithm::Rsa2048, "-tls1_2", ""),
            ("new", Algorithm::Rsa2048, "-tls1_3", ""),
            ("all", Algorithm::P256, "-tls1_3", "?provider=selvedge"),
        ] {
            scene.generate(name, algorithm);
            scene
                .keys(&format!("req -x509 -key selvedge:{name} -subj /CN=localhost -days 2 -out {name}.pem"));
            let socket = scene.folder.path().join(format!("{name}.sock"));
            let mut server = scene.command("s_server", false);
            server.args(["-unix"]).arg(&socket).args([
                "-key",
                &format!("selvedge:{name}"),
                "-cert",
                &format!("{name}.pem"),
            ]);
            if !query.is_empty() {
                server.args(["-propquery", query]);
            }
            let mut server = server.args(["-naccept", "1", "-quiet"]).stdout(Stdio::piped()).spawn().unwrap();
            while !listens(&socket) {
                assert!(server.try_wait().unwrap().is_none(), "the server ended");
                std::thread::yield_now();
            }
            let said = talk(&scene, &socket, &format!("{name}.pem"), version);
            server.kill().unwrap();
            server.wait().unwrap();
            assert!(said.contains("Verify return code: 0 (ok)") && said.contains("CONNECTED"), "{said}");
        }
    }
}

/// A web server that knows nothing of devices: its key file names the key, its workers are forked from who read it.
#[test]
fn nginx_serves_tls_with_a_key_of_the_device() {
    let Some(scene) = Scene::installed() else { return };
    let nginx = Path::new("/usr/sbin/nginx");
    if !nginx.exists() {
        return println!("skip: nginx: no `{}`: {TOOLS}", nginx.display());
    }
    scene.generate("web", Algorithm::P256);
    scene.keys("req -x509 -key selvedge:web -subj /CN=localhost -days 2 -out web.pem");
    let at = |name: &str| scene.folder.path().join(name);
    let key = "-----BEGIN SELVEDGE KEY URI-----\nDAxzZWx2ZWRnZTp3ZWI=\n-----END SELVEDGE KEY URI-----\n";
    fs::write(at("web.key"), key).unwrap();
    let configuration = format!(
        "openssl_conf = all\n[all]\nproviders = two\n[two]\ndefault = own\n{LIBRARY} = ours\n[ours]\nactivate = 1\n\
         [own]\nactivate = 1\n"
    );
    fs::write(at("openssl.cnf"), configuration).unwrap();
    let folder = scene.folder.path().display().to_string();
    let places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let places: String = places.iter().map(|name| format!("{name}_temp_path {folder}/{name};\n")).collect();
    // The key is this user's, so the workers are this user too.
    let user = String::from_utf8(Command::new("id").arg("-un").output().unwrap().stdout).unwrap();
    let user = user.trim();
    let site = format!(
        "user {user};\ndaemon off;\nworker_processes 2;\npid {folder}/pid;\nerror_log stderr;\nenv SELVEDGE_BROKER;\nevents {{}}\n\
         http {{\n{places}access_log off;\nserver {{\nlisten unix:{folder}/web.sock ssl;\nssl_protocols TLSv1.3;\n\
         ssl_certificate {folder}/web.pem;\nssl_certificate_key {folder}/web.key;\n\
         location / {{ return 200 served; }}\n}}\n}}\n"
    );
    fs::write(at("nginx.conf"), site).unwrap();
    let modules = built(&format!("{LIBRARY}.so"));
    let mut server = Command::new(nginx);
    server.args(["-p", &folder, "-c"]).arg(at("nginx.conf")).env("OPENSSL_CONF", at("openssl.cnf"));
    server.env("OPENSSL_MODULES", modules.parent().unwrap()).env("SELVEDGE_BROKER", &scene.running.socket);
    let log = fs::File::create(at("log")).unwrap();
    let mut server = server.stderr(log).spawn().unwrap();
    while !listens(&at("web.sock")) {
        let ended = server.try_wait().unwrap();
        assert!(ended.is_none(), "{}", String::from_utf8_lossy(&scene.read("log")));
        std::thread::yield_now();
    }
    let said = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        talk(&scene, &at("web.sock"), "web.pem", "-tls1_3")
    }));
    // Its workers end with it only if it is asked.
    assert!(Command::new("kill").arg(server.id().to_string()).status().unwrap().success());
    server.wait().unwrap();
    let said = said.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&scene.read("log"))));
    assert!(said.contains("Verify return code: 0 (ok)"), "{said}");
    let log = String::from_utf8(scene.read("log")).unwrap();
    assert!(!log.contains("error:"), "{log}");
}

/// Whether somebody listens there: a socket is bound first, and refuses until then (`__SO_ACCEPTCON` of its flags).
fn listens(socket: &Path) -> bool {
    let sockets = fs::read_to_string("/proc/net/unix").unwrap();
    let path = socket.display().to_string();
    sockets.lines().any(|line| line.ends_with(&path) && line.split_whitespace().nth(3) == Some("00010000"))
}

/// What OpenSSL's own client says of the server.
fn talk(scene: &Scene, socket: &Path, certificate: &str, version: &str) -> String {
    let mut client = scene
        .openssl()
        .args(["s_client", "-unix"])
        .arg(socket)
        .args(["-CAfile", certificate, version, "-verify_return_error"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    client.stdin.take().unwrap().write_all(b"Q\n").unwrap();
    scene.done(client.wait_with_output().unwrap())
}

#[test]
fn random_bytes_are_the_devices_where_the_configuration_says_so() {
    for scene in Scene::each() {
        let configuration = format!(
            "openssl_conf = all\n[all]\nproviders = two\nrandom = source\n[two]\n{LIBRARY} = ours\ndefault = own\n\
         [ours]\nactivate = 1\n[own]\nactivate = 1\n[source]\nrandom = SELVEDGE-RAND\n"
        );
        let path = scene.folder.path().join("openssl.cnf");
        fs::write(&path, configuration).unwrap();
        let mut rand = scene.openssl();
        let rand = rand.env("OPENSSL_CONF", &path).args(["rand", "-hex", "100000"]).output().unwrap();
        assert_eq!(scene.done(rand).trim().len(), 200_000);
        let mut without = scene.openssl();
        without.env("OPENSSL_CONF", &path);
        let without =
            without.env("SELVEDGE_BROKER", "/nowhere").args(["rand", "-hex", "10"]).output().unwrap();
        assert!(!without.status.success(), "these bytes were not the device's");
    }
}

#[test]
fn the_provider_exports_one_function_and_depends_on_no_cipher() {
    if has("nm", "scripts/install.sh installs binutils") {
        let library = built(&format!("{LIBRARY}.so"));
        let symbols = Command::new("nm").args(["-D", "--defined-only"]).arg(library).output().unwrap();
        let symbols = String::from_utf8(symbols.stdout).unwrap();
        let names: Vec<&str> = symbols.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
        assert_eq!(names, ["OSSL_provider_init"]);
    }
    let cargo = std::env::var("CARGO").expect("cargo runs the tests");
    let tree = Command::new(cargo)
        .args(["tree", "--offline", "--locked", "-p", "selvedge-openssl", "-e", "normal", "--prefix", "none"])
        .output()
        .unwrap();
    let tree = String::from_utf8(tree.stdout).unwrap();
    assert!(tree.contains("rustix"), "{tree}");
    for word in ["aes", "aws-lc", "ring ", "sha2", "cipher", "rsa", "tokio", "openssl"] {
        assert_eq!(
            tree.lines().find(|line| line.starts_with(word)),
            None,
            "there is a cipher or a runtime in it"
        );
    }
}
