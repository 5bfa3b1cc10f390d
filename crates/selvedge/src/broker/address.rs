//! The devices that a broker opens, as they were told it.
//!
//! Owns the way from words to something that can be opened; the words are `selvedge::link::device`'s, and what suits each
//! device comes from the emulator's presets.

use std::io;
use std::net::ToSocketAddrs;
use std::path::Path;
use std::sync::Arc;

use broker::Fit;
use broker::device::tcp::TcpDevice;
use broker::device::{Choice, Device, I2c, ModuleDevice, OpenBus, SocketBus, Spi, Uart, UnixDevice};
#[cfg(feature = "ftdi")]
use broker::device::{Ftdi, UsbChip};
use broker::emulate::Port;
use broker::emulate::preset::Preset;
use broker::engine::SoftwareEngine;
use broker::engine::store::{self, Store};
use selvedge::error::Error;
use selvedge::link::certificates::{Certificates, Identity};
use selvedge::link::device::{DeviceChoice, Kept, Tcp};
use selvedge::stderr;

/// The device that was told, and what suits it: what suits `preset`, or one of its kind. `deployment` has the certificates
/// where the words name none.
///
/// # Errors
/// When a certificate or a store cannot be used.
pub fn device(
    choice: &DeviceChoice,
    preset: Option<Preset>,
    deployment: Option<&Certificates>,
) -> Result<Choice, Error> {
    let like = |name: &str| preset.or_else(|| Preset::named(name)).expect("it is in the table").fit();
    let bus = |bus: Arc<dyn OpenBus>, fit: Fit| Ok(Choice { device: Device::Bus(bus), fit });
    match choice.clone() {
        DeviceChoice::Soft(kept) => Ok(Device::soft(software(kept.as_ref())?, None).into()),
        DeviceChoice::Socket(path) => match preset {
            Some(preset) => bus(Arc::new(SocketBus { path }), preset.fit()),
            None => Ok(Device::Stream(Box::new(UnixDevice { path })).into()),
        },
        DeviceChoice::Clocked(path, name) => bus(Arc::new(SocketBus { path }), like(&name)),
        DeviceChoice::Uart { path, baud } => bus(Arc::new(Uart { path, baud }), like("uart-115200")),
        DeviceChoice::Spi { path, hz, mode } => {
            bus(Arc::new(Spi { path, clock_hz: hz, mode }), like("spidev"))
        }
        DeviceChoice::I2c { path, address } => bus(Arc::new(I2c { path, address }), like("i2c-400k")),
        #[cfg(feature = "ftdi")]
        DeviceChoice::Ftdi { serial, hz, timer_ms } => {
            let usb = Arc::new(UsbChip { serial });
            bus(Arc::new(Ftdi { usb, clock_hz: hz, timer_ms }), like("ftdi-30MHz"))
        }
        #[cfg(not(feature = "ftdi"))]
        DeviceChoice::Ftdi { .. } => unreachable!("it is refused where it is read"),
        DeviceChoice::Tcp(tcp) => Ok(Device::Stream(Box::new(over_tcp(tcp, deployment)?)).into()),
        DeviceChoice::Token { module, token, pin_file } => {
            Ok(Device::Stream(Box::new(ModuleDevice::new(module, token, pin_file))).into())
        }
    }
}

/// The software device, with the keys of its store if it has one.
fn software(kept: Option<&Kept>) -> Result<SoftwareEngine, Error> {
    Ok(SoftwareEngine::with(Vec::new(), kept.map(open_store).transpose()?)?)
}

/// Opens a store; what was found odd in it goes to standard error.
///
/// # Errors
/// When it cannot be used, or is not believed.
pub fn open_store(kept: &Kept) -> Result<store::Opened, Error> {
    let credentials = std::env::var_os("CREDENTIALS_DIRECTORY");
    let key = kept.key.read(credentials.as_deref().map(Path::new))?;
    let opened = Store::in_folder(&kept.store, kept.anchor.as_deref(), &key)?;
    let path = kept.store.display();
    if opened.cut_bytes > 0 {
        let cut_bytes = opened.cut_bytes;
        stderr::tell(format_args!(
            "note: `{path}`: cut off {cut_bytes} bytes of a change that was not finished"
        ));
    }
    if opened.ahead > 1 {
        stderr::tell(format_args!("note: `{path}`: its anchor was {} changes behind it", opened.ahead));
    }
    Ok(opened)
}

fn over_tcp(tcp: Tcp, deployment: Option<&Certificates>) -> Result<TcpDevice, Error> {
    match tcp {
        Tcp::Plain(address) => {
            Ok(TcpDevice::plain(address).expect("the parser takes loopback addresses only"))
        }
        Tcp::Secured(place, folder) => {
            let own = folder.map(|path| Certificates::in_folder(&path)).transpose()?;
            let certificates = own.as_ref().or(deployment).expect("a service is told a folder");
            Ok(TcpDevice::secured(place, shown(&certificates.broker()?).client()?))
        }
    }
}

/// Listens on TCP, as a device.
///
/// # Errors
/// When a certificate cannot be used, or nobody can listen there.
pub fn listen(tcp: Tcp, deployment: &Certificates) -> Result<Port, Error> {
    match tcp {
        Tcp::Plain(address) => Ok(Port::plain(address).expect("the parser takes loopback addresses only")?),
        Tcp::Secured(place, folder) => {
            let found = place.to_socket_addrs().map(|mut found| found.next());
            let address = found.and_then(|found| found.ok_or_else(|| io::ErrorKind::NotFound.into()));
            let address = address.map_err(|cause| Error::io("find", Path::new(&place), cause))?;
            let own = folder.map(|path| Certificates::in_folder(&path)).transpose()?;
            let certificates = own.as_ref().unwrap_or(deployment);
            Ok(Port::secured(address, shown(&certificates.device()?).server()?)?)
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
