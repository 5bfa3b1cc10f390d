//! Operations in parts: hashes, MACs and ciphers without authentication, that are begun and go on later.
//!
//! The parameters of `begin` are the number of the operation, two bytes, and that operation's parameters; its answer is a
//! context, eight bytes, which `update`, `finish` and `cancel` take as their parameters. What is ready is answered as it
//! comes; `finish` answers the rest, or the digest, or says whether the MAC was right. An AEAD is not begun: its message
//! would leave before its tag was compared.
//!
//! Invariant: a context belongs to a connection, and ends with it, with its key, or with `finish`, done or not.

use std::collections::BTreeMap;

use aws_lc_rs::digest as library;
use cipher::{OsRandomness, Randomness};

use super::block::Run;
use super::digest::MacRun;
use crate::limits::CONTEXTS_PER_CONNECTION_MAX;
use crate::wire::{KeyHandle, Status};

/// What was begun.
pub enum Context {
    /// A hash.
    Hash(library::Context),
    /// A MAC.
    Mac(MacRun),
    /// A MAC that is compared in the end.
    MacVerify(MacRun, Vec<u8>),
    /// An encryption or decryption.
    Cipher(Run),
}

impl Context {
    /// Takes a part, and appends what is ready.
    ///
    /// # Errors
    /// [`Status::DeviceFault`].
    pub fn update(&mut self, part: &[u8], out: &mut Vec<u8>) -> Result<(), Status> {
        match self {
            Context::Hash(hash) => hash.update(part),
            Context::Mac(mac) | Context::MacVerify(mac, _) => mac.update(part)?,
            Context::Cipher(run) => run.update(part, out),
        }
        Ok(())
    }

    /// Takes the last part, and appends the rest.
    ///
    /// # Errors
    /// Those of the operation.
    pub fn finish(self, part: &[u8], out: &mut Vec<u8>) -> Result<(), Status> {
        match self {
            Context::Hash(mut hash) => {
                hash.update(part);
                out.extend_from_slice(hash.finish().as_ref());
                Ok(())
            }
            Context::Mac(mut mac) => {
                mac.update(part)?;
                mac.finish(out)
            }
            Context::MacVerify(mut mac, expected) => {
                mac.update(part)?;
                mac.verify(&expected)
            }
            Context::Cipher(run) => run.finish(part, out),
        }
    }
}

/// The contexts of a connection.
#[derive(Default)]
pub struct Contexts {
    by_number: BTreeMap<u64, (KeyHandle, Context)>,
    /// The number of the last one. The first is drawn at random: after a restart another connection may have this one's
    /// number, and an application that goes on there with what it began here would meet somebody else's.
    last: Option<u64>,
}

impl Contexts {
    /// Keeps one; its number is answered.
    ///
    /// # Errors
    /// [`Status::DeviceFull`], or [`Status::DeviceFault`] when there is no randomness.
    pub fn begin(&mut self, key: KeyHandle, context: Context) -> Result<u64, Status> {
        if self.by_number.len() >= CONTEXTS_PER_CONNECTION_MAX {
            return Err(Status::DeviceFull);
        }
        let number = match self.last {
            Some(last) => last.wrapping_add(1),
            None => {
                let mut first = [0; 8];
                OsRandomness.fill(&mut first).map_err(|_| Status::DeviceFault)?;
                u64::from_le_bytes(first)
            }
        };
        self.last = Some(number);
        self.by_number.insert(number, (key, context));
        Ok(number)
    }

    /// The one of a number.
    ///
    /// # Errors
    /// [`Status::UnknownContext`].
    pub fn get(&mut self, number: u64) -> Result<&mut Context, Status> {
        self.by_number.get_mut(&number).map(|(_, context)| context).ok_or(Status::UnknownContext)
    }

    /// Takes the one of a number out.
    ///
    /// # Errors
    /// [`Status::UnknownContext`].
    pub fn end(&mut self, number: u64) -> Result<Context, Status> {
        self.by_number.remove(&number).map(|(_, context)| context).ok_or(Status::UnknownContext)
    }

    /// Ends those under a key.
    pub fn forget_key(&mut self, key: KeyHandle) {
        self.by_number.retain(|_, (of, _)| *of != key);
    }
}
