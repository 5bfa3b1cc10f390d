//! The crypto core of a device: every operation, and its keys.
//!
//! An [`Engine`] takes a PDU and gives its answer; how the PDU came is not its business. [`SoftwareEngine`] is one that
//! computes here: `soft` dispatches over the table of operations, `keys` owns the keys and says who may use them, `store`
//! keeps those that survive a restart,
//! `material` is what they are made of, and each family of operations is a file of functions over key material that
//! draws the parameters it takes: `block`, `aead`, `digest`, `signature` (over `curve` and `rsa`), `wrap`, `context` for
//! what is done in parts, `attest`. [`ModuleEngine`] has all of its keys and work in a PKCS#11 module.
//!
//! Whose a request is follows from its connection: the broker introduces each one before its first request, and says when
//! it leaves. Who was not introduced can use what needs no key, and keys that are everyone's.
//!
//! Integers in parameters and answers are least significant byte first, unless a standard says otherwise.
//!
//! Invariant: no answer holds a secret of a key, except wrapped under another one that nobody outside knows.

pub mod aead;
pub mod attest;
pub mod block;
pub mod context;
pub mod curve;
pub mod digest;
pub mod keys;
pub mod material;
mod module;
pub mod rsa;
mod rsa_raw;
pub mod signature;
mod soft;
pub mod store;
pub mod wrap;

pub use module::ModuleEngine;
pub use soft::{NamedKey, Purpose, SoftwareEngine};

use crate::device::DeviceInfo;
use crate::wire::{Connection, Operation, Pdu};
use keys::Asker;

/// What a device computes with.
pub trait Engine: Send {
    /// What the device is.
    fn info(&self) -> DeviceInfo;

    /// A host opened the device: of the connections that the last one spoke for nothing stays.
    fn opened(&mut self);

    /// The device lost its power for a moment: it begins anew, with the keys that it keeps, and has another
    /// [`DeviceInfo::boot`]. One that cannot is as one that was opened.
    fn restarted(&mut self) {
        self.opened();
    }

    /// The answer to any PDU; none to what the broker says of its connections.
    fn execute(&mut self, request: &Pdu) -> Option<Pdu>;
}

/// Who keeps connections apart.
trait Host {
    /// The broker says whose a connection is; none when it is nobody's.
    fn introduce(&mut self, connection: Connection, asker: Option<Asker>);

    /// The broker says that a connection was closed.
    fn leave(&mut self, connection: Connection);

    /// Hears what the broker says of a connection; whether it was that, which has no answer.
    fn hears(&mut self, request: &Pdu) -> bool {
        let connection = request.head().connection;
        match request.operation() {
            Ok(Operation::Introduce) => {
                self.leave(connection);
                self.introduce(connection, Asker::introduced(connection, request.payload()));
            }
            Ok(Operation::Leave) => self.leave(connection),
            _ => return false,
        }
        true
    }
}
