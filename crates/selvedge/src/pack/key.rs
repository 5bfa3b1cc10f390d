//! `selvedge pack key`: the key of a device; and reading it, and what else says how a container is opened.
//!
//! Owns the file's form: 32 or 64 hex digits and a newline, as `openssl rand -hex 32` prints it, readable by its owner
//! alone. The image's own key is drawn where it is sealed, and is in no file but wrapped.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ::pack::DeviceKey;
use ::pack::sealed::Expected;
use cipher::{OsRandomness, Randomness};
use selvedge::error::{Error, KeyFault};
use selvedge::link::keeping::read_private;
use serde_json::json;
use zeroize::Zeroizing;

use crate::output::Output;

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  selvedge pack key -o device.key\n  \
                        (umask 077 && openssl rand -hex 16 > otfad.key)\n\
                        What has it opens every image that is built for the device.")]
pub struct Arguments {
    /// The file of the key; it must not be there
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// How long it is: 128 or 256 bits
    #[arg(long, value_name = "BITS", default_value = "256", value_parser = ["128", "256"])]
    bits: String,
}

/// Which key opens a container, and what is expected of it.
#[derive(clap::Args)]
pub struct Opening {
    /// The file of the device's key, as `pack key` makes it
    #[arg(long, value_name = "FILE")]
    pub device_key: Option<PathBuf>,
    /// Take nothing without tags
    #[arg(long)]
    expect_tags: bool,
    /// Take no other image: its id, up to eight characters
    #[arg(long, value_name = "ID", value_parser = id)]
    expect_id: Option<Id>,
    /// Take no version older than this
    #[arg(long, value_name = "N", default_value_t = 0)]
    expect_version: u32,
}

/// The id of an image.
#[derive(Clone, Copy, Debug)]
pub struct Id(pub [u8; 8]);

/// Reads an id.
pub fn id(text: &str) -> Result<Id, String> {
    let mut id = [0; 8];
    if text.len() > id.len() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!("found `{text}`, expected up to 8 characters of ASCII"));
    }
    id[..text.len()].copy_from_slice(text.as_bytes());
    Ok(Id(id))
}

impl Opening {
    /// What is expected.
    pub fn expected(&self) -> Expected {
        Expected {
            tags: self.expect_tags,
            id: self.expect_id.map(|id| id.0),
            least_version: self.expect_version,
        }
    }
}

/// Reads the key of a device.
pub fn read(path: &Path) -> Result<DeviceKey, Error> {
    let content = read_private(path)?;
    let found_bytes = content.len();
    let wrong = || Error::Key { path: path.to_owned(), fault: KeyFault::DeviceKey { found_bytes } };
    let digits = content.strip_suffix(b"\n").unwrap_or(&content);
    let mut bytes = Zeroizing::new(vec![0; digits.len() / 2]);
    base16ct::mixed::decode(digits, &mut bytes).map_err(|_| wrong())?;
    DeviceKey::from_bytes(&bytes).map_err(|_| wrong())
}

/// Makes a key.
pub fn run(arguments: &Arguments, output: &Output) -> Result<(), Error> {
    let path = &arguments.out;
    let bytes = if arguments.bits == "128" { 16 } else { 32 };
    let mut secret = Zeroizing::new(vec![0; bytes]);
    OsRandomness.fill(&mut secret).map_err(|source| Error::io("make", path, source))?;
    let mut content = Zeroizing::new(vec![b'\n'; 2 * bytes + 1]);
    base16ct::lower::encode(&secret, &mut content[..2 * bytes]).expect("two digits hold a byte");
    let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let mut file = created.map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => Error::Key { path: path.clone(), fault: KeyFault::Exists },
        _ => Error::io("create", path, source),
    })?;
    file.write_all(&content)
        .and_then(|()| file.sync_all())
        .map_err(|source| Error::io("write", path, source))?;
    let bits = 8 * bytes;
    let text = format!(
        "a key of {bits} bits is in `{}`: keep it where images are built, and in the device",
        path.display()
    );
    output.put(&text, &json!({ "file": path, "bits": bits }))
}
