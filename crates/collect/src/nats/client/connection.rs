//! The connection to a cluster: TLS 1.3 with a certificate at both ends, or in clear where nobody comes by.
//!
//! Owns the files that a deployment names for it, and whether one may do without. Which client certificates a cluster takes
//! is said by its own configuration.

use std::fs;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_nats::ConnectOptions;
use async_nats::jetstream::{Context, ContextBuilder};
use rustls::ClientConfig;
use zeroize::Zeroizing;

use crate::error::Error;
use crate::limits::NATS_REQUEST_MS_MAX;
use crate::nats::{Cluster, Protection, TlsFiles};
use crate::tls::Identity;

/// Connects to `cluster`, or says that nobody is there.
pub(in crate::nats) async fn connect(cluster: &Cluster) -> Result<Context, Error> {
    let patience = Duration::from_millis(NATS_REQUEST_MS_MAX);
    let options = ConnectOptions::new().request_timeout(Some(patience)).connection_timeout(patience);
    let options = match &cluster.protection {
        Protection::Tls(files) => {
            options.require_tls(true).tls_client_config(Arc::unwrap_or_clone(config(files)?))
        }
        // Those that the servers tell of may be elsewhere.
        Protection::Loopback => {
            check(&cluster.servers)?;
            options.ignore_discovered_servers()
        }
        Protection::Plain => options,
    };
    let client = options.connect(cluster.servers.as_slice()).await;
    let client = client.map_err(|cause| Error::nats("connect to", cluster.servers.join(", "), &cause))?;
    Ok(ContextBuilder::new().timeout(patience).ack_timeout(patience).build(client))
}

/// All of these are on this machine.
fn check(servers: &[String]) -> Result<(), Error> {
    match servers.iter().find(|server| !is_loopback(server)) {
        Some(server) => Err(Error::InClear { server: server.clone() }),
        None => Ok(()),
    }
}

/// Whether a server, as `nats://host:port`, is on this machine by its very name.
pub fn is_loopback(server: &str) -> bool {
    let place = server.split_once("://").map_or(server, |(_, place)| place);
    let host = place.rsplit_once(':').map_or(place, |(host, _)| host);
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

fn config(files: &TlsFiles) -> Result<Arc<ClientConfig>, Error> {
    let read = |path: &Path| fs::read(path).map_err(Error::io("read", path.display().to_string()));
    let private_key_pem = Zeroizing::new(read(&files.key)?);
    let identity = Identity {
        certificates_pem: &read(&files.certificate)?,
        private_key_pem: &private_key_pem,
        peer_authority_pem: &read(&files.authority)?,
    };
    identity.client()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_this_machine_are_known_by_their_names() {
        for server in
            ["nats://127.0.0.1:4222", "nats://127.9.9.9:1", "nats://[::1]:4222", "nats://localhost:4222"]
        {
            assert!(is_loopback(server), "{server}");
        }
        for server in
            ["nats://10.0.0.1:4222", "nats://localhost.example:4222", "nats://[::2]:4222", "nats://a:1"]
        {
            assert!(!is_loopback(server), "{server}");
        }
    }

    #[tokio::test]
    async fn nothing_goes_in_clear_to_another_machine_but_where_somebody_said_so() {
        let servers = vec!["nats://127.0.0.1:4222".to_owned(), "nats://192.0.2.1:4222".to_owned()];
        let cluster = Cluster { servers, partitions: 1, protection: Protection::Loopback };
        let refused = connect(&cluster).await.map(drop).expect_err("it is not asked");
        assert!(
            matches!(&refused, Error::InClear { server } if server == "nats://192.0.2.1:4222"),
            "{refused}"
        );
        assert!(!refused.is_environment());
    }
}
