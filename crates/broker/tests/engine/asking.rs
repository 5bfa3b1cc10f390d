//! Asks an engine as the connections of users do.

use broker::engine::keys::Template;
use broker::engine::{Engine, NamedKey, Purpose, SoftwareEngine};
use broker::wire::{Connection, Head, KeyHandle, Operation, Pdu, Status};
use cipher::Key;

/// An engine, and who asks it.
pub struct Asking {
    pub engine: SoftwareEngine,
    pub connection: Connection,
}

/// An engine with these keys of a deployment.
pub fn provided(keys: &[(&str, Purpose, &[u8; 32])]) -> SoftwareEngine {
    let named = |(name, purpose, key): &(&str, Purpose, &[u8; 32])| NamedKey {
        name: name.to_string(),
        purpose: *purpose,
        key: Key::copied_from(key),
    };
    SoftwareEngine::new(keys.iter().map(named).collect()).unwrap()
}

/// An RSA key that others made, in PKCS#8, because to make one takes long.
pub fn rsa(bits: &str) -> Vec<u8> {
    let all = cipher::vectors::blocks(cipher::vectors::official());
    let mut fitting =
        all.iter().filter(|block| block.text("Bits") == Some(bits) && block.text("Secret").is_some());
    fitting.next().expect("there are vectors of this length").bytes("Secret")
}

impl Asking {
    /// An engine without keys, asked by user 1000 on connection 1.
    pub fn new() -> Asking {
        let mut asking = Asking { engine: provided(&[]), connection: Connection(1) };
        asking.introduce(1, 1000, &[1000]);
        asking
    }

    /// The broker says whose a connection is; that connection asks from now on.
    pub fn introduce(&mut self, connection: u64, user: u32, groups: &[u32]) {
        self.connection = Connection(connection);
        let numbers: Vec<u8> = [user].iter().chain(groups).flat_map(|number| number.to_le_bytes()).collect();
        let head =
            Head { connection: self.connection, ..Head::request(Operation::Introduce, 0, KeyHandle::NONE) };
        assert!(self.engine.execute(&Pdu::new(head, &[], &numbers).unwrap()).is_none());
    }

    /// The broker says that a connection was closed.
    pub fn leave(&mut self, connection: u64) {
        let connection = Connection(connection);
        let head = Head { connection, ..Head::request(Operation::Leave, 0, KeyHandle::NONE) };
        assert!(self.engine.execute(&Pdu::empty(head)).is_none());
    }

    /// The whole answer.
    pub fn answer(&mut self, operation: Operation, key: KeyHandle, parameters: &[u8], payload: &[u8]) -> Pdu {
        let head = Head { connection: self.connection, ..Head::request(operation, 1, key) };
        let request = Pdu::new(head, parameters, payload).expect("the request is within its limits");
        let answer = self.engine.execute(&request).expect("it has an answer");
        let answer_bytes_max =
            if operation.takes(&request) { operation.answer_bytes_max(&request) } else { 0 };
        assert!(answer.payload().len() <= answer_bytes_max, "{operation:?} answers too much");
        answer
    }

    /// The answer's payload, or why there is none.
    pub fn ask(
        &mut self,
        operation: Operation,
        key: KeyHandle,
        parameters: &[u8],
        payload: &[u8],
    ) -> Result<Vec<u8>, Status> {
        let answer = self.answer(operation, key, parameters, payload);
        match answer.status().expect("statuses are in the table") {
            Status::Done => Ok(answer.payload().to_vec()),
            status => {
                assert!(answer.payload().is_empty() && answer.parameters().is_empty());
                Err(status)
            }
        }
    }

    /// The key that was made, or why none was.
    pub fn make(
        &mut self,
        operation: Operation,
        key: KeyHandle,
        parameters: &[u8],
        payload: &[u8],
    ) -> Result<KeyHandle, Status> {
        let answer = self.answer(operation, key, parameters, payload);
        match answer.status().expect("statuses are in the table") {
            Status::Done => Ok(answer.head().key),
            status => Err(status),
        }
    }

    /// A fresh key.
    pub fn generate(&mut self, template: &Template) -> Result<KeyHandle, Status> {
        self.make(Operation::KeyGenerate, KeyHandle::NONE, &template.to_bytes(), &[])
    }

    /// A key of these bytes.
    pub fn import(&mut self, template: &Template, secret: &[u8]) -> Result<KeyHandle, Status> {
        let parameters = [&[0, 0, 0, 0], &template.to_bytes()[..]].concat();
        self.make(Operation::KeyImport, KeyHandle::NONE, &parameters, secret)
    }

    /// A public key of these bytes.
    pub fn import_public(&mut self, template: &Template, public: &[u8]) -> Result<KeyHandle, Status> {
        let parameters = [&[1, 0, 0, 0], &template.to_bytes()[..]].concat();
        self.make(Operation::KeyImport, KeyHandle::NONE, &parameters, public)
    }

    /// Forgets a key.
    pub fn destroy(&mut self, key: KeyHandle) {
        self.ask(Operation::KeyDestroy, key, &[], &[]).expect("who made it can destroy it");
    }
}
