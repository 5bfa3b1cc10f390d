//! `selvedge pack verify` and `unseal`: what a container holds, to who has the device's key.
//!
//! Owns the two verbs. What is checked in which order, and how compressed code is expanded, is `pack::sealed`'s.

use std::path::{Path, PathBuf};

use ::pack::image::Moved;
use ::pack::sealed::{Unlocked, Verified, expanded};
use ::pack::{Container, DeviceKey, RunError, SealError, forms};
use selvedge::error::{Error, PackFault};
use selvedge::whole;
use serde_json::json;

use super::key::{self, Opening};
use super::{check_own_places, paths, read, words};
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
    --device-key device.key -o minigzip.packed.elf --map minigzip.csv\n\
    Code that was packed stays packed: only a processor with a decompressor executes it. Code that was\n\
    compressed to be decoded on fill is expanded to what it was.")]
pub struct Unseal {
    /// The container
    #[arg(value_name = "SPK")]
    image: PathBuf,
    /// The ELF file
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// Write where each instruction of the program went, too: `old,new,slot`, the addresses of its word in the
    /// program and in the image, and which of that word's instructions it is
    #[arg(long, value_name = "CSV")]
    map: Option<PathBuf>,
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

/// An address map, a line for each instruction.
fn csv(map: &[Moved]) -> String {
    let lines = map.iter().map(|Moved { old, new }| format!("{old:#010x},{:#010x},{}\n", new & !3, new & 3));
    ["old,new,slot\n".to_owned()].into_iter().chain(lines).collect()
}

/// Writes the opened image.
pub fn unseal(arguments: &Unseal, output: &Output) -> Result<(), Error> {
    let path = &arguments.image;
    let written: Vec<&Path> = [arguments.out.as_path()].into_iter().chain(paths([&arguments.map])).collect();
    check_own_places(&[path], &written)?;
    let opened = Opened::of(path, &read(path)?, &arguments.opening)?;
    let refused = |error: SealError| PackFault::from(error).of(path);
    let unlocked = opened.unlock(&arguments.opening).map_err(refused)?;
    let bytes = forms::elf::elf(&open(&unlocked).map_err(|fault| fault.of(path))?);
    let map = opened.container().map();
    if arguments.map.is_some() && map.is_empty() {
        return Err(PackFault::NoMap.of(path));
    }
    whole::write(&arguments.out, &bytes)?;
    let mut text = format!("written: `{}`, {} bytes, opened\n", arguments.out.display(), bytes.len());
    if let Some(file) = &arguments.map {
        whole::write(file, csv(map).as_bytes())?;
        text += &format!("written: `{}`, {} instructions\n", file.display(), map.len());
    }
    let value = json!({
        "container": path, "elf": arguments.out, "bytes": bytes.len(), "map": arguments.map,
        "map_instructions": map.len(),
    });
    output.put(&text, &value)
}
