//! `selvedge pack verify` and `unseal`: what a container holds, to who has the device's key.
//!
//! Owns the two verbs. What is checked in which order, and how compressed code is expanded, is `pack::sealed`'s.

use std::path::{Path, PathBuf};

use ::pack::sealed::{Unlocked, Verified, expanded};
use ::pack::{Container, DeviceKey, RunError, SealError, forms};
use selvedge::error::{Error, PackFault};
use selvedge::whole;
use serde_json::json;

use super::key::{self, Opening};
use super::{check_own_places, read, words};
use crate::output::Output;

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  selvedge pack verify minigzip.spk --device-key device.key\n  \
                        selvedge pack verify my.spk --device-key device.key --expect-tags --expect-version 3\n\
                        Exit code 1: a tag does not match, or it is not the image that is expected.")]
pub struct Verify {
    /// The container
    #[arg(value_name = "SPK")]
    image: PathBuf,
    #[command(flatten)]
    opening: Opening,
}

#[derive(clap::Args)]
#[command(after_help = "Example: selvedge pack unseal minigzip.spk \
    --device-key device.key -o minigzip.packed.elf\n\
    Code that was packed stays packed: only a processor with a decompressor executes it. Code that was\n\
    compressed to be decoded on fill is expanded to what it was.")]
pub struct Unseal {
    /// The container
    #[arg(value_name = "SPK")]
    image: PathBuf,
    /// The ELF file
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    #[command(flatten)]
    opening: Opening,
}

/// A container and the key that it is opened with.
pub struct Opened {
    container: Container,
    device: DeviceKey,
}

impl Opened {
    /// Of a container's bytes.
    pub fn of(path: &Path, bytes: &[u8], opening: &Opening) -> Result<Opened, Error> {
        let container = Container::parse(bytes).map_err(|error| PackFault::from(error).of(path))?;
        let file = opening.device_key.as_deref().ok_or_else(|| PackFault::NoDeviceKey.of(path))?;
        Ok(Opened { container, device: key::read(file)? })
    }

    /// What was opened.
    pub fn container(&self) -> &Container {
        &self.container
    }

    /// It with its keys, if it is what is expected.
    pub fn unlock(&self, opening: &Opening) -> Result<Unlocked<'_>, SealError> {
        self.container.unlock(&self.device, &opening.expected())
    }
}

/// What is in a container, opened, with compressed code as it was before.
fn open(unlocked: &Unlocked<'_>) -> Result<Container, PackFault> {
    expanded(unlocked.opened()?).map_err(|error: RunError| error.into())
}

/// Checks every tag; and that compressed code can be expanded, which where there are no tags says a little.
pub fn verify(arguments: &Verify, output: &Output) -> Result<(), Error> {
    let path = &arguments.image;
    let opened = Opened::of(path, &read(path)?, &arguments.opening)?;
    let refused = |error: SealError| PackFault::from(error).of(path);
    let unlocked = opened.unlock(&arguments.opening).map_err(refused)?;
    let verified = unlocked.verify();
    let Verified { is_legacy, tags, tagged_lines, untagged_lines, plain_bytes, faults, fault_count } =
        &verified;
    let mut text = words::sections(opened.container()).text(None);
    for (name, fact) in words::facts(opened.container()) {
        text += &format!("{name}: {fact}\n");
    }
    text += &format!(
        "checked: {tags} tags over {tagged_lines} lines, {fault_count} of them do not match; \
         {untagged_lines} sealed lines and {plain_bytes} bytes that are not sealed have none\n"
    );
    if *is_legacy {
        text += "the seal shows which lines are equal\n";
    }
    let value = json!({
        "container": path, "image": words::container(opened.container()), "is_legacy": is_legacy,
        "tags": tags, "tagged_lines": tagged_lines, "untagged_lines": untagged_lines,
        "plain_bytes": plain_bytes, "faults": fault_count,
    });
    if !faults.is_empty() {
        return Err(PackFault::Tags { faults: faults.clone(), count: *fault_count }.of(path));
    }
    open(&unlocked).map_err(|fault| fault.of(path))?;
    output.put(&text, &value)
}

/// Writes the opened image.
pub fn unseal(arguments: &Unseal, output: &Output) -> Result<(), Error> {
    let path = &arguments.image;
    check_own_places(&[path], &[&arguments.out])?;
    let opened = Opened::of(path, &read(path)?, &arguments.opening)?;
    let refused = |error: SealError| PackFault::from(error).of(path);
    let unlocked = opened.unlock(&arguments.opening).map_err(refused)?;
    let bytes = forms::elf::elf(&open(&unlocked).map_err(|fault| fault.of(path))?);
    whole::write(&arguments.out, &bytes)?;
    let text = format!("written: `{}`, {} bytes, opened", arguments.out.display(), bytes.len());
    let value = json!({ "container": path, "elf": arguments.out, "bytes": bytes.len() });
    output.put(&text, &value)
}
