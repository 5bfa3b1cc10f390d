//! `selvedge pack build`: a program packed, sealed for a device, and written.
//!
//! Owns the verb, sealing, what is written where, and its report. What a scheme makes of the program is `prepared`'s,
//! which compares it with the program; and the container is opened again before it is written: nothing is written that
//! is not the program.

use std::path::{Path, PathBuf};

use ::pack::integrity::{ImageName, Integrity};
use ::pack::lines::Choice;
use ::pack::packing;
use ::pack::seal::Row;
use ::pack::sealed::{self, Expected, Unsealed};
use ::pack::{Container, DeviceKey, ImageKey, SealError, forms};
use cipher::OsRandomness;
use selvedge::error::{Error, PackFault};
use selvedge::whole;
use serde_json::json;

use super::key::{self, Id};
use super::settings::{self, Packing};
use super::words::{self, nothing, packing_tables};
use super::{check_own_places, number, paths};
use crate::output::Output;
use prepared::{Prepared, Report, Scheme};
use tuned::Tuning;

mod prepared;
mod tuned;

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    selvedge pack build corpus/sparc/minigzip.elf -o minigzip.spk --device-key device.key \\\n    \
    --integrity 8\n  \
    selvedge pack build my.elf -o my.spk --device-key device.key --profile my.profile \\\n    \
    --dictionary blend=50 --order hot --seal ctr --layout otfad --hex my.hex\n  \
    selvedge pack build corpus/sparc/search.elf -o search.spk --device-key device.key --integrity 8 \\\n    \
    --for-cache 1024 --order hot --runs data/workload/runs.txt\n  \
    selvedge pack build my.elf -o my.spk --device-key device.key --scheme fields --block 32\n  \
    selvedge pack build arm.elf -o arm.spk --device-key device.key --scheme none \\\n    \
    --leave-section .ram_code\n\
    Only the container says how it is opened; --bin, --hex and --elf are its memory, for flash.")]
pub struct Arguments {
    /// The program: a linked ELF file, to be packed with its relocations (`-Wl,-q`)
    #[arg(value_name = "ELF")]
    program: PathBuf,
    /// The container
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// What is done to instructions
    #[arg(long, value_enum, default_value_t = Scheme::Compacket)]
    scheme: Scheme,
    /// Bytes of plain code that are decoded together, by the schemes that do so on fill: 16, 32 or 64 [default: 64]
    #[arg(long, value_name = "BYTES")]
    block: Option<u32>,
    #[command(flatten)]
    packing: Packing,
    #[command(flatten)]
    tuning: Tuning,
    #[command(flatten)]
    sealing: Sealing,
    #[command(flatten)]
    forms: Forms,
}

/// How an image is sealed.
#[derive(clap::Args)]
#[command(next_help_heading = "Sealing")]
struct Sealing {
    /// The file of the device's key, as `pack key` makes it: the image's own key is wrapped under it
    #[arg(long, value_name = "FILE")]
    device_key: PathBuf,
    /// The seal: xts, ctr, or ecb, which the paper has and which shows equal lines
    #[arg(long, value_name = "SEAL", default_value = "xts")]
    seal: String,
    /// How the counters of ctr are made: otfdec, otfad, otfad-swapped or mcuboot-xip
    #[arg(long, value_name = "LAYOUT")]
    layout: Option<String>,
    /// Allow a seal that shows which lines are equal
    #[arg(long)]
    allow_legacy: bool,
    /// Add tags over so many lines each, 1, 4 or 8, of 8 bytes, or of 16
    #[arg(long, value_name = "LINES[xBYTES]", value_parser = settings::integrity)]
    integrity: Option<Integrity>,
    /// Which image it is: up to eight characters
    #[arg(long, value_name = "ID", default_value = "", value_parser = key::id)]
    id: Id,
    /// The image's version
    #[arg(long, value_name = "N", default_value_t = 0)]
    image_version: u32,
    /// Where dictionary and tags go [default: the first room behind code or constants]
    #[arg(long, value_name = "ADDRESS", value_parser = number)]
    tables: Option<u32>,
    /// Leave out the map of addresses, which is for debuggers and tells where code was packed
    #[arg(long)]
    no_map: bool,
    /// Seal only these sections
    #[arg(long, value_name = "SECTION")]
    seal_section: Vec<String>,
    /// Leave a section unsealed
    #[arg(long, value_name = "SECTION")]
    leave_section: Vec<String>,
}

/// Other forms of the image's memory.
#[derive(clap::Args)]
#[command(next_help_heading = "Forms")]
struct Forms {
    /// Write its memory as it is, from its first address on
    #[arg(long, value_name = "FILE")]
    bin: Option<PathBuf>,
    /// Write its memory as Intel HEX
    #[arg(long, value_name = "FILE")]
    hex: Option<PathBuf>,
    /// Write its memory as an ELF file
    #[arg(long, value_name = "FILE")]
    elf: Option<PathBuf>,
}

impl Arguments {
    fn outputs(&self) -> Vec<&Path> {
        let forms = paths([&self.forms.bin, &self.forms.hex, &self.forms.elf]);
        [self.out.as_path()].into_iter().chain(forms).collect()
    }
}

impl Sealing {
    fn settings(&self) -> Result<sealed::Settings, SealError> {
        let choice = match &self.seal_section[..] {
            [] => Choice { exclude: self.leave_section.clone(), ..Choice::default() },
            only => Choice { kinds: Vec::new(), include: only.to_vec(), exclude: self.leave_section.clone() },
        };
        Ok(sealed::Settings {
            seal: Row::named(&self.seal, self.layout.as_deref(), self.allow_legacy)?,
            allow_legacy: self.allow_legacy,
            choice,
            integrity: self.integrity,
            image: ImageName { version: self.image_version, id: self.id.0 },
            tables_first: self.tables,
        })
    }

    /// The image in a container, under a key of its own.
    fn sealed(&self, unsealed: &Unsealed, device: &DeviceKey) -> Result<Container, SealError> {
        let settings = self.settings()?;
        let drawn = ImageKey::random(settings.seal, &mut OsRandomness);
        let key = drawn.map_err(|error| SealError::Randomness { why: error.to_string() })?;
        sealed::seal(unsealed, &settings, &key, device, &mut OsRandomness)
    }
}

/// Asserts that a device gets what was sealed.
fn check_opens(container: &[u8], device: &DeviceKey, unsealed: &Unsealed) {
    let read = Container::parse(container).expect("what was written can be read");
    let unlocked = read.unlock(device, &Expected::default()).expect("it was wrapped under this key");
    assert!(unlocked.unseal().as_ref() == Ok(unsealed), "what is unsealed is what was sealed");
}

/// Runs the verb.
pub fn run(arguments: &Arguments, output: &Output) -> Result<(), Error> {
    let (program, sealing) = (&arguments.program, &arguments.sealing);
    let learnt = arguments.packing.profile_paths().chain(arguments.tuning.paths());
    let inputs: Vec<&Path> =
        [program.as_path(), sealing.device_key.as_path()].into_iter().chain(learnt).collect();
    check_own_places(&inputs, &arguments.outputs())?;
    let refused = |error: SealError| PackFault::from(error).of(program);
    sealing.settings().map_err(refused)?;
    prepared::check_flags(arguments)?;
    let device = key::read(&sealing.device_key)?;
    let mut prepared = prepared::prepared(arguments)?;
    if sealing.no_map {
        prepared.unsealed.map.clear();
    }
    let container = sealing.sealed(&prepared.unsealed, &device).map_err(refused)?;
    let bytes = container.to_bytes();
    check_opens(&bytes, &device, &prepared.unsealed);
    whole::write(&arguments.out, &bytes)?;
    let mut bin_first = None;
    if let Some(path) = &arguments.forms.bin {
        let (first, bytes) = forms::bin::bin(&container).map_err(refused)?;
        whole::write(path, &bytes)?;
        bin_first = Some(first);
    }
    if let Some(path) = &arguments.forms.hex {
        whole::write(path, forms::hex::hex(&container).as_bytes())?;
    }
    if let Some(path) = &arguments.forms.elf {
        whole::write(path, &forms::elf::elf(&container))?;
    }
    show(arguments, &prepared, &container, bytes.len(), bin_first, output)
}

fn show(
    arguments: &Arguments,
    prepared: &Prepared,
    container: &Container,
    container_bytes: usize,
    bin_first: Option<u32>,
    output: &Output,
) -> Result<(), Error> {
    let mut text = words::sections(container).text(None);
    text += &match &prepared.report {
        Report::Packed(report) if report.nothing.is_none() => packed(report, container),
        Report::Compressed { block_bytes, report, .. } => words::compressed(report, *block_bytes),
        Report::NotSmaller { found_bytes, limit_bytes, .. } => words::not_smaller(*found_bytes, *limit_bytes),
        Report::Packed(_) | Report::None => String::new(),
    };
    if !prepared.trained.is_empty() {
        text += &format!("learnt from: {}\n", prepared.trained.join(", "));
    }
    for (name, fact) in words::facts(container) {
        text += &format!("{name}: {fact}\n");
    }
    if prepared.left_out_bytes > 0 {
        text += &format!("left out: {} bytes of segments are in no section\n", prepared.left_out_bytes);
    }
    text += &format!("written: `{}`, {container_bytes} bytes\n", arguments.out.display());
    if let Some((path, first)) = arguments.forms.bin.as_ref().zip(bin_first) {
        text += &format!("written: `{}`, which goes to {first:#010x}\n", path.display());
    }
    for path in paths([&arguments.forms.hex, &arguments.forms.elf]) {
        text += &format!("written: `{}`\n", path.display());
    }
    let (packing, compression) = match &prepared.report {
        Report::Packed(report) => (Some(report), None),
        Report::Compressed { code, block_bytes, report } => {
            (None, Some(words::compression(*code, report, *block_bytes)))
        }
        Report::NotSmaller { code, block_bytes, limit_bytes, .. } => {
            (None, Some(words::no_compression(*code, *limit_bytes, *block_bytes)))
        }
        Report::None => (None, None),
    };
    if let Some(why) = packing.and_then(nothing) {
        text += &format!("{why}\n");
    }
    let value = json!({
        "program": arguments.program, "container": arguments.out, "container_bytes": container_bytes,
        "scheme": arguments.scheme.code().name(), "packing": packing.map(|report| words::report(report, Some(container))),
        "compression": compression, "trained": prepared.trained, "image": words::container(container),
        "left_out_bytes": prepared.left_out_bytes,
        "bin": arguments.forms.bin.as_ref().map(|path| json!({ "file": path, "first": bin_first })),
        "hex": arguments.forms.hex, "elf": arguments.forms.elf,
    });
    output.put(&text, &value)
}

/// What packing did, for a person.
fn packed(report: &packing::Report, container: &Container) -> String {
    let mut text: String = packing_tables(report).iter().map(|table| table.text(None)).collect();
    text += &format!(
        "packed: {} bytes of code as {}, with a dictionary of {}: {:.1} %\n",
        4 * report.plain_words,
        4 * report.packed_words,
        report.dictionary_bytes,
        100.0 * report.ratio()
    );
    if let Some((ratio, bytes)) = words::with_tags(report, container) {
        text += &format!("with tags of that, {bytes} bytes: {:.1} %\n", 100.0 * ratio);
    }
    text += &format!(
        "functions: {} of {} packed; {} instructions rewritten, {} words of padding left out\n",
        report.pieces_packed, report.pieces, report.rewritten, report.padding_words
    );
    text
}
