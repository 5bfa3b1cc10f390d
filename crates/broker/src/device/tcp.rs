//! A device at the end of a TCP connection: mutual TLS 1.3, or plain where nothing leaves the machine.
//!
//! Owns the names in both ends' certificates, and the task that carries bytes between the connection and the broker's
//! loop, which waits for nothing: it has one end of a socket pair. PDUs have their own checksums; who may connect is
//! TLS's to say, and keys and certificates are the caller's.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::net::sockopt;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::runtime::Handle;
use tokio_rustls::TlsConnector;

use super::Connect;
use crate::limits::{KEEPALIVE_COUNT, KEEPALIVE_IDLE, KEEPALIVE_PAUSE, OPEN_MAX, READ_BYTES};
use crate::wiped::{Wiped, wipe};

/// The name in the device's certificate, which a broker expects wherever the device is. The domain is set aside for
/// private use.
pub const DEVICE_NAME: &str = "device.selvedge.internal";
/// The name in the broker's certificate: to others of the same authority a device does not listen.
pub const BROKER_NAME: &str = "broker.selvedge.internal";

/// The device that listens at an address.
pub struct TcpDevice {
    place: String,
    tls: Option<TlsConnector>,
    runtime: Handle,
    /// What ended the last connection, if that was not its end.
    fault: Arc<Mutex<Option<String>>>,
}

impl TcpDevice {
    /// The device at `place`, a host and a port. `tls` must show the broker's certificate and speak TLS 1.3 only. Must be
    /// called within a tokio runtime, which carries the bytes.
    pub fn secured(place: String, tls: Arc<ClientConfig>) -> TcpDevice {
        TcpDevice { place, tls: Some(tls.into()), runtime: Handle::current(), fault: Arc::default() }
    }

    /// The device at a loopback address, which whoever is on this machine can reach and be. None for another address.
    pub fn plain(address: SocketAddr) -> Option<TcpDevice> {
        let place = address.ip().is_loopback().then(|| address.to_string())?;
        Some(TcpDevice { place, tls: None, runtime: Handle::current(), fault: Arc::default() })
    }
}

impl Connect for TcpDevice {
    fn connect(&self) -> io::Result<OwnedFd> {
        let (ours, theirs) = StdUnixStream::pair()?;
        ours.set_nonblocking(true)?;
        theirs.set_nonblocking(true)?;
        let (place, tls, fault) = (self.place.clone(), self.tls.clone(), self.fault.clone());
        self.runtime.spawn(async move {
            let carried = carry(theirs, &place, tls).await;
            let told = carried.err().map(|error| error.to_string());
            *fault.lock().unwrap_or_else(PoisonError::into_inner) = told;
        });
        Ok(ours.into())
    }

    fn name(&self) -> String {
        match &*self.fault.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(fault) => format!("{} ({fault})", self.place),
            None => self.place.clone(),
        }
    }
}

/// Connects, and carries bytes until one of both ends.
async fn carry(broker: StdUnixStream, place: &str, tls: Option<TlsConnector>) -> io::Result<()> {
    let broker = UnixStream::from_std(broker)?;
    let opened = tokio::time::timeout(OPEN_MAX, TcpStream::connect(place)).await;
    let device = opened.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    prepare(&device)?;
    match tls {
        Some(tls) => {
            let name = ServerName::try_from(DEVICE_NAME).expect("it is a DNS name");
            let shaken = tokio::time::timeout(OPEN_MAX, tls.connect(name, device)).await;
            both_ways(broker, shaken.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??).await
        }
        None => both_ways(broker, device).await,
    }
}

/// Small requests do not wait for large ones, and an end that has vanished is found out.
pub(crate) fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, KEEPALIVE_IDLE)?;
    sockopt::set_tcp_keepintvl(stream, KEEPALIVE_PAUSE)?;
    sockopt::set_tcp_keepcnt(stream, KEEPALIVE_COUNT)?;
    Ok(())
}

async fn both_ways(
    broker: UnixStream,
    device: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
) -> io::Result<()> {
    let (from_broker, to_broker) = broker.into_split();
    let (from_device, to_device) = tokio::io::split(device);
    tokio::select! {
        ended = one_way(from_broker, to_device) => ended,
        ended = one_way(from_device, to_broker) => ended,
    }
}

/// Until the end of what comes. What was read before has been written then.
async fn one_way(
    mut from: impl AsyncRead + Send + Unpin,
    mut to: impl AsyncWrite + Send + Unpin,
) -> io::Result<()> {
    let mut buffer = Wiped::new(vec![0; READ_BYTES]);
    loop {
        let read_bytes = from.read(&mut buffer).await?;
        if read_bytes == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..read_bytes]).await?;
        to.flush().await?;
        wipe(&mut buffer[..read_bytes]);
    }
}
