//! The host's side of the link to the device: how it is opened, and the transceiver that owns it.
//!
//! A device is a stream of bytes in both directions. Today that is a Unix socket ([`UnixDevice`]); another
//! bus is another file here that implements [`Connect`].

mod info;
mod transceiver;
mod unix;

use std::future::Future;
use std::io;
use std::pin::Pin;

use tokio::io::{AsyncRead, AsyncWrite};

pub use info::DeviceInfo;
pub(crate) use transceiver::transceive;
pub use unix::UnixDevice;

/// What comes from the device.
pub type FromDevice = Box<dyn AsyncRead + Send + Unpin>;
/// What goes to the device.
pub type ToDevice = Box<dyn AsyncWrite + Send + Unpin>;
/// An attempt to open the device.
pub type Connecting<'a> = Pin<Box<dyn Future<Output = io::Result<(FromDevice, ToDevice)>> + Send + 'a>>;

/// A way to open a device. It is used again after each loss.
pub trait Connect: Send + Sync {
    /// Opens the bytes' way to the device; the PDUs that follow are the transceiver's. Dropping the streams
    /// closes the device.
    fn connect(&self) -> Connecting<'_>;

    /// What to call the device in an error: its path, for one.
    fn name(&self) -> String;
}
