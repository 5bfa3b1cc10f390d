//! Who may connect: TLS 1.3 only, and both ends show a certificate of the deployment's own authority.
//!
//! TLS tells who is on the line and hides the traffic; what makes a batch or a receipt authentic is its own
//! seal (`batch`). Sessions are not resumed, so every connection is judged by the certificate it shows. A bridge's
//! certificate names its cell, and the bridge speaks for no other.

use std::sync::Arc;

use rustls::client::verify_server_name;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::{ClientConfig, RootCertStore, ServerConfig, version};

use crate::error::Error;

/// A certificate chain, its private key, and the authority that the peer must be signed by; all as PEM.
///
/// The caller wipes `private_key_pem`; the copy that TLS holds lives as long as the configuration.
#[derive(Clone, Copy)]
pub struct Identity<'a> {
    /// Own certificate first.
    pub certificates_pem: &'a [u8],
    /// PKCS#8, SEC 1 or PKCS#1.
    pub private_key_pem: &'a [u8],
    /// Certificates that sign peers.
    pub peer_authority_pem: &'a [u8],
}

/// The DNS name in the certificate of the bridge of cell `cell`. The domain is set aside for private use.
pub fn bridge_name(cell: u16) -> String {
    format!("bridge-{cell}.selvedge.internal")
}

/// Whether `certificate`, which TLS has accepted, is that of the bridge of `cell`.
pub fn is_bridge_of(certificate: &CertificateDer<'_>, cell: u16) -> bool {
    let name = ServerName::try_from(bridge_name(cell)).expect("it is a DNS name");
    let parsed = ParsedCertificate::try_from(certificate);
    parsed.is_ok_and(|parsed| verify_server_name(&parsed, &name).is_ok())
}

fn fault(which: &'static str) -> impl Fn(String) -> Error {
    move |cause| Error::Certificate { which, cause }
}

impl Identity<'_> {
    fn chain(&self) -> Result<Vec<CertificateDer<'static>>, Error> {
        let fault = fault("own certificate");
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(self.certificates_pem).collect();
        match chain {
            Ok(chain) if chain.is_empty() => Err(fault("found no certificate in the PEM text".to_owned())),
            chain => chain.map_err(|cause| fault(cause.to_string())),
        }
    }

    fn private_key(&self) -> Result<PrivateKeyDer<'static>, Error> {
        let key = PrivateKeyDer::from_pem_slice(self.private_key_pem);
        // The library's words name sections and base64, never the key.
        key.map_err(|cause| fault("private key")(cause.to_string()))
    }

    fn authority(&self) -> Result<Arc<RootCertStore>, Error> {
        let fault = fault("peer authority");
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(self.peer_authority_pem) {
            let certificate = certificate.map_err(|cause| fault(cause.to_string()))?;
            roots.add(certificate).map_err(|cause| fault(cause.to_string()))?;
        }
        if roots.is_empty() {
            return Err(fault("found no certificate in the PEM text".to_owned()));
        }
        Ok(Arc::new(roots))
    }

    /// The server's side.
    ///
    /// # Errors
    /// [`Error::Certificate`].
    pub fn server(&self) -> Result<Arc<ServerConfig>, Error> {
        let provider = Arc::new(default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(self.authority()?, provider.clone());
        let verifier = verifier.build().map_err(|cause| fault("peer authority")(cause.to_string()))?;
        let config = ServerConfig::builder_with_provider(provider).with_protocol_versions(&[&version::TLS13]);
        let config = config.expect("the provider speaks TLS 1.3").with_client_cert_verifier(verifier);
        let mut config = config
            .with_single_cert(self.chain()?, self.private_key()?)
            .map_err(|cause| fault("own certificate or its key")(cause.to_string()))?;
        config.send_tls13_tickets = 0;
        Ok(Arc::new(config))
    }

    /// The bridge's side.
    ///
    /// # Errors
    /// [`Error::Certificate`].
    pub fn client(&self) -> Result<Arc<ClientConfig>, Error> {
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[&version::TLS13])
            .expect("the provider speaks TLS 1.3")
            .with_root_certificates(self.authority()?)
            .with_client_auth_cert(self.chain()?, self.private_key()?)
            .map_err(|cause| fault("own certificate or its key")(cause.to_string()))?;
        Ok(Arc::new(config))
    }
}
