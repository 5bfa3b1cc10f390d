//! Where monitors ask a daemon what it does: an address and port, or the path of a socket.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

use super::problem::{Kind, Problem};
use super::section::At;

/// Where a monitor asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MonitorAddress {
    /// Over TCP.
    Tcp(SocketAddr),
    /// Over a Unix socket.
    Unix(PathBuf),
}

impl MonitorAddress {
    /// The same, whose relative path begins at `folder`.
    #[must_use]
    pub(super) fn below(self, folder: &Path) -> MonitorAddress {
        match self {
            MonitorAddress::Unix(path) => MonitorAddress::Unix(folder.join(path)),
            tcp => tcp,
        }
    }

    /// Whether nobody comes by but from this machine.
    pub fn is_local(&self) -> bool {
        match self {
            MonitorAddress::Tcp(address) => address.ip().to_canonical().is_loopback(),
            MonitorAddress::Unix(_) => true,
        }
    }
}

impl fmt::Display for MonitorAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MonitorAddress::Tcp(address) => address.fmt(f),
            MonitorAddress::Unix(path) => path.display().fmt(f),
        }
    }
}

impl Serialize for MonitorAddress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What `text` says.
pub(super) fn address(text: At<String>, problems: &mut Vec<Problem>) -> Option<At<MonitorAddress>> {
    let value = if text.value.contains('/') {
        MonitorAddress::Unix(text.value.into())
    } else if let Ok(address) = text.value.parse() {
        MonitorAddress::Tcp(address)
    } else {
        let (expected, example) = ("an address and port, or a path", "127.0.0.1:9464");
        let kind = Kind::NotANumber { found: text.value, expected, example };
        problems.push(Problem { span: text.span, kind });
        return None;
    };
    Some(At { value, span: text.span })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_local_where_only_this_machine_comes_by() {
        let is_local = |text: &str| MonitorAddress::Tcp(text.parse().unwrap()).is_local();
        assert!(["127.0.0.1:0", "127.9.9.9:1", "[::1]:0", "[::ffff:127.0.0.1]:0"].into_iter().all(is_local));
        assert!(!["0.0.0.0:0", "192.168.1.2:1", "[::]:0"].into_iter().any(is_local));
        assert!(MonitorAddress::Unix("a/b".into()).is_local());
    }
}
