//! A device that listens on TCP: to the broker whose certificate says so, or to whoever is on this machine.

use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener as StdTcpListener};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::client::verify_server_name;
use rustls::pki_types::ServerName;
use rustls::server::ParsedCertificate;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::{Served, serve_link};
use crate::device::tcp::{BROKER_NAME, prepare};
use crate::engine::store::Opened;
use crate::engine::{Engine, NamedKey, SoftwareEngine};
use crate::error::Error;
use crate::limits::{ACCEPT_PAUSE, HANDSHAKES_MAX, OPEN_MAX};

/// Where a device listens.
pub struct Port {
    listener: StdTcpListener,
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
}

impl Port {
    /// Listens, to the broker only. `tls` must ask for a certificate, and speak TLS 1.3 only.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn secured(address: SocketAddr, tls: Arc<ServerConfig>) -> Result<Port, Error> {
        Port::open(address, Some(tls.into()))
    }

    /// Listens to whoever is on this machine. None for an address that others can reach.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn plain(address: SocketAddr) -> Option<Result<Port, Error>> {
        address.ip().is_loopback().then(|| Port::open(address, None))
    }

    fn open(address: SocketAddr, tls: Option<TlsAcceptor>) -> Result<Port, Error> {
        let listener = StdTcpListener::bind(address).and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok((listener.local_addr()?, listener))
        });
        let path = || PathBuf::from(address.to_string());
        let (address, listener) =
            listener.map_err(|source| Error::Io { doing: "listen on", path: path(), source })?;
        Ok(Port { listener, address, tls })
    }

    /// Where that is, with the port that the system chose if none was.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// What a device on TCP is told at its start.
pub struct Config {
    /// Where it listens.
    pub port: Port,
    /// The keys.
    pub keys: Vec<NamedKey>,
    /// Where persistent keys are kept.
    pub store: Option<Opened>,
    /// Called once, when the broker can connect.
    pub ready: Box<dyn FnOnce() + Send>,
    /// The device ends when this does.
    pub stop: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// Is a device on TCP until `stop`. One host has it open at a time; another waits, and so does whoever is slow to say who
/// it is, which is nobody else's concern.
///
/// # Errors
/// When the keys cannot be used, there is no randomness, or the port cannot be used.
pub async fn serve(config: Config) -> Result<Served, Error> {
    let Config { port, keys, store, ready, stop } = config;
    let mut engine = SoftwareEngine::with(keys, store)?;
    let Port { listener, address, tls } = port;
    let cannot = |source| Error::Io { doing: "listen on", path: address.to_string().into(), source };
    let listener = TcpListener::from_std(listener).map_err(cannot)?;
    let (sender, mut known) = mpsc::channel(1);
    let listening = tokio::spawn(listen(listener, tls, sender));
    ready();
    let mut served = Served::default();
    tokio::select! {
        () = stop => {}
        () = serve_links(&mut known, &mut engine, &mut served) => {}
    }
    listening.abort();
    Ok(served)
}

/// Whoever may open the device.
enum Host {
    Plain(TcpStream),
    Secured(Box<TlsStream<TcpStream>>),
}

async fn serve_links(known: &mut mpsc::Receiver<Host>, engine: &mut impl Engine, served: &mut Served) {
    while let Some(host) = known.recv().await {
        served.links += 1;
        match host {
            Host::Plain(stream) => serve_stream(stream, engine, served).await,
            Host::Secured(stream) => serve_stream(*stream, engine, served).await,
        }
    }
}

async fn serve_stream(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    engine: &mut impl Engine,
    served: &mut Served,
) {
    let (reader, writer) = tokio::io::split(stream);
    serve_link(reader, writer, engine, served).await;
}

/// Passes on those who are known. As many as [`HANDSHAKES_MAX`] say who they are at a time.
async fn listen(listener: TcpListener, tls: Option<TlsAcceptor>, known: mpsc::Sender<Host>) {
    let places = Arc::new(Semaphore::new(HANDSHAKES_MAX));
    loop {
        let place = places.clone().acquire_owned().await.expect("it is never closed");
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let (tls, known) = (tls.clone(), known.clone());
        tokio::spawn(async move {
            let shaken = tokio::time::timeout(OPEN_MAX, shake(stream, tls)).await;
            drop(place);
            if let Ok(Ok(host)) = shaken {
                // A device that has ended has dropped the other end.
                let _ = known.send(host).await;
            }
        });
    }
}

async fn shake(stream: TcpStream, tls: Option<TlsAcceptor>) -> io::Result<Host> {
    prepare(&stream)?;
    let Some(tls) = tls else { return Ok(Host::Plain(stream)) };
    let stream = tls.accept(stream).await?;
    if !is_brokers(&stream) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(Host::Secured(Box::new(stream)))
}

/// The authority signs for others, too.
fn is_brokers(stream: &TlsStream<TcpStream>) -> bool {
    let certificates = stream.get_ref().1.peer_certificates();
    let Some(certificate) = certificates.and_then(<[_]>::first) else { return false };
    let name = ServerName::try_from(BROKER_NAME).expect("it is a DNS name");
    let parsed = ParsedCertificate::try_from(certificate);
    parsed.is_ok_and(|parsed| verify_server_name(&parsed, &name).is_ok())
}
