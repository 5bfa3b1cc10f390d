//! Pairs of hosts and guests as programs for a chip: woven by the command line, linked, and ready to be called.
//!
//! Owns: the list of pairs, how each is woven and linked, and what a call of it is given. What runs the program is the
//! caller's: our simulator in `weave.rs`, a foreign one in the witness workspace, which includes this file.
#![allow(dead_code)] // each program that includes it uses some of it

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use isa::avr::{ATMEGA128, ATMEGA328P, Image, Profile};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::Rng;

/// Bytes of the host's objects and message together.
pub const HOST_BYTES: usize = 2816;
/// Where the message begins in them.
pub const MESSAGE_AT: usize = 512;
/// Bytes of the guest's buffer, and one behind it that ws2812 reads.
pub const GUEST_BYTES: usize = 257;

/// What a host is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A state of 258 bytes, a message and its length.
    Rc4,
    /// A schedule of 104 bytes, a message and its blocks of 8 bytes.
    Rc5,
    /// A CRC, a message and its length; returns a CRC.
    Crc16,
}

/// A function that computes.
#[derive(Clone, Copy, Debug)]
pub struct Host {
    /// Its file in `firmware/crypto`.
    pub file: &'static str,
    /// Its name.
    pub function: &'static str,
    /// A flag for the compiler.
    pub flag: Option<&'static str>,
    /// What it is given.
    pub shape: Shape,
}

/// A function that keeps time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guest {
    /// SPI, a byte every so many cycles.
    SpiTx(u32),
    /// SPI, received.
    SpiRx(u32),
    /// Lights, 20 cycles a bit.
    Ws2812,
    /// A serial line, so many cycles a bit.
    Uart(u32),
}

/// What becomes of a pair.
#[derive(Clone, Copy, Debug)]
pub enum Expected {
    /// It is woven.
    Woven,
    /// It is refused, in these words among others.
    Refused(&'static str),
    /// It is woven and right, and the proof of the linked image says otherwise, in a few words why.
    Unlinked(&'static str),
    /// It should be woven, and is not: a fault of weaving that is known, in a few words.
    Faulty(&'static str),
}

/// A host and a guest on a chip.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    pub host: Host,
    pub guest: Guest,
    pub profile: &'static Profile,
    /// `--growth`.
    pub growth: &'static str,
    pub expected: Expected,
}

const fn host(file: &'static str, function: &'static str, flag: Option<&'static str>, shape: Shape) -> Host {
    Host { file, function, flag, shape }
}

pub const RC4_C8: Host = host("rc4_c8.c", "rc4_c8_crypt", None, Shape::Rc4);
pub const RC4_TEXTBOOK: Host = host("rc4_textbook.c", "rc4_textbook_crypt", None, Shape::Rc4);
pub const RC4_TEXTBOOK_O0: Host = host("rc4_textbook.c", "rc4_textbook_crypt", Some("-O0"), Shape::Rc4);
pub const RC4_AVR: Host = host("rc4_avr.S", "rc4_avr_crypt", None, Shape::Rc4);
pub const RC5_TEXTBOOK: Host = host("rc5_textbook.c", "rc5_textbook_encrypt", None, Shape::Rc5);
pub const RC5_TEXTBOOK_O0: Host = host("rc5_textbook.c", "rc5_textbook_encrypt", Some("-O0"), Shape::Rc5);
pub const RC5_C8: Host = host("rc5_c8.c", "rc5_c8_encrypt", None, Shape::Rc5);
pub const RC5_AVR: Host = host("rc5_avr.S", "rc5_avr_encrypt", None, Shape::Rc5);
pub const CRC16_AVR: Host = host("crc16_avr.S", "crc16_avr_update", None, Shape::Crc16);

/// Periods of SPI: 8 N + 2 cycles for every divider N up to 32.
pub const PERIODS: [u32; 5] = [18, 34, 66, 130, 258];

impl Host {
    /// Bytes of its parameters.
    pub fn arguments(&self) -> &'static [u8] {
        match self.shape {
            Shape::Rc4 | Shape::Crc16 => &[2, 2, 2],
            Shape::Rc5 => &[2, 2, 1],
        }
    }

    /// A name for tables.
    pub fn name(&self) -> String {
        let stem = self.function.rsplit_once('_').expect("functions are called <alg>_<variant>_<op>").0;
        format!("{stem}{}", self.flag.unwrap_or_default())
    }

    /// Bytes of one unit of its message, and how many units there are at most.
    pub fn unit(&self) -> (usize, usize) {
        match self.shape {
            Shape::Rc4 | Shape::Crc16 => (1, HOST_BYTES - MESSAGE_AT),
            Shape::Rc5 => (8, 255),
        }
    }
}

impl Guest {
    /// Its file's and function's name.
    pub fn function(&self) -> &'static str {
        match self {
            Guest::SpiTx(_) => "spi_tx",
            Guest::SpiRx(_) => "spi_rx",
            Guest::Ws2812 => "ws2812",
            Guest::Uart(_) => "uart_tx",
        }
    }

    fn definition(&self) -> Option<String> {
        match self {
            Guest::SpiTx(cycles) | Guest::SpiRx(cycles) => Some(format!("PERIOD={cycles}")),
            Guest::Uart(cycles) => Some(format!("BIT={cycles}")),
            Guest::Ws2812 => None,
        }
    }

    /// SPCR and SPSR for the divider that a period is for.
    fn defines(&self) -> Vec<String> {
        let (Guest::SpiTx(cycles) | Guest::SpiRx(cycles)) = self else { return Vec::new() };
        let (rate, double) = match (cycles - 2) / 8 {
            2 => (0, 1),
            4 => (0, 0),
            8 => (1, 1),
            16 => (1, 0),
            32 => (2, 1),
            other => panic!("no divider is {other}"),
        };
        vec![format!("-DSPI_CONTROL={}", 0x50 | rate), format!("-DSPI_DOUBLE={double}")]
    }
}

impl Pair {
    /// A name for tables.
    pub fn name(&self) -> String {
        let cycles = match self.guest {
            Guest::SpiTx(cycles) | Guest::SpiRx(cycles) | Guest::Uart(cycles) => cycles,
            Guest::Ws2812 => 20,
        };
        format!("{} + {} every {cycles}", self.host.name(), self.guest.function())
    }
}

/// Every pair.
pub fn pairs() -> Vec<Pair> {
    let spi = |host, guest, expected| Pair { host, guest, profile: &ATMEGA128, growth: "10", expected };
    let mut pairs = Vec::new();
    for host in
        [RC4_C8, RC4_TEXTBOOK, RC4_TEXTBOOK_O0, RC4_AVR, RC5_TEXTBOOK, RC5_TEXTBOOK_O0, RC5_C8, CRC16_AVR]
    {
        for period in PERIODS {
            let expected = match (host.file, host.flag, period) {
                ("rc5_c8.c", _, 18) => Expected::Refused("`bst` needs 2 cycles in one piece"),
                _ => Expected::Woven,
            };
            pairs.push(spi(host, Guest::SpiTx(period), expected));
        }
    }
    pairs.push(spi(RC5_AVR, Guest::SpiTx(130), Expected::Woven));
    for (host, period) in [(CRC16_AVR, 18), (RC4_AVR, 34), (RC4_C8, 130)] {
        pairs.push(spi(host, Guest::SpiRx(period), Expected::Woven));
    }
    pairs.push(spi(RC4_C8, Guest::Uart(139), Expected::Woven));
    pairs.push(spi(CRC16_AVR, Guest::Uart(139), Expected::Woven));
    let lights =
        |host, growth, expected| Pair { host, guest: Guest::Ws2812, profile: &ATMEGA328P, growth, expected };
    pairs.push(lights(CRC16_AVR, "10", Expected::Woven));
    pairs.push(lights(RC4_AVR, "3", Expected::Woven));
    pairs.push(lights(RC4_AVR, "10", Expected::Woven));
    pairs
}

/// Programs that differ in what they call.
pub struct Built {
    /// Woven, and the host by itself.
    pub woven: Image,
    pub plain: Image,
    /// The woven image's file.
    pub elf: Vec<u8>,
    /// The woven function.
    pub name: String,
    /// What `selvedge weave --json` said.
    pub said: serde_json::Value,
}

/// Why there are no programs.
#[derive(Debug)]
pub enum Unbuilt {
    /// No compiler.
    NoCompiler,
    /// It cannot be woven.
    Refused(String),
}

/// The source tree, from whichever package includes this file.
pub fn root() -> PathBuf {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    { above }.find(|folder| folder.join("firmware").is_dir()).expect("a package of this tree").to_path_buf()
}

/// Weaves and links a pair below `scratch`; `interrupts` says whether they are on at the call.
pub fn build(selvedge: &str, scratch: &Path, pair: &Pair, interrupts: bool) -> Result<Built, Unbuilt> {
    build_served(selvedge, scratch, pair, interrupts, &[], "")
}

/// The same with servers of `firmware/node` woven in, and C that prepares what they poll.
pub fn build_served(
    selvedge: &str,
    scratch: &Path,
    pair: &Pair,
    interrupts: bool,
    servers: &[&str],
    prepares: &str,
) -> Result<Built, Unbuilt> {
    if Command::new("avr-gcc").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "avr-gcc is missing, and under CI it must not be");
        return Err(Unbuilt::NoCompiler);
    }
    let (host, guest) = (&pair.host, pair.guest);
    let source = root().join("firmware/crypto").join(host.file);
    let chip = pair.profile.name.to_lowercase();
    let [out, header] = ["woven.s", "woven.h"].map(|name| scratch.join(name));
    let bytes: Vec<String> = host.arguments().iter().map(u8::to_string).collect();
    let mut weave = Command::new(selvedge);
    weave.args(["weave", "--json", "--name", "woven", "--growth", pair.growth, "--chip", &chip]);
    weave.arg(&source).args(["--host", host.function, "--host-arguments", &bytes.join(",")]);
    weave.arg("--guest").arg(root().join(format!("firmware/node/guest_{}.S", guest.function())));
    weave.args(["--guest-fn", guest.function()]).arg("-o").arg(&out).arg("--header").arg(&header);
    if let Some(definition) = guest.definition() {
        weave.args(["-D", &definition]);
    }
    if let Some(flag) = host.flag {
        weave.args(["--flag", flag]);
    }
    let files: Vec<PathBuf> =
        servers.iter().map(|server| root().join(format!("firmware/node/{server}.S"))).collect();
    for (file, server) in files.iter().zip(servers) {
        weave.arg("--server").arg(format!("{}:{server}", file.display()));
    }
    let output = weave.output().expect("selvedge runs");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.code() {
        Some(0) => {}
        Some(1) => return Err(Unbuilt::Refused(words)),
        _ => panic!("{}: {}\n{words}", pair.name(), output.status),
    }
    let said = serde_json::from_slice(&output.stdout).expect("--json prints JSON");
    // The woven function wants to know that it is linked for the chip and clock that it is timed for.
    let needs = scratch.join("needs.c");
    fs::write(&needs, format!("#include \"woven.h\"\n{prepares}")).expect("a file in the scratch folder");
    // Beside their code, the servers' files have their data.
    let mut sources: Vec<&Path> = vec![&out, &needs];
    sources.extend(files.iter().map(PathBuf::as_path));
    let elf = link(scratch, pair, "woven", &sources, interrupts);
    let plain = link(scratch, pair, host.function, &[&source], interrupts);
    let image = |elf: &[u8]| Image::parse(elf).expect("what avr-gcc links is an image");
    Ok(Built { woven: image(&elf), plain: image(&plain), elf, name: "woven".to_owned(), said })
}

fn link(scratch: &Path, pair: &Pair, function: &str, sources: &[&Path], interrupts: bool) -> Vec<u8> {
    let elf = scratch.join(format!("{function}.elf"));
    let mut command = Command::new("avr-gcc");
    command.arg(format!("-mmcu={}", pair.profile.name.to_lowercase()));
    command
        .args(["-std=gnu99", "-O2", "-fno-jump-tables", "-Wall", "-Werror", "-gdwarf-2"])
        .args(pair.guest.defines());
    // ATmega328P: 2 KiB of SRAM.
    let host_bytes = host_bytes(pair.profile);
    command.args([format!("-DFUNCTION={function}"), format!("-DHOST_BYTES={host_bytes}")]);
    command.arg(format!("-DGUEST_BYTES={GUEST_BYTES}"));
    if interrupts {
        command.arg("-DINTERRUPTS");
    }
    command.arg(root().join("crates/selvedge/tests/woven/main.c")).args(sources).arg("-o").arg(&elf);
    // Behind the flags above, for the host alone: where it is C it was woven with this flag too.
    if let Some(flag) = pair.host.flag {
        command.arg(flag);
    }
    let output = command.output().expect("avr-gcc runs");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {words}", pair.name());
    fs::read(&elf).expect("avr-gcc has written it")
}

/// Bytes of the host's memory on a chip.
pub fn host_bytes(profile: &Profile) -> usize {
    if profile.name == ATMEGA128.name { HOST_BYTES } else { 1024 }
}

/// What a pair is called with.
#[derive(Clone, Debug)]
pub struct Input {
    /// The host's memory.
    pub host: Vec<u8>,
    /// The guest's buffer.
    pub guest: Vec<u8>,
    /// Units of the host's message.
    pub units: usize,
    /// Bytes that the guest sends or receives.
    pub count: usize,
    /// Registers that hold no parameter, by number.
    pub registers: [u8; 32],
    /// The CRC to go on from.
    pub crc: u16,
}

impl Input {
    /// Random, of these lengths.
    pub fn random(rng: &mut ChaCha20Rng, profile: &Profile, units: usize, count: usize) -> Input {
        let mut random = |bytes| {
            let mut all = vec![0; bytes];
            rng.fill_bytes(&mut all);
            all
        };
        let (host, guest) = (random(host_bytes(profile)), random(GUEST_BYTES));
        let registers = random(32).try_into().expect("32 bytes");
        Input { host, guest, units, count, registers, crc: rng.next_u32() as u16 }
    }

    /// The registers at the call: avr-gcc's ABI, from r25 down, each parameter at an even register; r1 is zero.
    pub fn registers(&self, pair: &Pair, host_memory: u16, guest_memory: u16) -> [u8; 32] {
        let message = host_memory + MESSAGE_AT as u16;
        let length = self.units as u16;
        let values = match pair.host.shape {
            Shape::Rc4 | Shape::Rc5 => [host_memory, message, length],
            Shape::Crc16 => [self.crc, message, length],
        };
        let host = pair.host.arguments().iter().copied().zip(values);
        let guest = [(2, guest_memory), (1, self.count as u8 as u16)];
        let mut registers = self.registers;
        registers[1] = 0;
        let mut next = 26;
        for (bytes, value) in host.chain(guest) {
            next -= usize::from(bytes + bytes % 2);
            registers[next..next + usize::from(bytes)]
                .copy_from_slice(&value.to_le_bytes()[..usize::from(bytes)]);
        }
        registers
    }
}
