//! Pairs of hosts and guests as programs for a chip: woven by the command line, linked, and ready to be called.
//!
//! Owns: the list of pairs, how each is woven and linked, and what a call of it is given. What runs the program is the
//! caller's: our simulator in `weave.rs`, a foreign one in the witness workspace, which includes this file.
#![allow(dead_code)] // each program that includes it uses some of it

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cipher::{Aead, Suite};
use isa::avr::{ATMEGA128, ATMEGA328P, Image, Profile};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::Rng;

/// Bytes of the host's objects and message together.
pub const HOST_BYTES: usize = 2816;
/// Where the message begins in them.
pub const MESSAGE_AT: usize = 512;
/// Bytes of the guest's buffer, and one behind it that ws2812 reads.
pub const GUEST_BYTES: usize = 257;

/// One parameter of a host, of two bytes unless it says otherwise.
#[derive(Clone, Copy, Debug)]
pub enum Parameter {
    /// A pointer to this place of the host's memory.
    At(u16),
    /// How many units the message has.
    Units,
    /// The same in one byte.
    FewUnits,
    /// This number.
    Number(u16),
    /// A random number.
    Random,
}

/// What a host is given, and what of its memory has to be right for it to do all that it can do.
#[derive(Debug)]
pub struct Shape {
    /// In order.
    parameters: &'static [Parameter],
    /// Bytes of one unit of the message.
    unit_bytes: usize,
    /// Bytes that it returns.
    pub returned_bytes: usize,
    /// Whether it opens what Ascon-AEAD128 sealed.
    opens_ascon: bool,
}

use Parameter::{At, FewUnits, Number, Random, Units};

const MESSAGE: Parameter = At(MESSAGE_AT as u16);
const NONCE_AT: usize = 64;
const KEY_AT: usize = 96;
const TAG_AT: usize = 128;
/// More than a block, and not whole blocks.
const AD_BYTES: usize = 19;

const fn shape(parameters: &'static [Parameter], unit_bytes: usize, returned_bytes: usize) -> Shape {
    Shape { parameters, unit_bytes, returned_bytes, opens_ascon: false }
}

/// A state of 258 bytes or the words of ChaCha20, and a message.
static STREAM: Shape = shape(&[At(0), MESSAGE, Units], 1, 0);
/// A schedule of 104 bytes and blocks of 8 bytes.
static RC5: Shape = shape(&[At(0), MESSAGE, FewUnits], 8, 0);
/// A CRC to go on from, and a message.
static CRC16: Shape = shape(&[Random, MESSAGE, Units], 1, 2);
/// Round keys, a counter block, a message.
static CTR: Shape = shape(&[At(0), At(256), MESSAGE, Units], 1, 0);
/// A message, associated data, a nonce, a key, a place for the tag.
const AEAD: &[Parameter] = &[
    MESSAGE,
    Units,
    At(0),
    Number(AD_BYTES as u16),
    At(NONCE_AT as u16),
    At(KEY_AT as u16),
    At(TAG_AT as u16),
];
static SEAL: Shape = shape(AEAD, 1, 0);
static OPEN: Shape = Shape { opens_ascon: true, ..shape(AEAD, 1, 1) };

/// A function that computes.
#[derive(Clone, Copy, Debug)]
pub struct Host {
    /// Its file, from `firmware/crypto`, or the one of those below whose data only it can name.
    pub file: &'static str,
    /// What else is needed from there.
    pub with: &'static [&'static str],
    /// Its name.
    pub function: &'static str,
    /// A flag for the compiler.
    pub flag: Option<&'static str>,
    /// What it is given.
    pub shape: &'static Shape,
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
    /// The same, written in C.
    Lights,
    /// SPI, sent from a buffer and received into the same.
    SpiDuplex(u32),
    /// SPI, received as slave, a byte every so many cycles of the master.
    SpiRxSlave(u32),
    /// A DMX512 packet, 64 cycles a bit.
    Dmx,
    /// A serial line, so many cycles a bit.
    Uart(u32),
    /// A picture row, so many cycles a pixel.
    Video(u32),
}

/// What becomes of a pair.
#[derive(Clone, Copy, Debug)]
pub enum Expected {
    /// It is woven.
    Woven,
    /// It is refused, in these words among others.
    Refused(&'static str),
}

/// A host and a guest on a chip.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    pub host: Host,
    pub guest: Guest,
    pub profile: &'static Profile,
    /// `--growth`.
    pub growth: &'static str,
    /// `--strategy`.
    pub strategy: &'static str,
    pub expected: Expected,
}

const fn host(file: &'static str, function: &'static str, shape: &'static Shape) -> Host {
    Host { file, with: &[], function, flag: None, shape }
}

impl Host {
    const fn with(self, with: &'static [&'static str]) -> Host {
        Host { with, ..self }
    }

    const fn flag(self, flag: &'static str) -> Host {
        Host { flag: Some(flag), ..self }
    }
}

pub const RC4_C8: Host = host("rc4_c8.c", "rc4_c8_crypt", &STREAM);
pub const RC4_AVR: Host = host("rc4_avr.S", "rc4_avr_crypt", &STREAM);
pub const CRC16_AVR: Host = host("crc16_avr.S", "crc16_avr_update", &CRC16);

/// No host jumps to what it calls last.
const NO_TAIL_CALLS: &str = "-fno-optimize-sibling-calls";

/// Every host. `rc4_avr32` is left out: its message is in its code.
pub const HOSTS: [Host; 24] = [
    RC4_C8,
    host("rc4_textbook.c", "rc4_textbook_crypt", &STREAM),
    host("rc4_textbook.c", "rc4_textbook_crypt", &STREAM).flag("-O0"),
    RC4_AVR,
    host("rc5_textbook.c", "rc5_textbook_encrypt", &RC5),
    host("rc5_textbook.c", "rc5_textbook_encrypt", &RC5).flag("-O0"),
    host("rc5_c8.c", "rc5_c8_encrypt", &RC5),
    host("rc5_avr.S", "rc5_avr_encrypt", &RC5),
    host("rc5_textbook.c", "rc5_textbook_decrypt", &RC5),
    host("rc5_textbook.c", "rc5_textbook_decrypt", &RC5).flag("-O0"),
    host("rc5_c8.c", "rc5_c8_decrypt", &RC5),
    host("rc5_avr.S", "rc5_avr_decrypt", &RC5),
    host("crc16_c8.c", "crc16_c8_update", &CRC16),
    CRC16_AVR,
    host("aes128_c8.c", "aes128_ctr_c8_crypt", &CTR).with(&["aes128_ctr_c8.c"]),
    host("aes128_ctr_avr.S", "aes128_ctr_avr_crypt", &CTR).with(&["aes128_avr.S"]),
    host("aes128_c8.c", "aes128_ccm_c8_seal", &SEAL).with(&["aes128_ccm_c8.c"]).flag(NO_TAIL_CALLS),
    host("aes128_ccm_avr.c", "aes128_ccm_avr_seal", &SEAL).with(&["aes128_avr.S"]).flag(NO_TAIL_CALLS),
    host("chacha20_c8.c", "chacha20_c8_crypt", &STREAM),
    host("chacha20_avr.S", "chacha20_avr_crypt", &STREAM),
    host("ascon_aead128_c8.c", "ascon_aead128_c8_seal", &SEAL),
    host("ascon_aead128_avr.c", "ascon_aead128_avr_seal", &SEAL).with(&["ascon_p_avr.S"]),
    host("ascon_aead128_c8.c", "ascon_aead128_c8_open", &OPEN),
    host("ascon_aead128_avr.c", "ascon_aead128_avr_open", &OPEN).with(&["ascon_p_avr.S"]),
];

/// Hosts that call what only the library has, and that jump to what they call last; and how large they may be when they
/// are woven. Small ones grow the most.
const CALLING: [(Host, &str); 5] = [
    (host("../../crates/selvedge/tests/woven/library.c", "library_multiply", &STREAM), "20"),
    (host("../../crates/selvedge/tests/woven/library.c", "library_copy", &STREAM), "20"),
    (host("../../crates/selvedge/tests/woven/library.c", "library_divide", &CRC16), "5"),
    (host("../../crates/selvedge/tests/woven/library.S", "library_move", &STREAM), "20"),
    (host("aes128_ccm_avr.c", "aes128_ccm_avr_seal", &SEAL).with(&["aes128_avr.S"]), "10"),
];

/// Every guest that is woven with every host, SPI with a period of 8 N + 2 cycles for the dividers N up to 32.
pub const GUESTS: [Guest; 10] = [
    Guest::SpiTx(18),
    Guest::SpiTx(34),
    Guest::SpiTx(66),
    Guest::SpiTx(130),
    Guest::SpiTx(258),
    Guest::SpiRx(34),
    Guest::SpiRx(130),
    Guest::Uart(139),
    Guest::Ws2812,
    Guest::Video(8),
];

impl Host {
    /// Bytes of its parameters.
    pub fn arguments(&self) -> Vec<u8> {
        let bytes = |parameter: &Parameter| if matches!(parameter, FewUnits) { 1 } else { 2 };
        self.shape.parameters.iter().map(bytes).collect()
    }

    /// A name for tables.
    pub fn name(&self) -> String {
        format!("{}{}", self.function, self.flag.unwrap_or_default())
    }

    /// Its file, and the others.
    fn sources(&self) -> (PathBuf, Vec<PathBuf>) {
        let crypto = root().join("firmware/crypto");
        (crypto.join(self.file), self.with.iter().map(|file| crypto.join(file)).collect())
    }

    /// Bytes of one unit of its message, and how many units there are at most.
    pub fn unit(&self, profile: &Profile) -> (usize, usize) {
        let is_few = self.shape.parameters.iter().any(|parameter| matches!(parameter, FewUnits));
        let units_max = (host_bytes(profile) - MESSAGE_AT) / self.shape.unit_bytes;
        (self.shape.unit_bytes, if is_few { units_max.min(255) } else { units_max })
    }

    /// Whether each byte of its message takes about the same time, and not much of it.
    pub fn is_light(&self) -> bool {
        let is_light = |name: &str| name.starts_with("rc4") || name.starts_with("crc16_avr");
        is_light(self.function)
    }
}

impl Guest {
    /// Its function's name.
    pub fn function(&self) -> &'static str {
        match self {
            Guest::SpiTx(_) => "spi_tx",
            Guest::SpiRx(_) => "spi_rx",
            Guest::Ws2812 => "ws2812",
            Guest::Lights => "lights",
            Guest::SpiDuplex(_) => "spi_duplex",
            Guest::SpiRxSlave(_) => "spi_rx_slave",
            Guest::Dmx => "dmx",
            Guest::Uart(_) => "uart_tx",
            Guest::Video(_) => "video_row",
        }
    }

    /// Its file's name.
    fn file(&self) -> String {
        match self {
            Guest::Video(_) => "guest_video.S".to_owned(),
            Guest::Lights => "guest_lights.c".to_owned(),
            _ => format!("guest_{}.S", self.function()),
        }
    }

    /// Cycles between two of its timed instructions, at least.
    fn cycles(&self) -> u32 {
        match *self {
            Guest::SpiTx(cycles)
            | Guest::SpiRx(cycles)
            | Guest::SpiDuplex(cycles)
            | Guest::SpiRxSlave(cycles)
            | Guest::Uart(cycles)
            | Guest::Video(cycles) => cycles,
            Guest::Ws2812 | Guest::Lights => 20,
            Guest::Dmx => 64,
        }
    }

    /// Bytes that it may be called with, at least.
    pub fn bytes_min(&self) -> usize {
        usize::from(matches!(self, Guest::SpiTx(_) | Guest::SpiRxSlave(_)))
    }

    fn definition(&self) -> Option<String> {
        match self {
            Guest::SpiTx(cycles)
            | Guest::SpiRx(cycles)
            | Guest::SpiDuplex(cycles)
            | Guest::SpiRxSlave(cycles) => Some(format!("PERIOD={cycles}")),
            Guest::Uart(cycles) => Some(format!("BIT={cycles}")),
            Guest::Video(cycles) => Some(format!("PIXEL={cycles}")),
            Guest::Ws2812 | Guest::Lights | Guest::Dmx => None,
        }
    }

    /// SPCR and SPSR for the divider that a period is for.
    fn defines(&self) -> Vec<String> {
        if let Guest::SpiRxSlave(_) = self {
            return vec!["-DSPI_CONTROL=0x40".to_owned(), "-DSPI_DOUBLE=0".to_owned()];
        }
        let (Guest::SpiTx(cycles) | Guest::SpiRx(cycles) | Guest::SpiDuplex(cycles)) = self else {
            return Vec::new();
        };
        let (rate, double) = match (cycles - 2) / 8 {
            2 => (0, 1),
            4 => (0, 0),
            8 => (1, 1),
            16 => (1, 0),
            32 => (2, 1),
            64 => (2, 0),
            other => panic!("no divider is {other}"),
        };
        vec![format!("-DSPI_CONTROL={}", 0x50 | rate), format!("-DSPI_DOUBLE={double}")]
    }
}

impl Pair {
    /// A name for tables.
    pub fn name(&self) -> String {
        let by = if self.strategy == "cocall" { " by cocall" } else { "" };
        format!("{} + {} every {}{by}", self.host.name(), self.guest.function(), self.guest.cycles())
    }
}

/// Every host with every guest of the list above, the other guests with a few hosts, and a pair more that only little
/// code tells from another; and hosts that call the library.
pub fn pairs() -> Vec<Pair> {
    let mut pairs = Vec::new();
    for host in HOSTS {
        for guest in GUESTS {
            pairs.push(Pair { expected: expected(&host, guest), ..interleaved(host, guest) });
        }
    }
    let others = [
        (CRC16_AVR, Guest::SpiDuplex(34)),
        (RC4_AVR, Guest::SpiDuplex(66)),
        (RC4_C8, Guest::SpiDuplex(130)),
        (CRC16_AVR, Guest::SpiRxSlave(40)),
        (RC4_C8, Guest::SpiRxSlave(130)),
        (CRC16_AVR, Guest::Dmx),
        (RC4_C8, Guest::Dmx),
        (CRC16_AVR, Guest::Lights),
    ];
    pairs.extend(others.map(|(host, guest)| interleaved(host, guest)));
    pairs.push(Pair { growth: "6", ..interleaved(RC4_AVR, Guest::Ws2812) });
    pairs.extend(cocalled());
    for (host, growth) in CALLING {
        let pair = Pair { growth, ..interleaved(host, Guest::SpiTx(130)) };
        pairs.extend(["interleave", "cocall"].map(|strategy| Pair { strategy, ..pair }));
    }
    pairs
}

/// A pair that is interleaved within ten times its size. The lights' cycles are those of 16 MHz, which is a board with
/// an ATmega328P.
fn interleaved(host: Host, guest: Guest) -> Pair {
    let profile = if matches!(guest, Guest::Ws2812 | Guest::Lights) { &ATMEGA328P } else { &ATMEGA128 };
    Pair { host, guest, profile, growth: "10", strategy: "interleave", expected: Expected::Woven }
}

/// Guests of hosts that ask whether they are due: SPI for the dividers 8 to 64, and a round with several gaps.
const COCALLED: [Guest; 6] = [
    Guest::SpiTx(66),
    Guest::SpiTx(130),
    Guest::SpiTx(258),
    Guest::SpiTx(514),
    Guest::SpiRx(130),
    Guest::Uart(139),
];

/// Every host with these, and one with guests whose gaps are too short, or that do something once before their rounds.
fn cocalled() -> Vec<Pair> {
    let (profile, growth, strategy) = (&ATMEGA128, "10", "cocall");
    let pair = |host: Host, guest| {
        let expected = expected_cocalled(&host, guest);
        Pair { host, guest, profile, growth, strategy, expected }
    };
    let pairs = HOSTS.into_iter().flat_map(|host| COCALLED.map(|guest| pair(host, guest)));
    let lights = Pair { profile: &ATMEGA328P, ..pair(RC4_C8, Guest::Ws2812) };
    let short = Pair { expected: TOO_SHORT, ..lights };
    let begun = [Guest::SpiRxSlave(130), Guest::Dmx].map(|guest| pair(RC4_C8, guest));
    pairs.chain([short]).chain(begun).collect()
}

/// Rounds of a guest take longer when its registers are in memory.
const TOO_SHORT: Expected = Expected::Refused("the guest borrows registers, which takes time");

/// A host that leaves no register free.
fn is_full(host: &Host) -> bool {
    let is_such = |cipher: &&str| host.function.starts_with(*cipher);
    host.function != "aes128_ctr_avr_crypt" && ["aes128", "ascon", "chacha"].iter().any(is_such)
}

/// What becomes of a host that cocalls.
fn expected_cocalled(host: &Host, guest: Guest) -> Expected {
    match (host.function, guest) {
        ("aes128_ctr_avr_crypt", Guest::SpiTx(66)) => Expected::Refused("and `cocall` needs"),
        ("aes128_ccm_avr_seal", _) => Expected::Woven,
        _ if is_full(host) => Expected::Refused("leaves no register free for the"),
        _ => Expected::Woven,
    }
}

/// What becomes of a pair: it is woven, or stands here.
fn expected(host: &Host, guest: Guest) -> Expected {
    use Expected::{Refused, Woven};
    use Guest::{SpiRx, SpiTx, Video, Ws2812};

    let is_roomy = match host.function {
        "rc4_textbook_crypt" | "rc4_avr_crypt" | "crc16_avr_update" | "crc16_c8_update" => true,
        "rc4_c8_crypt" => !matches!(guest, Ws2812 | Video(_)),
        _ => false,
    };
    match (host.function, host.flag, guest) {
        ("aes128_ccm_c8_seal", _, SpiTx(18) | SpiRx(34) | Ws2812 | Video(_)) => TOO_SHORT,
        ("aes128_ccm_c8_seal", ..) => Woven,
        ("chacha20_c8_crypt", ..) => Refused("leaves no register free"),
        ("rc4_textbook_crypt", Some(_), Video(_)) | ("rc5_textbook_decrypt", Some(_), Ws2812) => {
            Refused("needs 7 cycles in one piece")
        }
        ("rc4_textbook_crypt", _, Ws2812 | Video(_)) | ("rc4_avr_crypt", _, Video(_)) => TOO_SHORT,
        ("aes128_ctr_avr_crypt", _, Video(_)) => Refused("needs 7 cycles in one piece"),
        ("rc5_avr_encrypt" | "rc5_avr_decrypt", _, Video(_)) => Woven,
        (_, _, Ws2812 | Video(_)) if !is_roomy => TOO_SHORT,
        (_, _, SpiTx(18 | 34) | SpiRx(34)) if is_full(host) => TOO_SHORT,
        _ => Woven,
    }
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
    /// It was woven, and not proved.
    Faulty(String),
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
    let host = &pair.host;
    let (source, with) = host.sources();
    let files: Vec<PathBuf> =
        servers.iter().map(|server| root().join(format!("firmware/node/{server}.S"))).collect();
    let served: Vec<(&Path, &str)> =
        files.iter().map(PathBuf::as_path).zip(servers.iter().copied()).collect();
    let said = weave(selvedge, scratch, pair, &served)?;
    let out = scratch.join("woven.s");
    // The woven function wants to know that it is linked for the chip and clock that it is timed for.
    let needs = scratch.join("needs.c");
    fs::write(&needs, format!("#include \"woven.h\"\n{prepares}")).expect("a file in the scratch folder");
    // Beside their code, the servers' files have their data. What GNU as does not take is there as an object.
    let linkable = |file: &PathBuf| {
        Some(file.with_extension("o")).filter(|object| object.exists()).unwrap_or(file.clone())
    };
    let with: Vec<PathBuf> = with.iter().map(linkable).collect();
    let source = linkable(&source);
    let mut sources: Vec<&Path> = vec![&out, &needs];
    sources.extend(files.iter().chain(&with).map(PathBuf::as_path));
    let elf = link(scratch, pair, "woven", &sources, interrupts);
    let sources: Vec<&Path> = [&source].into_iter().chain(&with).map(PathBuf::as_path).collect();
    let plain = link(scratch, pair, host.function, &sources, interrupts);
    let image = |elf: &[u8]| Image::parse(elf).expect("what avr-gcc links is an image");
    Ok(Built { woven: image(&elf), plain: image(&plain), elf, name: "woven".to_owned(), said })
}

/// Weaves a pair, with servers by file and name, to `woven.s` and `woven.h` below `scratch`; what `--json` says.
pub fn weave(
    selvedge: &str,
    scratch: &Path,
    pair: &Pair,
    servers: &[(&Path, &str)],
) -> Result<serde_json::Value, Unbuilt> {
    if Command::new("avr-gcc").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "avr-gcc is missing, and under CI it must not be");
        return Err(Unbuilt::NoCompiler);
    }
    let (host, guest) = (&pair.host, pair.guest);
    let (source, with) = host.sources();
    let chip = pair.profile.name.to_lowercase();
    let [out, header] = ["woven.s", "woven.h"].map(|name| scratch.join(name));
    let bytes: Vec<String> = host.arguments().iter().map(u8::to_string).collect();
    let mut weave = Command::new(selvedge);
    weave.args(["weave", "--json", "--name", "woven", "--growth", pair.growth, "--chip", &chip]);
    weave.args(["--strategy", pair.strategy]);
    weave.arg(&source).args(["--host", host.function, "--host-arguments", &bytes.join(",")]);
    for file in &with {
        weave.arg("--with").arg(file);
    }
    weave.arg("--guest").arg(root().join("firmware/node").join(guest.file()));
    weave.args(["--guest-fn", guest.function()]).arg("-o").arg(&out).arg("--header").arg(&header);
    if let Some(definition) = guest.definition() {
        weave.args(["-D", &definition]);
    }
    if let Some(flag) = host.flag {
        weave.args(["--flag", flag]);
    }
    for (file, server) in servers {
        weave.arg("--server").arg(format!("{}:{server}", file.display()));
    }
    let output = weave.output().expect("selvedge runs");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.code() {
        Some(0) => {}
        Some(1) => return Err(Unbuilt::Refused(words)),
        Some(70) => return Err(Unbuilt::Faulty(words)),
        _ => panic!("{}: {}\n{words}", pair.name(), output.status),
    }
    Ok(serde_json::from_slice(&output.stdout).expect("--json prints JSON"))
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
    /// A number more, for a parameter that is none of these.
    pub number: u16,
}

impl Input {
    /// Random, of these lengths.
    pub fn random(rng: &mut ChaCha20Rng, pair: &Pair, units: usize, count: usize) -> Input {
        let mut random = |bytes| {
            let mut all = vec![0; bytes];
            rng.fill_bytes(&mut all);
            all
        };
        let (mut host, guest) = (random(host_bytes(pair.profile)), random(GUEST_BYTES));
        let registers = random(32).try_into().expect("32 bytes");
        let number = rng.next_u32() as u16;
        // Every second message is one that opens.
        if pair.host.shape.opens_ascon && number.is_multiple_of(2) {
            seal_ascon(&mut host, units);
        }
        Input { host, guest, units, count, registers, number }
    }

    /// The registers at the call: avr-gcc's ABI, from r25 down, each parameter at an even register; r1 is zero.
    pub fn registers(&self, pair: &Pair, host_memory: u16, guest_memory: u16) -> [u8; 32] {
        let value = |parameter: &Parameter| match *parameter {
            At(place) => host_memory + place,
            Units | FewUnits => self.units as u16,
            Number(number) => number,
            Random => self.number,
        };
        let host = pair.host.arguments().into_iter().zip(pair.host.shape.parameters.iter().map(value));
        let (buffer, count) = ((2, guest_memory), self.count as u16);
        let guest = match pair.guest {
            Guest::SpiDuplex(_) => vec![buffer, buffer, (1, count & 0xff)],
            Guest::Dmx => vec![buffer, (2, count)],
            _ => vec![buffer, (1, count & 0xff)],
        };
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

/// Makes a message of so many bytes one that opens, with the library's Ascon-AEAD128.
fn seal_ascon(memory: &mut [u8], bytes: usize) {
    let taken = |at: usize, bytes: usize| memory[at..at + bytes].to_vec();
    let (ad, nonce, key) = (taken(0, AD_BYTES), taken(NONCE_AT, 16), taken(KEY_AT, 16));
    let message = &mut memory[MESSAGE_AT..MESSAGE_AT + bytes];
    let tag = Aead::new(Suite::AsconAead128, &key).seal(&nonce, &ad, message);
    memory[TAG_AT..TAG_AT + tag.as_ref().len()].copy_from_slice(tag.as_ref());
}
