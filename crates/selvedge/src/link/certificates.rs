//! Who may speak to whom over TLS: a certificate authority of the deployment's own, one certificate for the
//! server, one for the bridge of each cell, and one each for the broker and its device.
//!
//! Owns their names, usages and files (`tls/{ca,server,bridge-<cell>,broker,device}.{pem,key}`). Connections are
//! `collect`'s, `bridge`'s and `broker`'s. The certificates do not expire (RFC 5280 section 4.1.2.5): what ends trust is
//! deleting the folder.

use std::path::Path;

use broker::device::tcp::{BROKER_NAME, DEVICE_NAME};
use collect::tls::bridge_name;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, date_time_ymd,
};
use zeroize::Zeroizing;

use super::folder::Folder;
use crate::error::{Error, KeyFault};

/// The name in the server's certificate, which a bridge expects wherever the server listens. The domain is
/// set aside for private use.
pub const SERVER_NAME: &str = "collect.selvedge.internal";

/// A certificate, its private key, and the authority that both ends trust, each in PEM.
pub struct Identity {
    /// The certificate.
    pub certificate: Vec<u8>,
    /// Its private key, PKCS #8.
    pub key: Zeroizing<Vec<u8>>,
    /// The authority's certificate.
    pub authority: Vec<u8>,
}

/// The folder `tls`.
#[derive(Debug)]
pub struct Certificates {
    folder: Folder,
}

impl Certificates {
    /// Those in the folder at `path`, which only its owner, who runs us, can enter.
    ///
    /// # Errors
    /// [`Error::Key`] or [`Error::Io`].
    pub fn in_folder(path: &Path) -> Result<Self, Error> {
        Ok(Certificates { folder: Folder::open(path)? })
    }

    /// Makes those of some cells in a folder at `path`, which is made when it is missing.
    ///
    /// # Errors
    /// [`Error::Key`] or [`Error::Io`].
    pub fn make(path: &Path, cells: impl IntoIterator<Item = u16>) -> Result<Self, Error> {
        Certificates::create(Folder::create(path)?, cells)
    }

    /// Uses what is in `folder`.
    pub(super) fn open(folder: Folder) -> Self {
        Certificates { folder }
    }

    /// Makes what these cells need and `folder` lacks.
    pub(super) fn create(folder: Folder, cells: impl IntoIterator<Item = u16>) -> Result<Self, Error> {
        let certificates = Certificates { folder };
        let ca_key = certificates.key("ca")?;
        let ca = authority();
        certificates.certificate("ca", || ca.self_signed(&ca_key))?;
        let issuer = Issuer::from_params(&ca, &ca_key);
        let bridge = |id| (bridge_stem(id), bridge_name(id), ExtendedKeyUsagePurpose::ClientAuth);
        let bridges = cells.into_iter().map(bridge);
        let others = [
            ("server", SERVER_NAME, ExtendedKeyUsagePurpose::ServerAuth),
            ("device", DEVICE_NAME, ExtendedKeyUsagePurpose::ServerAuth),
            ("broker", BROKER_NAME, ExtendedKeyUsagePurpose::ClientAuth),
        ];
        let others = others.map(|(stem, name, usage)| (stem.to_string(), name.to_string(), usage));
        for (stem, name, usage) in bridges.chain(others) {
            let key = certificates.key(&stem)?;
            certificates.certificate(&stem, || leaf(&name, usage)?.signed_by(&key, &issuer))?;
        }
        Ok(certificates)
    }

    /// The server's identity.
    ///
    /// # Errors
    /// [`Error::Key`] or [`Error::Io`].
    pub fn server(&self) -> Result<Identity, Error> {
        self.identity("server")
    }

    /// The identity of the broker to a device on TCP.
    ///
    /// # Errors
    /// [`Error::Key`] or [`Error::Io`].
    pub fn broker(&self) -> Result<Identity, Error> {
        self.identity("broker")
    }

    /// The identity of a device on TCP.
    ///
    /// # Errors
    /// [`Error::Key`] or [`Error::Io`].
    pub fn device(&self) -> Result<Identity, Error> {
        self.identity("device")
    }

    /// The identity of the bridge of cell `id`.
    ///
    /// # Errors
    /// [`Error::Key`] or [`Error::Io`].
    pub fn bridge(&self, id: u16) -> Result<Identity, Error> {
        self.identity(&bridge_stem(id))
    }

    fn identity(&self, stem: &str) -> Result<Identity, Error> {
        // Parsed so that a damaged key is told here, with its file, and not in a handshake.
        self.parse(stem, &self.folder.read(&format!("{stem}.key"))?)?;
        Ok(Identity {
            certificate: self.folder.read(&format!("{stem}.pem"))?.to_vec(),
            key: self.folder.read(&format!("{stem}.key"))?,
            authority: self.folder.read("ca.pem")?.to_vec(),
        })
    }

    fn key(&self, stem: &str) -> Result<KeyPair, Error> {
        let name = format!("{stem}.key");
        let pem = self.folder.read_or_write(&name, || {
            let key = KeyPair::generate().map_err(|error| self.fault(&name, &error))?;
            Ok(Zeroizing::new(key.serialize_pem().into_bytes()))
        })?;
        self.parse(stem, &pem)
    }

    fn parse(&self, stem: &str, pem: &[u8]) -> Result<KeyPair, Error> {
        let name = format!("{stem}.key");
        let text =
            std::str::from_utf8(pem).map_err(|_| self.fault(&name, &rcgen::Error::CouldNotParseKeyPair))?;
        KeyPair::from_pem(text).map_err(|error| self.fault(&name, &error))
    }

    fn certificate(
        &self,
        stem: &str,
        make: impl FnOnce() -> Result<rcgen::Certificate, rcgen::Error>,
    ) -> Result<(), Error> {
        let name = format!("{stem}.pem");
        let made = || {
            let certificate = make().map_err(|error| self.fault(&name, &error))?;
            Ok(Zeroizing::new(certificate.pem().into_bytes()))
        };
        self.folder.read_or_write(&name, made).map(drop)
    }

    /// The library's errors name kinds of fault and quote nothing.
    fn fault(&self, name: &str, error: &rcgen::Error) -> Error {
        Error::Key { path: self.folder.path(name), fault: KeyFault::Certificate(error.to_string()) }
    }
}

fn bridge_stem(id: u16) -> String {
    format!("bridge-{id}")
}

fn authority() -> CertificateParams {
    let mut params = named("selvedge deployment authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params
}

fn leaf(name: &str, usage: ExtendedKeyUsagePurpose) -> Result<CertificateParams, rcgen::Error> {
    let mut params = named(name);
    params.subject_alt_names = CertificateParams::new([name.to_string()])?.subject_alt_names;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![usage];
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_after = date_time_ymd(9999, 12, 31);
    params
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
    use rustls::server::WebPkiClientVerifier;
    use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection};

    use super::*;
    use crate::link::{deployment, keys::Keys};

    fn keys(out: &Path) -> Keys {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deployments/ecg.toml");
        Keys::of(&deployment::load(&path).expect("the example is sound"), out).expect("keys are made")
    }

    fn parts(
        identity: &Identity,
    ) -> (Arc<RootCertStore>, Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(&identity.authority).unwrap()).unwrap();
        let certificate = CertificateDer::from_pem_slice(&identity.certificate).unwrap();
        (Arc::new(roots), vec![certificate], PrivateKeyDer::from_pem_slice(&identity.key).unwrap())
    }

    /// A handshake in memory, by a TLS library that knows nothing of the one that made the certificates.
    fn handshake(server: &Identity, client: &Identity, name: &str) -> Result<(), rustls::Error> {
        let (roots, chain, key) = parts(server);
        let verifier = WebPkiClientVerifier::builder(roots).build().unwrap();
        let config = ServerConfig::builder_with_protocol_versions(&[&rustls::version::TLS13])
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, key)?;
        let mut server = ServerConnection::new(Arc::new(config))?;
        let (roots, chain, key) = parts(client);
        let config = ClientConfig::builder_with_protocol_versions(&[&rustls::version::TLS13])
            .with_root_certificates(roots)
            .with_client_auth_cert(chain, key)?;
        let mut client =
            ClientConnection::new(Arc::new(config), ServerName::try_from(name.to_string()).unwrap())?;
        while server.is_handshaking() || client.is_handshaking() || client.wants_write() {
            let mut wire = Vec::new();
            client.write_tls(&mut wire).unwrap();
            server.read_tls(&mut wire.as_slice()).unwrap();
            server.process_new_packets()?;
            wire.clear();
            server.write_tls(&mut wire).unwrap();
            client.read_tls(&mut wire.as_slice()).unwrap();
            client.process_new_packets()?;
        }
        Ok(())
    }

    #[test]
    fn server_and_bridge_know_each_other() {
        let out = tempfile::tempdir().expect("a folder");
        let keys = keys(out.path());
        let (server, bridge) =
            (keys.certificates().server().unwrap(), keys.certificates().bridge(7).unwrap());
        handshake(&server, &bridge, SERVER_NAME).expect("they trust the same authority");
    }

    #[test]
    fn a_strange_authority_name_or_usage_is_refused() {
        let (out, other) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let (keys, strange) = (keys(out.path()), self::keys(other.path()));
        let (server, bridge) =
            (keys.certificates().server().unwrap(), keys.certificates().bridge(7).unwrap());
        let stranger = strange.certificates().bridge(7).unwrap();
        let disguised = Identity { authority: server.authority.clone(), ..stranger };
        assert!(handshake(&server, &disguised, SERVER_NAME).is_err(), "a client of another authority");
        assert!(handshake(&server, &bridge, "collect.example").is_err(), "a server of another name");
        assert!(handshake(&bridge, &bridge, &bridge_name(7)).is_err(), "a bridge that poses as a server");
        assert!(handshake(&server, &server, SERVER_NAME).is_err(), "a server that poses as a bridge");
    }
}
