//! The cipher suites of the node link that a deployment may name, one line each.
//!
//! Owns what a deployment is checked against: name, tag length, whether it is legacy. The ciphers are
//! `cipher::suites`.

use serde::{Serialize, Serializer};

/// A cipher suite of the node link.
#[derive(Debug, PartialEq, Eq)]
pub struct Suite {
    /// Its number in a frame's first byte.
    pub number: u8,
    /// As a deployment names it.
    pub name: &'static str,
    /// Bytes of the tag.
    pub tag_bytes: u64,
    /// Kept to reproduce the papers; refused unless the deployment says `allow_legacy = true`.
    pub legacy: bool,
}

/// Every suite with a number.
pub static SUITES: [Suite; 4] = [
    Suite { number: 1, name: "ascon-aead128", tag_bytes: 16, legacy: false },
    Suite { number: 2, name: "aes-128-ccm", tag_bytes: 8, legacy: false },
    Suite { number: 14, name: "rc5-mac", tag_bytes: 16, legacy: true },
    Suite { number: 15, name: "rc4-mac", tag_bytes: 16, legacy: true },
];

impl Suite {
    /// The suite of that name, if there is one.
    pub fn find(name: &str) -> Option<&'static Suite> {
        SUITES.iter().find(|suite| suite.name == name)
    }
}

/// A suite is its name.
impl Serialize for Suite {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}
