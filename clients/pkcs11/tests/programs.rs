//! The module under programs that nobody here wrote, before a broker with a software device.

mod broker_thread;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use broker_thread::{Running, built, has};

fn module() -> PathBuf {
    built("libselvedge_pkcs11.so")
}

const TOOLS: &str = "scripts/install.sh installs it";

struct Tool<'a> {
    running: &'a Running,
    folder: &'a Path,
}

impl Tool<'_> {
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SELVEDGE_BROKER", &self.running.socket).current_dir(self.folder).stdin(Stdio::null());
        command
    }

    #[track_caller]
    fn run(&self, program: &str, arguments: &str) -> String {
        let output = self.command(program).args(arguments.split_whitespace()).output().expect("it starts");
        let text = text(&output);
        assert!(output.status.success(), "{program} {arguments}\n{text}");
        text
    }

    #[track_caller]
    fn pkcs11(&self, arguments: &str) -> String {
        self.run("pkcs11-tool", &format!("--module {} {arguments}", module().display()))
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

#[test]
fn opensc_tests_the_token_and_finds_no_fault() {
    if !has("pkcs11-tool", TOOLS) {
        return;
    }
    let running = Running::start();
    let folder = tempfile::tempdir().unwrap();
    let tool = Tool { running: &running, folder: folder.path() };
    for (kind, id) in [("EC:prime256v1", "01"), ("rsa:2048", "02"), ("EC:edwards25519", "03")] {
        tool.pkcs11(&format!("--keypairgen --key-type {kind} --id {id} --label pair{id}"));
    }
    let tested = tool.pkcs11("--test --login --pin 0000");
    assert!(tested.contains("No errors"), "{tested}");
    // It signs, and checks, a SHA-1 digest first.
    for done in
        ["SHA256: OK", "all 4 signature functions seem to work", "RSA-PKCS: OK", "SHA256-RSA-PKCS: OK"]
    {
        assert!(tested.contains(done), "no {done} in\n{tested}");
    }
    // Two ways to sign, one to verify, one to decrypt.
    assert!(tested.matches("RSA-PKCS: OK").count() >= 4, "{tested}");
    for fault in ["ERR", "FAIL", "fail"] {
        assert!(!tested.contains(fault), "{fault} in\n{tested}");
    }
    let listed = tool.pkcs11("--list-objects");
    for label in ["pair01", "pair02", "pair03"] {
        assert_eq!(listed.matches(label).count(), 2, "{listed}");
    }
    let mechanisms = tool.pkcs11("--list-mechanisms");
    assert!(mechanisms.contains("AES-GCM"), "{mechanisms}");
    tool.pkcs11("--delete-object --type privkey --id 02");
    assert!(!tool.pkcs11("--list-objects").contains("pair02"));
}

#[test]
fn what_opensc_has_signed_openssl_believes_and_what_it_hashes_is_right() {
    if !has("pkcs11-tool", TOOLS) || !has("openssl", TOOLS) {
        return;
    }
    let running = Running::start();
    let folder = tempfile::tempdir().unwrap();
    let tool = Tool { running: &running, folder: folder.path() };
    // More than one request takes.
    let message: Vec<u8> = (0..200_000u32).map(|number| (number % 251) as u8).collect();
    fs::write(folder.path().join("message"), &message).unwrap();
    tool.pkcs11("--hash --mechanism SHA384 --input-file message --output-file digest");
    tool.run("openssl", "dgst -sha384 -binary -out expected message");
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    assert_eq!(read("digest"), read("expected"));
    for (kind, id, mechanism, format, options) in [
        ("EC:prime256v1", "01", "ECDSA-SHA256", "--signature-format openssl", ""),
        ("rsa:2048", "02", "SHA256-RSA-PKCS", "", ""),
        (
            "rsa:3072",
            "03",
            "SHA256-RSA-PKCS-PSS",
            "",
            "-sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:32",
        ),
    ] {
        tool.pkcs11(&format!("--keypairgen --key-type {kind} --id {id} --label {id}"));
        let sign = format!("--sign --mechanism {mechanism} {format} --id {id}");
        tool.pkcs11(&format!("{sign} --input-file message --output-file signature"));
        tool.pkcs11(&format!("--read-object --type pubkey --id {id} --output-file public.der"));
        tool.run("openssl", "pkey -pubin -inform DER -in public.der -out public.pem");
        tool.run(
            "openssl",
            &format!("dgst -sha256 -verify public.pem {options} -signature signature message"),
        );
        if format.is_empty() {
            let verify = format!("--verify --mechanism {mechanism} --id {id} --signature-file signature");
            let verified = tool.pkcs11(&format!("{verify} --input-file message"));
            assert!(verified.contains("Signature is valid"), "{verified}");
        }
    }
}

#[test]
fn a_secret_key_encrypts_here_what_openssl_decrypts() {
    if !has("pkcs11-tool", TOOLS) || !has("openssl", TOOLS) {
        return;
    }
    let running = Running::start();
    let folder = tempfile::tempdir().unwrap();
    let tool = Tool { running: &running, folder: folder.path() };
    let key: Vec<u8> = (0..32).collect();
    fs::write(folder.path().join("key"), &key).unwrap();
    fs::write(folder.path().join("message"), vec![0x5a; 100_001]).unwrap();
    let hex = key.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let iv = "000102030405060708090a0b0c0d0e0f";
    tool.pkcs11(
        "--write-object key --type secrkey --key-type AES:32 --id 05 --label imported --usage-decrypt",
    );
    let encrypt = format!("--encrypt --mechanism AES-CBC-PAD --iv {iv} --id 05");
    tool.pkcs11(&format!("{encrypt} --input-file message --output-file encrypted"));
    tool.run("openssl", &format!("enc -d -aes-256-cbc -K {hex} -iv {iv} -in encrypted -out decrypted"));
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    assert!(read("message") == read("decrypted"));
    let decrypt = format!("--decrypt --mechanism AES-CBC-PAD --iv {iv} --id 05");
    tool.pkcs11(&format!("{decrypt} --input-file encrypted --output-file again"));
    assert!(read("message") == read("again"));
    tool.pkcs11("--generate-random 100000 --output-file random");
    assert_eq!(read("random").len(), 100_000);
}

#[test]
fn opensc_derives_what_openssl_derives() {
    if !has("pkcs11-tool", TOOLS) || !has("openssl", TOOLS) {
        return;
    }
    let running = Running::start();
    let folder = tempfile::tempdir().unwrap();
    let tool = Tool { running: &running, folder: folder.path() };
    tool.pkcs11("--keypairgen --key-type EC:prime256v1 --usage-derive --id 07 --label agrees");
    tool.pkcs11("--read-object --type pubkey --id 07 --output-file public.der");
    tool.run("openssl", "pkey -pubin -inform DER -in public.der -out public.pem");
    tool.run("openssl", "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:prime256v1 -out other.pem");
    tool.run("openssl", "pkey -in other.pem -pubout -outform DER -out other.der");
    tool.pkcs11("--derive --mechanism ECDH1-DERIVE --id 07 --input-file other.der --output-file shared");
    tool.run("openssl", "pkeyutl -derive -inkey other.pem -peerkey public.pem -out expected");
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    assert_eq!((read("shared").len(), read("shared")), (32, read("expected")));
    let listed = tool.pkcs11("--list-objects");
    assert!(!listed.contains("Secret Key"), "what was derived died with its session: {listed}");
}

/// p11-kit finds the module by its configuration, and gives its token to programs that know of p11-kit alone.
#[test]
fn p11_kit_loads_the_module_and_hands_it_on() {
    if !has("p11tool", TOOLS) || !has("p11-kit", TOOLS) || !has("pkcs11-tool", TOOLS) {
        return;
    }
    let running = Running::start();
    let folder = tempfile::tempdir().unwrap();
    let tool = Tool { running: &running, folder: folder.path() };
    let folder_of_modules = Path::new("/usr/share/p11-kit/modules");
    fs::create_dir(folder.path().join("modules")).unwrap();
    let line = format!("module: {}\n", module().display());
    fs::write(folder.path().join("modules/selvedge.module"), line).unwrap();
    // In a mount namespace of its own, the folder with the machine's modules is this one.
    let mounts = format!("mount --bind modules {} && exec \"$@\"", folder_of_modules.display());
    let unshared = |program: &str| {
        let mut command = tool.command("unshare");
        command.args(["--mount", "--map-root-user", "sh", "-c", &mounts, "sh", program]);
        command
    };
    if !unshared("true").status().is_ok_and(|status| status.success()) {
        return println!("skip (machine): p11-kit's configuration: no mount namespaces");
    }
    let configured_so = |program: &str, arguments: &str| {
        let output = unshared(program).args(arguments.split_whitespace()).output().unwrap();
        assert!(output.status.success(), "{program} {arguments}\n{}", text(&output));
        text(&output)
    };
    let listed = configured_so("p11-kit", "list-modules");
    assert!(listed.contains("selvedge: ") && listed.contains("token: selvedge"), "{listed}");
    let uri = "pkcs11:token=selvedge";
    configured_so("p11tool", &format!("--generate-privkey ecdsa --curve secp256r1 --label web {uri}"));
    let signed = configured_so("p11tool", &format!("--test-sign {uri};object=web;type=private"));
    assert!(signed.contains("ok"), "{signed}");
    let proxy = Path::new("/usr/lib/x86_64-linux-gnu/p11-kit-proxy.so");
    if !proxy.exists() {
        return println!("skip (machine): p11-kit's proxy: no `{}`", proxy.display());
    }
    let arguments = format!("--module {} --token-label selvedge --list-objects", proxy.display());
    assert!(configured_so("pkcs11-tool", &arguments).contains("web"));
}

#[test]
fn p11_kit_and_gnutls_see_the_token() {
    if !has("p11tool", TOOLS) || !has("p11-kit", TOOLS) {
        return;
    }
    let running = Running::start();
    let folder = tempfile::tempdir().unwrap();
    let tool = Tool { running: &running, folder: folder.path() };
    let module = module();
    let provider = format!("--provider {}", module.display());
    let tokens = tool.run("p11tool", &format!("{provider} --list-tokens"));
    assert!(tokens.contains("token=selvedge"), "{tokens}");
    let made = tool.run(
        "p11tool",
        &format!("{provider} --generate-privkey ecdsa --curve secp256r1 --label web pkcs11:token=selvedge"),
    );
    assert!(made.contains("BEGIN PUBLIC KEY"), "{made}");
    let sign =
        tool.run("p11tool", &format!("{provider} --test-sign pkcs11:token=selvedge;object=web;type=private"));
    assert!(sign.contains("ok"), "{sign}");
}

/// A key in the device opens a shell, and the client reads no file that could be a key.
#[test]
fn openssh_logs_in_with_a_key_of_the_device_and_reads_no_key_file() {
    let sshd = Path::new("/usr/sbin/sshd");
    if !has("ssh", TOOLS) || !has("strace", TOOLS) || !has("pkcs11-tool", TOOLS) {
        return;
    }
    if !sshd.exists() {
        return println!("skip: OpenSSH: no `{}`: {TOOLS}", sshd.display());
    }
    let running = Running::start();
    let folder = tempfile::tempdir().unwrap();
    let tool = Tool { running: &running, folder: folder.path() };
    tool.pkcs11("--keypairgen --key-type EC:prime256v1 --id 01 --label login");
    let module = module();
    let public = tool.run("ssh-keygen", &format!("-D {}", module.display()));
    let public = public.lines().find(|line| line.starts_with("ecdsa-sha2-nistp256")).expect("a public key");
    let at = |name: &str| folder.path().join(name);
    fs::write(at("authorized"), public).unwrap();
    let made =
        tool.command("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f", "host"]).status().unwrap();
    assert!(made.success());
    let config = format!(
        "HostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\n\
         PidFile none\nLogLevel ERROR\n",
        at("host").display(),
        at("authorized").display()
    );
    fs::write(at("sshd_config"), config).unwrap();
    // sshd wants its folder for unprivileged children; without root it has none.
    if fs::create_dir_all("/run/sshd").is_err() {
        return println!("skip (machine): OpenSSH: /run/sshd cannot be made: needs root");
    }
    // Each connection is one sshd at the other end of a pipe: no port, no daemon.
    let proxy = format!("ProxyCommand={} -i -f {}", sshd.display(), at("sshd_config").display());
    let mut ssh = tool.command("strace");
    ssh.args(["-f", "-e", "trace=openat,open,connect", "-o", "trace", "ssh", "-F", "none"]);
    for option in ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "IdentityFile=none", &proxy] {
        ssh.args(["-o", option]);
    }
    ssh.args(["-o", "BatchMode=yes", "-I"]).arg(&module).args(["localhost", "echo", "logged", "in"]);
    let output = ssh.output().unwrap();
    assert!(output.status.success() && text(&output).contains("logged in"), "{}", text(&output));
    let trace = fs::read_to_string(at("trace")).unwrap();
    assert!(trace.contains(&format!("{}", running.socket.display())), "it asked the broker");
    let opened = trace.lines().filter(|line| line.contains("open") && !line.contains("ENOENT"));
    let keys: Vec<&str> = opened.filter(|line| is_key_file(line) && !line.contains("ssh_host")).collect();
    assert!(keys.is_empty(), "it read {keys:?}");
    forget(&at("host"));
}

/// Whether a line of the trace opens what could hold a private key, other than the server's own.
fn is_key_file(line: &str) -> bool {
    ["id_rsa", "id_ecdsa", "id_ed25519", "id_dsa", ".pem", ".key", "softhsm"]
        .iter()
        .any(|name| line.contains(name))
}

fn forget(path: &PathBuf) {
    fs::remove_file(path).expect("it was made here");
}
