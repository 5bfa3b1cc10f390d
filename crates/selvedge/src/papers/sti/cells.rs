//! What is measured: the table of hosts, schemes, directions and dividers, and the cells that they span.
//!
//! Owns the names that rows carry. A host more is a line here.

use clap::ValueEnum;

/// Dividers of the SPI's clock.
pub const DIVIDERS: [u32; 7] = [2, 4, 8, 16, 32, 64, 128];
/// The divider of which figures show more: the paper's point between its schemes (section 4.2).
pub const CHOSEN_DIVIDER: u32 = 16;
/// Dividers of the second table.
const DIVIDERS_MODERN: &[u32] = &[8, 16, 32, 64, 128];

/// Which of the tables; hosts are of the first two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Table {
    /// The paper's ciphers, figures 8 to 11
    Paper,
    /// Ascon, AES and ChaCha20, which the paper could not have
    Modern,
    /// The schemes in a whole node beside its gateway
    System,
}

/// The code that a cipher is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Build {
    /// Textbook C at -O0, the kind of code that the paper measured
    #[value(name = "textbook-o0")]
    TextbookO0,
    /// The same at -O2
    #[value(name = "textbook-o2")]
    TextbookO2,
    /// C for 8-bit chips at -O2
    #[value(name = "c")]
    C,
    /// Assembly
    #[value(name = "assembly")]
    Assembly,
}

impl Build {
    /// Its name in rows.
    pub fn name(self) -> &'static str {
        match self {
            Build::TextbookO0 => "textbook -O0",
            Build::TextbookO2 => "textbook -O2",
            Build::C => "today's C",
            Build::Assembly => "today's assembly",
        }
    }

    /// The compiler's level, for the cipher and for the schemes in C beside it.
    pub fn level(self) -> &'static str {
        match self {
            Build::TextbookO0 => "-O0",
            Build::TextbookO2 | Build::C | Build::Assembly => "-O2",
        }
    }
}

/// A cipher; its name is that of the command line, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Cipher {
    /// RC4
    Rc4,
    /// RC4 of 32 bytes in a straight line
    Rc4Line,
    /// RC5-32/12, 64-bit key
    Rc5,
    /// Ascon-AEAD128
    Ascon,
    /// AES-128 in counter mode
    Aes,
    /// ChaCha20
    Chacha20,
}

impl Cipher {
    /// Its name in rows.
    pub fn name(self) -> &'static str {
        match self {
            Cipher::Rc4 => "RC4",
            Cipher::Rc4Line => "RC4 of 32 bytes",
            Cipher::Rc5 => "RC5-32/12",
            Cipher::Ascon => "Ascon-AEAD128",
            Cipher::Aes => "AES-128-CTR",
            Cipher::Chacha20 => "ChaCha20",
        }
    }

    /// What `firmware/baseline/baseline.h` calls its shape.
    pub fn shape(self) -> &'static str {
        match self {
            Cipher::Rc4 => "BASELINE_RC4",
            Cipher::Rc4Line => "BASELINE_RC4_AVR32",
            Cipher::Rc5 => "BASELINE_RC5",
            Cipher::Ascon => "BASELINE_ASCON",
            Cipher::Aes => "BASELINE_AES128_CTR",
            Cipher::Chacha20 => "BASELINE_CHACHA20",
        }
    }

    /// Bytes of its parameters, as `--host-arguments`.
    pub fn arguments(self) -> &'static str {
        match self {
            Cipher::Rc4 | Cipher::Chacha20 => "2,2,2",
            Cipher::Rc4Line => "2",
            Cipher::Rc5 => "2,2,1",
            Cipher::Ascon => "2,2,2,2,2,2,2",
            Cipher::Aes => "2,2,2,2",
        }
    }

    /// Bytes that it is told the length of its message in.
    pub fn unit_bytes(self) -> usize {
        if self == Cipher::Rc5 { 8 } else { 1 }
    }
}

/// What the handler that saves nothing may have of the registers beside a host (`firmware/baseline/reserved.S`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registers {
    /// X, r2 and r3, which the compiler leaves alone when it is told to.
    Pointer,
    /// r8 to r13, but no pointer.
    Shadow,
    /// None.
    Saved,
}

impl Registers {
    /// What the handler is told.
    pub fn define(self) -> &'static str {
        match self {
            Registers::Pointer => "-DBASELINE_POINTER",
            Registers::Shadow => "-DBASELINE_SHADOW",
            Registers::Saved => "-DBASELINE_SAVED",
        }
    }

    /// What the compiler is told of them.
    pub fn fixed(self) -> &'static [&'static str] {
        match self {
            Registers::Pointer => &["-ffixed-2", "-ffixed-3", "-ffixed-26", "-ffixed-27"],
            Registers::Shadow | Registers::Saved => &[],
        }
    }

    /// How many are reserved when bytes are sent, and when they are received.
    pub fn count(self, direction: Direction) -> u32 {
        match (self, direction) {
            (Registers::Pointer, Direction::Send) => 3,
            (Registers::Pointer, Direction::Receive) => 4,
            (Registers::Shadow, Direction::Send) => 5,
            (Registers::Shadow, Direction::Receive) => 6,
            (Registers::Saved, _) => 0,
        }
    }
}

/// A cipher in one build.
#[derive(Clone, Copy, Debug)]
pub struct Host {
    /// What it computes.
    pub cipher: Cipher,
    /// In which code.
    pub build: Build,
    /// Which table it belongs to.
    pub table: Table,
    /// Its files in `firmware/crypto`, its own first.
    pub files: &'static [&'static str],
    /// The functions that encrypt and decrypt.
    pub functions: [&'static str; 2],
    /// What the best handler may have.
    pub registers: Registers,
    /// Bytes of its message.
    pub message_bytes: usize,
}

/// The longest message that leaves room for a stack: 224 blocks of RC5.
pub const MESSAGE_BYTES_MAX: usize = 1792;

const fn host(
    table: Table,
    cipher: Cipher,
    build: Build,
    registers: Registers,
    files: &'static [&'static str],
    functions: [&'static str; 2],
    message_bytes: usize,
) -> Host {
    Host { cipher, build, table, files, functions, registers, message_bytes }
}

/// Every host.
#[rustfmt::skip]
pub const HOSTS: [Host; 17] = {
    use Build::{Assembly, C, TextbookO0, TextbookO2};
    use Cipher::{Aes, Ascon, Chacha20, Rc4, Rc4Line, Rc5};
    use Registers::{Pointer, Saved, Shadow};
    use Table::{Modern, Paper};
    const LONG: usize = MESSAGE_BYTES_MAX;
    const FRAME: usize = 64;
    const KIB: usize = 1024;
    [
        host(Paper,  Rc4,      TextbookO0, Pointer, &["rc4_textbook.c"],   ["rc4_textbook_crypt"; 2], LONG),
        host(Paper,  Rc4,      TextbookO2, Pointer, &["rc4_textbook.c"],   ["rc4_textbook_crypt"; 2], LONG),
        host(Paper,  Rc4,      C,          Pointer, &["rc4_c8.c"],         ["rc4_c8_crypt"; 2], LONG),
        host(Paper,  Rc4,      Assembly,   Shadow,  &["rc4_avr.S"],        ["rc4_avr_crypt"; 2], LONG),
        host(Paper,  Rc4Line,  Assembly,   Shadow,  &["rc4_avr32.S"],      ["rc4_avr32_crypt"; 2], 32),
        host(Paper,  Rc5,      TextbookO0, Pointer, &["rc5_textbook.c"],   ["rc5_textbook_encrypt", "rc5_textbook_decrypt"], LONG),
        host(Paper,  Rc5,      TextbookO2, Pointer, &["rc5_textbook.c"],   ["rc5_textbook_encrypt", "rc5_textbook_decrypt"], LONG),
        host(Paper,  Rc5,      C,          Pointer, &["rc5_c8.c"],         ["rc5_c8_encrypt", "rc5_c8_decrypt"], LONG),
        host(Paper,  Rc5,      Assembly,   Pointer, &["rc5_avr.S"],        ["rc5_avr_encrypt", "rc5_avr_decrypt"], LONG),
        host(Modern, Ascon,    C,          Pointer, &["ascon_aead128_c8.c"], ["ascon_aead128_c8_seal", "ascon_aead128_c8_open"], KIB),
        host(Modern, Ascon,    Assembly,   Saved,   &["ascon_aead128_avr.c", "ascon_p_avr.S"], ["ascon_aead128_avr_seal", "ascon_aead128_avr_open"], KIB),
        host(Modern, Ascon,    C,          Pointer, &["ascon_aead128_c8.c"], ["ascon_aead128_c8_seal", "ascon_aead128_c8_open"], FRAME),
        host(Modern, Ascon,    Assembly,   Saved,   &["ascon_aead128_avr.c", "ascon_p_avr.S"], ["ascon_aead128_avr_seal", "ascon_aead128_avr_open"], FRAME),
        host(Modern, Aes,      C,          Pointer, &["aes128_ctr_c8.c", "aes128_c8.c"],   ["aes128_ctr_c8_crypt"; 2], LONG),
        host(Modern, Aes,      Assembly,   Saved,   &["aes128_ctr_avr.S", "aes128_avr.S"], ["aes128_ctr_avr_crypt"; 2], LONG),
        host(Modern, Chacha20, C,          Pointer, &["chacha20_c8.c"],    ["chacha20_c8_crypt"; 2], LONG),
        host(Modern, Chacha20, Assembly,   Saved,   &["chacha20_avr.S"],   ["chacha20_avr_crypt"; 2], LONG),
    ]
};

impl Host {
    /// Its name in rows: cipher, length where there are several, build.
    pub fn name(&self) -> String {
        let length = match self.cipher {
            Cipher::Ascon => format!(" of {} bytes", self.message_bytes),
            _ => String::new(),
        };
        format!("{}{length}, {}", self.cipher.name(), self.build.name())
    }

    /// Its schemes. What is sent as it is produced has no other exchange beside it.
    pub fn schemes(&self) -> &'static [Scheme] {
        match (self.cipher, self.table) {
            (Cipher::Rc4Line, _) => &[Scheme::Coupled],
            (_, Table::Paper) => &SCHEMES,
            (_, Table::Modern | Table::System) => &SCHEMES[..4],
        }
    }

    /// Its directions.
    pub fn directions(&self) -> &'static [Direction] {
        if self.cipher == Cipher::Rc4Line { &[Direction::Send] } else { &Direction::ALL }
    }

    /// Its dividers.
    pub fn dividers(&self) -> &'static [u32] {
        match (self.cipher, self.table) {
            (Cipher::Rc4Line, _) => &[2],
            (_, Table::Paper) => &DIVIDERS,
            (_, Table::Modern | Table::System) => DIVIDERS_MODERN,
        }
    }

    /// The symbol of its message.
    pub fn message(&self) -> &'static str {
        if self.cipher == Cipher::Rc4Line { "rc4_avr32_message" } else { "cipher_message" }
    }

    /// The function for a direction: what is encrypted is sent, what was received is decrypted.
    pub fn function(&self, direction: Direction) -> &'static str {
        self.functions[direction as usize]
    }
}

/// Which way the bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Direction {
    /// Encrypt and transmit
    Send,
    /// Decrypt and receive
    Receive,
}

impl Direction {
    /// Both.
    pub const ALL: [Direction; 2] = [Direction::Send, Direction::Receive];

    /// Its name in rows.
    pub fn name(self) -> &'static str {
        match self {
            Direction::Send => "encrypt and transmit",
            Direction::Receive => "decrypt and receive",
        }
    }

    /// The guest to weave, in `firmware/node`.
    pub fn guest(self) -> &'static str {
        match self {
            Direction::Send => "spi_tx",
            Direction::Receive => "spi_rx",
        }
    }

    /// Bytes of the exchange. The guest that receives counts them in a byte.
    pub fn exchange_bytes(self) -> usize {
        match self {
            Direction::Send => 256,
            Direction::Receive => 255,
        }
    }
}

/// How SPI and cipher share the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scheme {
    /// Polling: they do not
    BusyWait,
    /// A handler as avr-gcc compiles it
    #[value(name = "isr-compiled")]
    Compiled,
    /// The best handler by hand
    #[value(name = "isr-by-hand")]
    Reserved,
    /// Woven, of up to ten times both functions' own size
    #[value(name = "sti")]
    Woven,
    /// Woven, of up to three times that
    #[value(name = "sti-3x")]
    WovenSmall,
    /// Woven, and a byte is sent from the register that it is produced in
    #[value(name = "sti-coupled")]
    Coupled,
}

impl Scheme {
    /// Its name in rows.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::BusyWait => "busy-wait",
            Scheme::Compiled => "ISR, compiled",
            Scheme::Reserved => "ISR, best by hand",
            Scheme::Woven => "STI",
            Scheme::WovenSmall => "STI within 3x",
            Scheme::Coupled => "STI, coupled",
        }
    }

    /// Whether weaving makes it.
    pub fn is_woven(self) -> bool {
        matches!(self, Scheme::Woven | Scheme::WovenSmall | Scheme::Coupled)
    }

    /// How many times both functions' own size it may have, for `--growth`.
    pub fn growth(self) -> &'static str {
        if self == Scheme::WovenSmall { "3" } else { "10" }
    }
}

/// Schemes; small woven functions are asked for of the paper's ciphers alone.
const SCHEMES: [Scheme; 5] =
    [Scheme::BusyWait, Scheme::Compiled, Scheme::Reserved, Scheme::Woven, Scheme::WovenSmall];

/// A host beside an exchange in one direction.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Which host.
    pub host: &'static Host,
    /// Which way.
    pub direction: Direction,
}

impl Case {
    /// Its name in rows.
    pub fn name(&self) -> String {
        format!("{}, {}", self.host.name(), self.direction.name())
    }
}

/// What is measured at once.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// Which case, by its index.
    pub case: usize,
    /// How.
    pub scheme: Scheme,
    /// At which speed.
    pub divider: u32,
}
