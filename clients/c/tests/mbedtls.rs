//! Mbed TLS with keys of the device: a server of its library, and OpenSSL's client, which checks.

#[path = "../../pkcs11/tests/broker_thread/mod.rs"]
mod broker_thread;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use broker::client::blocking::Client;
use broker::client::call::{KeyGenerate, KeyPublic};
use broker::template::{Algorithm, Template, Usages};
use broker_thread::{Running, built, has};

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");
/// What goes before a point on P-256 in a `SubjectPublicKeyInfo` (RFC 5480 section 2).
const P256: &[u8] =
    b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\0";

#[track_caller]
fn done(output: Output) -> String {
    let text = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{text}");
    text
}

#[track_caller]
fn run(folder: &Path, line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    done(Command::new(words[0]).args(&words[1..]).current_dir(folder).output().unwrap())
}

#[test]
fn a_server_of_mbed_tls_serves_with_keys_of_the_device() {
    const TOOLS: &str = "scripts/install.sh installs it";
    if !has("cc", TOOLS) || !has("openssl", TOOLS) {
        return;
    }
    if !Path::new("/usr/include/mbedtls/pk_internal.h").exists() {
        return println!("skip: Mbed TLS: no headers of 2.28: scripts/install.sh installs libmbedtls-dev");
    }
    let running = Running::start();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let library = built("libselvedge_c.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", FOLDER, "-D_GNU_SOURCE"]);
    compiler.args([format!("{FOLDER}/mbedtls.c"), format!("{FOLDER}/tests/tls_server.c")]).arg(&library);
    compiler.args(["-lmbedtls", "-lmbedx509", "-lmbedcrypto", "-o"]).arg(at("server"));
    done(compiler.output().unwrap());
    run(
        folder.path(),
        "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=authority -days 2 -keyout ca.key -out ca.pem",
    );
    for (name, algorithm) in
        [("curve", Algorithm::P256), ("old", Algorithm::Rsa2048), ("long", Algorithm::Rsa3072)]
    {
        let template = Template::new(algorithm, Usages::SIGN);
        let template = Template { is_persistent: true, name: name.into(), ..template };
        let client = Client::new(&running.socket);
        let key = client.call(&KeyGenerate { template: &template }).unwrap();
        let public = client.call(&KeyPublic { key }).unwrap();
        if algorithm == Algorithm::P256 {
            fs::write(at("public.der"), [P256, &public].concat()).unwrap();
            run(folder.path(), "openssl pkey -pubin -inform DER -in public.der -out public.pem");
        } else {
            fs::write(at("public.der"), public).unwrap();
            run(folder.path(), "openssl rsa -RSAPublicKey_in -inform DER -in public.der -out public.pem");
        }
        let signed = "-force_pubkey public.pem -CA ca.pem -CAkey ca.key -subj /CN=localhost -days 2";
        run(folder.path(), &format!("openssl x509 -new {signed} -out own.pem"));
        let mut server = Command::new(at("server"));
        server.current_dir(folder.path()).env("SELVEDGE_BROKER", &running.socket);
        server.env("LD_LIBRARY_PATH", library.parent().unwrap());
        let number = (algorithm as u8).to_string();
        let server = server.args([&format!("{name}.sock"), name, &number, "own.pem"]);
        let mut server = server.stderr(Stdio::piped()).spawn().unwrap();
        while !at(&format!("{name}.sock")).exists() && server.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        let mut client = Command::new("openssl");
        client.args([
            "s_client",
            "-verify_return_error",
            "-CAfile",
            "ca.pem",
            "-unix",
            &format!("{name}.sock"),
        ]);
        // It goes on when its input ends, until the server has said what it says.
        let said = client.args(["-ign_eof"]).current_dir(folder.path()).stdin(Stdio::null()).output();
        let served = server.wait_with_output().unwrap();
        assert!(served.status.success(), "{name}: {}", String::from_utf8_lossy(&served.stderr));
        let said = done(said.unwrap());
        assert!(said.contains("Verify return code: 0 (ok)"), "{said}");
        assert!(said.contains("served with a key of the device"), "{said}");
    }
}
