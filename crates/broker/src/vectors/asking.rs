//! Asks one vector: keys, requests, messages in parts, and the answers beside the published ones.

use std::time::Duration;

use super::{Outcome, REFUSALS, Wanted};
use crate::client::Client;
use crate::client::call::{Call, Request};
use crate::error::{Error, Fault};
use crate::template::Template;
use crate::wire::{KeyHandle, Operation, Pdu, Status};

/// Between an answer that is `busy` and the next try.
const BUSY_PAUSE: Duration = Duration::from_millis(5);

/// What a device answers: a payload, or why not.
pub type Answer = Result<Vec<u8>, Status>;

/// What it should answer.
#[derive(Clone, Copy)]
pub enum Published<'a> {
    /// These bytes.
    Bytes(&'a [u8]),
    /// No: it is not authentic.
    Rejection,
    /// No, for that or any other fault of the request.
    Refusal,
    /// Anything else than these bytes.
    Other(&'a [u8]),
}

/// A request whose parameters are written here, as the engine's files draw them.
struct Asked<'a> {
    operation: Operation,
    key: KeyHandle,
    parameters: &'a [u8],
    payload: &'a [u8],
}

impl Call for Asked<'_> {
    type Answer = (KeyHandle, Vec<u8>);

    fn request(&self) -> Request<'_> {
        let Asked { operation, key, parameters, payload } = *self;
        Request { operation, key, parameters: parameters.to_vec(), payload, only_on: None }
    }

    fn read(&self, answer: &Pdu) -> Result<Self::Answer, Fault> {
        Ok((answer.head().key, answer.payload().to_vec()))
    }
}

/// One vector under way.
pub struct Asking<'a> {
    client: &'a Client,
    wanted: &'a Wanted,
    /// Whether the device has the vectors' keys.
    pub is_provided: bool,
    /// How each operation answered so far.
    pub outcomes: Vec<(Operation, Outcome)>,
}

impl<'a> Asking<'a> {
    pub fn new(client: &'a Client, wanted: &'a Wanted, is_provided: bool) -> Asking<'a> {
        Asking { client, wanted, is_provided, outcomes: Vec::new() }
    }

    pub fn wants(&self, operation: Operation) -> bool {
        self.wanted.wants(operation)
    }

    /// Asks until the broker has room.
    async fn request(&self, asked: Asked<'_>) -> Result<Result<(KeyHandle, Vec<u8>), Status>, Error> {
        loop {
            match self.client.call(&asked).await {
                Ok(answer) => return Ok(Ok(answer)),
                Err(Error::Refused { status: Status::Busy, .. }) => tokio::time::sleep(BUSY_PAUSE).await,
                Err(Error::Refused { status, .. }) => return Ok(Err(status)),
                // The client says at once what the broker would.
                Err(Error::TooLong { .. }) => return Ok(Err(Status::WrongParameters)),
                Err(error) => return Err(error),
            }
        }
    }

    /// The answer's payload.
    pub async fn ask(
        &self,
        operation: Operation,
        key: KeyHandle,
        parameters: &[u8],
        payload: &[u8],
    ) -> Result<Answer, Error> {
        let answer = self.request(Asked { operation, key, parameters, payload }).await?;
        Ok(answer.map(|(_, payload)| payload))
    }

    /// The key that was made.
    pub async fn make(
        &self,
        operation: Operation,
        key: KeyHandle,
        parameters: &[u8],
        payload: &[u8],
    ) -> Result<Result<KeyHandle, Status>, Error> {
        let answer = self.request(Asked { operation, key, parameters, payload }).await?;
        Ok(answer.map(|(key, _)| key))
    }

    /// A key of these bytes.
    pub async fn import(
        &self,
        template: &Template,
        secret: &[u8],
    ) -> Result<Result<KeyHandle, Status>, Error> {
        let parameters = [&[0, 0, 0, 0], &template.to_bytes()[..]].concat();
        self.make(Operation::KeyImport, KeyHandle::NONE, &parameters, secret).await
    }

    /// A public key of these bytes.
    pub async fn import_public(
        &self,
        template: &Template,
        public: &[u8],
    ) -> Result<Result<KeyHandle, Status>, Error> {
        let parameters = [&[1, 0, 0, 0], &template.to_bytes()[..]].concat();
        self.make(Operation::KeyImport, KeyHandle::NONE, &parameters, public).await
    }

    /// Forgets a key.
    pub async fn destroy(&self, key: KeyHandle) -> Result<(), Error> {
        self.ask(Operation::KeyDestroy, key, &[], &[]).await.map(drop)
    }

    /// Compares an answer with the published one.
    pub fn compare(&mut self, operation: Operation, answer: &Answer, published: Published<'_>) {
        let why = match (published, answer) {
            (Published::Bytes(expected), Ok(found)) if found == expected => None,
            (Published::Rejection, Err(Status::Rejected)) => None,
            (Published::Refusal, Err(status)) if REFUSALS.contains(status) => None,
            (Published::Other(expected), Ok(found)) if found != expected => None,
            (Published::Other(_), Err(status)) if REFUSALS.contains(status) => None,
            (Published::Bytes(expected), Ok(found)) => {
                Some(format!("found {} bytes, expected {} others", found.len(), expected.len()))
            }
            (Published::Bytes(expected), Err(status)) => {
                Some(format!("found {}, expected {} bytes", status.name(), expected.len()))
            }
            (_, Ok(found)) => Some(format!("found {} bytes, expected a refusal", found.len())),
            (_, Err(status)) => Some(format!("found {}, expected another refusal", status.name())),
        };
        self.conclude(operation, why.map_or(Outcome::Passed, Outcome::Failed));
    }

    pub fn conclude(&mut self, operation: Operation, outcome: Outcome) {
        if self.wants(operation) {
            self.outcomes.push((operation, outcome));
        }
    }

    /// A key that must be importable was refused, so that none of these can be asked.
    pub fn no_key(&mut self, operations: &[Operation], status: Status) {
        for operation in operations {
            let why = format!("found {} to the key, expected a handle", status.name());
            self.conclude(*operation, Outcome::Failed(why));
        }
    }

    /// Asks a message as a whole, and again in parts.
    pub async fn whole_and_parts(
        &mut self,
        operation: Operation,
        key: KeyHandle,
        parameters: &[u8],
        message: &[u8],
        published: Published<'_>,
    ) -> Result<(), Error> {
        if self.wants(operation) {
            let answer = self.ask(operation, key, parameters, message).await?;
            self.compare(operation, &answer, published);
        }
        if self.wants(Operation::Begin) {
            let answer = self.in_parts(operation, key, parameters, message).await?;
            self.compare(Operation::Begin, &answer, published);
        }
        Ok(())
    }

    /// The answers to three parts, none of which need be whole blocks.
    pub async fn in_parts(
        &self,
        operation: Operation,
        key: KeyHandle,
        parameters: &[u8],
        message: &[u8],
    ) -> Result<Answer, Error> {
        let parameters = [&operation.number().to_le_bytes()[..], parameters].concat();
        let context = match self.ask(Operation::Begin, key, &parameters, &[]).await? {
            Ok(context) => context,
            Err(status) => return Ok(Err(status)),
        };
        let third = message.len().div_ceil(3).max(1);
        let mut parts = message.chunks(third);
        let last = parts.next_back().unwrap_or_default();
        let mut answered = Vec::new();
        for (operation, part) in
            parts.map(|part| (Operation::Update, part)).chain([(Operation::Finish, last)])
        {
            match self.ask(operation, KeyHandle::NONE, &context, part).await? {
                Ok(more) => answered.extend(more),
                Err(status) => {
                    // A context that was not finished would stay.
                    if operation == Operation::Update {
                        self.ask(Operation::Cancel, KeyHandle::NONE, &context, &[]).await?.ok();
                    }
                    return Ok(Err(status));
                }
            }
        }
        Ok(Ok(answered))
    }
}
