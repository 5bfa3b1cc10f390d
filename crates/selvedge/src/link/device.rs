//! The kinds of device that a broker can share: one table for the words of `--device` and for `[[device]]` of a service's
//! configuration.
//!
//! Owns what is told of each kind and what each word may be. Opening a device is the roof's.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use broker::device::CLOCK_HZ_MAX;
use broker::emulate::preset::Preset;
use broker::limits::LINK_BYTES_PER_SECOND_MIN;

use super::keeping::Source;

mod line;

/// A device that may be served, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceChoice {
    /// In this process, without keys at its start, or with those of a store.
    Soft(Option<Kept>),
    /// A process behind a socket.
    Socket(PathBuf),
    /// The same with transactions, and its preset's name.
    Clocked(PathBuf, String),
    /// A serial line.
    Uart {
        /// Its terminal.
        path: PathBuf,
        /// Its rate.
        baud: u32,
    },
    /// On spidev.
    Spi {
        /// The device file.
        path: PathBuf,
        /// The clock.
        hz: u32,
        /// SPI's, 0 to 3.
        mode: u8,
    },
    /// On i2c-dev.
    I2c {
        /// The device file.
        path: PathBuf,
        /// Its seven bits.
        address: u16,
    },
    /// On an FTDI chip.
    Ftdi {
        /// The chip's serial number.
        serial: String,
        /// The clock.
        hz: u32,
        /// USB's latency timer.
        timer_ms: u8,
    },
    /// On TCP.
    Tcp(Tcp),
    /// A token behind a PKCS#11 module.
    Token {
        /// The shared library.
        module: PathBuf,
        /// The token's label.
        token: String,
        /// The file of its PIN.
        pin_file: PathBuf,
    },
}

/// Where a device in this process keeps persistent keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The folder of the store.
    pub store: PathBuf,
    /// What the store is sealed under.
    pub key: Source,
    /// The folder that says how far the store has come.
    pub anchor: Option<PathBuf>,
}

/// A place on TCP, and whether TLS is used there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tcp {
    /// By mutual TLS: a host and a port, and the folder of the certificates where that is not the deployment's.
    Secured(String, Option<PathBuf>),
    /// On this machine, for whoever is on it.
    Plain(SocketAddr),
}

/// A kind of device. The first word that must be told is its place, without a name on the command line.
pub struct DeviceKind {
    /// What it is called.
    pub name: &'static str,
    /// What is told of it.
    pub words: &'static [Word],
}

/// Something that is told of a device.
pub struct Word {
    /// Its name.
    pub key: &'static str,
    /// What stands for it in a form.
    pub form: &'static str,
    /// A value that would do, as in a configuration.
    pub example: &'static str,
    /// What it may be.
    pub value: Value,
    /// Whether it must be told.
    pub is_required: bool,
}

/// What a word may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A path.
    Path,
    /// Anything.
    Text,
    /// A number from one to another.
    Number(u32, u32),
    /// The name of a preset.
    Preset,
    /// Where a key comes from.
    Key,
    /// `no`.
    No,
}

const fn must(key: &'static str, form: &'static str, value: Value, example: &'static str) -> Word {
    Word { key, form, example, value, is_required: true }
}

const fn may(key: &'static str, form: &'static str, value: Value, example: &'static str) -> Word {
    Word { key, form, example, value, is_required: false }
}

/// Ten bits a byte; nothing that the broker bounds by time allows for a slower line.
const BAUD_MIN: u32 = LINK_BYTES_PER_SECOND_MIN as u32 * 10;
/// The clock of an SPI device of which no other was told: slow enough for any.
const SPI_HZ: u32 = 1_000_000;
/// The latency timer of FTDI's chips after a reset.
const TIMER_MS: u32 = 16;

/// All kinds. Of the addresses on I2C the others are the bus's own (UM10204 section 3.1.12).
pub static KINDS: &[DeviceKind] = &[
    DeviceKind {
        name: "soft",
        words: &[
            may("store", "DIR", Value::Path, "/var/lib/selvedge-broker/keys"),
            may("store_key", "SOURCE", Value::Key, "credential:store-key"),
            may("store_anchor", "DIR", Value::Path, "/var/lib/selvedge-broker/anchor"),
        ],
    },
    DeviceKind { name: "socket", words: &[must("path", "PATH", Value::Path, SOCKET_EXAMPLE)] },
    DeviceKind {
        name: "clocked",
        words: &[
            must("path", "PATH", Value::Path, SOCKET_EXAMPLE),
            must("preset", "NAME", Value::Preset, "ftdi-30MHz"),
        ],
    },
    DeviceKind {
        name: "uart",
        words: &[
            must("path", "PATH", Value::Path, "/dev/ttyUSB0"),
            may("baud", "RATE", Value::Number(BAUD_MIN, u32::MAX), "3000000"),
        ],
    },
    DeviceKind {
        name: "spi",
        words: &[
            must("path", "PATH", Value::Path, "/dev/spidev0.0"),
            may("hz", "CLOCK", Value::Number(1, u32::MAX), "1000000"),
            may("mode", "0 to 3", Value::Number(0, 3), "0"),
        ],
    },
    DeviceKind {
        name: "i2c",
        words: &[
            must("path", "PATH", Value::Path, "/dev/i2c-1"),
            must("address", "NUMBER", Value::Number(0x08, 0x77), "0x48"),
        ],
    },
    DeviceKind {
        name: "ftdi",
        words: &[
            must("serial", "SERIAL", Value::Text, "FT4ABCDE"),
            may("hz", "CLOCK", Value::Number(1, CLOCK_HZ_MAX), "30000000"),
            may("timer_ms", "1 to 255", Value::Number(1, 255), "16"),
        ],
    },
    DeviceKind {
        name: "tcp",
        words: &[
            must("address", "HOST:PORT", Value::Text, "device.example:7070"),
            may("tls", "no", Value::No, "no"),
            may("certificates", "DIR", Value::Path, "/etc/selvedge/tls"),
        ],
    },
    DeviceKind {
        name: "pkcs11",
        words: &[
            must("module", "MODULE", Value::Path, "/usr/lib/softhsm/libsofthsm2.so"),
            must("token", "LABEL", Value::Text, "broker"),
            must("pin_file", "PATH", Value::Path, "/etc/selvedge/pin"),
        ],
    },
];
const SOCKET_EXAMPLE: &str = "/run/selvedge-device/device.sock";

/// What was told of a device, by key.
pub(super) type Told = BTreeMap<&'static str, String>;

/// A word that cannot be what it was told to be.
#[derive(Debug)]
pub(super) struct Unfit {
    pub key: &'static str,
    pub found: String,
    pub expected: String,
    /// What would do.
    pub example: &'static str,
}

impl DeviceKind {
    /// The device of this kind of which this was told: each required word, and words of the kind only.
    pub(super) fn choice(&self, told: Told) -> Result<DeviceChoice, Unfit> {
        for word in self.words {
            if let Some(found) = told.get(word.key) {
                word.check(found)?;
            }
        }
        let told = Checked(told);
        Ok(match self.name {
            "soft" => DeviceChoice::Soft(told.text("store").map(|store| Kept {
                store: store.into(),
                key: told.must("store_key").parse().expect("it was checked"),
                anchor: told.text("store_anchor").map(PathBuf::from),
            })),
            "socket" => DeviceChoice::Socket(told.must("path").into()),
            "clocked" => DeviceChoice::Clocked(told.must("path").into(), told.must("preset")),
            "uart" => {
                DeviceChoice::Uart { path: told.must("path").into(), baud: told.number("baud", BAUD_MIN) }
            }
            "spi" => DeviceChoice::Spi {
                path: told.must("path").into(),
                hz: told.number("hz", SPI_HZ),
                mode: told.number("mode", 0) as u8,
            },
            "i2c" => DeviceChoice::I2c {
                path: told.must("path").into(),
                address: told.number("address", 0) as u16,
            },
            "ftdi" if cfg!(not(feature = "ftdi")) => {
                let expected = "a program that was built with the feature `ftdi`".to_owned();
                return Err(Unfit { key: "serial", found: told.must("serial"), expected, example: "" });
            }
            "ftdi" => DeviceChoice::Ftdi {
                serial: told.must("serial"),
                hz: told.number("hz", CLOCK_HZ_MAX),
                timer_ms: told.number("timer_ms", TIMER_MS) as u8,
            },
            "tcp" => DeviceChoice::Tcp(tcp(&told)?),
            "pkcs11" => DeviceChoice::Token {
                module: told.must("module").into(),
                token: told.must("token"),
                pin_file: told.must("pin_file").into(),
            },
            _ => unreachable!("the table has no other"),
        })
    }
}

/// What was told, of which each word is what it may be.
struct Checked(Told);

impl Checked {
    fn text(&self, key: &str) -> Option<String> {
        self.0.get(key).cloned()
    }

    fn must(&self, key: &str) -> String {
        self.text(key).expect("what is required was told")
    }

    fn number(&self, key: &str, usual: u32) -> u32 {
        self.text(key).map_or(usual, |text| number(&text).expect("it was checked"))
    }
}

fn tcp(told: &Checked) -> Result<Tcp, Unfit> {
    let place = told.must("address");
    if told.text("tls").is_none() {
        return Ok(Tcp::Secured(place, told.text("certificates").map(PathBuf::from)));
    }
    let address = place.parse().ok().filter(|address: &SocketAddr| address.ip().is_loopback());
    let expected = "a loopback address, where TLS is left out".to_owned();
    address.map(Tcp::Plain).ok_or(Unfit { key: "address", found: place, expected, example: "127.0.0.1:7070" })
}

fn number(text: &str) -> Option<u32> {
    let (digits, radix) = text.strip_prefix("0x").map_or((text, 10), |digits| (digits, 16));
    u32::from_str_radix(digits, radix).ok()
}

impl Word {
    fn check(&self, found: &str) -> Result<(), Unfit> {
        let expected = match self.value {
            Value::Path | Value::Text if !found.is_empty() => return Ok(()),
            Value::Path | Value::Text => "not empty".to_owned(),
            Value::Number(min, max) if number(found).is_some_and(|number| (min..=max).contains(&number)) => {
                return Ok(());
            }
            Value::Number(min, max) => format!("a number from {min} to {max}"),
            Value::Preset if Preset::named(found).is_some() => return Ok(()),
            Value::Preset => "the name of a preset".to_owned(),
            Value::Key => match found.parse::<Source>() {
                Ok(_) => return Ok(()),
                Err(_) => "credential:NAME, file:PATH or passphrase-fd:N".to_owned(),
            },
            Value::No if found == "no" => return Ok(()),
            Value::No => "no, or nothing for mutual TLS".to_owned(),
        };
        Err(Unfit { key: self.key, found: found.to_owned(), expected, example: self.example })
    }

    /// What was told in a file of this folder, whose relative paths begin there.
    pub(super) fn below(&self, folder: &Path, told: String) -> String {
        let join = |path: &str| folder.join(path).display().to_string();
        match (self.value, told.strip_prefix("file:")) {
            (Value::Path, _) if !told.is_empty() => join(&told),
            (Value::Key, Some(path)) if !path.is_empty() => format!("file:{}", join(path)),
            _ => told,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_takes_the_examples_of_all_its_words() {
        for kind in KINDS.iter().filter(|kind| cfg!(feature = "ftdi") || kind.name != "ftdi") {
            let examples: Told = kind.words.iter().map(|word| (word.key, word.example.to_owned())).collect();
            let told = if kind.name == "tcp" {
                Told::from([("address", "127.0.0.1:7070".to_owned()), ("tls", "no".to_owned())])
            } else {
                examples
            };
            assert!(kind.choice(told).is_ok(), "{}", kind.name);
        }
    }
}
