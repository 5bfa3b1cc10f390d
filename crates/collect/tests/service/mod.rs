//! A server with certificates of its own authority, for the tests that speak to one.
#![allow(dead_code, reason = "each test file uses its part")]

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use collect::batch::Hello;
use collect::client::{AnswerReceiver, BatchSender, connect};
use collect::error::Error;
use collect::limits::Limits;
use collect::realtime::Realtime;
use collect::stats::Stats;
use collect::tls::{Identity, bridge_name};
use collect::{Config, Transport, serve};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::ClientConfig;
use tokio::sync::oneshot;

use crate::bridge::{CELL, SPOOL, key_ring};

pub const NAME: &str = "collect.test";
pub const HELLO: Hello = Hello { cell: CELL, spool: SPOOL };

/// An authority and what it signs.
pub struct Authority {
    pub certificate_pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub fn new() -> Authority {
        Authority::named("the deployment")
    }

    pub fn named(name: &str) -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate_pem = params.self_signed(&key).unwrap().pem();
        Authority { certificate_pem, issuer: Issuer::new(params, key) }
    }

    /// A certificate and its key.
    pub fn sign(&self, name: &str) -> (String, String) {
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }

    pub fn client(&self, trusts: &Authority) -> Arc<ClientConfig> {
        self.client_for(CELL, trusts)
    }

    /// The bridge of `cell`.
    pub fn client_for(&self, cell: u16, trusts: &Authority) -> Arc<ClientConfig> {
        let (certificate, key) = self.sign(&bridge_name(cell));
        identity(&certificate, &key, &trusts.certificate_pem).client().unwrap()
    }
}

fn identity<'a>(certificate: &'a str, key: &'a str, authority: &'a str) -> Identity<'a> {
    Identity {
        certificates_pem: certificate.as_bytes(),
        private_key_pem: key.as_bytes(),
        peer_authority_pem: authority.as_bytes(),
    }
}

/// A server that runs until it is stopped.
pub struct Server {
    pub address: SocketAddr,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<Result<Stats, Error>>,
}

impl Server {
    pub fn start(authority: &Authority, store: &Path, limits: Limits) -> Server {
        let (certificate, key) = authority.sign(NAME);
        let tls = identity(&certificate, &key, &authority.certificate_pem).server().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Server::start_with(Transport::Tcp { listener, tls }, store, limits)
    }

    pub fn start_with(transport: Transport, store: &Path, limits: Limits) -> Server {
        let config = Config {
            transport,
            keys: key_ring(),
            store: store.to_owned(),
            limits,
            control: None,
            looks: None,
            stats: Some(store.with_extension("json")),
            realtime: Realtime::default(),
        };
        let (ready, is_ready) = std::sync::mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        let shutdown = async { drop(stopped.await) };
        let thread =
            thread::spawn(move || serve(config, |address, _| ready.send(address).unwrap(), shutdown));
        Server { address: is_ready.recv().expect("the server is ready"), stop, thread }
    }

    pub async fn connect(&self, client: &Arc<ClientConfig>) -> (BatchSender, AnswerReceiver) {
        connect(self.address, NAME, client.clone(), HELLO).await.unwrap()
    }

    pub fn stop(self) -> Stats {
        self.end().unwrap()
    }

    /// Stops the service, if it has not ended, and says how it ended.
    pub fn end(self) -> Result<Stats, Error> {
        let _ = self.stop.send(());
        self.thread.join().unwrap()
    }
}
