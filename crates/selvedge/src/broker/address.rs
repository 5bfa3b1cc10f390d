//! Where a broker's device is, as `--device` says it: `KIND:PLACE[,NAME=VALUE]...`, or the path of a socket.
//!
//! Owns the words; what suits each device comes from the emulator's presets.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use broker::Settings;
use broker::device::tcp::TcpDevice;
#[cfg(feature = "ftdi")]
use broker::device::{CLOCK_HZ_MAX, Ftdi, UsbChip};
use broker::device::{Device, I2c, ModuleDevice, SocketBus, Spi, Uart, UnixDevice};
use broker::emulate::Port;
use broker::emulate::preset::Preset;
use broker::limits::LINK_BYTES_PER_SECOND_MIN;
use selvedge::error::Error;
use selvedge::link::certificates::{Certificates, Identity};

/// Where a device is.
#[derive(Clone)]
pub enum Address {
    /// A socket, as emulated devices have.
    Socket(PathBuf),
    /// A serial line.
    Uart(Uart),
    /// On spidev.
    Spi(Spi),
    /// On i2c-dev.
    I2c(I2c),
    /// On an FTDI chip.
    #[cfg(feature = "ftdi")]
    Ftdi(Ftdi),
    /// On TCP.
    Tcp(Tcp),
    /// A token: the module, its label, and the file of its PIN.
    Token(PathBuf, String, PathBuf),
}

/// What each kind is told, and what it may be told.
const KINDS: [(&str, &str); 6] = [
    ("uart", "uart:PATH[,baud=RATE]"),
    ("spi", "spi:PATH[,hz=CLOCK][,mode=0 to 3]"),
    ("i2c", "i2c:PATH,address=NUMBER"),
    ("ftdi", "ftdi:SERIAL[,hz=CLOCK][,timer_ms=1 to 255]"),
    ("tcp", TCP_FORM),
    ("pkcs11", "pkcs11:MODULE,token=LABEL,pin_file=PATH"),
];
const TCP_FORM: &str = "tcp:HOST:PORT[,tls=no]";
/// The clock of an SPI device of which no other was told: slow enough for any.
const CLOCK_HZ: u32 = 1_000_000;

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Address, String> {
        let is_word = |kind: &str| !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let Some((kind, rest)) = text.split_once(':').filter(|(kind, _)| is_word(kind)) else {
            return Ok(Address::Socket(text.into()));
        };
        let Some((_, form)) = KINDS.iter().find(|(name, _)| *name == kind) else {
            let forms: Vec<&str> = KINDS.iter().map(|(_, form)| *form).collect();
            return Err(format!(
                "found a device of the kind `{kind}`, expected a socket or {}",
                forms.join(", ")
            ));
        };
        let mut told = Told::parse(rest, form)?;
        let address = match kind {
            "uart" => Address::Uart(uart(&mut told)?),
            "spi" => Address::Spi(spi(&mut told)?),
            "i2c" => Address::I2c(i2c(&mut told)?),
            "ftdi" => ftdi(&mut told)?,
            "tcp" => Address::Tcp(tcp(&mut told)?),
            "pkcs11" => {
                let (label, pin_file) = (told.text("token")?, told.text("pin_file")?);
                Address::Token(told.place.into(), label.to_owned(), pin_file.into())
            }
            _ => unreachable!("the table has no other"),
        };
        told.end()?;
        Ok(address)
    }
}

/// What was told of a device, to be taken one by one.
struct Told<'a> {
    place: &'a str,
    options: BTreeMap<&'a str, &'a str>,
    form: &'static str,
}

impl<'a> Told<'a> {
    fn parse(rest: &'a str, form: &'static str) -> Result<Told<'a>, String> {
        let mut parts = rest.split(',');
        let place = parts.next().filter(|place| !place.is_empty());
        let place = place.ok_or_else(|| format!("found no place, expected {form}"))?;
        let mut options = BTreeMap::new();
        for part in parts {
            let (name, value) = part
                .split_once('=')
                .ok_or_else(|| format!("found `{part}`, expected NAME=VALUE as in {form}"))?;
            if options.insert(name, value).is_some() {
                return Err(format!("found `{name}` twice, expected it once"));
            }
        }
        Ok(Told { place, options, form })
    }

    /// A number that may be left out.
    fn number(&mut self, name: &str, range: std::ops::RangeInclusive<u32>) -> Result<Option<u32>, String> {
        let Some(value) = self.options.remove(name) else { return Ok(None) };
        let (digits, radix) = value.strip_prefix("0x").map_or((value, 10), |digits| (digits, 16));
        let number = u32::from_str_radix(digits, radix).ok().filter(|number| range.contains(number));
        let expected =
            || format!("found {name} `{value}`, expected a number from {} to {}", range.start(), range.end());
        number.map(Some).ok_or_else(expected)
    }

    /// A word that must be told.
    fn text(&mut self, name: &str) -> Result<&'a str, String> {
        let told = self.options.remove(name).filter(|text| !text.is_empty());
        told.ok_or_else(|| format!("found no {name}, expected {}", self.form))
    }

    fn end(self) -> Result<(), String> {
        match self.options.keys().next() {
            Some(name) => Err(format!("found the option `{name}`, expected {}", self.form)),
            None => Ok(()),
        }
    }
}

fn uart(told: &mut Told<'_>) -> Result<Uart, String> {
    // Ten bits a byte; nothing that the broker bounds by time allows for a slower line.
    let slowest = LINK_BYTES_PER_SECOND_MIN as u32 * 10;
    let baud = told.number("baud", slowest..=u32::MAX)?.unwrap_or(slowest);
    Ok(Uart { path: told.place.into(), baud })
}

fn spi(told: &mut Told<'_>) -> Result<Spi, String> {
    let clock_hz = told.number("hz", 1..=u32::MAX)?.unwrap_or(CLOCK_HZ);
    let mode = told.number("mode", 0..=3)?.unwrap_or(0) as u8;
    Ok(Spi { path: told.place.into(), clock_hz, mode })
}

fn i2c(told: &mut Told<'_>) -> Result<I2c, String> {
    // The others are the bus's own (UM10204 section 3.1.12).
    let address = told.number("address", 0x08..=0x77)?;
    let address = address.ok_or_else(|| format!("found no address, expected {}", told.form))? as u16;
    Ok(I2c { path: told.place.into(), address })
}

#[cfg(feature = "ftdi")]
fn ftdi(told: &mut Told<'_>) -> Result<Address, String> {
    let usb = Arc::new(UsbChip { serial: told.place.to_owned() });
    let clock_hz = told.number("hz", 1..=CLOCK_HZ_MAX)?.unwrap_or(CLOCK_HZ_MAX);
    let timer_ms = told.number("timer_ms", 1..=255)?.unwrap_or(16) as u8;
    Ok(Address::Ftdi(Ftdi { usb, clock_hz, timer_ms }))
}

#[cfg(not(feature = "ftdi"))]
fn ftdi(_: &mut Told<'_>) -> Result<Address, String> {
    Err("found a program that was built without USB, expected one that was built with the feature `ftdi`"
        .to_owned())
}

/// A place on TCP, and whether TLS is used there.
#[derive(Clone, Debug)]
pub enum Tcp {
    /// By mutual TLS.
    Secured(String),
    /// On this machine, for whoever is on it.
    Plain(SocketAddr),
}

fn tcp(told: &mut Told<'_>) -> Result<Tcp, String> {
    let place = told.place;
    match told.options.remove("tls") {
        None => Ok(Tcp::Secured(place.to_owned())),
        Some("no") => {
            let address = place.parse().ok().filter(|address: &SocketAddr| address.ip().is_loopback());
            let expected =
                || format!("found tls=no for `{place}`, expected a loopback address as 127.0.0.1:7070");
            address.map(Tcp::Plain).ok_or_else(expected)
        }
        Some(other) => Err(format!("found tls `{other}`, expected no, or nothing for mutual TLS")),
    }
}

impl FromStr for Tcp {
    type Err = String;

    fn from_str(text: &str) -> Result<Tcp, String> {
        let mut told = Told::parse(text, TCP_FORM)?;
        let tcp = tcp(&mut told)?;
        told.end()?;
        Ok(tcp)
    }
}

impl Tcp {
    fn device(self, certificates: &Certificates) -> Result<TcpDevice, Error> {
        match self {
            Tcp::Plain(address) => {
                Ok(TcpDevice::plain(address).expect("the parser takes loopback addresses only"))
            }
            Tcp::Secured(place) => Ok(TcpDevice::secured(place, shown(&certificates.broker()?).client()?)),
        }
    }

    /// Listens there, as a device.
    pub fn listen(self, certificates: &Certificates) -> Result<Port, Error> {
        match self {
            Tcp::Plain(address) => {
                Ok(Port::plain(address).expect("the parser takes loopback addresses only")?)
            }
            Tcp::Secured(place) => {
                let found = place.to_socket_addrs().map(|mut found| found.next());
                let address = found.and_then(|found| found.ok_or_else(|| io::ErrorKind::NotFound.into()));
                let address = address.map_err(|cause| Error::io("find", Path::new(&place), cause))?;
                Ok(Port::secured(address, shown(&certificates.device()?).server()?)?)
            }
        }
    }
}

fn shown(identity: &Identity) -> collect::tls::Identity<'_> {
    collect::tls::Identity {
        certificates_pem: &identity.certificate,
        private_key_pem: &identity.key,
        peer_authority_pem: &identity.authority,
    }
}

impl Address {
    /// The device there, and what suits it: what suits `preset`, or one of its kind.
    ///
    /// # Errors
    /// When a certificate cannot be used.
    pub fn device(
        self,
        preset: Option<Preset>,
        certificates: &Certificates,
    ) -> Result<(Device, Settings), Error> {
        let like = |name| preset.or_else(|| Preset::named(name)).expect("it is in the table").settings();
        Ok(match (self, preset) {
            (Address::Socket(path), Some(preset)) => {
                (Device::Bus(Arc::new(SocketBus { path })), preset.settings())
            }
            (Address::Socket(path), None) => {
                (Device::Stream(Box::new(UnixDevice { path })), Settings::default())
            }
            (Address::Uart(uart), _) => (Device::Bus(Arc::new(uart)), like("uart-115200")),
            (Address::Spi(spi), _) => (Device::Bus(Arc::new(spi)), like("spidev")),
            (Address::I2c(i2c), _) => (Device::Bus(Arc::new(i2c)), like("i2c-400k")),
            #[cfg(feature = "ftdi")]
            (Address::Ftdi(ftdi), _) => (Device::Bus(Arc::new(ftdi)), like("ftdi-30MHz")),
            (Address::Tcp(tcp), _) => {
                (Device::Stream(Box::new(tcp.device(certificates)?)), Settings::default())
            }
            (Address::Token(module, label, pin_file), _) => {
                let device = ModuleDevice::new(module, label, pin_file);
                (Device::Stream(Box::new(device)), Settings::default())
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        text.parse::<Address>().err().expect("it is no address")
    }

    #[test]
    fn a_path_is_a_socket_and_a_word_before_a_colon_is_a_kind() {
        assert!(matches!("run/device.sock".parse(), Ok(Address::Socket(_))));
        assert!(matches!("./uart:7".parse(), Ok(Address::Socket(_))));
        let Ok(Address::Uart(uart)) = "uart:/dev/ttyUSB0".parse() else { panic!("a line") };
        assert_eq!((uart.path, uart.baud), ("/dev/ttyUSB0".into(), 115_200));
        let Ok(Address::Uart(uart)) = "uart:/dev/ttyUSB0,baud=3000000".parse() else { panic!("a line") };
        assert_eq!(uart.baud, 3_000_000);
    }

    #[test]
    fn what_is_no_address_is_refused_by_what_was_found_and_expected() {
        let words = [
            "uart:",
            "uart:/dev/ttyS0,baud=9600",
            "uart:/dev/ttyS0,speed=1",
            "uart:/dev/ttyS0,baud",
            "uart:/dev/ttyS0,baud=115200,baud=115200",
            "spi:/dev/spidev0.0,mode=4",
            "i2c:/dev/i2c-1",
            "i2c:/dev/i2c-1,address=0x78",
            "tcp:192.0.2.1:7070,tls=no",
            "tcp:localhost:7070,tls=no",
            "tcp:localhost:7070,tls=yes",
            "pkcs11:/usr/lib/softhsm/libsofthsm2.so,token=t",
        ]
        .map(refusal);
        expect_test::expect![[r#"
            found no place, expected uart:PATH[,baud=RATE]
            found baud `9600`, expected a number from 115200 to 4294967295
            found the option `speed`, expected uart:PATH[,baud=RATE]
            found `baud`, expected NAME=VALUE as in uart:PATH[,baud=RATE]
            found `baud` twice, expected it once
            found mode `4`, expected a number from 0 to 3
            found no address, expected i2c:PATH,address=NUMBER
            found address `0x78`, expected a number from 8 to 119
            found tls=no for `192.0.2.1:7070`, expected a loopback address as 127.0.0.1:7070
            found tls=no for `localhost:7070`, expected a loopback address as 127.0.0.1:7070
            found tls `yes`, expected no, or nothing for mutual TLS
            found no pin_file, expected pkcs11:MODULE,token=LABEL,pin_file=PATH"#]]
        .assert_eq(&words.join("\n"));
        assert!(
            refusal("lpt:1").starts_with("found a device of the kind `lpt`, expected a socket or uart:PATH")
        );
    }
}
