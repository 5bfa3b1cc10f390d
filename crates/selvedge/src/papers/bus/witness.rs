//! Packed images as a device would have them: sealed line by line, in a container that is read from its bytes, and run
//! through decompressor, cache, decipher and memory.
//!
//! Owns the comparison: what such a run writes is what a native build writes, and it takes what the sweep says.

use ::pack::chain::{Settings, sealed};
use ::pack::integrity::ImageName;
use ::pack::lines::Choice;
use ::pack::seal::Row;
use ::pack::sealed::{Expected, Settings as Sealing, Unsealed, seal};
use ::pack::sweep::{Input, Ran};
use ::pack::{Container, DeviceKey, Image, ImageKey, SealError};
use cipher::{OsRandomness, Randomness};
use isa::Cycles;
use isa::sparc::user;
use selvedge::error::PackFault;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// The digest of what a program writes when it is built for the machine that built the corpus, by input.
pub struct Native(Vec<(String, String)>);

impl Native {
    /// Of a program, from corpus/outputs.csv.
    pub fn of(text: &str, program: &str) -> Native {
        let lines = text.lines().filter_map(|line| line.strip_prefix(program)?.strip_prefix(','));
        let ends = |line: &str| {
            let (input, digest) = (line.split(',').next()?, line.rsplit(',').next()?);
            Some((input.to_owned(), digest.to_owned()))
        };
        Native(lines.filter_map(ends).collect())
    }

    fn is_of(&self, input: &str, output: &[u8]) -> bool {
        let found: String = Sha256::digest(output).iter().map(|byte| format!("{byte:02x}")).collect();
        self.0.iter().any(|(name, digest)| name == input && *digest == found)
    }
}

/// What a run through the chain was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chained {
    /// All its cycles.
    pub cycles: Cycles,
    /// Whether it wrote what a native build writes.
    pub is_native: bool,
}

/// A run through the chain, beside what the sweep says of it.
pub struct Witnessed {
    /// The core.
    pub core: &'static str,
    /// The input.
    pub input: String,
    /// What the order was drawn from; `None` for the packer's own.
    pub seed: Option<u64>,
    /// The sweep's cycles.
    pub predicted: Cycles,
    /// The run.
    pub found: Chained,
}

impl Witnessed {
    /// Whether both say the same.
    pub fn agrees(&self) -> bool {
        self.found.is_native && self.found.cycles == self.predicted
    }
}

/// A container's bytes, sealed as in the paper under keys that are drawn, and the device's key.
fn container(image: &Image) -> Result<(Vec<u8>, DeviceKey), SealError> {
    let why = |error: std::io::Error| SealError::Randomness { why: error.to_string() };
    let row = Row::named("ecb", None, true)?;
    let settings = Sealing {
        seal: row,
        allow_legacy: true,
        choice: Choice::default(),
        integrity: None,
        image: ImageName { version: 0, id: *b"paperbus" },
        tables_first: None,
    };
    let mut secret = Zeroizing::new([0; 16]);
    OsRandomness.fill(&mut secret[..]).map_err(why)?;
    let device = DeviceKey::from_bytes(&secret[..])?;
    let key = ImageKey::random(row, &mut OsRandomness).map_err(why)?;
    let sealed = seal(&Unsealed::from(image.clone()), &settings, &key, &device, &mut OsRandomness)?;
    Ok((sealed.to_bytes(), device))
}

/// Seals an image, reads it back and runs it behind the paper's cache, memory and cipher.
pub fn witness(
    image: &Image,
    input: &Input,
    user: &user::Settings,
    native: &Native,
) -> Result<Chained, PackFault> {
    let (bytes, device) = container(image)?;
    let read = Container::parse(&bytes)?;
    let (image, protection) = sealed::boot(read.unlock(&device, &Expected::default())?)?;
    let ran = Ran::protected(&image, &protection, input, &Settings::default(), user)?;
    let is_native = native.is_of(&input.name, &ran.output);
    Ok(Chained { cycles: ran.cycles + ran.waited_cycles, is_native })
}
